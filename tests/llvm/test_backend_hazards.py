"""IR on which LLVM ends the process: here it raises instead. Each case runs in a child Python of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import llgrad
from llgrad.errors import UnsupportedError
from llgrad.llvm import LLVMModule, checked_in_child, hazards

PROGRAM = """
import sys
from llgrad.llvm import Engine, LLVMModule
from llgrad.errors import LlgradError
try:
    module = LLVMModule.from_text(sys.stdin.read())
    module.clone().run(["sroa", "simplify_cfg"])
    module.optimise(3, vectorize=True)
    Engine([module])
except LlgradError as error:
    print(type(error).__name__, error.cause)
else:
    print("fine")
"""

DOMINANCE = """
define i32 @f(i1 %c) !dbg !4 {
  br i1 %c, label %a, label %b
a:
  %x = add i32 1, 2
  br label %b
b:
  ret i32 %x
}
!llvm.module.flags = !{!0}
!llvm.dbg.cu = !{!1}
!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = distinct !DICompileUnit(language: DW_LANG_C99, file: !2, emissionKind: FullDebug)
!2 = !DIFile(filename: "a", directory: "b")
!3 = !DISubroutineType(types: !{})
!4 = distinct !DISubprogram(name: "f", file: !2, unit: !1, type: !3)
"""

CASES = {
    "scalable": ("define void @f(ptr %p) {\n %x = load <vscale x 2 x double>, ptr %p\n"
                 " %y = fadd <vscale x 2 x double> %x, %x\n store <vscale x 2 x double> %y, ptr %p\n ret void\n}",
                 "UnsupportedError LLVM ERROR"),
    "tls": ("@t = thread_local global i32 3\ndefine ptr @f() {\n ret ptr @t\n}", "fine"),
    "assembly": ('define i32 @f() {\n %x = call i32 asm "bogus $0", "=r"()\n ret i32 %x\n}',
                 "UnsupportedError error: <inline asm>"),
    "module assembly": ('module asm "bogus foo"', "UnsupportedError error: <inline asm>"),
    "ppc_fp128": ("define ppc_fp128 @f(ppc_fp128 %a) {\n %b = fdiv ppc_fp128 %a, %a\n ret ppc_fp128 %b\n}",
                  "UnsupportedError"),
    "target type": ('define void @f(target("spirv.Image") %x) {\n ret void\n}', "UnsupportedError"),
    "gc": ('define void @f() gc "nonesuch" {\n ret void\n}', "UnsupportedError LLVM ERROR: unsupported GC"),
    "register": ("declare i64 @llvm.read_register.i64(metadata)\ndefine i64 @f() {\n"
                 ' %x = call i64 @llvm.read_register.i64(metadata !0)\n ret i64 %x\n}\n!0 = !{!"nonesuch"}',
                 "UnsupportedError"),
    "no library": ("declare { double, double } @llvm.sincospi.f64(double)\ndefine { double, double } @f(double %x) {\n"
                   " %y = call { double, double } @llvm.sincospi.f64(double %x)\n ret { double, double } %y\n}",
                   "UnsupportedError error: no libcall"),
    "huge": ("%s = type { [1152921504606846976 x i64], [1152921504606846976 x i64], [1152921504606846976 x i64] }\n"
             "@g = global %s zeroinitializer", "UnsupportedError"),
    "appending": ("@a = appending global [1 x i32] [i32 3]", "UnsupportedError"),
    "weak": ("@g = extern_weak global i32\ndefine ptr @f() {\n ret ptr @g\n}", "ForeignError"),
    "missing": ("declare void @llgrad_nowhere()\ndefine void @f() {\n call void @llgrad_nowhere()\n ret void\n}",
                "ForeignError"),
    "bogus intrinsic": ("declare i32 @llvm.bogus(i32)\ndefine i32 @f(i32 %a) {\n"
                        " %x = call i32 @llvm.bogus(i32 %a)\n ret i32 %x\n}", "ForeignError"),
    "cpu": ('define i32 @f() "target-cpu"="bogus" "target-features"="+bogus" {\n ret i32 1\n}', "fine"),
    "no sse": ('define <8 x double> @f(<8 x double> %a) "target-features"="-sse2" {\n'
               " %b = fadd <8 x double> %a, %a\n ret <8 x double> %b\n}", "fine"),
    "good assembly": ('define i32 @f() {\n %x = call i32 asm "movl $$7, $0", "=r"()\n ret i32 %x\n}', "fine"),
    "long double": ("define x86_fp80 @f(x86_fp80 %a) {\n %b = fmul x86_fp80 %a, %a\n ret x86_fp80 %b\n}", "fine"),
    "quad": ("define fp128 @f(fp128 %a) {\n %b = fdiv fp128 %a, %a\n ret fp128 %b\n}", "fine"),
    "half": ("define half @f(half %a) {\n %b = fadd half %a, %a\n ret half %b\n}", "fine"),
    "broken code with debug info": (DOMINANCE, "VerifyError Instruction does not dominate"),
    "debug info without version": (DOMINANCE.replace("ret i32 %x", "ret i32 1").replace("!llvm.module.flags", "!x"),
                                   "fine"),
    "bad debug info": ("define i32 @f() {\n ret i32 1, !dbg !1\n}\n"
                       "!1 = !DILocation(line: 3, column: 2, scope: !2)\n!2 = !{}", "fine"),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_no_input_ends_the_process(name: str) -> None:
    text, expected = CASES[name]
    root = str(Path(llgrad.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=text,
        capture_output=True,
        text=True,
        timeout=120,
        env={**os.environ, "PYTHONPATH": root},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(expected), done.stdout


def test_hazards_are_named_and_strings_are_not_searched() -> None:
    assert hazards(CASES["assembly"][0]) == ["inline assembly"]
    assert hazards('@s = constant [12 x i8] c" asm vscale x"\n; call asm\n') == []
    assert hazards("define x86_fp80 @f(x86_fp80 %x) {\n ret x86_fp80 %x\n}\ndeclare void @x86_stdcallcc()") == []
    assert hazards("define x86_stdcallcc void @f() {\n ret void\n}") == ["unusual calling conventions"]
    assert LLVMModule.from_text(CASES["scalable"][0]).clone().hazards == {"scalable vectors"}


def test_hazards_survive_linking() -> None:
    whole = LLVMModule.linked([LLVMModule.from_text("define void @g() {\n ret void\n}"),
                               LLVMModule.from_text(CASES["good assembly"][0])])  # fmt: skip
    assert whole.hazards == {"inline assembly"}


def test_checked_in_child() -> None:
    checked_in_child("define void @f() {\n ret void\n}")
    with pytest.raises(UnsupportedError, match="cannot compile"):
        checked_in_child(CASES["scalable"][0])
