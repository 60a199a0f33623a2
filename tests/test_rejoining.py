"""Words that are loaded in two parts are loaded whole, if nothing is written in between and they lie side by side."""

from __future__ import annotations

import pytest

from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule
from llgrad.transforms.floatbits import merge_split_loads

WORD = """
define double @f(ptr %p, ptr %q) {{
entry:
  %low = load i8, ptr %{low}, align 8
  {between}
  %at = getelementptr inbounds nuw i8, ptr %{base}, i64 {offset}
  %high = load i56, ptr %at, align 1
  {after}
  %wide = zext i8 %low to i64
  %rest = zext i56 %high to i64
  %up = shl nuw i64 %rest, {shift}
  %word = or disjoint i64 {order}
  %address = inttoptr i64 %word to ptr
  %x = load double, ptr %address, align 8
  ret double %x
}}
declare void @llvm.assume(i1)
declare void @g()
"""
PLAIN = {
    "low": "p", "between": "", "base": "p", "offset": "1", "after": "", "shift": "8", "order": "%up, %wide",
}  # fmt: skip
ALIKE = {
    "other order": {"order": "%wide, %up"},
    "assumed": {"between": "call void @llvm.assume(i1 true)"},
    "written afterwards": {"after": "store i8 1, ptr %p"},
    "next block": {"between": "%c = icmp eq i8 %low, 3\n  br i1 %c, label %one, label %two\none:\n  ret double 0.0\n\n"
                              "two:                                              ; preds = %entry"},
}  # fmt: skip
OTHERS = {
    "written": {"between": "store i8 1, ptr %p"},
    "called": {"between": "call void @g()"},
    "gap": {"offset": "2"},
    "other memory": {"base": "q"},
    "other shift": {"shift": "7"},
    "loop": {"between": "br label %two\n\ntwo:              ; preds = %two, %entry\n  %c = icmp eq ptr %p, %q\n"
                        "  br i1 %c, label %two, label %end\n\nend:          ; preds = %three, %two"},
}  # fmt: skip


def rejoined(text: str) -> str:
    module = parse(LLVMModule.from_text(text).text())
    changed, made = merge_split_loads.rejoined(module), write(module)
    assert changed == ("or disjoint" not in made)
    return LLVMModule.from_text(made).text()


@pytest.mark.parametrize("changes", [{}, *ALIKE.values()], ids=["plain", *ALIKE])
def test_rejoined(changes: dict[str, str]) -> None:
    found = rejoined(WORD.format(**PLAIN | changes))
    assert "load ptr, ptr %p, align 8\n" in found and "or disjoint" not in found
    assert found.index("load ptr, ptr %p") < (found.find("store") + 1 or len(found))


@pytest.mark.parametrize("changes", OTHERS.values(), ids=OTHERS)
def test_left(changes: dict[str, str]) -> None:
    text = WORD.format(**PLAIN | changes)
    assert "or disjoint" in rejoined(text)


def test_numbers() -> None:
    text = """
define i64 @f(ptr %p) {
entry:
  %low = load i32, ptr %p, align 4
  %at = getelementptr i8, ptr %p, i64 4
  %high = load i32, ptr %at, align 4
  %wide = zext i32 %low to i64
  %rest = zext i32 %high to i64
  %up = shl nuw i64 %rest, 32
  %word = or disjoint i64 %up, %wide
  ret i64 %word
}
"""
    assert "%word = load i64, ptr %p, align 4\n" in rejoined(text)
