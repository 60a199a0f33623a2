"""Pointers that a function finds in memory become its arguments (argument promotion), for the range test.

    define void @f(ptr %n) {                      define void @f(ptr %n, ptr %promoted.1) {
      %at = getelementptr i8, ptr %n, i64 8   ->    %x = load double, ptr %promoted.1
      %w = load ptr, ptr %at
      %x = load double, ptr %w

Only `noalias_versions` calls the changed function: it reads the pointers first, and tests that the function writes
none of them. They lie at constant distances from arguments, or from pointers that were promoted before. Each is read
where `entry_values.guards` proves that the function would read it. The distance of two of them (the size of a
`std::vector`) becomes an argument, too: begin and end are no longer seen to be of one object.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from llgrad.analysis.cfg.flow import flow
from llgrad.analysis.memory.entry_values import Ahead, Field, Pointer, comes_back, constant_address, guards, is_plain
from llgrad.autodiff.requests.request import Act, Request
from llgrad.ir.module import Module
from llgrad.ir.types import I64, PTR, DataLayout, FunctionType, Type
from llgrad.ir.values import Argument, Binary, Cast, Function, Load, Store, replace_uses

MOST = 64  # pointers


def promote(module: Module, root: Function, request: Request) -> tuple[Request, Ahead]:
    """Change `root` in `module`; the request for what it is now, and what must be read ahead of it."""
    ahead, acts = Ahead(), list(request.arguments)
    named = any(f is not root and any(root in i.operands for i in f.instructions()) for f in module.functions)
    if named or root.function_type.vararg or not comes_back(root):
        return request, ahead
    f = flow(root)
    while found := next(_loads(root, acts, module.layout), None):
        at, loads = found
        given = next((g for i in loads if (g := guards(f, i.block, module.layout)) is not None), None)
        if given is None or len(ahead.pointers) == MOST:
            break
        a = _added(root, PTR, f"promoted.{len(ahead.pointers)}")
        acts.append(acts[at.base])
        ahead.pointers[a.index] = Pointer(a.index, at, given)
        for i in loads:
            replace_uses(i, a)  # LLVM drops it
    for sub in [i for i in root.instructions() if isinstance(i, Binary) and i.opcode == "sub" and i.users]:
        ends = [x.value for x in sub.operands if isinstance(x, Cast) and x.opcode == "ptrtoint" and x.type == I64]
        indices = [x.index for x in ends if isinstance(x, Argument)]
        if len(indices) == 2 and any(n in ahead.pointers for n in indices):
            a = _added(root, I64, f"distance.{len(ahead.distances)}")
            acts.append(Act.CONST)
            ahead.distances[a.index] = (indices[0], indices[1])
            replace_uses(sub, a)
    if ahead.pointers:  # what was other memory is an argument's
        root.attributes = tuple(x for x in root.attributes if x.name != "memory")
    return replace(request, arguments=tuple(acts)), ahead


def _added(root: Function, type: Type, name: str) -> Argument:
    a = Argument(type, name, len(root.arguments))
    root.arguments.append(a)
    root.value_type = FunctionType(root.function_type.result, (*root.function_type.params, type))
    return a


def _loads(root: Function, acts: list[Act], layout: DataLayout) -> Iterator[tuple[Field, list[Load]]]:
    """The loads of each pointer that may be promoted."""
    found: dict[Field, list[Load]] = {}
    stored = list[tuple[int, int, int]]()
    for i in root.instructions():
        if isinstance(i, Load) and i.users and i.type == PTR and is_plain(i):
            place = constant_address(i.pointer, layout)
            if place is not None and acts[place[0].index] in (Act.CONST, Act.DUP):
                found.setdefault(Field(place[0].index, place[1], PTR), []).append(i)
        elif isinstance(i, Store) and (place := constant_address(i.pointer, layout)) is not None:
            stored.append((place[0].index, place[1], place[1] + layout.size(i.value.type)))
    for at, loads in found.items():
        end = at.offset + layout.size(PTR)
        if not any(base == at.base and low < end and at.offset < high for base, low, high in stored):
            yield at, loads
