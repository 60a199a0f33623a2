"""Engines: code that runs, symbols that are missing, objects that are kept."""

from __future__ import annotations

import ctypes
import gc
import platform
import re
import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from llgrad.errors import ArgumentError, ForeignError, UnknownNameError, UnsupportedError
from llgrad.llvm import Engine, LLVMModule, emit_assembly, emit_object, fingerprint, host_cpu, host_features
from llgrad.llvm.text import for_jit

Real = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_double)

CONSTRUCTED = """
@value = global double 1.0
@trace = global ptr null
@__dso_handle = external hidden global i8
@llvm.global_ctors = appending global [2 x { i32, ptr, ptr }] [
  { i32, ptr, ptr } { i32 65535, ptr @second, ptr null }, { i32, ptr, ptr } { i32 101, ptr @first, ptr null }]
@llvm.global_dtors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 1, ptr @last, ptr null }]
declare i32 @__cxa_atexit(ptr, ptr, ptr)
define internal void @first() {
  store double 20.0, ptr @value
  ret void
}
define internal void @second() {
  %v = load double, ptr @value
  %w = fmul double %v, 2.0
  store double %w, ptr @value
  %r = call i32 @__cxa_atexit(ptr @registered, ptr null, ptr @__dso_handle)
  ret void
}
define internal void @registered(ptr %ignored) {
  call void @note(i8 114)
  ret void
}
define internal void @last() {
  call void @note(i8 108)
  ret void
}
define internal void @note(i8 %c) {
  %p = load ptr, ptr @trace
  %nobody = icmp eq ptr %p, null
  br i1 %nobody, label %done, label %write
write:
  store i8 %c, ptr %p
  %q = getelementptr i8, ptr %p, i64 1
  store ptr %q, ptr @trace
  br label %done
done:
  ret void
}
define double @get(double %x) {
  %v = load double, ptr @value
  ret double %v
}
"""


def call(engine: Engine, name: str, x: float) -> float:
    return float(Real(engine.address(name))(x))


def test_runs_and_reloads(square: LLVMModule) -> None:
    before = square.text()
    engine = Engine([square])
    assert call(engine, "square", 3.0) == 9.0
    assert square.text() == before, "code generation must not change the module"
    again = Engine.from_object(engine.object_bytes())
    engine.close()
    engine.close()
    assert call(again, "square", 4.0) == 16.0
    assert again.names() == {"square"}
    with pytest.raises(ArgumentError, match="closed"):
        engine.address("square")


@pytest.mark.parametrize("opt_level", [0, 1, 2, 3])
def test_code_generation_levels(square: LLVMModule, opt_level: int) -> None:
    assert call(Engine([square], opt_level=opt_level, cpu="x86-64"), "square", 1.5) == 2.25


def test_several_modules_and_libm(square: LLVMModule) -> None:
    user = LLVMModule.from_text(
        "declare double @square(double)\ndeclare double @cos(double)\ndefine double @f(double %x) {\n"
        "  %c = call double @cos(double %x)\n  %y = call double @square(double %c)\n  ret double %y\n}\n"
    )
    assert call(Engine([user, square]), "f", 0.0) == 1.0


def test_all_missing_symbols_are_named_before_anything_runs() -> None:
    module = LLVMModule.from_text(
        "@data_nowhere = external global i32\ndeclare void @code_nowhere()\ndefine ptr @f() {\n"
        "  call void @code_nowhere()\n  ret ptr @data_nowhere\n}\n"
    )
    with pytest.raises(ForeignError) as caught:
        Engine([module])
    assert "code_nowhere" in caught.value.message and "data_nowhere" in caught.value.message
    assert "libraries" in caught.value.fix


def test_external_data_is_reached_wherever_it_lies() -> None:
    module = LLVMModule.from_text(
        "@environ = external dso_local global ptr\ndefine ptr @f() {\n  %p = load ptr, ptr @environ\n  ret ptr %p\n}\n"
    )
    engine = Engine([module])
    expected = ctypes.c_void_p.in_dll(ctypes.CDLL(None), "environ").value
    assert ctypes.CFUNCTYPE(ctypes.c_void_p)(engine.address("f"))() == expected


def test_unused_declarations_do_not_count() -> None:
    module = LLVMModule.from_text("declare void @code_nowhere()\ndefine double @f(double %x) {\n  ret double %x\n}\n")
    assert call(Engine([module]), "f", 2.0) == 2.0


def test_unknown_names_suggest(square: LLVMModule) -> None:
    with pytest.raises(UnknownNameError, match="squares") as caught:
        Engine([square]).address("squares")
    assert "square" in caught.value.fix


def test_libraries(tmp_path: Path) -> None:
    module = LLVMModule.from_text(
        "declare ptr @zlibVersion()\ndefine ptr @f() {\n  %v = call ptr @zlibVersion()\n  ret ptr %v\n}\n"
    )
    with pytest.raises(ArgumentError, match="nonesuch"):
        Engine([module], libraries=["nonesuch"])
    text = tmp_path / "text.so"
    text.write_text("not a library")
    with pytest.raises(ArgumentError, match="cannot be loaded"):
        Engine([module], libraries=[str(text)])
    assert Engine([LLVMModule.from_text("define void @f() {\n  ret void\n}\n")], libraries=["-lm", "m"]).address("f")


def test_constructors_and_destructors() -> None:
    engine = Engine([LLVMModule.from_text(CONSTRUCTED)])
    assert call(engine, "get", 0.0) == 40.0
    trace = ctypes.create_string_buffer(8)
    ctypes.c_void_p.from_address(engine.address("trace")).value = ctypes.addressof(trace)
    engine.close()
    assert trace.value == b"rl"
    engine.close()
    assert trace.value == b"rl"


def test_dropping_the_engine_runs_destructors() -> None:
    engine = Engine([LLVMModule.from_text(CONSTRUCTED)])
    trace = ctypes.create_string_buffer(8)
    ctypes.c_void_p.from_address(engine.address("trace")).value = ctypes.addressof(trace)
    del engine
    gc.collect()
    assert trace.value == b"rl"


def test_objects_the_engine_cannot_load() -> None:
    with pytest.raises(ArgumentError, match="constructors"):
        Engine.from_object(emit_object(LLVMModule.from_text(CONSTRUCTED)))
    for junk in (b"", b"junk" * 100, emit_object(LLVMModule.from_text("define void @f() {\n ret void\n}"))[:-60]):
        with pytest.raises(ArgumentError):
            Engine.from_object(junk)


def test_emit(square: LLVMModule) -> None:
    assert emit_object(square)[:4] == b"\x7fELF"
    assert "square:" in emit_assembly(square, cpu="x86-64")
    with pytest.raises(ArgumentError):
        emit_object(square, reloc="sideways")


def test_fingerprint_names_what_decides() -> None:
    assert host_cpu() in fingerprint() and host_features() in fingerprint() and "llvmlite" in fingerprint()


TLS = """
@count = internal thread_local global double 5.0
declare double @cos(double)
define double @f(double %x) {
  %v = load double, ptr @count
  %c = call double @cos(double %x)
  %w = fadd double %v, %c
  store double %w, ptr @count
  ret double %w
}
"""


EXECUTABLE = '!llvm.module.flags = !{!0, !1}\n!0 = !{i32 8, !"PIC Level", i32 2}\n!1 = !{i32 7, !"PIE Level", i32 2}\n'


@pytest.mark.skipif(not any(map(shutil.which, ("cc", "clang-22", "clang"))), reason="no linker")
def test_thread_local_variables_of_code_for_an_executable() -> None:
    """Clang marks code so by default; LLVM then writes what a shared library cannot have."""
    engine = Engine([LLVMModule.from_text(TLS.replace("@count = internal", "@count = dso_local") + EXECUTABLE)])
    assert (call(engine, "f", 0.0), call(engine, "f", 0.0)) == (6.0, 7.0)


@pytest.mark.skipif(not any(map(shutil.which, ("cc", "clang-22", "clang"))), reason="no linker")
def test_thread_local_variables_go_through_a_system_linker() -> None:
    engine = Engine([LLVMModule.from_text(TLS + CONSTRUCTED)])
    assert (call(engine, "f", 0.0), call(engine, "f", 0.0)) == (6.0, 7.0)
    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(call, engine, "f", 0.0).result() == 6.0
    assert call(engine, "get", 0.0) == 40.0
    trace = ctypes.create_string_buffer(8)
    ctypes.c_void_p.from_address(engine.address("trace")).value = ctypes.addressof(trace)
    again = Engine.from_object(engine.object_bytes())
    engine.close()
    assert trace.value == b"rl"
    assert call(again, "f", 0.0) == 6.0


def test_thread_local_variables_without_a_linker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UnsupportedError, match="thread-local"):
        Engine([LLVMModule.from_text(TLS)])


THREAD_LOCAL = """
@t = internal {}global double 0.0
define double @f(double %a, double %b) {{
  %x = fmul double %a, %b
  %y = fadd double %x, 1.0
  store double %y, ptr @t
  %z = fmul double %y, %x
  %w = fadd double %z, %a
  {}
  ret double %w
}}
declare <8 x double> @llvm.fabs.v8f64(<8 x double>)
"""
UPPER = re.compile(r"%[xyz]mm(?:1[6-9]|2\d|3[01])\b")


@pytest.mark.skipif(not platform.machine().startswith(("x86_64", "AMD")), reason="registers of x86-64")
def test_values_outlive_the_first_access_of_a_thread() -> None:
    """LLVM takes `__tls_get_addr` to leave xmm16 and up alone, which the memory it fills does not."""
    cpu = "x86-64-v4"
    code = emit_assembly(LLVMModule.from_text(THREAD_LOCAL.format("thread_local ", "")), cpu=cpu)
    assert "__tls_get_addr" in code and not UPPER.search(code)
    wide = THREAD_LOCAL.format("thread_local ", "call void @g(<8 x double> zeroinitializer)")
    others = LLVMModule.from_text(wide + "declare void @g(<8 x double>)\n")  # who expect them in one register
    assert UPPER.search(emit_assembly(others, cpu=cpu))


NOT_LAZY = """
declare double @other(double) nonlazybind
define double @f(double %x) nonlazybind {
  %s = call double @llvm.sin.f64(double %x)
  %r = call double @other(double %s)
  ret double %r
}
declare double @llvm.sin.f64(double)
!llvm.module.flags = !{!0}
!0 = !{i32 2, !"RtLibUseGOT", i32 1}
"""


@pytest.mark.skipif(not platform.machine().startswith(("x86_64", "AMD")), reason="relocations of x86-64")
def test_calls_reach_functions_that_are_far_away() -> None:
    """JITLink takes 32 bits for the way to a function below 4 GiB, as in a Python that is linked to a fixed address."""
    code = emit_assembly(LLVMModule.from_text(NOT_LAZY))
    assert "sin@GOTPCREL" in code and "other@GOTPCREL" in code
    code = emit_assembly(LLVMModule.from_text(for_jit(NOT_LAZY)))
    assert "sin@PLT" in code and "other@PLT" in code and "GOTPCREL" not in code


def test_groups_that_lose_their_only_attribute_can_be_read() -> None:
    """LLVM refuses `attributes #0 = { }`."""
    text = for_jit(LLVMModule.from_text("declare void @g() nonlazybind\n").text())
    assert not [line for line in text.split("\n") if "nonlazybind" in line and not line.startswith(";")]
    LLVMModule.from_text(text)
