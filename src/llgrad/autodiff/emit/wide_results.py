"""How functions that llgrad writes return more than two floats: through memory.

LLVM returns the third and the fourth float of a struct on x86's floating-point stack, and what it writes to pop them
may be an instruction that the processor does not know (LLVM 22 with AVX-512). What does not fit into registers at all
goes through memory of the caller's; LLVM sees to that itself. So such a struct becomes part of a type with four bits
beside it, for which no registers are left, and which nobody sets or looks at. LLVM takes members away that nobody
looks at, but in the outermost struct alone; each time that a program is optimised, one struct of one member goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from llgrad.ir.build import Names
from llgrad.ir.module import Module
from llgrad.ir.types import I1, ArrayType, FloatType, FunctionType, StructType, Type, VectorType
from llgrad.ir.values import Argument, Block, Call, ExtractValue, Function, InsertValue, Instruction, Phi, Return, Undef

IN_REGISTERS = 2
_WAY = (0, 0, 0, 0)
_FILLING = ArrayType(I1, 4)
_WRITTEN = "llgrad.forward.", "llgrad.augmented.", "llgrad.reverse.", "llgrad.dispatch.", "llgrad_checkpoint."


def spelt(parts: Sequence[str], aggregate: bool, wide: bool) -> str:
    """The type that such results are returned as."""
    result = "void" if not parts else f"{{ {', '.join(parts)} }}" if aggregate else parts[0]
    return f"{'{ ' * len(_WAY)}{result}, {_FILLING}{' }' * len(_WAY)}" if wide else result


def member(n: int, wide: bool) -> str:
    """The indices of part `n` in an aggregate of that type."""
    return ", ".join(map(str, (*_WAY, n) if wide else (n,)))


def is_wide(t: Type) -> bool:
    return isinstance(t, StructType) and _floats(t) > IN_REGISTERS


def _floats(t: Type) -> int:
    match t:
        case StructType(fields) if fields is not None:
            return 0 if _FILLING in fields else sum(map(_floats, fields))
        case ArrayType(element, count) | VectorType(element, count):
            return count * _floats(element)
    return isinstance(t, FloatType)


def widen_inner(module: Module) -> None:
    """`widen` all functions that llgrad has written but those that were asked for."""
    made = [f for f in module.functions if f.name.startswith(_WRITTEN) and f.linkage == "internal"]
    if any(is_wide(f.function_type.result) for f in made):
        made = [f for f in made if f.blocks]  # read, so that all calls are known
        widen(made)


def widen(functions: Iterable[Function]) -> None:
    """Let those that return more than two floats return them through memory."""
    for f in functions:
        calls = [u for u in f.users if isinstance(u, Call) and u.callee is f and f not in u.arguments]
        if not f.is_declaration and is_wide(f.function_type.result) and len(calls) == len(f.users):
            _widen(f, calls)


def _widen(f: Function, calls: Iterable[Call]) -> None:
    natural, params = f.function_type.result, f.function_type.params
    whole = StructType((natural, _FILLING))
    for _ in _WAY[1:]:
        whole = StructType((whole,))
    f.value_type = type = FunctionType(whole, params)
    names = _names(f)
    for i in [b.terminator for b in f.blocks]:
        if isinstance(i, Return) and i.value is not None:
            returned = InsertValue(Undef(whole, True), i.value, _WAY, names.fresh("whole"))
            _put_before(i, returned)
            i.set_operand(0, returned)
    for call in calls:
        _take_apart(call, type)


def _take_apart(call: Call, type: FunctionType) -> None:
    """Let a call return the new type, and who looks at its result look there."""
    natural = call.type
    call.type, call.function_type = type.result, type
    users = list(dict.fromkeys(call.users))
    for user in users:
        if isinstance(user, ExtractValue):
            user.indices = (*_WAY, *user.indices)
    if all(isinstance(u, ExtractValue) for u in users):
        return
    function = call.block.function
    assert function is not None
    part = ExtractValue(natural, call, _WAY, _names(function).fresh("part"))
    for user in users:
        for n, v in enumerate(user.operands) if not isinstance(user, ExtractValue) else ():
            if v is call:
                user.set_operand(n, part)
    after = call.targets[0].instructions if call.targets else call.block.instructions
    _put_before(next(i for i in after[0 if call.targets else after.index(call) + 1 :] if not isinstance(i, Phi)), part)


def _put_before(i: Instruction, new: Instruction) -> None:
    new.block = i.block
    i.block.instructions.insert(i.block.instructions.index(i), new)


def _names(f: Function) -> Names:
    values: list[Argument | Block | Instruction] = [*f.arguments, *f.blocks, *f.instructions()]
    return Names(v.name for v in values)
