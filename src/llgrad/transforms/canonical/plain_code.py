"""Instructions and intrinsics in the place of which others do the same, in simpler terms.

switched          indirectbr ptr %p, [label %a, label %b]        switch i64 %n, label %a [i64 2, label %b]
small_copies      memcpy(ptr %q, ptr %p, i64 4)                  %v = load i32, ptr %p    store i32 %v, ptr %q
plain_calls       musttail call …                                tail call …
                  %q = launder.invariant.group(ptr %p)           %p
                  %q = ptrmask(ptr %p, i64 -16)                  %q = getelementptr i8, ptr %p, i64 (…)
plain_addresses   %p = threadlocal.address(ptr @v)               @v
"""

from __future__ import annotations

from collections.abc import Iterator

from llgrad.ir.build import const_int, i64
from llgrad.ir.module import Module
from llgrad.ir.rewrite import before, bodies, calls, calls_at, edit_constants, erase, local_names, mentions, replaced
from llgrad.ir.types import I64, PTR, VOID, IntType
from llgrad.ir.values import (
    Alloca,
    AnyConstant,
    Attribute,
    Block,
    BlockAddress,
    Call,
    ConstExpr,
    ConstInt,
    GlobalVariable,
    IndirectBranch,
    Switch,
    parts,
)

# --- computed gotos --------------------------------------------------------------------------------------------------


def switched(module: Module) -> bool:
    """Computed gotos as switches: the address of a label is its number in its function."""
    gotos = [i for f in bodies(module, " indirectbr ") for i in f.instructions() if isinstance(i, IndirectBranch)]
    if not gotos:
        return False
    numbers: dict[tuple[str, str], int] = {}
    for label in _labels(module):
        key = label.function, label.block
        numbers.setdefault(key, 1 + sum(f == label.function for f, _ in numbers))
    left = {_name(i) for i in gotos if any((_name(i), b.name) not in numbers for b in i.targets)}
    for i in gotos:
        if _name(i) not in left:
            _switch(i, numbers)

    def number(c: AnyConstant) -> AnyConstant | None:
        if not isinstance(c, BlockAddress) or c.function in left:
            return None
        return ConstExpr(PTR, "inttoptr", (i64(numbers[c.function, c.block]),))

    edit_constants(module, number, "blockaddress")
    return True


def _name(i: IndirectBranch) -> str:
    assert i.block.function is not None
    return i.block.function.name


def _labels(module: Module) -> Iterator[BlockAddress]:
    """The labels whose address is taken."""
    for variable in module.variables:
        if mentions(variable.pending, ("blockaddress",)):
            yield from _labels_in(variable.initializer)
    for f in bodies(module, "blockaddress"):
        for i in f.instructions():
            for v in i.operands:
                yield from _labels_in(v)


def _labels_in(v: object) -> Iterator[BlockAddress]:
    if isinstance(v, BlockAddress):
        yield v
    for part in parts(v):
        yield from _labels_in(part)


def _switch(i: IndirectBranch, numbers: dict[tuple[str, str], int]) -> None:
    assert i.block.function is not None
    b = before(i, local_names(i.block.function))
    address = b.cast("ptrtoint", i.address, I64, "llgrad.goto")
    cases: list[tuple[ConstInt, Block]] = []
    met = {i.targets[0]: 1}
    for target in i.targets[1:]:  # named again: phis have an entry for each
        again = met.get(target, 0)
        cases.append((const_int(I64, -len(cases) - 1 if again else numbers[_name(i), target.name]), target))
        met[target] = again + 1
    b.insert(Switch(address, i.targets[0], cases))
    i.drop()


# --- copies and calls ------------------------------------------------------------------------------------------------


def small_copies(module: Module) -> bool:
    """Copies of two or four bytes become a load and a store, as LLVM makes of them where it optimises: of what may be a
    part of a float."""
    changed = False
    for c, b in calls_at(module, "llvm.memcpy.p0.p0.", "llvm.memmove.p0.p0."):
        to, source, size, volatile = c.arguments
        if isinstance(size, ConstInt) and size.value in (2, 4) and volatile == ConstInt(volatile.type, 0):
            t = IntType(8 * size.value)
            b.store(b.load(t, source, "llgrad.copied", _alignment(c, 1)), to, _alignment(c, 0))
            erase(c)
            changed = True
    return changed


def _alignment(c: Call, n: int) -> int:
    said = next((a.value for a in c.argument_attributes[n] if a.name == "align"), 1)
    return said if isinstance(said, int) else 1


def plain_calls(module: Module) -> bool:
    """Calls that must be the last thing are calls, as derivatives go on after them; a pointer whose virtual table LLVM
    is to forget, or that is annotated, is that pointer (and nothing says any longer that tables stay the same); one
    whose last bits are cleared lies so many bytes before it, and its shadow as many before the shadow.
    Swift's register for errors is a pointer like others. A profile counts what the program itself runs."""
    same = calls(module, "llvm.launder.invariant.group.", "llvm.strip.invariant.group.", "llvm.ptr.annotation.")
    if any("invariant" in c.called_function.name for c in same if c.called_function is not None):
        for f in bodies(module, "!invariant.group"):
            for i in f.instructions():
                i.metadata.pop("invariant.group", None)
    for call in same:
        replaced(call, call.arguments[0])
    counting = calls(module, "llvm.instrprof.")
    for c in counting:
        if c.type == VOID:
            erase(c)
    return bool(same or counting) | _masked(module) | _need_not_be_last(module) | _without_error_registers(module)


def _masked(module: Module) -> bool:
    changed = False
    for c, b in calls_at(module, "llvm.ptrmask.p0.i64"):
        pointer, mask = c.arguments
        address = b.cast("ptrtoint", pointer, I64, "llgrad.masked")
        by = b.binary("sub", b.binary("and", address, mask, "llgrad.masked"), address, "llgrad.masked")
        replaced(c, b.offset(pointer, by, "llgrad.masked"))
        changed = True
    return changed


def _need_not_be_last(module: Module) -> bool:
    found = [
        i for f in bodies(module, "musttail ") if not f.function_type.vararg
        for i in f.instructions() if isinstance(i, Call) and i.tail == "musttail"
    ]  # fmt: skip
    for i in found:
        i.tail = "tail"
    return bool(found)


def _without_error_registers(module: Module) -> bool:
    """A register that is the caller's alone becomes a pointer: the functions here are copies."""
    heads = [f for f in module.functions if any(a.attribute("swifterror") for a in f.arguments)]
    if any(f.is_declaration for f in heads):
        return False
    for f in heads:
        for a in f.arguments:
            a.attributes = _without("swifterror", a.attributes)
    changed = bool(heads)
    for f in bodies(module, "swifterror "):
        for i in f.instructions():
            if isinstance(i, Alloca) and "swifterror" in i.flags:
                i.flags, changed = i.flags - {"swifterror"}, True
            elif isinstance(i, Call):
                i.argument_attributes = [_without("swifterror", found) for found in i.argument_attributes]
    return changed


def _without(name: str, found: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
    return tuple(a for a in found if a.name != name)


# --- thread-local variables ------------------------------------------------------------------------------------------


def plain_addresses(module: Module) -> bool:
    """Use thread-local variables directly, as there are no coroutines: an address is then the variable itself."""
    found = [c for c in calls(module, "llvm.threadlocal.address.p0") if isinstance(c.arguments[0], GlobalVariable)]
    for call in found:
        replaced(call, call.arguments[0])
    return bool(found)
