"""The opcode table against LLVM's own parser, and against the tables that are derived from it."""

from __future__ import annotations

import pytest
from ir_corpus import Refused, llvm_print

from llgrad.ir.opcodes import ATOMIC_OPERATIONS, FCMP, FLAGS, ICMP, OPCODES, Opcode
from llgrad.ir.parse import parse
from llgrad.ir.parse_instructions import READERS
from llgrad.ir.values import TERMINATORS
from llgrad.ir.verify import verify

SIMPLE = [row for row in OPCODES.values() if row.shape in ("unary", "binary", "cast", "compare")]
PLACES = {"int": ("i32", "i64", "i32"), "float": ("float", "double", "float"), "pointer": ("ptr", "ptr", "ptr")}


def line(row: Opcode, flag: str = "") -> str:
    """An instruction of that row over the arguments of `accepted`."""
    kind = "int" if row.operand in ("any", "int-or-pointer") else row.operand
    same, wide, _ = PLACES[kind]
    suffix = {"i32": "i", "i64": "l", "float": "f", "double": "d", "ptr": "p"}
    words = f"{row.name} {flag}".strip()
    match row.shape:
        case "unary":
            return f"{words} {same} %{suffix[same]}"
        case "binary":
            return f"{words} {same} %{suffix[same]}, %{suffix[same]}"
        case "compare":
            predicate = "slt" if row.name == "icmp" else "olt"
            return f"{words} {predicate} {same} %{suffix[same]}, %{suffix[same]}"
    source = wide if row.relation == "narrower" else same
    target = {"int": "i64", "float": "double", "pointer": "ptr", "any": source}[row.result]
    if row.relation == "narrower":
        target = {"int": "i32", "float": "float"}[row.result]
    if row.name == "addrspacecast":
        target = "ptr addrspace(1)"
    return f"{words} {source} %{suffix[source]} to {target}"


def accepted(instruction: str) -> bool:
    """Does LLVM take the instruction?"""
    text = f"define void @f(i32 %i, i64 %l, float %f, double %d, ptr %p) {{\n  %r = {instruction}\n  ret void\n}}\n"
    try:
        printed = llvm_print(text)
    except Refused:
        return False
    module = parse(printed)
    assert module.function("f").blocks
    verify(module)
    return True


@pytest.mark.parametrize("row", SIMPLE, ids=lambda row: row.name)
def test_flags_are_llvms(row: Opcode) -> None:
    assert accepted(line(row)), line(row)
    others = {"nuw", "exact", "disjoint", "nneg", "samesign", "nnan", "inbounds", "volatile"} | set(row.flags)
    for flag in sorted(others):
        assert accepted(line(row, flag)) == (flag in row.flags), line(row, flag)


def test_predicates_and_atomic_operations_are_llvms() -> None:
    lines = [f"icmp {p} i32 %i, %i" for p in ICMP] + [f"fcmp {p} float %f, %f" for p in FCMP]
    for name, kind in ATOMIC_OPERATIONS.items():
        lines.append(f"atomicrmw {name} ptr %p, {'float %f' if kind == 'float' else 'i32 %i'} seq_cst")
    body = "".join(f"  %r{n} = {text}\n" for n, text in enumerate(lines))
    module = parse(llvm_print(f"define void @f(i32 %i, float %f, ptr %p) {{\n{body}  ret void\n}}\n"))
    assert len(module.function("f").entry.instructions) == len(lines) + 1
    verify(module)


def test_tables_agree() -> None:
    assert {n for n, row in OPCODES.items() if row.terminator} == TERMINATORS
    assert set(OPCODES) | {"tail", "musttail", "notail"} == set(READERS)
    assert {"fast", "nsw", "weak", "inbounds"} <= FLAGS
