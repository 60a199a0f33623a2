"""Pointers to nested procedures that are stored: records of the procedure and its frame instead of machine code.

    call void @llvm.init.trampoline(ptr %r, ptr @inner, ptr %frame)     store ptr @inner, ptr %r
    %p = call ptr @llvm.adjust.trampoline(ptr %r)                   ->  store ptr %frame, ptr (%r + 8)
    %y = call double %q(double %x)                                      %p = getelementptr i8, ptr %r, i64 1
                                                                        %y = call double @llgrad.called.0(ptr %q, …)

What `trampolines` leaves are pointers that go through memory (`object%f => inner`). The 32 bytes in which LLVM would
write machine code take the addresses of the procedure and of its frame here, and the pointer is the record's address
plus one: addresses of functions are even. A call through a pointer, anywhere in the program, looks at the last bit: of
a record it calls the procedure, and gives it the frame. All of that is loads, stores and calls, so it has derivatives
as any other code has; the shadow of a record holds the shadow of the frame. Each procedure's frame has a place of its
own in records, and is handed to that procedure alone: points-to, which tells places apart, gives none another's frame.

Code outside the program knows nothing of records. Where it may come by such a pointer, be it through memory, all are
left as they are, and fail when they are called; so are all where a call through a pointer cannot be told in these
terms.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from llgrad.ir.build import i64
from llgrad.ir.module import Module
from llgrad.ir.parse import parse_function_text
from llgrad.ir.rewrite import called_instead, calls, calls_at, erase
from llgrad.ir.symbols import globals_in, named_in_data
from llgrad.ir.types import I8, METADATA, VOID, ArrayType, IntType, PointerType, StructType, Type, VectorType
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Attribute,
    Call,
    Function,
    GetElementPtr,
    GlobalValue,
    Instruction,
    Value,
    put_instead,
)
from llgrad.ir.write_values import attributes, encode_name
from llgrad.models import libc
from llgrad.rules import blas, library
from llgrad.transforms.canonical.trampolines import ADJUST, INIT

_ROOM = ArrayType(I8, 32)
_PASSED = ("byval", "sret", "inalloca", "zeroext", "signext", "inreg")


def with_closures(module: Module) -> bool:
    """Make records of pointers to nested procedures that are stored."""
    if not calls(module, ADJUST) or _given_away(module):
        return False
    through = [i for i in _everything(module) if isinstance(i, Call) and _is_through_pointer(i)]
    if any(_is_strange(call) for call in through):
        return False
    places = _places(module)
    called = _Called(module, places)
    for call in through:
        called.lead(call)
    room = ArrayType(I8, max(32, 8 + 8 * len(places)))
    for call, b in calls_at(module, INIT):
        record, procedure, frame = call.arguments
        if isinstance(record, Alloca) and record.allocated_type in (_ROOM, room):
            record.allocated_type, record.align = room, max(record.align, 16)
        b.store(procedure, record, 16)
        b.store(frame, b.offset(record, places.get(procedure, 8), "llgrad.frame"), 8)
        erase(call)
    for call in calls(module, ADJUST):
        new = GetElementPtr(I8, call.arguments[0], [i64(1)], name=call.name)
        new.metadata, new.debug_records = call.metadata, call.debug_records
        put_instead(call, new)
    return True


def _places(module: Module) -> dict[AnyValue, int]:
    """Where in a record the frame of each procedure lies: all at one place, if a record cannot be made larger."""
    inits = calls(module, INIT)
    rooms = all(isinstance(r := c.arguments[0], Alloca) and r.allocated_type == _ROOM for c in inits)
    found = sorted({f.name: f for c in inits if isinstance(f := c.arguments[1], Function)}.items())
    return {f: 8 * n if rooms else 8 for n, (_, f) in enumerate(found, 1)}


def _everything(module: Module) -> Iterator[Instruction]:
    return (i for f in module.functions if not f.is_declaration for i in f.instructions())


def _given_away(module: Module) -> bool:
    """May code outside the program find such a pointer: as an argument, in memory behind one, in what it calls?

    Memory whose type has no pointers holds none; of all other memory it is not known here.
    """
    foreign = {f for f in module.functions if f.is_declaration and not _is_known(f.name)}
    if not foreign:
        return False
    own: set[Value] = {v for v in module.variables if not _may_point(v.value_type)}
    for i in _everything(module):
        match i:
            case Alloca(t, _) if not _may_point(t):
                own.add(i)
            case GetElementPtr() if i.pointer in own:
                own.add(i)
    held = named_in_data(module)
    return any(f.name in held for f in foreign) or any(_gives(i, foreign, own) for i in _everything(module))


def _gives(i: Instruction, foreign: set[Function], own: set[Value]) -> bool:
    """Does an instruction pass a foreign function memory that may hold pointers, or its address on?"""
    for n, v in enumerate(i.operands):
        if isinstance(i, Call) and n == i.arity and v in foreign:
            if any(isinstance(a.type, PointerType) and a not in own for a in i.arguments):
                return True
        elif not foreign.isdisjoint(globals_in(v)):
            return True
    return False


def _may_point(t: Type) -> bool:
    """May memory of a type hold pointers? C's `c_funptr` is an i64."""
    match t:
        case IntType(bits):
            return bits == 64
        case ArrayType() | VectorType():
            return _may_point(t.element)
        case StructType():
            return bool(t.name) or any(map(_may_point, t.fields or ()))
    return isinstance(t, PointerType)


def _is_known(name: str) -> bool:
    """Functions that neither keep pointers nor call what they find in memory."""
    listed = library.effects(name) or library.lookup(name) or blas.is_routine(name) or name in libc.ROUTINES
    return bool(listed) or name.startswith(("llvm.", "_Fortran", "llgrad"))


def _is_through_pointer(call: Call) -> bool:
    return isinstance(call.callee, Value) and not isinstance(call.callee, GlobalValue)


def _is_strange(call: Call) -> bool:
    """Can a call through a pointer not be led through a function that looks at the pointer?"""
    unusual = call.function_type.vararg or call.calling_convention or call.bundles or call.tail == "musttail"
    return bool(unusual) or call.opcode == "callbr" or any(v.type == METADATA for v in call.arguments)


class _Called:
    """Functions that look at a pointer before they call it, one for each type.

    Where no procedure of a call's shape is recorded, the pointer is that of a function: a method of an object.
    """

    def __init__(self, module: Module, places: Mapping[AnyValue, int]) -> None:
        self.module = module
        self._procedures: dict[tuple[Type, ...], list[tuple[Function, int]]] = {}
        for f, place in places.items():
            if isinstance(f, Function):
                parameters = [a.type for a in f.arguments if a.attribute("nest") is None]
                self._procedures.setdefault((f.function_type.result, *parameters), []).append((f, place))
        self._made: dict[tuple[str, tuple[str, ...]], Function] = {}

    def lead(self, call: Call) -> None:
        """Have a call go through such a function."""
        procedures = self._procedures.get((call.type, *(v.type for v in call.arguments)))
        if not procedures:
            return
        result = f"{_passed(call.result_attributes)}{call.type}"
        given = zip(call.arguments, call.argument_attributes, strict=True)
        types = tuple(f"{v.type} {_passed(a)}".rstrip() for v, a in given)
        if (f := self._made.get((result, types))) is None:
            text = _function(f"llgrad.called.{len(self._made)}", result, call.type, types, procedures)
            f = self._made[result, types] = parse_function_text(self.module, text)[0]
        said = [(), *call.argument_attributes]
        new = called_instead(call, f, [call.callee, *call.arguments], said)
        new.result_attributes = tuple(a for a in new.result_attributes if a.name in _PASSED)


def _function(
    name: str, result: str, kind: Type, types: tuple[str, ...], procedures: Sequence[tuple[Function, int]]
) -> str:
    own = [f"{t} %a{n}" for n, t in enumerate(types)]
    made, back = ("", "ret void") if kind == VOID else ("%r{0} = ", f"ret {kind} %r{{0}}")
    ways = "".join(
        f"""test{n}:
  %is{n} = icmp eq ptr %procedure, @{encode_name(f.name)}
  br i1 %is{n}, label %procedure{n}, label %test{n + 1}
procedure{n}:
  %place{n} = getelementptr i8, ptr %f, i64 {place - 1}
  %frame{n} = load ptr, ptr %place{n}, align 8
  {made.format(n)}call {result} @{encode_name(f.name)}({", ".join([*own, f"ptr nest %frame{n}"])})
  {back.format(n)}
"""
        for n, (f, place) in enumerate(procedures)
    )
    return f"""
define internal {result} @{name}({", ".join(["ptr %f", *own])}) alwaysinline {{
  %bits = ptrtoint ptr %f to i64
  %last = trunc i64 %bits to i1
  br i1 %last, label %record, label %function
record:
  %at = getelementptr i8, ptr %f, i64 -1
  %procedure = load ptr, ptr %at, align 8
  br label %test0
{ways}test{len(procedures)}:
  unreachable
function:
  {made.format("")}call {result} %f({", ".join(own)})
  {back.format("")}
}}
"""


def _passed(found: tuple[Attribute, ...]) -> str:
    """What says how a value is passed."""
    return attributes(tuple(a for a in found if a.name in _PASSED))
