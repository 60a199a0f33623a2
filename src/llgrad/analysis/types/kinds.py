"""Kinds: what each byte of memory, and each value, holds: a float of some format, an integer, a pointer, anything.

Opaque pointers and integer copies hide where the floats are; this analysis finds them from accesses, TBAA, copies,
debug info and calls (see `build` for the evidence and `constraints` for how it travels). Kinds belong to a pointer
value and an offset modulo its stride, not to whole objects. Answers are proofs over the evidence seen:

- what is accessed as a float or pointer, or used in integer arithmetic, decides; declared types speak where no access
  does; where members of a union disagree and no access decides, the answer is UNKNOWN;
- two float formats, or a float and something else, at one byte are a CONFLICT;
- UNKNOWN stays UNKNOWN: `require` turns it into a `KindError` that says where, why and how to say it.

`analyse(module, root)` sees what `root` reaches; nothing is said of values elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from math import gcd, lcm

from llgrad.analysis.bits.byte_moves import blank_bytes
from llgrad.analysis.bits.constant_bytes import is_dropped, is_fixed
from llgrad.analysis.bits.integer_values import is_arithmetic, linear
from llgrad.analysis.layout import byte_layouts as bl
from llgrad.analysis.layout.debug_info import argument_name
from llgrad.analysis.memory.cells import Spot
from llgrad.analysis.memory.mod_ref import Memory
from llgrad.analysis.solver import reach
from llgrad.analysis.types.build import Builder
from llgrad.analysis.types.layouts import (
    ANY,
    BYTES,
    CONFLICT,
    INTEGER,
    MIXED,
    POINTER,
    UNKNOWN,
    WORD,
    Kind,
    Layout,
    Leaves,
    either,
    float_kind,
    is_in_words,
    looked_at,
    named,
    tiled,
    without_zeros,
)
from llgrad.analysis.types.query import (
    CONFLICT_MASK,
    carried_float,
    float_around,
    floats_around,
    header,
    is_cut,
    is_word,
    may_be_pointer,
    repeated,
    resolve,
    sees_float,
    stride_of,
)  # fmt: skip
from llgrad.analysis.types.regions import Region, find
from llgrad.analysis.types.witnesses import witnesses
from llgrad.errors import KindError, Span
from llgrad.ir import values as iv
from llgrad.ir.module import Module
from llgrad.ir.types import VOID, FloatType, IntType, PointerType, Type, VectorType


def analyse(
    module: Module, root: iv.Function, pointees: Mapping[str, Mapping[int, str]] | None = None,
    memory: Memory | None = None,
) -> Kinds:  # fmt: skip
    """Kinds of everything `root` reaches.

    `pointees` adds external functions: name → argument index → LLVM type of the elements it points to; `memory` knows
    what is called through pointers.
    """
    return Kinds(module, Builder(module, root, pointees, memory))


class Kinds:
    """The answers. Nothing here raises but `require`."""

    def __init__(self, module: Module, builder: Builder) -> None:
        self.module, self.layout, self._builder = module, module.layout, builder
        self._integers: frozenset[iv.AnyValue] = frozenset()
        self._floats: dict[iv.AnyValue, Kind] = {}
        self._numbers: frozenset[iv.AnyValue] = frozenset()

    @property
    def functions(self) -> tuple[iv.Function, ...]:
        """The functions with bodies that the root reaches, it included."""
        return tuple(self._builder.functions)

    # --- values -------------------------------------------------------------------------------------------------

    def value(self, v: iv.AnyValue) -> Kind:
        """The kind of a value; of an aggregate or vector, where all its leaves agree (else CONFLICT)."""
        kinds = {kind for _, kind, _ in self._leaves(v)} - {ANY}
        if not kinds:
            return ANY
        if kinds == {INTEGER, POINTER} and isinstance(v.type, IntType):
            return POINTER
        return kinds.pop() if len(kinds) == 1 else UNKNOWN if UNKNOWN in kinds else CONFLICT

    def leaves(self, v: iv.AnyValue) -> tuple[tuple[int, Kind], ...]:
        """(byte offset, kind) of each scalar in a value."""
        return tuple((offset, kind) for offset, kind, _ in self._leaves(v))

    def parts(self, v: iv.AnyValue) -> Leaves:
        """(byte offset, kind, bytes) of what a value holds, over all of its bytes."""
        return self._leaves(v)

    def is_undecided(self, v: iv.AnyValue) -> bool:
        """May an integer be the bits of a float, a number, or something else that is not known?"""
        return not self.value(v).is_known and v in self._builder.contents

    def may_be_pointer(self, v: iv.AnyValue) -> bool:
        """Is nothing known of an integer, or was a pointer seen where it lies?"""
        region = self._builder.contents.get(v)
        slots = find(region).slots.values() if region is not None else ()
        return self.value(v) is UNKNOWN or any(s.all & bl.POINTER_BIT for s in slots)

    def holds_word(self, v: iv.AnyValue, at: int) -> bool:
        """Is all that was seen of eight bytes of a value a double at one time, a pointer or integers at another?"""
        region = self._builder.contents.get(v)
        if region is None:
            return False
        slot = (found := find(region)).slots.get(found.key(at, 0))
        mask = slot.all if slot is not None else 0
        return bool(mask & bl.FLOAT_BIT["double"] and mask & (bl.POINTER_BIT | bl.INT_MASK)) and is_word(found, at)

    def sees_float(self, load: iv.Load) -> bool:
        """Was a float seen where an integer is loaded, or is it doubted? (Else it is only too short for a pointer.)"""
        region, size = self._builder.contents.get(load), self.layout.size(load.type)
        cells = [self._builder.cell(load.pointer), *([(find(region), 0)] if region else [])]
        return self.value(load) is UNKNOWN or any(sees_float(r, at, size) for r, at in cells)

    def is_one_of_several(self, load: iv.Load) -> bool:
        """Is what lies beside an integer, in the same eight bytes, accessed by itself?"""
        region, offset = self._builder.cell(load.pointer)
        size = self.layout.size(load.type)
        beside = {region.key(offset + n, 0) for n in range(size - 8, 8) if n <= -size or n >= size}
        narrow = bl.INT_MASK & ~bl.INT_BITS[8] | bl.LIKELY_INT & ~bl.LIKELY_INTS[8]
        walked = any(step and step < 8 for _, step in region.slots)
        return region.overflow or walked or any(s.all & narrow for key, s in region.slots.items() if key in beside)

    def formats(self, v: iv.AnyValue) -> frozenset[FloatType]:
        """The formats of the floats in a value."""
        return frozenset(kind.format for _, kind, _ in self._leaves(v) if kind.format is not None)

    def declared_formats(self, pointer: iv.AnyValue) -> frozenset[FloatType]:
        """The formats of the floats that are declared to be in the memory behind a pointer."""
        return frozenset(map(FloatType, self._builder.declared_formats(pointer)))

    def is_declared_as_floats(self, pointer: iv.Argument) -> bool:
        """Is an argument declared to point to floats, and nothing else?"""
        t = self._builder.declared_pointee(pointer)
        while isinstance(t, bl.Sequence):
            t = t.element
        return isinstance(t, bl.Basic) and bool(t.format)

    def string_may_hold_float(self, pointer: iv.AnyValue, text: int) -> bool:
        """Were floats seen in the text of a `std::string`, to which it has a pointer at `text`, by pointers to any of
        its characters, too?"""
        region, at = self._builder.cell(pointer)
        slot = region.slots.get(region.key(at + text, 0))
        if slot is None or slot.pointee is None:
            return False

        def views(r: Region) -> list[Region]:
            return [find(e.child) for e in r.edges if e.step == 1 and find(e.parent) is r]

        found = reach([find(slot.pointee)], views)
        return any(s.all & bl.FLOAT_MASK for r in found for s in r.slots.values())

    def clashes(self, pointer: iv.AnyValue, value: iv.AnyValue) -> bool:
        """Is the memory behind a pointer, where `value` is stored, of undecided kind?"""
        return any(k is CONFLICT for _, k, _ in self.memory(pointer, self.layout.size(value.type)).leaves)

    def settle(
        self, integers: frozenset[iv.AnyValue], floats: Iterable[iv.AnyValue] = (), numbers: Iterable[iv.AnyValue] = ()
    ) -> None:
        """What `tagged_unions` made of what is undecided: integers, by proof; what is taken for a float; and
        instructions that take what may be a float for a number, which is tested as the program runs."""
        self._numbers = frozenset(numbers)
        self._integers = integers | {v for v in self._numbers if isinstance(v.type, IntType)}
        formats = {v: self.turning(v) for v in floats}
        self._floats = {v: float_kind(t) for v, t in formats.items() if t is not None}

    def is_number_use(self, i: iv.AnyValue) -> bool:
        """Is what may be a float taken for a number here, at the risk of an error as the program runs?"""
        return i in self._numbers

    def is_by_turns(self, v: iv.AnyValue) -> bool:
        """May a value be a float at one time and a number at another?"""
        return v in self._numbers or v in self._floats

    def turning(self, v: iv.AnyValue) -> FloatType | None:
        """The format of the float that an integer may be, all of it, if that is not a part of it or a pointer."""
        region, size = self._builder.contents.get(v), self.layout.size(v.type)
        mask = carried_float(find(region), size) if region is not None else 0
        return _float_of(mask) if mask and bl.mask_size(mask) == size else None

    def float_around(self, pointer: iv.AnyValue, size: int) -> tuple[int, FloatType] | None:
        """(start, format) of the one float of which `size` bytes behind a pointer may be a part, or all."""
        region, offset = self._builder.cell(pointer)
        found = float_around(region, offset, size)
        return (found[0], _float_of(found[1])) if found is not None else None

    def is_read_otherwise(self, pointer: iv.AnyValue, at: int, t: FloatType) -> bool:
        """Are there floats of other formats, or parts of floats, where a float is accessed behind a pointer?"""
        region, offset = self._builder.cell(pointer)
        seen = floats_around(find(region), offset + at, self.layout.size(t))
        return any(found != (0, bl.FLOAT_BIT[t.name]) for found in seen)

    def may_hold_float(self, v: iv.AnyValue) -> bool:
        """Could some byte of the value belong to a float? False only where it is proven that none does."""
        return any(kind.is_float or not kind.is_known for _, kind, _ in self._leaves(v))

    def _leaves(self, v: iv.AnyValue) -> Leaves:
        if isinstance(v, iv.Constant):
            return tuple(self._constant(v))
        typed = self._typed(v.type)
        if typed is not None:
            return typed
        if v in self._integers:
            return ((0, INTEGER, self.layout.size(v.type)),)
        if v in self._floats:
            return ((0, self._floats[v], self.layout.size(v.type)),)
        if isinstance(v.type, IntType) and (v.type.bits < 8 or is_arithmetic(v)) and not self._seen_as_float(v):
            return ((0, INTEGER, self.layout.size(v.type)),)
        region = self._builder.contents.get(v)
        if not self._builder.sized(v.type):
            return ()
        size = self.layout.size(v.type)
        if region is None:
            return ((0, UNKNOWN, size),)
        zero = blank_bytes(v, self.layout)
        leaves = self._resolve(region, 0, size)
        if not isinstance(v.type, IntType):
            leaves = self._floats_by_turns((region, 0), leaves)
        leaves = tuple((o, ANY if k is UNKNOWN and self._is_idle(v, o, n) else k, n) for o, k, n in leaves)
        return tuple(without_zeros(leaves, zero)) if zero else leaves

    def _is_idle(self, v: iv.AnyValue, at: int, size: int) -> bool:
        """Does no derivative pass through these bytes of a value?"""
        fixed = not isinstance(v.type, IntType | VectorType) and is_fixed(v, at, size, self.layout)
        return fixed or is_dropped(v, at, size, self.layout, self._builder.taken)

    def _seen_as_float(self, v: iv.AnyValue) -> bool:
        region = self._builder.contents.get(v)
        if region is None:
            return False
        leaves = resolve(find(region), 0, self.layout.size(v.type))
        return any(mask & (bl.FLOAT_MASK | CONFLICT_MASK) for _, mask, _ in leaves)

    def _typed(self, t: Type) -> Leaves | None:
        """The leaves of a value whose type alone decides them (floats and pointers)."""
        if not self._builder.sized(t):
            return ()
        leaves = []
        for offset, leaf in self._builder.leaves(t):
            if not isinstance(leaf, (FloatType, PointerType)):
                return None
            kind = float_kind(leaf) if isinstance(leaf, FloatType) else POINTER
            leaves.append((offset, kind, self.layout.size(leaf)))
        return tuple(leaves)

    def _constant(self, c: iv.AnyConstant) -> list[tuple[int, Kind, int]]:
        found = []
        for offset, leaf, t in self._constant_leaves(c):
            match leaf, t:
                case _, FloatType():
                    kind = float_kind(t)
                case (iv.Undef() | iv.ConstZero() | iv.ConstNull() | iv.ConstInt(value=0)), _:
                    kind = ANY
                case _, PointerType():
                    kind = POINTER
                case _:
                    kind = INTEGER
            found.append((offset, kind, self.layout.size(t)))
        return found

    def _constant_leaves(self, c: iv.AnyConstant) -> list[tuple[int, iv.AnyConstant, Type]]:
        if isinstance(c, iv.ConstAggregate):
            return [
                (at + offset, leaf, t)
                for at, element in c.placed(self.layout)
                if isinstance(element, (iv.Constant, iv.GlobalValue))
                for offset, leaf, t in self._constant_leaves(element)
            ]
        if not self._builder.sized(c.type):
            return []
        return [(offset, c, t) for offset, t in self._builder.leaves(c.type)]

    # --- memory -------------------------------------------------------------------------------------------------

    def memory(self, pointer: iv.AnyValue, size: int | None) -> Layout:
        """What the bytes [0, size) behind a pointer hold; without `size`, one stride of what repeats there."""
        if pointer not in self._builder.cells and not isinstance(pointer, iv.GlobalVariable | iv.ConstExpr):
            leaves: Leaves = ((0, UNKNOWN, size or 1),) if size != 0 else ()
            return Layout(None if size is not None else 1, leaves)
        region, offset = self._builder.cell(pointer)
        if size is not None:
            return Layout(None, self._resolve(region, offset, size))
        return self._repeated(region, offset, None)

    def _repeated(self, region: Region, offset: int, multiple: int | None) -> Layout:
        """One stride; where only accesses suggest it, `multiple` (what divides the size asked for) must be that."""
        stride = stride_of(region, offset, multiple)
        if region.overflow or stride is None:
            return Layout(1, ((0, UNKNOWN, 1),))
        return Layout(stride, tuple(named(repeated(region, offset, stride))))

    def access(self, instruction: iv.Instruction, local: tuple[bool, ...] = ()) -> Layout:
        """What an instruction reads or writes: a load, store, memcpy, memmove, memset or atomic.

        Complete for the access; for a size that varies, one stride. Of a copy: what is known of either side; `local`
        says of its target and its source whether all that is ever done with that memory is seen.
        """
        if self.is_control(instruction):
            value = instruction.value if isinstance(instruction, iv.Store) else instruction
            return BYTES if isinstance(value, iv.Call) else Layout(None, ((0, INTEGER, self.layout.size(value.type)),))
        match instruction:
            case iv.Load(pointer):
                return self._scalar_access(instruction, pointer)
            case iv.Store(value, pointer):
                return self._scalar_access(value, pointer)
            case iv.Call():
                return self._copy(instruction, *local)
            case iv.Other(operands=[pointer, value, *_]):
                return self._scalar_access(value, pointer)
        return Layout(None, ())

    def is_control(self, instruction: iv.Instruction) -> bool:
        """Is an access one of bytes of a hash table among which there are neither floats nor pointers?"""
        return self._builder.control.accessed(instruction)

    def _scalar_access(self, value: iv.AnyValue, pointer: iv.AnyValue) -> Layout:
        if (typed := self._typed(value.type)) is not None:
            return Layout(None, typed)
        own, through = self._leaves(value), self.memory(pointer, self.layout.size(value.type)).leaves
        if isinstance(value, iv.Constant):
            decided = any(k is not UNKNOWN and k is not CONFLICT for _, k, _ in through)
            return Layout(None, through if decided else own)
        clash = any(k is CONFLICT for _, k, _ in through)
        return Layout(None, own if clash and all(k.is_known for _, k, _ in own) else either(own, through))

    def _copy(self, call: iv.Call, to_local: bool = False, from_local: bool = False) -> Layout:
        f = call.called_function
        name = f.name if f is not None else ""
        if not name.startswith(("llvm.mem", "mem", "__mem")) or len(call.arguments) < 3:
            return Layout(None, ())
        if MIXED in call.metadata:
            return Layout(None, ((0, CONFLICT, 8),))
        if call in self._builder.copied_elements:
            to_cell, from_cell, step = self._builder.copied_elements[call]
            return Layout(step, either(self._resolve(*to_cell, step), self._resolve(*from_cell, step)))
        length = call.arguments[2]
        size = length.value if isinstance(length, iv.ConstInt) else None
        multiple = gcd(*linear(length))
        to = self._side(call.arguments[0], size, multiple, to_local)
        if "memset" in name:
            return to
        source = self._side(call.arguments[1], size, multiple, from_local)
        if to.stride is None or source.stride is None:
            leaves = either(to.leaves, source.leaves)
            return Layout(to.stride, tuple(without_zeros(leaves, self._padding(call, leaves))))
        stride = lcm(to.stride, source.stride)
        if stride > 4096:
            return Layout(1, ((0, UNKNOWN, 1),))
        plain = Layout(stride, either(tiled(to, stride), tiled(source, stride)))
        if plain.is_known or "memcpy" not in name:
            return plain
        return self._with_header(call, to_local and from_local) or plain

    def _with_header(self, copy: iv.Call, any_size: bool) -> Layout | None:
        """What a copy moves as a header and elements of which there may be any number, where all of that is known."""
        cells = [self._builder.cell(a) for a in copy.arguments[:2]]
        start, multiple = linear(copy.arguments[2])
        for h in dict.fromkeys(h for cell in cells if (h := header(*cell)) is not None):
            if not (any_size or h.declared) and ((start - h.size) % h.stride or multiple % h.stride):
                continue
            sides = []
            for region, at in cells:
                elements = named(repeated(region, at + h.size, h.stride))
                sides.append((*self._resolve(region, at, h.size), *((h.size + o, k, s) for o, k, s in elements)))
            made = Layout(h.stride, either(sides[0], sides[1]), h.size)
            if made.is_known:
                return made
        return None

    def _padding(self, copy: iv.Call, leaves: Leaves) -> set[int]:
        """Bytes of unknown kind that the copy's `tbaa.struct` leaves out, as no field of the struct is there."""
        ref = copy.metadata.get("tbaa.struct")
        fields = self._builder.tbaa.fields(ref) if ref is not None else []
        held = {n for at, size, _ in fields for n in range(at, at + size)}
        unknown = {n for o, k, size in leaves if k is UNKNOWN for n in range(o, o + size)}
        return unknown - held if held else set()

    def _in_words(self, copy: iv.Call, layout: Layout) -> Layout:
        """Conflicts on both sides of a copy as WORDs, where they are that."""
        cells = [self._builder.cell(a) for a in copy.arguments[:2]]
        kinds = {o + n: (o, k, s) for o, k, s in layout.leaves for n in range(s)}
        leaves: list[tuple[int, Kind, int]] = []
        at = 0
        while at < len(kinds):
            start, kind, size = kinds[at]
            end = start + size
            told = MIXED in copy.metadata
            if kind is CONFLICT and self._are_words(cells, at, [kinds.get(at + n) for n in range(8)], told):
                kind, end = WORD, at + 8
            elif kind is CONFLICT and (t := self._turning_in_both(cells, at, kinds)) is not None:
                kind, end = float_kind(t), at + t.bits // 8
            elif kind is CONFLICT:
                end = at + 1
            leaves.append((at, kind, end - at))
            at = end
        return Layout(layout.stride, tuple(leaves))

    def _floats_by_turns(self, cell: tuple[Region, int], leaves: Leaves) -> Leaves:
        """Where floats and integers are seen by turns, they are taken for floats: see `tagged_unions`."""
        found: list[tuple[int, Kind, int]] = []
        for o, kind, size in leaves:
            at, end = o, o + size
            while kind is CONFLICT and (t := self._turning(cell, at)) is not None:
                size = t.bits // 8
                if at + size > end or is_cut(find(cell[0]), cell[1] + at, size):
                    break
                found.append((at, float_kind(t), size))
                at += size
            found += [(at, kind, end - at)] if at < end else []
        return tuple(found)

    def _turning(self, cell: tuple[Region, int], at: int) -> FloatType | None:
        """The format of the float that begins at a byte, if nothing but integers is there at other times."""
        region, offset = find(cell[0]), cell[1] + at
        found = float_around(region, offset, 1)
        if found is None or found[0] or may_be_pointer(region, offset, bl.mask_size(found[1])):
            return None
        return _float_of(found[1])

    def _turning_in_both(
        self, cells: list[tuple[Region, int]], at: int, kinds: dict[int, tuple[int, Kind, int]]
    ) -> FloatType | None:
        """`_turning` on both sides of a copy, of which one may know of integers in some of the bytes only."""
        found = [self._turning(cell, at) for cell in cells]
        formats = [t for t in found if t is not None]
        if not formats or any(t != formats[0] for t in formats):
            return None
        size = formats[0].bits // 8
        if any(n not in kinds or kinds[n][1] is POINTER for n in range(at, at + size)):
            return None
        others = [self._resolve(r, o + at, size) for (r, o), t in zip(cells, found, strict=True) if t is None]
        return formats[0] if all(map(is_in_words, others)) else None

    def _are_words(
        self, cells: list[tuple[Region, int]], at: int, kinds: list[tuple[int, Kind, int] | None], told: bool
    ) -> bool:  # fmt: skip
        return (
            all(k is not None and k[1] in (CONFLICT, INTEGER, ANY, UNKNOWN) for k in kinds)
            and (told or all(is_word(find(region), offset + at) for region, offset in cells))
            and all(is_in_words(self._resolve(r, offset + at, 8)) for r, offset in cells)
        )

    def _side(self, pointer: iv.AnyValue, size: int | None, multiple: int, local: bool) -> Layout:
        if size is not None:
            return self.memory(pointer, size)
        found = self._repeated(*self._builder.cell(pointer), multiple)
        lost = found.stride == 1 and not found.is_known
        return self._repeated(*self._builder.cell(pointer), 0) if lost and local else found

    def _resolve(self, region: Region, offset: int, size: int) -> Leaves:
        return tuple(named(resolve(find(region), offset, size)))

    # --- errors -------------------------------------------------------------------------------------------------

    def require(
        self,
        instruction: iv.Instruction,
        local: tuple[bool, ...] = (),
        looks: Callable[[Spot, int], Kind] | None = None,
    ) -> Layout:
        """`access`, or a `KindError` where some byte is UNKNOWN or a CONFLICT.

        `looks` says of bytes (offset, size) that are not known as what they are looked at: ANY if nobody looks at them.
        Of a copy, bytes that disagree about being doubles, pointers and integers, but about nothing else, are a WORD.
        """
        layout = self.access(instruction, local)
        if isinstance(instruction, iv.Call) and any(k is CONFLICT for _, k, _ in layout.leaves):
            layout = self._in_words(instruction, layout)
        if looks is not None and not layout.is_known:
            layout = Layout(layout.stride, tuple(looked_at(layout, looks)))
        bad = next(((o, k, s) for o, k, s in layout.leaves if not k.is_known), None)
        if bad is None:
            return layout
        raise self.error(instruction, *bad)

    def require_value(self, v: iv.AnyValue) -> Kind:
        """`value`, or a `KindError` where it is UNKNOWN or a CONFLICT."""
        kind = self.value(v)
        if kind.is_known:
            return kind
        raise self.error(v, 0, kind, self.layout.size(v.type))

    def _place(self, v: iv.AnyValue) -> Span | None:
        """Where the source has an instruction, or the function of a parameter."""
        if isinstance(v, iv.Instruction):
            return self.module.place(v)
        owner = next((f for f in self.module.functions if any(v is a for a in f.arguments)), None)
        return self.module.definition(owner.name) if owner is not None else None

    def error(self, v: iv.AnyValue, offset: int, kind: Kind, size: int) -> KindError:
        """The diagnostic for `size` bytes at `offset` of what a value or instruction holds."""
        what = "used both as a float and as something else" if kind is CONFLICT else "of unknown kind"
        where = self._function(v)
        cause = "no access, TBAA tag or debug info says whether they hold floats, integers or pointers"
        fix = "copy element by element through a pointer of the right type"
        if kind is CONFLICT:
            cause = self.disagreement(v, offset, size)
            fix = f"keep floats apart from what else lies there, in members or memory of their own, or {fix}"
        if not any("emissionKind: FullDebug" in text for text in self.module.raw_metadata.values()):
            fix = f"compile with -g, or with -O1 or higher so that TBAA tells, or {fix}"
        return KindError(
            f"bytes {offset} to {offset + size - 1} of {self.describe(v)}{where} are {what}",
            span=self._place(v),
            cause=cause,
            fix=fix,
        )


    def _function(self, v: iv.AnyValue) -> str:
        if isinstance(v, iv.Instruction):
            function = self.module.function_of(v)
        else:
            function = next((f.name for f in self.module.functions if any(v is a for a in f.arguments)), "")
        return f" in {function}" if function else ""

    def describe(self, v: iv.AnyValue) -> str:
        """What a value or instruction is for somebody who knows the source, not the IR."""
        match v:
            case iv.Store():
                return "what is written here"
            case iv.Call() if v.called_function is not None and not v.name:
                return f"what {v.called_function.name} copies"
            case iv.Load() if self.module.place(v) is not None:
                return "what is read here"
            case iv.Argument():
                f = next(f for f in self.module.functions if any(v is a for a in f.arguments))
                return f"argument {argument_name(self.module, f, v)}"
        return f"%{v.name}" if isinstance(v, iv.Value) and v.name else f"a value of type {v.type}"

    def disagreement(self, v: iv.AnyValue, offset: int, size: int) -> str:
        """Which two accesses, or types, disagree about bytes of what a value or instruction holds."""
        told = [
            f"{w.reading} is {w.done} at {self.module.place_and_function(w.source)}"
            for w in witnesses(self._builder.graph, self._views(v, offset), size)
        ]
        why = "a union, or memory used again for another type"
        if not told:
            return f"accesses or types disagree about these bytes ({why})"
        return f"{', '.join(told)}: {why}"

    def _views(self, v: iv.AnyValue, offset: int) -> list[tuple[Region, int]]:
        """The places in the graph of what an instruction moves or a value holds."""
        cells: list[iv.AnyValue] = []
        pointers: list[iv.AnyValue] = []
        match v:
            case iv.Load(pointer):
                cells, pointers = [v], [pointer]
            case iv.Store(value, pointer):
                cells, pointers = [value], [pointer]
            case iv.Call() if v in self._builder.copied_elements:
                return [(r, at + offset) for r, at in self._builder.copied_elements[v][:2]]
            case iv.Call() if v.type == VOID or not v.users:
                pointers = [a for a in v.arguments[:2] if isinstance(a.type, PointerType)]
            case iv.Other(operands=[pointer, value, *_]):
                cells, pointers = [value], [pointer]
            case _:
                cells = [v]
        regions = [(r, 0) for c in cells if (r := self._builder.contents.get(c)) is not None]
        placed = (p for p in pointers if p in self._builder.cells or isinstance(p, iv.GlobalVariable))
        known = [self._builder.cell(p) for p in placed]
        return [(find(r), at + offset) for r, at in (*known, *regions)]


def _float_of(mask: int) -> FloatType:
    return next(FloatType(name) for name, bit in bl.FLOAT_BIT.items() if bit == mask)


