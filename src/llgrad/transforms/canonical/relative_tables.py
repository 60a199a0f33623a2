"""Constant tables of distances become tables of pointers again.

    @t = constant [2 x i32] [i32 trunc (i64 sub (i64 ptrtoint (ptr @a to i64), i64 ptrtoint (ptr @t to i64)) to i32), …]
    %p = call ptr @llvm.load.relative.i64(ptr @t, i64 %at)
    ->
    @t.absolute = internal unnamed_addr constant [2 x ptr] [ptr @a, …]
    %place = getelementptr i8, ptr @t.absolute, i64 (2 * %at)
    %p = load ptr, ptr %place

Where code may be loaded at any address, LLVM turns a constant table of pointers into one of distances, of 32 bits, from
the table. Analyses know pointers. A table of distances that LLVM has not made itself stays, and so do its loads, for
which there is no rule.
"""

from __future__ import annotations

from llgrad.ir.build import i64
from llgrad.ir.module import Module
from llgrad.ir.rewrite import calls_at
from llgrad.ir.types import I8, I32, I64, PTR, ArrayType
from llgrad.ir.values import AnyConstant, ConstAggregate, ConstExpr, GlobalVariable, Load, put_instead

RELATIVE = "llvm.load.relative."


def has_relative(text: str) -> bool:
    """Does a text load from tables of distances?"""
    return f"@{RELATIVE}" in text


def with_pointers(module: Module) -> bool:
    """Put pointers in the tables, and plain loads of them in the code."""
    tables: dict[str, GlobalVariable | None] = {}
    changed = False
    for call, b in calls_at(module, RELATIVE):
        table, offset = call.arguments
        if not isinstance(table, GlobalVariable):
            continue
        if table.name not in tables:
            tables[table.name] = _absolute(module, table)
        if (pointers := tables[table.name]) is None:
            continue
        twice = b.binary("shl", b.cast("sext", offset, I64), i64(1), "llgrad.table")
        load = Load(PTR, b.gep(I8, pointers, [twice], "llgrad.table"), 8, call.name)
        load.metadata, load.debug_records = call.metadata, call.debug_records
        put_instead(call, load)
        changed = True
    return changed


def _absolute(module: Module, table: GlobalVariable) -> GlobalVariable | None:
    """The table of pointers for a table of distances; None if it is anything else."""
    distances = table.initializer
    if not table.constant or not isinstance(distances, ConstAggregate):
        return None
    pointers = [_distance(x, table) for x in distances.elements]
    if not isinstance(distances.type, ArrayType) or distances.type.element != I32 or None in pointers:
        return None
    t = ArrayType(PTR, len(pointers))
    found = tuple(p for p in pointers if p is not None)
    made = GlobalVariable(f"{table.name}.absolute", t, ConstAggregate(t, found), constant=True)
    made.linkage, made.prefix, made.align = "internal", ("unnamed_addr",), 8
    module.add(made)
    return made


def _distance(c: AnyConstant, table: GlobalVariable) -> AnyConstant | None:
    """The pointer of which `c` is the distance from the table."""
    difference = c.operands[0] if isinstance(c, ConstExpr) and c.opcode == "trunc" else None
    match difference:
        case ConstExpr(opcode="sub", operands=(ConstExpr(opcode="ptrtoint") as to, ConstExpr(opcode="ptrtoint") as of)):
            return to.operands[0] if of.operands[0] is table else None
    return None
