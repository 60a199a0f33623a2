"""Structs of which a member is a pointer or a double by a tag, loaded and stored whole."""

from __future__ import annotations

import subprocess
from math import cos
from pathlib import Path

import pytest
import sanitizers
from click.testing import CliRunner

from llgrad.cli import main

PROGRAM = """
target triple = "x86_64-unknown-linux-gnu"
declare double @__enzyme_autodiff(ptr, ...)
declare double @__enzyme_fwddiff(ptr, ...)
declare double @sin(double)
declare ptr @malloc(i64)
declare void @free(ptr)
declare i32 @printf(ptr, ...)
@enzyme_dup = external global i32
@enzyme_const = external global i32
@format = private constant [20 x i8] c"%.9g %.9g %.9g %.9g\\00", align 1

define internal double @f(ptr %x, i64 %n) noinline {
entry:
  %v = call ptr @malloc(i64 32)
  %w = call ptr @malloc(i64 32)
  store i64 1, ptr %v
  %v0 = getelementptr i8, ptr %v, i64 8
  store ptr %x, ptr %v0
  %v1 = getelementptr i8, ptr %v, i64 16
  store i64 0, ptr %v1
  %v2 = getelementptr i8, ptr %v, i64 24
  %x1 = getelementptr double, ptr %x, i64 1
  %l = load double, ptr %x1
  %square = fmul double %l, %l
  store double %square, ptr %v2
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %done]
  %sum = phi double [0.0, %entry], [%more, %done]
  %p = getelementptr {i64, ptr}, ptr %v, i64 %i
  MOVED
  %j = sub i64 1, %i
  %q = getelementptr {i64, ptr}, ptr %w, i64 %j
  store TYPE %s, ptr %q
  %tag = load i64, ptr %q
  %is.number = icmp eq i64 %tag, 0
  %q8 = getelementptr i8, ptr %q, i64 8
  br i1 %is.number, label %number, label %pointer
number:
  %d = load double, ptr %q8
  br label %done
pointer:
  %a = load ptr, ptr %q8
  %e = load double, ptr %a
  br label %done
done:
  %r = phi double [%d, %number], [%e, %pointer]
  %t = call double @sin(double %r)
  %more = fadd double %sum, %t
  %next = add i64 %i, 1
  %again = icmp slt i64 %next, 2
  br i1 %again, label %loop, label %out
out:
  call void @free(ptr %v)
  call void @free(ptr %w)
  ret double %more
}

define i32 @main() {
  %x = alloca [2 x double]
  %d = alloca [2 x double]
  store [2 x double] [double 0.5, double 0.75], ptr %x
  store [2 x double] zeroinitializer, ptr %d
  %dup = load i32, ptr @enzyme_dup
  %const = load i32, ptr @enzyme_const
  %z = call double (ptr, ...) @__enzyme_autodiff(ptr @f, i32 %dup, ptr %x, ptr %d, i32 %const, i64 2)
  %d1 = getelementptr double, ptr %d, i64 1
  %r0 = load double, ptr %d
  %r1 = load double, ptr %d1
  store [2 x double] [double 1.0, double 0.0], ptr %d
  %f0 = call double (ptr, ...) @__enzyme_fwddiff(ptr @f, i32 %dup, ptr %x, ptr %d, i32 %const, i64 2)
  store [2 x double] [double 0.0, double 1.0], ptr %d
  %f1 = call double (ptr, ...) @__enzyme_fwddiff(ptr @f, i32 %dup, ptr %x, ptr %d, i32 %const, i64 2)
  %p = call i32 (ptr, ...) @printf(ptr @format, double %r0, double %r1, double %f0, double %f1)
  ret i32 0
}
"""
WHOLE = "%s = load TYPE, ptr %p"
APART = """%whole = load TYPE, ptr %p
  %m0 = extractvalue TYPE %whole, 0
  %m1 = extractvalue TYPE %whole, 1
  %begun = insertvalue TYPE poison, FIRST %m0, 0
  %s = insertvalue TYPE %begun, SECOND %m1, 1"""


@pytest.mark.parametrize("level", ["0", "2"])
@pytest.mark.parametrize("way", [WHOLE, APART], ids=["whole", "apart"])
@pytest.mark.parametrize("members", ["i64 ptr", "i64 double", "double ptr", "ptr double", "i64 i64"])
def test_struct(members: str, way: str, level: str, tmp_path: Path) -> None:
    first, second = members.split()
    text = PROGRAM.replace("MOVED", way).replace("TYPE", f"{{{first}, {second}}}")
    before, after, program = (tmp_path / name for name in ("before.ll", "after.ll", "program"))
    before.write_text(text.replace("FIRST", first).replace("SECOND", second))
    done = CliRunner().invoke(main, ["opt", str(before), "-o", str(after), f"-O{level}", "--level", level])
    assert not done.exit_code, done.stderr
    sanitizers.link(after, program, "address", cxx=False)
    found = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    wanted = (cos(0.5), cos(0.75**2) * 1.5)
    assert [float(n) for n in found.split()] == pytest.approx([*wanted, *wanted], rel=1e-7)
