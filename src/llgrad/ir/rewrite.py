"""Edits of instructions, for passes over a `Module`.

A pass asks `bodies` which functions may concern it: that searches the text of a body which was not read yet. At an
instruction `before` writes others, which have its place in the source; `replaced` puts a value in its place.

    %y = call ptr @llvm.launder.invariant.group.p0(ptr %x)         for c in calls(module, "llvm.launder."):
    %z = load double, ptr %y                                           replaced(c, c.arguments[0])
                              ->  %z = load double, ptr %x
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec.structs import replace

from llgrad.ir.build import Builder, Names
from llgrad.ir.module import Module
from llgrad.ir.types import VOID, FunctionType, Type
from llgrad.ir.values import (
    AnyConstant,
    AnyValue,
    Attribute,
    Binary,
    Block,
    Call,
    Cast,
    Compare,
    ConstAggregate,
    Constant,
    ConstExpr,
    ExtractElement,
    Function,
    GetElementPtr,
    GlobalValue,
    GlobalVariable,
    InsertElement,
    Instruction,
    Select,
    ShuffleVector,
    Unary,
    Value,
    parts,
    put_instead,
    replace_uses,
)


def bodies(module: Module, *words: str) -> list[Function]:
    """The functions with bodies that have one of the words in their text, and those whose bodies were read already."""
    found = (f for f in module.functions if not f.is_declaration)
    return [f for f in found if (text := f.unread) is None or any(word in text for word in words)]


def word(name: str) -> str:
    """What stands of a global's name in any text that names it, quoted or not: LLVM quotes more names than we do."""
    return max(re.split(r"[^ !#-\[\]-~]", name), key=len)


def calling(name: str) -> tuple[str, ...]:
    """What stands in any text that calls a global by its name."""
    part = word(name)
    return (f"{part}(", f'{part}"(') if part == name else (part,)


def calls(module: Module, *prefixes: str) -> list[Call]:
    """The calls of functions whose names begin so; nothing is read where the module knows no such function."""
    words = [w for f in module.functions if f.name.startswith(prefixes) for w in calling(f.name)]
    where = bodies(module, *words) if words else []
    return [c for c, f in direct_calls(where) if f.name.startswith(prefixes)]


def direct_calls(functions: Iterable[Function]) -> Iterator[tuple[Call, Function]]:
    """The calls in these functions, and the functions that they call by name."""
    for f in functions:
        for i in list(f.instructions()):
            if isinstance(i, Call) and (called := i.called_function) is not None:
                yield i, called


def calls_at(module: Module, *prefixes: str) -> Iterator[tuple[Call, Builder]]:
    """The calls of functions whose names begin so, each with a builder in front of it."""
    known: dict[Function, Names] = {}
    for c in calls(module, *prefixes):
        f = c.block.function
        assert f is not None
        known[f] = known.get(f) or local_names(f)
        yield c, before(c, known[f])


def local_names(f: Function) -> Names:
    """Fresh names for values of a function."""
    return Names([v.name for v in (*f.arguments, *f.blocks, *f.instructions())])


def before(i: Instruction, names: Names) -> Builder:
    """A builder in front of an instruction; what it writes has the instruction's place in the source."""
    b = Builder(i.block, names)
    b.at = i.block.instructions.index(i)
    b.metadata = {k: v for k, v in i.metadata.items() if k == "dbg"}
    return b


def at_start(f: Function, names: Names) -> Builder:
    """A builder at the start of a function."""
    b = Builder(f.entry, names)
    b.at = 0
    return b


def erase(i: Instruction) -> None:
    """Take an instruction out; what debug records say in front of it is said in front of the next."""
    if i.debug_records:
        rest = i.block.instructions[i.block.instructions.index(i) + 1 :]
        rest[0].debug_records = i.debug_records + rest[0].debug_records
    i.drop()


def replaced(i: Instruction, value: AnyValue) -> None:
    """Put a value that is there already in the place of an instruction, which goes."""
    if i.name and isinstance(value, Instruction) and value.name.startswith("llgrad."):
        value.name, i.name = i.name, ""
    replace_uses(i, value)
    erase(i)


def called_instead(
    old: Call, callee: AnyValue, given: Sequence[AnyValue], said: Iterable[tuple[Attribute, ...]],
    *, result: Type | None = None, targets: Sequence[Block] | None = None,
) -> Call:  # fmt: skip
    """Call `callee` in the place of `old`, with other arguments, of which something is `said`; all else is as it was.

    `result`: another type of what it returns. `targets`: those of an `invoke`, none for a `call`. The new call is no
    `tail` call: it may be given addresses of the caller's stack.
    """
    kind = old.function_type
    if result is not None or callee is not old.callee or list(given) != old.arguments:
        kind = FunctionType(old.type if result is None else result, tuple(v.type for v in given))
    bundled = iter(old.operands[old.arity + 1 :])
    bundles = [(tag, [next(bundled) for _ in range(size)]) for tag, size in old.bundles]
    opcode, ways = (old.opcode, old.targets) if targets is None else ("invoke" if targets else "call", targets)
    new = Call(kind, callee, given, "" if kind.result == VOID else old.name, opcode, ways, bundles)
    new.tail = "" if old.tail == "tail" or targets is not None else old.tail
    new.calling_convention, new.attributes, new.flags = old.calling_convention, old.attributes, old.flags
    new.result_attributes = old.result_attributes if result is None else ()
    new.argument_attributes = list(said)
    new.metadata, new.debug_records = old.metadata, old.debug_records
    put_instead(old, new)
    return new


def with_parts(constant: AnyConstant, edit: Callable[[AnyConstant], AnyConstant | None]) -> AnyConstant:
    """The constant, in which what `edit` gives stands in the place of parts; None leaves a part as it is."""
    if (new := edit(constant)) is not None:
        return new
    old = parts(constant)
    made = tuple(with_parts(part, edit) for part in old)
    if all(a is b for a, b in zip(old, made, strict=True)):
        return constant
    if isinstance(constant, ConstAggregate):
        return replace(constant, elements=made)
    assert isinstance(constant, ConstExpr)
    return replace(constant, operands=made)


def edit_constants(
    module: Module, edit: Callable[[AnyConstant], AnyConstant | None], *words: str, callees: bool = True,
    keeps: Callable[[GlobalVariable], bool] | None = None,
) -> bool:  # fmt: skip
    """Apply `with_parts` to the constants in bodies and initializers that have one of the words in their text.

    `callees`: to the functions that are called by name, too. `keeps`: which initializers stay as they are.
    """
    changed = False
    for f in bodies(module, *words):
        changed |= edit_operands(f, edit, callees=callees)
    for g in module.variables if keeps is None else (g for g in module.variables if not keeps(g)):
        old = g.initializer if mentions(g.pending, words) else None
        if old is not None and (new := with_parts(old, edit)) is not old:
            g.initializer, changed = new, True
    return changed


def edit_operands(f: Function, edit: Callable[[AnyConstant], AnyConstant | None], *, callees: bool = True) -> bool:
    """Apply `with_parts` to the constants that a function uses."""
    changed = False
    for i in f.instructions():
        for n, v in enumerate(i.operands):
            if not isinstance(v, Constant | GlobalValue) or (not callees and is_callee(i, n)):
                continue
            if (new := with_parts(v, edit)) is not v:
                i.set_operand(n, new)
                changed = True
    return changed


def is_callee(i: Instruction, n: int) -> bool:
    """Is operand `n` the function that an instruction calls by name?"""
    return isinstance(i, Call) and n == i.arity and isinstance(i.operands[n], Function)


def mentions(pending: object, words: Iterable[str]) -> bool:
    """May an initializer hold one of these words? One that was read may."""
    text = getattr(pending, "text", None)
    return text is None or any(word in text for word in words)


def after(i: Instruction, names: Names) -> Builder:
    """A builder behind an instruction."""
    b = before(i, names)
    b.at = i.block.instructions.index(i) + 1
    return b


def uses_as_operand(user: Instruction, value: Value) -> list[int]:
    """At which operands an instruction uses a value."""
    return [n for n, v in enumerate(user.operands) if v is value]


_COMPUTED = Unary | Binary | Cast | Compare | Select | GetElementPtr | ExtractElement | InsertElement | ShuffleVector


def drop_unused(v: AnyValue) -> None:
    """Take out what nobody uses, and what was computed for it alone."""
    if isinstance(v, _COMPUTED) and not v.users and any(i is v for i in v.block.instructions):
        operands = dict.fromkeys(v.operands)
        erase(v)
        for operand in operands:
            drop_unused(operand)
