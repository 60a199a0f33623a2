"""Poison, undefined behaviour and errors: what the interpreter refuses to run."""

from __future__ import annotations

import pytest
from interpret_jit import module
from interpreter import POISON, Machine, PoisonError

from llgrad.errors import ForeignError, UnknownNameError, UnsupportedError


def run(body: str, *args: object, result: str = "i32", params: str = "i32 %a, i32 %b", **options: object) -> object:
    """Run a function of that body."""
    text = f"declare void @llvm.assume(i1)\ndefine {result} @f({params}) {{\n{body}\n}}"
    return Machine(module(text), **options).run("f", list(args))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("operation", "a", "b", "expected"),
    [
        ("add nsw", 2**31 - 1, 1, None), ("add nsw", 2**31 - 1, 0, 2**31 - 1), ("add nuw", -1, 1, None),
        ("add", -1, 1, 0), ("sub nuw", 0, 1, None), ("sub nsw", -(2**31), 1, None), ("sub nsw", 3, 5, -2 % 2**32),
        ("mul nsw", 2**16, 2**15, None), ("mul nuw", 2**16, 2**15, 2**31), ("mul nuw", 2**16, 2**16, None),
        ("shl", 1, 32, None), ("shl", 1, 31, 2**31), ("shl nsw", 1, 31, None), ("shl nuw", 3, 31, None),
        ("lshr", 1, 33, None), ("lshr exact", 3, 1, None), ("lshr exact", 2, 1, 1), ("ashr exact", 5, 2, None),
        ("udiv exact", 7, 2, None), ("sdiv exact", -8, 2, -4 % 2**32), ("or disjoint", 3, 1, None),
        ("or disjoint", 2, 1, 3),
    ],
)  # fmt: skip
def test_flags(operation: str, a: int, b: int, expected: int | None) -> None:
    body = f"  %r = {operation} i32 %a, %b\n  ret i32 %r"
    if expected is None:
        with pytest.raises(PoisonError):
            run(body, a, b)
    else:
        assert run(body, a, b) == expected


@pytest.mark.parametrize(
    "body",
    [
        "%r = udiv i32 %a, 0\n ret i32 %r", "%r = srem i32 %a, %b\n ret i32 %r", "unreachable",
        "%c = icmp eq i32 %a, 1\n call void @llvm.assume(i1 %c)\n ret i32 0",
        "%x = load i32, ptr null\n ret i32 %x", "%p = inttoptr i32 12345 to ptr\n store i32 0, ptr %p\n ret i32 0",
        "br i1 poison, label %x, label %x\nx:\n ret i32 0", "switch i32 undef, label %x []\nx:\n ret i32 0",
        "%x = load i32, ptr undef\n ret i32 %x", "%f = inttoptr i64 99 to ptr\n %r = call i32 %f()\n ret i32 %r",
    ],
)  # fmt: skip
def test_undefined_behaviour(body: str) -> None:
    with pytest.raises(ForeignError):
        run(body, 5, 0)


def test_poison_spreads_and_freezes() -> None:
    spread = "%p = add nuw i32 %a, %b\n %q = xor i32 %p, %p\n %c = icmp slt i32 %q, 3\n %s = select i1 %c, i32 1, i32 2"
    with pytest.raises(PoisonError):
        run(spread + "\n ret i32 %s", -1, 1)
    assert run("%p = add nuw i32 %a, %b\n %q = freeze i32 %p\n %r = or i32 %q, 4\n ret i32 %r", -1, 1) == 4
    assert run("%p = add nuw i32 %a, %b\n %r = select i1 true, i32 %a, i32 %p\n ret i32 %r", -1, 1) == 2**32 - 1
    floats = "%x = fadd double %a, poison\n %y = fmul float 2.0, poison\n %z = fpext float %y to double\n"
    with pytest.raises(PoisonError):
        run(floats + " %s = fsub double %x, %z\n ret double %s", 1.0, params="double %a", result="double")
    pair = run("ret { i32, i32 } { i32 undef, i32 7 }", 0, 0, result="{ i32, i32 }")
    assert isinstance(pair, tuple) and pair[0] is POISON and pair[1] == 7


def test_out_of_range_conversions_are_poison() -> None:
    body = "%r = fptosi double %a to i32\n ret i32 %r"
    assert run(body, -3.9, params="double %a") == -3 % 2**32
    for x in (1e10, float("nan"), float("inf")):
        with pytest.raises(PoisonError):
            run(body, x, params="double %a")
    with pytest.raises(PoisonError):
        run("%r = fptoui double %a to i32\n ret i32 %r", -1.0, params="double %a")
    with pytest.raises(PoisonError):
        run("%r = uitofp nneg i32 %a to double\n ret double %r", -1, result="double", params="i32 %a")
    with pytest.raises(PoisonError):
        run("%r = trunc nuw i32 %a to i8\n ret i8 %r", 256, result="i8", params="i32 %a")


UNINITIALISED = "%p = alloca double\n %x = load double, ptr %p\n %y = fadd double %x, %a\n"


def test_uninitialised_memory() -> None:
    options = {"result": "double", "params": "double %a"}
    with pytest.raises(PoisonError):
        run(UNINITIALISED + " ret double %y", 1.0, **options)
    assert run(UNINITIALISED + " ret double %a", 1.0, **options) == 1.0
    with pytest.raises(ForeignError, match="uninitialised"):
        run(UNINITIALISED + " ret double %a", 1.0, uninitialised="error", **options)
    assert run(UNINITIALISED + " ret double %y", 1.0, uninitialised="zero", **options) == 1.0


def test_padding_may_be_copied() -> None:
    """A struct with padding copied as one integer, as compilers do."""
    body = """
      %s = alloca { i8, i32 }
      %t = alloca { i8, i32 }
      store i8 7, ptr %s
      %f = getelementptr { i8, i32 }, ptr %s, i32 0, i32 1
      store i32 %a, ptr %f
      %x = load i64, ptr %s
      store i64 %x, ptr %t
      %h = lshr i64 %x, 32
      %r = trunc i64 %h to i32
      %g = getelementptr { i8, i32 }, ptr %t, i32 0, i32 1
      %v = load i32, ptr %g
      %sum = add i32 %v, %r
      ret i32 %sum"""
    assert run(body, 5, 0) == 10
    with pytest.raises(PoisonError):  # the padding itself is no value
        run(body.replace("%r = trunc i64 %h to i32", "%m = lshr i64 %x, 16\n %r = trunc i64 %m to i32"), 5, 0)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%p = alloca [4 x i32]\n %q = getelementptr i32, ptr %p, i32 %a\n store i32 1, ptr %q\n ret i32 0", "bounds"),
        ("%p = call ptr @malloc(i64 8)\n call void @free(ptr %p)\n %x = load i32, ptr %p\n ret i32 %x", "not there"),
        ("%p = call ptr @malloc(i64 8)\n call void @free(ptr %p)\n call void @free(ptr %p)\n ret i32 0", "not there"),
        ("%p = alloca i32\n call void @free(ptr %p)\n ret i32 0", "freed"),
        ("%p = call ptr @leak()\n %x = load i32, ptr %p\n ret i32 %x", "not there"),
        ("store i32 1, ptr @constant\n ret i32 0", "constant"),
        ("%x = call i32 @f(i32 %a, i32 %b)\n ret i32 %x", "stack"),
        ("call void @abort()\n ret i32 0", "abort"),
        ("br label %l\nl:\n br label %l", "fuel"),
    ],
)
def test_memory_and_control_errors(body: str, message: str) -> None:
    text = f"""
    declare ptr @malloc(i64)
    declare void @free(ptr)
    declare void @abort()
    @constant = constant i32 3
    define ptr @leak() {{
      %p = alloca i32
      store i32 1, ptr %p
      ret ptr %p
    }}
    define i32 @f(i32 %a, i32 %b) {{
      {body}
    }}"""
    machine = Machine(module(text), fuel=100_000, depth=500)
    with pytest.raises(ForeignError, match=message):
        machine.run("f", [4, 0])
    assert not machine.frames


def test_unknown_functions() -> None:
    machine = Machine(module("declare double @mystery(double)\ndefine double @f(double %x) {\n"
                            " %r = call double @mystery(double %x)\n ret double %r\n}"))  # fmt: skip
    with pytest.raises(UnsupportedError, match="mystery"):
        machine.run("f", [1.0])
    with pytest.raises(UnknownNameError):
        machine.run("g", [])
