"""What is told where llgrad has a fault: an error with a code, what it looked at, and what to report."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from typing import Any, cast

import pytest

import llgrad
from llgrad.autodiff.plan import planner
from llgrad.errors import InternalError, LlgradError, UnsupportedError
from llgrad.ir import progress
from llgrad.ir.internal_errors import told
from llgrad.ir.parse import parse
from llgrad.llvm import LLVMModule
from llgrad.programs.program import optimise_program
from llgrad.transforms.pass_manager import Pass, Unit, run_passes

OPAQUE = """%struct.channel = type opaque
@channel = external global %struct.channel
declare void @tell(ptr, double) {attributes}
declare double @__enzyme_autodiff(...)
define double @f(double %x) {{
  call void @tell(ptr @channel, double {told})
  %y = fmul double %x, %x
  ret double %y
}}
define double @d(double %x) {{
  %d = call double (...) @__enzyme_autodiff(ptr @f, double %x)
  ret double %d
}}
"""
REQUEST = """declare double @__enzyme_autodiff(...)
{function}
define double @d(double %x) {{
  %d = call double (...) @__enzyme_autodiff(ptr @f, double %x)
  ret double %d
}}
"""
SQUARE = "define double @f(double %x) {\n  %y = fmul double %x, %x\n  ret double %y\n}\n"


def derived(text: str) -> str:
    return optimise_program(LLVMModule.from_text(text)).text()


def broken(*_: object) -> None:
    raise KeyError(3)


def sleep(*_: object) -> bool:
    time.sleep(0.5)
    return False


def test_long_work_says_what_it_does(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line has the phase, the pass and the function, where somebody reads it; else there is no thread."""
    monkeypatch.setattr(progress, "_FIRST", 0.02)
    slow = Pass[None]("slowly", sleep, "Takes its time")
    with caplog.at_level("INFO", "llgrad"), told("preparing"):
        root = parse(SQUARE.replace("@f", "@llgrad.root.f")).function("llgrad.root.f")
        run_passes(Unit(SQUARE), [slow], None)
    assert root.name == "llgrad.root.f"
    assert "preparing, slowly, @f, after 0 s" in caplog.messages
    for level, asked in (("WARNING", "info"), ("INFO", "off")):
        monkeypatch.setenv("LLGRAD_LOG", asked)
        caplog.clear()
        with caplog.at_level(level, "llgrad"), told("preparing"):
            running = [cast(Any, t) for t in threading.enumerate() if t.name == "llgrad.progress"]
            assert all(t.done.is_set() for t in running)
        assert not caplog.messages


def test_progress_goes_to_stderr_where_it_is_asked_for() -> None:
    code = """if True:
        import time
        from llgrad.ir import progress
        progress._FIRST = 0.02
        with progress.shown("reading"):
            time.sleep(0.5)"""
    for asked, expected in (("info", "llgrad: reading, after 0 s"), ("", "")):
        env = {**os.environ, "LLGRAD_LOG": asked}
        done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=True)
        assert done.stderr.strip() == expected


def test_an_exception_is_told_as_a_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("llgrad.autodiff.derivation.make_plan", broken)
    assert planner.make_plan.__name__ != broken.__name__
    with pytest.raises(InternalError) as caught:
        derived(REQUEST.format(function=SQUARE))
    text = str(caught.value)
    assert text.startswith("llgrad failed while differentiating the function: this is a bug in llgrad [internal]")
    assert "KeyError: 3 (test_unforeseen.py:" in text and "of @f" in text and "LLGRAD_TRACEBACK=1" in text
    assert isinstance(caught.value.__cause__, KeyError) and caught.value.__cause__.__traceback__ is not None


@pytest.mark.parametrize("kind", [KeyboardInterrupt, MemoryError, SystemExit, FileNotFoundError, UnsupportedError])
def test_what_is_no_fault_passes_through(kind: type[BaseException]) -> None:
    with pytest.raises(kind), told("reading"):
        raise kind("stop")


@pytest.mark.parametrize("shown", [False, True])
def test_commands_show_the_traceback_where_asked(shown: bool) -> None:
    code = (
        "import llgrad.cli as c, llgrad.programs.program as p; "
        "p.read_ir = lambda *a: {}[3]; c.main(['opt', %r, '-o', '-'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code % __file__], capture_output=True, text=True,
        env={"PATH": "", "PYTHONPATH": ":".join(sys.path), **({"LLGRAD_TRACEBACK": "1"} if shown else {})},
    )  # fmt: skip
    assert done.returncode == 2
    assert "llgrad: llgrad failed while doing llgrad opt: this is a bug in llgrad [internal]" in done.stderr
    assert ("Traceback (most recent call last)" in done.stderr) == shown


def test_a_variable_of_an_incomplete_type() -> None:
    """`extern struct channel main_channel;`, as Open MPI's communicators are: a TypeError left llgrad."""
    made = derived(OPAQUE.format(attributes='"enzyme_inactive"', told="1.0"))
    assert "@channel = external global %struct.channel" in made
    with pytest.raises(LlgradError, match=r"no derivative for the call of tell, in the derivative of f \[no-rule\]"):
        derived(OPAQUE.format(attributes="", told="%x"))


@pytest.mark.parametrize("use", [
    "%v = insertelement <vscale x 2 x double> poison, double %x, i32 1\n"
    "  store <vscale x 2 x double> %v, ptr @buffer\n  %p = getelementptr double, ptr @buffer, i64 1\n"
    "  %y = load double, ptr %p",
    "%v = insertelement <vscale x 2 x double> poison, double %x, i32 0\n  %w = fneg <vscale x 2 x double> %v\n"
    "  %y = extractelement <vscale x 2 x double> %w, i32 0",
    "%w = fpext double %x to ppc_fp128\n  %u = fmul ppc_fp128 %w, %w\n  %v = fdiv ppc_fp128 %u, %w\n"
    "  %y = fptrunc ppc_fp128 %v to double",
])  # fmt: skip
def test_types_without_a_size_or_of_other_machines_are_refused(use: str) -> None:
    with pytest.raises(UnsupportedError) as caught:
        body = f"define double @f(double %x) {{\n  {use}\n  ret double %y\n}}\n"
        function = f"@buffer = external global [64 x double]\n{body}"
        derived(REQUEST.format(function=function))
    assert caught.value.cause and caught.value.fix


@pytest.mark.parametrize("body, wanted", [
    ("define double @f(double %x, ...) {\n  %l = alloca [24 x i8]\n  call void @llvm.va_start.p0(ptr %l)\n"
     "  %y = fmul double %x, %x\n  ret double %y\n}\ndeclare void @llvm.va_start.p0(ptr)", "variable arguments"),
    ("define double @f(double %x, ...) {\n  call void @llvm.va_start.p0(ptr null)\n  %y = fmul double %x, %x\n"
     "  ret double %y\n}\ndeclare void @llvm.va_start.p0(ptr)", "variable arguments"),
    ("define double @f(double %x) {\n  %l = alloca i32\n  call void (...) @llvm.localescape(ptr %l)\n"
     "  %y = fmul double %x, %x\n  ret double %y\n}\ndeclare void @llvm.localescape(...)", "a frame"),
    ("define double @f(double %x) {\n  %c = fcmp olt double %x, 0.0\n  br i1 %c, label %a, label %b\na:\n"
     "  %r = call double (...) @llvm.experimental.deoptimize.f64(double %x) [ \"deopt\"() ]\n  ret double %r\nb:\n"
     "  %y = fmul double %x, %x\n  ret double %y\n}\ndeclare double @llvm.experimental.deoptimize.f64(...)",
     "an exit|the call of llvm.experimental.deoptimize"),
    ("declare void @keep(ptr addrspace(5))\ndefine double @f(double %x) {\n  %l = alloca double, addrspace(5)\n"
     "  store double %x, ptr addrspace(5) %l\n  call void @keep(ptr addrspace(5) %l) \"enzyme_inactive\"\n"
     "  %y = load double, ptr addrspace(5) %l\n  ret double %y\n}", "no shadow for memory of the function itself"),
])  # fmt: skip
def test_code_that_is_bound_to_its_function_is_refused(body: str, wanted: str) -> None:
    """LLVM rejected the derivative, or its assertions ended the process."""
    with pytest.raises(UnsupportedError, match=wanted):
        derived(REQUEST.format(function=body))


def test_faults_have_an_entry() -> None:
    assert llgrad.LlgradError in InternalError.__mro__ and InternalError.code == "internal"
