"""What the operands of each instruction must be, by shape; the classes of operands come from the opcode table.

Each check yields the complaints it has, as text. `ir.verify` runs them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from llgrad.ir.opcodes import ATOMIC_OPERATIONS, FCMP, ICMP, OPCODES, ORDERINGS, Kind
from llgrad.ir.parse_values import gep_type
from llgrad.ir.types import (
    I1,
    TOKEN,
    VOID,
    ArrayType,
    FloatType,
    FunctionType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
    scalar,
)
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Branch,
    Call,
    Compare,
    ExtractElement,
    ExtractValue,
    Function,
    GetElementPtr,
    InsertElement,
    InsertValue,
    Instruction,
    Load,
    Other,
    Phi,
    Return,
    Select,
    ShuffleVector,
    Store,
    Switch,
)

Complaints = Iterator[str]


def complaints(i: Instruction, function: Function) -> Complaints:
    """Everything that is wrong with the types, flags and facts of one instruction."""
    row = OPCODES.get(i.opcode)
    if row is None:
        yield f"unknown opcode {i.opcode!r}"
        return
    for flag in sorted(i.flags - frozenset(row.flags)):
        if not (flag in OPCODES["fadd"].flags and row.shape == "call"):
            yield f"{i.opcode} may not carry {flag!r}"
    if isinstance(i, Return):
        yield from _ret(i, function)
    yield from _CHECKS.get(row.shape, _nothing)(i)


def is_kind(t: Type, kind: Kind) -> bool:
    """Is the scalar behind `t` of that class?"""
    t = scalar(t)
    match kind:
        case "int":
            return isinstance(t, IntType)
        case "float":
            return isinstance(t, FloatType)
        case "pointer":
            return isinstance(t, PointerType)
        case "int-or-pointer":
            return isinstance(t, (IntType, PointerType))
    return True


def member(t: Type, indices: tuple[int, ...]) -> Type | None:
    """The type that the indices lead to, None where they lead nowhere."""
    for n in indices:
        match t:
            case ArrayType(element, count) if n < count or count == 0:
                t = element
            case StructType(fields) if fields is not None and n < len(fields):
                t = fields[n]
            case _:
                return None
    return t


def _nothing(i: Any) -> Complaints:
    return iter(())


def _count(i: Instruction, n: int) -> Complaints:
    if len(i.operands) != n:
        yield f"{i.opcode} has {len(i.operands)} operands, not {n}"


def _equal(what: str, found: Type, wanted: Type) -> Complaints:
    if found is not wanted and found != wanted:
        yield f"{what} has type {found}, not {wanted}"


def _operand_kind(i: Instruction, value: AnyValue, kind: Kind) -> Complaints:
    if not is_kind(value.type, kind):
        yield f"{i.opcode} of {value.type}, which is not {kind}"


def _pointer(i: Instruction, value: AnyValue) -> Complaints:
    if not isinstance(value.type, PointerType):
        yield f"the address of {i.opcode} has type {value.type}"


def _align(n: int) -> Complaints:
    if n < 0 or n & (n - 1):
        yield f"alignment {n} is no power of two"


def _unary(i: Any) -> Complaints:
    yield from _count(i, 1)
    yield from _operand_kind(i, i.operands[0], OPCODES[i.opcode].operand)
    yield from _equal("the result", i.type, i.operands[0].type)


def _binary(i: Any) -> Complaints:
    yield from _count(i, 2)
    yield from _operand_kind(i, i.operands[0], OPCODES[i.opcode].operand)
    yield from _equal("the second operand", i.operands[1].type, i.operands[0].type)
    yield from _equal("the result", i.type, i.operands[0].type)


def _bits(t: Type) -> int | None:
    """Bits of a scalar or vector of ints and floats; None for what has a layout-dependent size."""
    t, n = (t.element, t.count) if isinstance(t, VectorType) else (t, 1)
    return t.bits * n if isinstance(t, (IntType, FloatType)) else None


def _cast(i: Any) -> Complaints:
    yield from _count(i, 1)
    row, source = OPCODES[i.opcode], i.operands[0].type
    yield from _operand_kind(i, i.operands[0], row.operand)
    if not is_kind(i.type, row.result):
        yield f"{i.opcode} makes {i.type}, which is not {row.result}"
    if row.relation != "same-size" and _shape(source) != _shape(i.type):
        yield f"{i.opcode} from {source} to {i.type}"
    old, new = _bits(source), _bits(i.type)
    if old is None or new is None:
        return
    wrong = {"narrower": new >= old, "wider": new <= old, "same-size": new != old}
    if wrong.get(row.relation, False):
        yield f"{i.opcode} from {source} to {i.type}, which is not {row.relation}"


def _shape(t: Type) -> tuple[int, bool] | None:
    return (t.count, t.scalable) if isinstance(t, VectorType) else None


def _compare(i: Any) -> Complaints:
    assert isinstance(i, Compare)
    yield from _count(i, 2)
    if i.predicate not in (ICMP if i.opcode == "icmp" else FCMP):
        yield f"unknown predicate {i.predicate!r}"
    yield from _operand_kind(i, i.lhs, OPCODES[i.opcode].operand)
    yield from _equal("the second operand", i.rhs.type, i.lhs.type)
    t = i.lhs.type
    yield from _equal("the result", i.type, VectorType(I1, t.count, t.scalable) if isinstance(t, VectorType) else I1)


def _select(i: Any) -> Complaints:
    assert isinstance(i, Select)
    yield from _count(i, 3)
    if scalar(i.condition.type) != I1 or (i.condition.type != I1 and _shape(i.condition.type) != _shape(i.type)):
        yield f"the condition has type {i.condition.type}"
    yield from _equal("the third operand", i.if_false.type, i.if_true.type)
    yield from _equal("the result", i.type, i.if_true.type)


def _gep(i: Any) -> Complaints:
    assert isinstance(i, GetElementPtr)
    yield from _operand_kind(i, i.pointer, "pointer")
    for index in i.indices:
        yield from _operand_kind(i, index, "int")
    yield from _equal("the result", i.type, gep_type(i.pointer, i.indices))
    if i.source_type == VOID:
        yield "getelementptr into void"


def _access(i: Any) -> Complaints:
    assert isinstance(i, (Load, Store))
    yield from _pointer(i, i.pointer)
    yield from _align(i.align)
    t = i.type if isinstance(i, Load) else i.value.type
    if t in (VOID, TOKEN) or isinstance(t, FunctionType):
        yield f"{i.opcode} of {t}"
    if ("atomic" in i.flags) != bool(i.ordering):
        yield "an ordering without atomic, or atomic without an ordering"
    if i.ordering and i.ordering not in ORDERINGS:
        yield f"unknown ordering {i.ordering!r}"
    if "atomic" in i.flags and not i.align:
        yield "an atomic access needs an alignment"


def _alloca(i: Any) -> Complaints:
    assert isinstance(i, Alloca)
    yield from _align(i.align)
    if not isinstance(i.count.type, IntType):
        yield f"the count has type {i.count.type}"
    if not isinstance(i.type, PointerType):
        yield f"the result has type {i.type}"


def _phi(i: Any) -> Complaints:
    assert isinstance(i, Phi)
    if len(i.operands) != len(i.blocks):
        yield f"{len(i.operands)} values from {len(i.blocks)} blocks"
    for v in i.operands:
        yield from _equal("an incoming value", v.type, i.type)


def _call(i: Any) -> Complaints:
    assert isinstance(i, Call)
    bundled = sum(n for _, n in i.bundles)
    yield from _count(i, i.arity + 1 + bundled)
    if len(i.argument_attributes) != i.arity:
        yield f"attributes of {len(i.argument_attributes)} arguments for {i.arity}"
    params = i.function_type.params
    if i.arity < len(params) or (i.arity > len(params) and not i.function_type.vararg):
        yield f"{i.arity} arguments for {i.function_type}"
    for n, (value, t) in enumerate(zip(i.arguments, params, strict=False)):
        yield from _equal(f"argument {n}", value.type, t)
    yield from _equal("the result", i.type, i.function_type.result)
    if not isinstance(i.callee.type, PointerType):
        yield f"the callee has type {i.callee.type}"
    callee = i.called_function
    if callee is not None and callee.name.startswith("llvm.") and callee.value_type != i.function_type:
        yield f"@{callee.name} is declared as {callee.value_type}, but called as {i.function_type}"
    wanted = {"call": 0, "invoke": 2}.get(i.opcode)
    if wanted is not None and len(i.targets) != wanted:
        yield f"{i.opcode} has {len(i.targets)} targets"


def _br(i: Any) -> Complaints:
    assert isinstance(i, Branch)
    if len(i.targets) != (1 if i.condition is None else 2):
        yield f"{len(i.targets)} targets with{'out' if i.condition is None else ''} a condition"
    if i.condition is not None:
        yield from _equal("the condition", i.condition.type, I1)


def _switch(i: Any) -> Complaints:
    assert isinstance(i, Switch)
    yield from _operand_kind(i, i.condition, "int")
    if len(i.targets) != len(i.values) + 1:
        yield f"{len(i.values)} values for {len(i.targets)} targets"
    for v in i.values:
        yield from _equal("a case", v.type, i.condition.type)
    if len({v.value for v in i.values}) != len(i.values):
        yield "two cases of one value"


def _indirectbr(i: Any) -> Complaints:
    yield from _pointer(i, i.operands[0])


def _ret(i: Return, function: Function) -> Complaints:
    wanted = function.function_type.result
    yield from _equal("the returned value", VOID if i.value is None else i.value.type, wanted)


def _extractvalue(i: Any) -> Complaints:
    assert isinstance(i, ExtractValue)
    t = member(i.aggregate.type, i.indices)
    if t is None or not i.indices:
        yield f"{i.indices} leads nowhere in {i.aggregate.type}"
    else:
        yield from _equal("the result", i.type, t)


def _insertvalue(i: Any) -> Complaints:
    assert isinstance(i, InsertValue)
    yield from _equal("the result", i.type, i.aggregate.type)
    t = member(i.aggregate.type, i.indices)
    if t is None or not i.indices:
        yield f"{i.indices} leads nowhere in {i.aggregate.type}"
    else:
        yield from _equal("the inserted value", i.value.type, t)


def _extractelement(i: Any) -> Complaints:
    assert isinstance(i, ExtractElement)
    if not isinstance(i.vector.type, VectorType):
        yield f"extractelement from {i.vector.type}"
    else:
        yield from _equal("the result", i.type, i.vector.type.element)
    yield from _operand_kind(i, i.index, "int")


def _insertelement(i: Any) -> Complaints:
    assert isinstance(i, InsertElement)
    if not isinstance(i.vector.type, VectorType):
        yield f"insertelement into {i.vector.type}"
    else:
        yield from _equal("the inserted value", i.value.type, i.vector.type.element)
    yield from _equal("the result", i.type, i.vector.type)
    yield from _operand_kind(i, i.index, "int")


def _shufflevector(i: Any) -> Complaints:
    assert isinstance(i, ShuffleVector)
    t, mask = i.lhs.type, i.mask_constant.type
    yield from _equal("the second operand", i.rhs.type, t)
    if not isinstance(t, VectorType) or not isinstance(mask, VectorType):
        yield f"shufflevector of {t}"
        return
    yield from _equal("the result", i.type, VectorType(t.element, mask.count, mask.scalable))
    if len(i.mask) != mask.count or any(n >= 2 * t.count for n in i.mask):
        yield "the mask names elements that there are not"


def _atomicrmw(i: Any) -> Complaints:
    assert isinstance(i, Other)
    yield from _count(i, 2)
    yield from _pointer(i, i.operands[0])
    yield from _equal("the result", i.type, i.operands[1].type)
    kind = ATOMIC_OPERATIONS.get(i.detail["operation"])
    if kind is None:
        yield f"unknown operation {i.detail['operation']!r}"
    elif not is_kind(i.type, kind):
        yield f"{i.detail['operation']} of {i.type}"
    if i.detail["ordering"] not in ORDERINGS:
        yield f"unknown ordering {i.detail['ordering']!r}"


def _cmpxchg(i: Any) -> Complaints:
    assert isinstance(i, Other)
    yield from _count(i, 3)
    yield from _pointer(i, i.operands[0])
    t = i.operands[1].type
    yield from _equal("the new value", i.operands[2].type, t)
    yield from _equal("the result", i.type, StructType((t, I1)))


def _landingpad(i: Any) -> Complaints:
    assert isinstance(i, Other)
    if len(i.operands) != len(i.detail["clauses"]):
        yield f"{len(i.operands)} operands for {len(i.detail['clauses'])} clauses"
    if not i.operands and not i.detail["cleanup"]:
        yield "a landing pad without clauses"


def _parent_pad(i: Any) -> Complaints:
    yield from _equal("the pad", i.operands[0].type, TOKEN)


_CHECKS: dict[str, Callable[[Any], Complaints]] = {
    "unary": _unary, "binary": _binary, "cast": _cast, "compare": _compare, "select": _select, "gep": _gep,
    "load": _access, "store": _access, "alloca": _alloca, "phi": _phi, "call": _call, "br": _br, "switch": _switch,
    "indirectbr": _indirectbr, "extractvalue": _extractvalue, "insertvalue": _insertvalue,
    "extractelement": _extractelement, "insertelement": _insertelement, "shufflevector": _shufflevector,
    "atomicrmw": _atomicrmw, "cmpxchg": _cmpxchg, "landingpad": _landingpad, "cleanuppad": _parent_pad,
    "catchpad": _parent_pad, "catchswitch": _parent_pad, "cleanupret": _parent_pad, "catchret": _parent_pad,
}  # fmt: skip
