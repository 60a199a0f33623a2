"""Registers of a double in which other floats lie: what functions hand on in them becomes integers.

C's rules pass `struct { float a, b; }` in one register for floats; rustc and ldc write that as a `double`, of which the
function takes the bits apart. A float's type says that one float lies there, an integer's says nothing: what is in
which bytes is then seen from what is done with them. So a parameter of the program's own functions that is used as bits
alone is an integer, and so is a result of which all who call the function take the bits.

    define internal double @f(double %s)                      define internal double @f(i64 %b)
      %i = bitcast double %s to i64                    →        %s = bitcast i64 %b to double
      %low = trunc i64 %i to i32                                %i = bitcast double %s to i64
    …                                                         …
    %r = call double @f(double %x)                            %b = bitcast double %x to i64
                                                              %r = call double @f(i64 %b)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from llgrad.ir.build import Builder
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.rewrite import after, at_start, before, bodies, local_names, mentions, word
from llgrad.ir.types import DOUBLE, FLOAT, I64, StructType, Type
from llgrad.ir.values import (
    Alias,
    Alloca,
    AnyValue,
    Argument,
    Attribute,
    Binary,
    Block,
    Call,
    Cast,
    ConstInt,
    ExtractValue,
    Function,
    GetElementPtr,
    Load,
    Return,
    Store,
    Undef,
    Value,
    parts,
    replace_uses,
)
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule

_OF_FLOATS = ("noundef", "nofpclass", "returned")
_INSIDE = ("internal", "private")
_ROUNDS = 16  # of functions that hand bits on to each other
Path = tuple[int, ...]
"""Indices of a member of a struct; none of a value that is not one."""
Made = dict[tuple[Block, AnyValue, Type], AnyValue]
"""Values of a block as of another type."""


def told_apart(work: LLVMModule) -> bool:
    """Make integers of such registers, until there are none; were there any?"""
    for n in range(_ROUNDS):
        if not has_bits(work.text()):
            return n > 0
        work.run(["instruction_namer"])
        module = parse(work.text())
        if not with_bits(module):
            return True  # names were given
        work.replace_text(write(module))
        work.run(["sroa", "instruction_combine", "dce"])
    return True


def has_bits(text: str) -> bool:
    """May there be such registers in a text? This is quick to say."""
    taken = "bitcast double %" in text and (" to i64" in text or " to <2 x float>" in text)
    return taken or (" = alloca double," in text and " = load float, ptr %" in text)


def with_bits(module: Module) -> bool:
    """Give such registers integers. What is handed on by functions that were found is seen when it is done again."""
    looking = module.concerned(has_bits)
    for f in looking:
        assert f.blocks  # they are read when they are asked for, and arguments have users then
    parameters = dict(_found_parameters(module, looking))
    results = dict(_found_results(module, looking))
    made: Made = {}
    for f in dict.fromkeys([*parameters, *results]):
        calls = list(_calls(f, module))
        _give(f, parameters.get(f, {}), results.get(f))
        for c in calls:
            _hand(c, f, parameters.get(f, {}), results.get(f), made)
    return bool(parameters or results)


# --- what is bits -----------------------------------------------------------------------------------------------------


def _found_parameters(module: Module, looking: list[Function]) -> Iterator[tuple[Function, dict[int, Type]]]:
    for f in looking:
        new = {a.index: t for a in f.arguments if (t := _retyped(a.type, [a], apart=True)) != a.type}
        if new and _is_own(f, module):
            yield f, new


def _found_results(module: Module, looking: list[Function]) -> Iterator[tuple[Function, Type]]:
    called = dict.fromkeys(_made_by(i.value) for f in looking for i in f.instructions() if isinstance(i, Cast))
    for f in called:
        if f is None or not _is_own(f, module):
            continue
        calls = list(_calls(f, module))
        new = _retyped(f.function_type.result, calls)
        if new != f.function_type.result and all(c.opcode == "call" for c in calls):
            yield f, new


def _calls(f: Function, module: Module) -> Iterator[Call]:
    for caller in bodies(module, word(f.name)):
        yield from (i for i in caller.instructions() if isinstance(i, Call) and i.callee is f)


def _is_own(f: Function, module: Module) -> bool:
    """Does the program call the function by name, as what it is, and do nothing else with it?"""
    if f.is_declaration or f.linkage not in _INSIDE or f.function_type.vararg:
        return False
    for caller in bodies(module, word(f.name), "musttail"):
        for i in caller.instructions():
            called = isinstance(i, Call) and i.callee is f and i.function_type == f.function_type
            uses = [v for n, v in enumerate(i.operands) if not (called and isinstance(i, Call) and n == i.arity)]
            if any(_names(v, f) for v in uses) or (isinstance(i, Call) and i.tail == "musttail"):
                return False
    aliases = [a.aliasee for a in module.globals.values() if isinstance(a, Alias)]
    held = [v.initializer for v in module.variables if mentions(v.pending, [word(f.name)])]
    return not any(_names(v, f) for v in (*aliases, *held))


def _names(v: object, f: Function) -> bool:
    return v is f or any(_names(part, f) for part in parts(v))


def _made_by(v: AnyValue) -> Function | None:
    """The function of which a value is the result, or a member of it."""
    while isinstance(v, ExtractValue):
        v = v.operands[0]
    return v.called_function if isinstance(v, Call) else None


def _retyped(t: Type, values: list[Argument] | list[Call], *, apart: bool = False) -> Type:
    """The type with integers for the doubles of which only the bits are used; somebody is to take them `apart`."""

    def inside(t: Type, path: Path) -> Type:
        if isinstance(t, StructType) and t.name is None:
            return replace(t, fields=tuple(inside(member, (*path, n)) for n, member in enumerate(t.fields or ())))
        return I64 if t == DOUBLE and _are_bits([u for v in values for u in _uses(v, path)], apart) else t

    return inside(t, ())


def _uses(v: AnyValue, path: Path) -> Iterator[object]:
    """The instructions that use a member of a value."""
    for user in v.users:
        if not path:
            yield user
        elif isinstance(user, ExtractValue) and user.indices[: len(path)] == path[: len(user.indices)]:
            yield from _uses(user, path[len(user.indices) :])
        elif not isinstance(user, ExtractValue):
            yield user


def _are_bits(users: list[object], apart: bool) -> bool:
    bits = [u for u in users if isinstance(u, Cast | Store) and (u.opcode == "bitcast" or _is_read_as_others(u))]
    return 0 < len(bits) == len(users) and (not apart or any(map(_is_apart, bits)))


def _is_read_as_others(store: Cast | Store) -> bool:
    """Does an instruction put a double into a variable of which floats of another format are read?"""
    if not isinstance(store, Store) or not isinstance(store.pointer, Alloca):
        return False
    places = [store.pointer, *(u for u in store.pointer.users if isinstance(u, GetElementPtr))]
    read = [u.type for place in places for u in place.users if isinstance(u, Load)]
    return FLOAT in read and DOUBLE not in read


def _is_apart(bits: Cast | Store) -> bool:
    """Are the bits floats of another format, or an integer of which a part is taken or that is handed on?"""
    taken = any(isinstance(u, Call) or _is_half(u) for u in bits.users)
    return taken or isinstance(bits, Store) or bits.type != I64


def _is_half(u: Value) -> bool:
    """Is it the lower half of an integer, or the upper one?"""
    match u:
        case Binary("lshr", _, ConstInt(value=32)):
            return bool(u.users) and all(isinstance(x, Cast) and x.opcode == "trunc" for x in u.users)
    return isinstance(u, Cast) and u.opcode == "trunc"


# --- writing ----------------------------------------------------------------------------------------------------------


def _give(f: Function, parameters: Mapping[int, Type], result: Type | None) -> None:
    """Change the types of the function's parameters and of its result."""
    params = tuple(parameters.get(n, t) for n, t in enumerate(f.function_type.params))
    f.value_type = replace(f.function_type, params=params, result=result or f.function_type.result)
    names = local_names(f)
    b = at_start(f, names)
    for n, new in parameters.items():
        old = f.arguments[n]
        f.arguments[n] = bits = Argument(new, names.fresh(f"{old.name}.bits"), n)
        bits.attributes = _without_floats(old.attributes)
        _called_by_name_of(old, _as_type(b, bits, old.type))
    for block in f.blocks if result is not None else ():
        if isinstance(end := block.terminator, Return) and end.value is not None and result is not None:
            end.set_operand(0, _as_type(before(end, names), end.value, result))
    if result is not None:
        f.result_attributes = _without_floats(f.result_attributes)


def _hand(c: Call, f: Function, parameters: Mapping[int, Type], result: Type | None, made: Made) -> None:
    """Call the function by its new type."""
    assert c.block.function is not None
    names = local_names(c.block.function)
    for n, t in parameters.items():
        given = c.operands[n]
        if (new := _had_before(c, made.get((c.block, given, t)))) is None:  # one cast: LLVM makes one load of both
            new = made[c.block, given, t] = _as_type(before(c, names), given, t)
        c.set_operand(n, new)
        c.argument_attributes[n] = _without_floats(c.argument_attributes[n])
    c.function_type = f.function_type
    if result is None:
        return
    old = Value(c.type, c.name)
    replace_uses(c, old)
    c.type, c.name, c.flags = result, names.fresh(f"{c.name}.bits"), frozenset()
    c.result_attributes = _without_floats(c.result_attributes)
    if old.users:
        _called_by_name_of(old, _as_type(after(c, names), c, old.type))


def _called_by_name_of(old: Value, new: AnyValue) -> None:
    """Put a value in another's place, under its name."""
    replace_uses(old, new)
    if isinstance(new, Value):
        new.name = old.name


def _had_before(c: Call, v: AnyValue | None) -> AnyValue | None:
    """The value, if it is there before a call, in its block."""
    before = c.block.instructions[: c.block.instructions.index(c)]
    return v if any(i is v for i in before) else None


def _as_type(b: Builder, v: AnyValue, t: Type) -> AnyValue:
    """The value, of whose type only doubles are other than in `t`."""
    if not isinstance(t, StructType) or v.type == t:
        return b.cast("bitcast", v, t)
    made: AnyValue = Undef(t, poison=True)
    for n, member in enumerate(t.fields or ()):
        made = b.insert_value(made, _as_type(b, b.extract(v, n), member), n)
    return made


def _without_floats(attributes: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
    return tuple(a for a in attributes if a.name not in _OF_FLOATS)


__all__ = ["has_bits", "told_apart", "with_bits"]
