"""C and C++ to modules, with the clang on PATH and with the one in the ziglang wheel."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import shutil
from pathlib import Path

import pytest

from llgrad.errors import CompilerError, SourceError
from llgrad.frontends import CompiledSources, compile_sources, find_compiler
from llgrad.llvm import Engine, LLVMModule

CLANG = next((name for name in ("clang-22", "clang-21", "clang-20", "clang") if shutil.which(name)), None)
COMPILERS = [
    pytest.param(CLANG, marks=pytest.mark.skipif(CLANG is None, reason="no clang on PATH")),
    pytest.param("zig", marks=pytest.mark.skipif(importlib.util.find_spec("ziglang") is None, reason="no ziglang")),
]
Real = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)


@pytest.fixture(params=COMPILERS)
def compiler(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("LLGRAD_CLANG", request.param)
    return str(request.param)


def write(folder: Path, **files: str) -> list[Path]:
    """Files called `name_suffix=contents`."""
    paths = [folder / name.replace("_", ".") for name in files]
    for path, text in zip(paths, files.values(), strict=True):
        path.write_text(text)
    return paths


def linked(sources: CompiledSources, *, optimise: bool = True) -> LLVMModule:
    module = LLVMModule.linked([LLVMModule.read(data) for data in sources.modules])
    if optimise:
        module.optimise(2)
    return module


def test_several_files_headers_and_order(compiler: str, tmp_path: Path) -> None:
    header, first, second = write(
        tmp_path,
        shared_h="double twice(double x);\n",
        a_c='#include "shared.h"\n#include <math.h>\ndouble f(double x) { return twice(sin(x)) + PLUS; }\n',
        b_c='#include "shared.h"\ndouble twice(double x) { return 2 * x; }\n',
    )
    sources = compile_sources([first, str(second)], ["-DPLUS=1.0"])
    assert "@f(" in LLVMModule.read(sources.modules[0]).text().split("define", 1)[1]
    assert {first, second} <= set(sources.dependencies)
    assert header.resolve() in {path.resolve() for path in sources.dependencies}
    assert any(path.name == "math.h" for path in sources.dependencies)
    engine = Engine([linked(sources)])
    assert Real(engine.address("f"))(0.0) == 1.0


def test_raw_modules_are_untouched_and_strict(compiler: str, tmp_path: Path) -> None:
    paths = write(
        tmp_path,
        a_c="#include <math.h>\ndouble f(double value, double *p) { double s = tanh(value) * 2 + *p; return s; }\n",
    )
    text = LLVMModule.read(compile_sources(paths).modules[0]).text()
    assert "alloca double" in text and "!tbaa" in text and "optnone" not in text
    assert "%value" in text and "!DILocalVariable(name: \"value\"" in text
    assert "contract" not in text and "fmuladd" not in text
    assert "target-cpu" not in text and "@llvm.tanh.f64" in text
    optimised = LLVMModule.read(compile_sources(paths, raw=False).modules[0]).text()
    assert "alloca" not in optimised


def test_user_flags_win(compiler: str, tmp_path: Path) -> None:
    paths = write(tmp_path, a_c="double f(double a, double b, double c) { return a * b + c; }\n")
    assert "fmuladd" in LLVMModule.read(compile_sources(paths, ["-ffp-contract=on"]).modules[0]).text()


def test_no_sanitizer_and_no_vector_code(compiler: str, tmp_path: Path) -> None:
    source = "int f(int a, int *p, int n) { for (int i = 0; i < n; i++) p[i] += a + 1; return a; }\n"
    paths = write(tmp_path, a_c=source)
    for raw in (True, False):
        text = LLVMModule.read(compile_sources(paths, raw=raw).modules[0]).text()
        assert "ubsan" not in text and "llvm.ubsantrap" not in text and " x i32>" not in text


def test_debug_info_leaves_out_member_functions_that_nobody_calls(compiler: str, tmp_path: Path) -> None:
    source = "struct A { double x; void idle(); double used() { return x; } }; double f(A &a) { return a.used(); }"
    (tmp_path / "a.cpp").write_text(source)
    for flags in ([], ["-g"]):
        text = LLVMModule.read(compile_sources([tmp_path / "a.cpp"], flags).modules[0]).text()
        assert 'name: "used"' in text and 'name: "x"' in text and 'name: "idle"' not in text


def test_cpp_templates_and_exceptions(compiler: str, tmp_path: Path) -> None:
    paths = write(
        tmp_path,
        a_cpp="#include <cmath>\n#include <vector>\n#include <algorithm>\n"
        "template <class T> static T cube(T x) { return x * x * x; }\n"
        'extern "C" double f(double x) {\n'
        "  std::vector<double> v; for (int i = 0; i < 40; i++) v.push_back(x + i);\n"
        "  std::sort(v.begin(), v.end()); int seen = 0;\n"
        "  try { if (x > 0) throw 5; } catch (int n) { seen = n; }\n"
        "  return cube(v[1]) + seen; }\n",
    )
    engine = Engine([linked(compile_sources(paths))])
    assert Real(engine.address("f"))(1.0) == 13.0
    assert Real(engine.address("f"))(-1.0) == 0.0


def test_static_objects_of_cpp(compiler: str, tmp_path: Path) -> None:
    paths = write(
        tmp_path,
        a_cpp="struct Box { double value; double *last; Box() : value(7), last(nullptr) {}\n"
        "  ~Box() { if (last) *last = 3; } };\n"
        'static Box box;\nextern "C" double f(double *p) { box.last = p; return box.value; }\n',
    )
    engine = Engine([linked(compile_sources(paths))])
    cell = ctypes.c_double(0)
    function = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_void_p)(engine.address("f"))
    assert function(ctypes.addressof(cell)) == 7.0
    engine.close()
    assert cell.value == 3.0


def test_the_compilers_words_are_carried(compiler: str, tmp_path: Path) -> None:
    good, bad = write(tmp_path, good_c="int g;\n", bad_c="int f( {\n")
    with pytest.raises(CompilerError) as caught:
        compile_sources([good, bad])
    assert "bad.c:1:8: error: expected parameter declarator" in caught.value.message
    assert "status 1" in caught.value.cause


def test_awkward_paths(compiler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "with space"
    folder.mkdir()
    write(folder, a_c='#include "b $x#.h"\ndouble f(double x) { return x + B; }\n')
    (folder / "b $x#.h").write_text("#define B 1\n")
    sources = compile_sources([folder / "a.c"])
    assert [path.name for path in sources.dependencies][:2] == ["a.c", "b $x#.h"]
    monkeypatch.chdir(folder)
    assert compile_sources("a.c").modules


def test_llvm_files_need_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLGRAD_CLANG", str(tmp_path / "nonesuch"))
    text = "define double @f(double %x) {\n  ret double %x\n}\n"
    (ll,) = write(tmp_path, a_ll=text)
    bc = tmp_path / "b.bc"
    bc.write_bytes(LLVMModule.from_text(text.replace("@f", "@g")).bitcode())
    sources = compile_sources([ll, bc])
    assert {f.name for f in linked(sources).functions()} == {"f", "g"}
    assert sources.dependencies == [ll, bc]


def test_files_that_cannot_be_compiled(tmp_path: Path) -> None:
    (odd,) = write(tmp_path, a_cobol="")
    with pytest.raises(SourceError, match="no file"):
        compile_sources([tmp_path / "none.c"])
    with pytest.raises(SourceError, match="not a file"):
        compile_sources([tmp_path])
    with pytest.raises(SourceError, match="unknown language") as caught:
        compile_sources([odd])
    assert ".cpp" in caught.value.cause
    with pytest.raises(SourceError, match="no source files"):
        compile_sources([])


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_unreadable_file(tmp_path: Path) -> None:
    (path,) = write(tmp_path, a_c="int x;\n")
    path.chmod(0)
    with pytest.raises(SourceError, match="cannot be read"):
        compile_sources([path])


def script(folder: Path, name: str, says: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{says}'\n")
    path.chmod(0o755)
    return path


def test_wrong_compilers_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new = script(tmp_path, "new", "clang version 23.0.0")
    gcc = script(tmp_path, "gcc", "gcc (Debian) 12.2.0")
    for wanted, word in ((str(new), "clang 23"), (str(gcc), "not clang"), ("nonesuch-clang", "not a program")):
        monkeypatch.setenv("LLGRAD_CLANG", wanted)
        with pytest.raises(CompilerError, match=word):
            find_compiler()


def test_the_newest_clang_that_fits_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path, "clang", "clang version 99.1.0")
    old = script(tmp_path, "clang-16", "clang version 16.0.6")
    monkeypatch.delenv("LLGRAD_CLANG", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert find_compiler().c == (str(old),)
    old.unlink()
    monkeypatch.setenv("PATH", f"{tmp_path}/.")
    with pytest.raises(CompilerError, match="no C compiler"):
        find_compiler()


def test_fingerprints(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = write(tmp_path, a_c="int x;\n")
    monkeypatch.delenv("LLGRAD_CLANG", raising=False)
    plain, flags = compile_sources(paths).fingerprint, compile_sources(paths, ["-DX"]).fingerprint
    assert plain == compile_sources(paths).fingerprint
    assert len({plain, flags, compile_sources(paths, raw=False).fingerprint}) == 3
