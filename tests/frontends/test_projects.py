"""C and C++ as projects hold them: compile_commands.json, archives of bitcode, both standard libraries."""

from __future__ import annotations

import ctypes.util
import importlib.util
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from harness import has_libcxx

import llgrad
from llgrad.errors import ArgumentError, SourceError, UnsupportedError
from llgrad.execution import cache
from llgrad.frontends import LANGUAGES, compile_sources, find_compiler
from llgrad.frontends.bitcode import members
from llgrad.frontends.compile_commands import flags_of

CUBE = "double cube(double x) { return SCALE * x * x * x; }\n"
MAIN = '#include "cube.h"\ndouble f(double x) { return cube(x) + x; }\n'


def project(folder: Path) -> list[Path]:
    """Two units and a header in another folder, with a database of how they are compiled."""
    (folder / "include").mkdir()
    (folder / "include" / "cube.h").write_text("double cube(double);\n")
    units = [folder / "a.c", folder / "b.c"]
    units[0].write_text(MAIN)
    units[1].write_text(CUBE)
    commands = [
        {"directory": ".", "file": "a.c", "command": "ccache cc -O3 -g -Iinclude -MD -MF a.d -o a.o -c a.c"},
        {"directory": str(folder), "file": "b.c", "arguments": ["cc", "-D", "SCALE=2", "-Wall", "-c", "b.c", "-ob.o"]},
    ]
    (folder / "compile_commands.json").write_text(json.dumps(commands))
    return units


def test_a_database_brings_its_sources_or_gives_flags(tmp_path: Path) -> None:
    units = project(tmp_path)
    for paths in (["compile_commands.json"], ["compile_commands.json", "a.c", "b.c"]):
        lib = llgrad.load([tmp_path / p for p in paths])
        assert lib.f(3.0) == 57.0
        assert llgrad.grad(lib.f)(3.0) == 55.0
    done = compile_sources([tmp_path / "compile_commands.json"])
    assert {p.resolve() for p in (*units, tmp_path / "include" / "cube.h", tmp_path / "compile_commands.json")} <= {
        p.resolve() for p in done.dependencies
    }


def test_flags_of_a_command() -> None:
    words = "clang -I inc -O2 -g3 -std=c17 -flto=thin -MF x.d -o out.o -fsanitize=address -c src/a.c"
    assert list(flags_of(words.split(" "), Path("/p"), Path("/p/src/a.c"))) == ["-I", "inc", "-std=c17"]


def test_a_database_of_cmake_for_gcc(tmp_path: Path) -> None:
    """Warnings that gcc alone knows are no errors, precompiled headers are read as headers, assembly is left out."""
    (tmp_path / "build").mkdir()
    (tmp_path / "pch.h").write_text("#define SCALE 2.0\n")
    (tmp_path / "a.cpp").write_text("static int unused;\ndouble f(double x) { return SCALE * x * x; }\n")
    (tmp_path / "start.s").write_text("")
    pch = "-Winvalid-pch -Xclang -include-pch -Xclang pch.h.pch -Xclang -include -Xclang ../pch.h"
    gcc = f"c++ -std=gnu++17 -Wall -Werror -Wno-maybe-uninitialized {pch} -o a.o -c ../a.cpp"
    commands = [
        {"directory": "build", "file": "../a.cpp", "command": gcc},
        {"directory": "build", "file": "../start.s", "command": "as -o start.o ../start.s"},
    ]
    path = tmp_path / "compile_commands.json"
    path.write_text(json.dumps(commands))
    assert llgrad.grad(llgrad.load(path).f)(3.0) == 12.0


def test_what_is_no_database(tmp_path: Path) -> None:
    (tmp_path / "compile_commands.json").write_text('{"a": 1}')
    with pytest.raises(SourceError, match="compilation database"):
        compile_sources([tmp_path / "compile_commands.json"])


def test_the_standard_is_the_users(tmp_path: Path) -> None:
    path = tmp_path / "a.cpp"
    path.write_text("#include <cmath>\ndouble f(double x) { return x * (__cplusplus / 100) + std::sin(x); }\n")
    for standard, year in (("c++14", 2014), ("c++20", 2020)):
        lib = llgrad.load(path, flags=[f"-std={standard}"])
        assert llgrad.grad(lib.f)(0.0) == year + 1.0


@pytest.mark.skipif(shutil.which("ar") is None, reason="no ar (Debian: binutils)")
def test_archives_of_bitcode(tmp_path: Path) -> None:
    units = project(tmp_path)
    long_name = tmp_path / "an_object_with_a_long_name.o"
    clang = [*find_compiler().c, "-DSCALE=2", f"-I{tmp_path}/include", "-c", "-flto", "-O1"]
    subprocess.run([*clang, str(units[1]), "-o", str(long_name)], check=True)
    for form in ("rc", "rcT"):
        archive = tmp_path / f"lib{form}.a"
        subprocess.run(["ar", form, str(archive), str(long_name)], check=True, cwd=tmp_path, capture_output=True)
        assert [Path(name).name for name, _, _ in members(archive, archive.read_bytes())] == [long_name.name]
        lib = llgrad.load([units[0], archive], flags=[f"-I{tmp_path}/include"])
        assert llgrad.grad(lib.f)(3.0) == 55.0
    for flags in () if find_compiler().is_zig else (["-ffat-lto-objects", "-flto"], ["-fembed-bitcode"]):
        both = tmp_path / "both.o"
        subprocess.run([*clang[:-2], *flags, str(units[1]), "-o", str(both)], check=True)
        assert both.read_bytes().startswith(b"\x7fELF")
        assert llgrad.grad(llgrad.load([units[0], both], flags=[f"-I{tmp_path}/include"]).f)(3.0) == 55.0
    native = tmp_path / "native.o"
    subprocess.run([*find_compiler().c, "-DSCALE=2", "-c", str(units[1]), "-o", str(native)], check=True)
    with pytest.raises(SourceError, match="no LLVM bitcode") as caught:
        compile_sources([native])
    assert "machine code" in caught.value.cause


VECTOR = """
#include <algorithm>
#include <map>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>
struct Shape { virtual double area() const = 0; virtual ~Shape() = default; };
struct Disc : Shape {
    double r;
    explicit Disc(double r) : r(r) {}
    double area() const override { return 3.0 * r * r; }
};
double f(const double *x, int n) {
    if (n < 1) throw std::invalid_argument("no points");
    std::vector<std::unique_ptr<Shape>> shapes;
    for (int i = 0; i < n; i++) shapes.push_back(std::make_unique<Disc>(x[i]));
    return std::accumulate(shapes.begin(), shapes.end(), 0.0,
                           [](double s, const auto &p) { return s + p->area(); });
}
"""


def require_library(name: str) -> None:
    if name == "libc++" and not has_libcxx():
        pytest.skip("no libc++ (Debian: libc++-22-dev)")


@pytest.mark.parametrize("library", ["libstdc++", "libc++", "zig"])
def test_both_standard_libraries(library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    require_library(library)
    if library == "zig":
        if importlib.util.find_spec("ziglang") is None or ctypes.util.find_library("c++") is None:
            pytest.skip("no ziglang, or no libc++ to load (it would be built, a minute)")
        monkeypatch.setenv("LLGRAD_CLANG", "zig")
    path = tmp_path / "a.cpp"
    path.write_text(VECTOR)
    lib = llgrad.load(path, flags=[] if library == "zig" else [f"-stdlib={library}"])
    x = np.array([1.0, 2.0, 3.5])
    assert np.array_equal(llgrad.grad(lib.f)(x, 3), 6 * x)


THROWN = """
#include <stdexcept>
#include <string>
double f(const double *x, int n) {
    double s = 0;
    std::string t = "12a";
    try { s += std::stoi(t) * x[0]; s += std::stoi(std::string("zz")) * x[0]; }
    catch (const std::invalid_argument &) { s += x[1] * x[1]; }
    try { s += t.at(n + 7) * x[0]; } catch (const std::out_of_range &) { s += x[2] * x[1]; }
    try { if (x[0] < 2) throw std::runtime_error("a long name of what is wrong: " + t); }
    catch (const std::exception &e) { s += x[0] * x[0] * (e.what()[0] == 'a'); }
    return s;
}
"""


@pytest.mark.parametrize("library", ["libstdc++", "libc++"])
def test_throws_of_both_standard_libraries(library: str, tmp_path: Path) -> None:
    """What a library throws itself, and what the program does, is caught here: there is one of what does it."""
    require_library(library)
    path = tmp_path / "a.cpp"
    path.write_text(THROWN)
    lib = llgrad.load(path, flags=[f"-stdlib={library}"], isolate=True)
    value, gradient = llgrad.value_and_grad(lib.f)(np.array([1.0, 2.0, 3.5]), 3)
    assert value == 24 and np.array_equal(gradient, [14, 7.5, 2])


NUMBERS_AS_TEXT = """
#include <string>
double f(double x) { std::string t = std::to_string(x * x); std::string u = t; return std::stod(u) * x; }
"""


@pytest.mark.parametrize("library", ["libstdc++", "libc++"])
def test_numbers_that_were_text(library: str, tmp_path: Path) -> None:
    require_library(library)
    path = tmp_path / "a.cpp"
    path.write_text(NUMBERS_AS_TEXT)
    with pytest.raises(UnsupportedError, match="a number is read from text"):
        llgrad.grad(llgrad.load(path, flags=[f"-stdlib={library}"]).f)(2.0)


def test_flags_are_for_one_language(tmp_path: Path) -> None:
    (tmp_path / "a.c").write_text("int x;\n")
    with pytest.raises(ArgumentError, match="flags for rust"):
        compile_sources([tmp_path / "a.c"], {"rust": ["-O"]})
    assert compile_sources([tmp_path / "a.c"], {"c": ["-DX"]}).modules


def test_caches_know_every_compiler() -> None:
    for language in LANGUAGES:
        assert set(language.programs) <= set(cache.COMPILERS)
