"""Long tables of constants are declared alone while derivatives are made, and come back
(`llgrad.transforms.guard.constant_tables`)."""

from __future__ import annotations

import pytest

from llgrad.llvm import LLVMModule
from llgrad.transforms.guard.constant_tables import set_aside

NUMBERS = ", ".join(["double 0x3FD5555555555555"] * 3000)
WHOLE = f"""
%pair = type {{ i32, [3000 x double] }}
@own = internal unnamed_addr constant [3000 x double] [{NUMBERS}], align 16
@shown = constant %pair {{ i32 7, [3000 x double] [{NUMBERS}] }}, align 8
@short = internal constant [1 x double] [double 2.0]
@changed = internal global [3000 x double] [{NUMBERS}]
@functions = internal constant {{ ptr, [3000 x double] }} {{ ptr @f, [3000 x double] [{NUMBERS}] }}
define double @f(i64 %n) {{
  %p = getelementptr double, ptr @own, i64 %n
  %v = load double, ptr %p
  %q = getelementptr double, ptr @shown, i64 %n
  %w = load double, ptr %q
  %r = getelementptr double, ptr @changed, i64 %n
  store double %v, ptr %r
  %s = load double, ptr @short
  %g = load volatile ptr, ptr @functions
  %sum = fadd double %v, %w
  %all = fadd double %sum, %s
  ret double %all
}}
"""


def test_constants_without_addresses_are_set_aside() -> None:
    rest, tables = set_aside(LLVMModule.from_text(WHOLE).text())
    assert tables is not None and tables.own == ("own",)
    assert "@own = external constant [3000 x double], align 16\n" in rest
    assert "@shown = external constant %pair, align 8\n" in rest
    assert rest.count("0x3FD5555555555555") == 6000  # of what may change, and beside an address


def test_they_come_back_as_they_were() -> None:
    before = LLVMModule.from_text(WHOLE)
    rest, tables = set_aside(before.text())
    after = LLVMModule.from_text(rest)
    assert tables is not None
    tables.put_back(after)
    lines = [sorted(line for line in m.text().split("\n") if line.startswith("@")) for m in (before, after)]
    assert [line.replace(" unnamed_addr", "") for line in lines[0]] == lines[1]


@pytest.mark.parametrize("clauses", [', section "tables"', ", comdat", ', partition "p"'])
def test_those_with_more_to_say_stay(clauses: str) -> None:
    text = f"@t = internal constant [3000 x double] [{NUMBERS}]{clauses}, align 8\n"
    assert set_aside(text) == (text, None)


def test_debug_info_of_a_table_is_dropped() -> None:
    rest, tables = set_aside(f"@t = internal constant [3000 x double] [{NUMBERS}], align 8, !dbg !0\n")
    assert tables is not None and "!dbg" not in rest + tables.text
