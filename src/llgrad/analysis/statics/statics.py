"""What pointers in variables may lead to when a derivative begins, where the whole program's code tells it."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping

from msgspec import Struct, field
from msgspec.structs import replace

from llgrad.analysis.statics.known_targets import Address, known_targets, table
from llgrad.analysis.statics.owned_buffers import Owner, own_buffers
from llgrad.analysis.statics.pools import pools
from llgrad.analysis.statics.static_points_to import Part, Places
from llgrad.ir.build import Names
from llgrad.ir.parse import parse, parse_function_text
from llgrad.ir.rewrite import after, calls
from llgrad.ir.symbols import is_local
from llgrad.ir.types import I8, I64, VOID, ArrayType, Type
from llgrad.ir.values import Constant, ConstNull, ConstZero, GlobalVariable
from llgrad.ir.write import write
from llgrad.llvm.assembly import spelt
from llgrad.rules.library import effects

_EMPTY = """  %now.{n} = load ptr, ptr {place}, align 8
  %released.{n} = icmp eq ptr %now.{n}, %block
  br i1 %released.{n}, label %empty.{n}, label %next.{n}
empty.{n}:
  store ptr null, ptr {place}, align 8
  br label %next.{n}
next.{n}:
"""
_EMPTIED = "llgrad.emptied"
_LIBRARYS = re.compile(r"_Z(?:GV|Z|T\w)?N?K?St|_Z(?:GV|Z)?N\w*9__gnu_cxx")  # of C++: its own code has them, too


class StaticPointers(Struct, frozen=True):
    """Variables that hold blocks of their own alone, and what others may lead to, by names without `@`."""

    own: list[Owner] = field(default_factory=list)
    targets: dict[str, tuple[Address, ...]] = field(default_factory=dict)


@functools.lru_cache(maxsize=1)
def static_pointers(text: str, closed: bool = False) -> StaticPointers:
    """Of a program's text. `closed`: nobody else calls its functions by name, or knows its variables."""
    if "\nmodule asm " in text:
        return StaticPointers()  # it may name what it likes
    if not _may_hold(text, closed):
        return StaticPointers()
    module = parse(text)
    places, groups, null = Places(module, closed), dict[str, dict[str, None]](), list[str]()
    held = dict[str, dict[str, None]]()
    for v in module.variables:
        if v.constant or v.name.isdigit() or not (is_local(v) or (closed and _is_ordinary(v))):
            continue
        points = _may_point(v)
        if points and (group := places.around(v.name)):
            groups[v.name] = group
            null += [v.name] if isinstance(v.initializer, ConstNull | ConstZero) else []
        elif (points or _is_bytes(v.value_type)) and (group := places.around(v.name, held=True)) is not None:
            held[v.name] = group
    if not groups and not held:
        return StaticPointers()
    part = Part(text, places, groups, held)
    own = own_buffers(part, null)
    targets = known_targets(part, {v.name for v in module.variables})
    others = [name for name in part.around if not any(name == owner.name for owner in own)]
    within = pools(part, places, [name for name in others if name not in targets], others)
    targets = {name: ((target, None),) for name, target in within.items()} | targets
    for owner in own:
        targets.pop(owner.name, None)
    return StaticPointers(own, targets)


def _may_hold(text: str, closed: bool) -> bool:
    """Has it variables that may hold pointers, and that nobody else knows? It need not be parsed otherwise."""
    lines = (line for line in text.split("\n") if line.startswith("@") and " global " in line)
    known = (line for line in lines if closed or " internal " in line or " private " in line)
    return any(word in line for line in known for word in ("ptr", "%", " x i8]", " x i64]"))


def _is_ordinary(v: GlobalVariable) -> bool:
    """Is it the program's alone, where nobody else knows its names?"""
    return not (v.is_declaration or v.linkage == "available_externally" or _LIBRARYS.match(v.name))


def _may_point(v: GlobalVariable) -> bool:
    text = f"{v.value_type} {getattr(v.pending, 'text', '')}"
    return "ptr" in text or "%" in text


def _is_bytes(t: Type) -> bool:
    """May it be cut into blocks?"""
    return isinstance(t, ArrayType) and t.count > 9 and t.element in (I8, I64)


def emptied(text: str, closed: bool = False) -> str:
    """The program, whose variables that hold blocks of their own hold null once these are released.

    A derivative asks at its entry how large such blocks are. After `free(work); ready = 0;` the variable leads to
    none, and what it holds is indeterminate, says C: it may as well be null. A function is called for that behind all
    that releases memory. (It writes where the block was alone: other threads have their variables.)
    """
    owned = static_pointers(text, closed).own
    places = [f"getelementptr (i8, ptr {spelt(owner.name)}, i64 {at})" for owner in owned for at in owner.starts]
    if not places:
        return text
    module = parse(text)
    tests = "".join(_EMPTY.format(place=place, n=n) for n, place in enumerate(places))
    body = f"define internal void @{_EMPTIED}(ptr %block) {{\n{tests}  ret void\n}}"
    (empty,) = parse_function_text(module, body)
    freeing = [f.name for f in module.functions if (e := effects(f.name)) is not None and e.deallocator is not None]
    for call in calls(module, *freeing):
        f, block = call.called_function, call.arguments[0]
        if f and f.name in freeing and call.opcode == "call" and call.type == VOID and not isinstance(block, Constant):
            after(call, Names()).call(empty, [block])
    edited = write(module)
    still = {owner.name for owner in static_pointers(edited, closed).own}
    return edited if still >= {owner.name for owner in owned} else text


def tables(text: str, names: Mapping[str, str], closed: bool = False) -> str:
    """Lines for the program, whose variables have other `names` by now, that tell derivatives of it."""
    found = static_pointers(text, closed)
    lines = [replace(owner, name=names.get(owner.name, owner.name)).line for owner in found.own]
    for variable, known in found.targets.items():
        lines.append(table(names.get(variable, variable), [(names.get(g, g), at) for g, at in known]))
    return "".join(lines)


__all__ = ["StaticPointers", "emptied", "static_pointers", "tables"]
