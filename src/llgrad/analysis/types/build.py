"""From instructions to the constraint graph of kinds: what each instruction says of the bytes it touches.

`Builder(module, root, pointees)` walks every function that `root` reaches (through calls, and through functions whose
address is taken) and fills a `constraints.Graph`. Two maps give values their place in it: `cell(v)` is where a pointer
points, `content(v)` the bytes of any value that may carry bits of another type (integers, vectors, aggregates).
Copies relate; arithmetic, comparison and indexing with an integer are evidence that it is one; a load or store of a
float or pointer is evidence of it. Constants, zeros and undef are evidence of nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import gcd, lcm

from llgrad.analysis.bits.byte_moves import read_bytes
from llgrad.analysis.bits.integer_values import (
    all_float,
    bytes_apart,
    is_arithmetic,
    is_rounded_up,
    linear,
    not_comparison,
    scalar_bit,
)
from llgrad.analysis.call_shapes import may_mean
from llgrad.analysis.cfg.value_sets import Few
from llgrad.analysis.layout import byte_layouts as bl
from llgrad.analysis.layout.debug_info import DebugTypes, debug_record
from llgrad.analysis.layout.inlined_at import element
from llgrad.analysis.layout.tbaa_layouts import TagTypes
from llgrad.analysis.memory.call_effects import behaviour, is_column, met_functions, virtual_functions
from llgrad.analysis.memory.mod_ref import Memory
from llgrad.analysis.memory.tbaa import Tag, TypeTree
from llgrad.analysis.objects import constant_targets, gep_terms
from llgrad.analysis.types.conflicts import suspect_integers, used_as_integer
from llgrad.analysis.types.constraints import Graph
from llgrad.analysis.types.declared_types import DECLARED, LLVM_TYPE, OWN, WEAK, Token
from llgrad.analysis.types.hashbrown import ControlBytes
from llgrad.analysis.types.receivers import Receivers
from llgrad.analysis.types.regions import CONFLICT_BIT, CUT_BIT, Region, find
from llgrad.analysis.types.subobjects import Inner
from llgrad.analysis.types.transfer import COPIES, SAME_POINTER, only_freed, visit
from llgrad.ir import values as iv
from llgrad.ir.module import Module
from llgrad.ir.types import ArrayType, FloatType, IntType, PointerType, StructType, Type, VectorType, scalar
from llgrad.models.effects import string_layout
from llgrad.rules import blas

Cell = tuple[Region, int]
_LARGE = 512  # bytes from which a copy is treated like one of unknown size
_MANY = 256  # leaves up to which constants are looked into
_POINTEES: dict[str, dict[int, str]] = {
    f"{name}{suffix}": {i: {"F": format, "i": "i32"}[c] for i, c in spec.items()}
    for name, spec in {
        "sincos": {1: "F", 2: "F"}, "modf": {1: "F"}, "frexp": {1: "i"}, "remquo": {2: "i"}, "lgamma_r": {1: "i"},
    }.items()
    for suffix, format in {"": "double", "f": "float", "l": "x86_fp80"}.items()
}  # fmt: skip


class Builder:
    """The graph of all that `root` reaches. `pointees` adds, per external function, what its pointers point to;
    `memory` says which functions are called through pointers: without it, any of the type whose address is taken."""

    def __init__(
        self, module: Module, root: iv.Function, pointees: Mapping[str, Mapping[int, str]] | None = None,
        memory: Memory | None = None,
    ) -> None:  # fmt: skip
        self._memory, self._root, self._few = memory, root, Few()
        self._reached = frozenset(memory.functions) if memory is not None else None
        self.types = TypeTree(module)
        self.module, self.layout, self.graph = module, module.layout, Graph(self.types.may_alias)
        self.debug, self.tbaa, self.control = DebugTypes(module), TagTypes(module), ControlBytes(module)
        self.pointees = {**_POINTEES, **(pointees or {})}
        self.cells: dict[iv.AnyValue, Cell] = {}
        self.contents: dict[iv.AnyValue, Region] = {}
        self.copied_elements: dict[iv.Call, tuple[Cell, Cell, int]] = {}  # to and from, and bytes
        self._columns: dict[tuple[int, int, int], Region] = {}
        self.functions: dict[iv.Function, None] = {}
        self._returns: dict[iv.Function, list[iv.AnyValue]] = {}
        self._call_sites: dict[iv.Function, list[iv.Call]] = {}
        self._taken: dict[iv.Function, None] = {}
        self._indirect: list[iv.Call] = []
        self._receivers = Receivers(self, memory) if memory is not None else None
        self._llvm_types: dict[Type, bl.ByteType] = {}
        self._ints = bl.Basic("int", 4, "int")
        self._floats = {f: bl.Basic(f, bl.FLOAT_SIZES[f], "float", f) for f in bl.FLOAT_SIZES}
        self._pending = [root]
        self._locals: dict[str, iv.Value] = {}
        self._declared_types: dict[iv.Function, tuple[bl.ByteType | None, ...]] = {}
        for f in virtual_functions(module):
            self.take_address(f)
        while self._pending:
            self._function(self._pending.pop())
        if self._receivers is not None:
            self._receivers.relate()
        self.graph.solve()
        doubts = -1
        while doubts != self.graph.doubts:
            doubts = self.graph.doubts
            suspect_integers(self.graph)
            self._suspect_arithmetic()

    def _suspect_arithmetic(self) -> None:
        """Arithmetic on the bits of a float is neither: its results, and what they become, are conflicts."""
        integers = [i for f in self.functions for i in f.instructions() if is_arithmetic(i) and not_comparison(i)]
        self._suspect_sources([o for i in integers if self._holds_bits(i) for o in i.operands])
        suspects = set(filter(self._holds_bits, integers))
        while fresh := [i for i in integers if i not in suspects and self._reads_bits(i)]:
            suspects.update(fresh)
            for i in fresh:
                if (bits := self.content(i)) is not None:
                    self.graph.doubt(bits, bits.key(0, 0), reason=self._float_in(i.operands))
            self.graph.settle()

    def _suspect_sources(self, operands: list[iv.AnyValue]) -> None:
        """Integers from which arithmetic makes the bits of a float may be such bits, unless declared to be integers."""
        seen: set[iv.AnyValue] = set()
        while operands:
            v = operands.pop()
            if v in seen or isinstance(v, iv.Constant) or not isinstance(v.type, IntType) or v.type.bits < 8:
                continue
            seen.add(v)
            if isinstance(v, iv.Binary | iv.Phi | iv.Select | iv.Unary) or (
                isinstance(v, iv.Cast) and v.opcode in ("zext", "sext", "trunc")
            ):
                operands += v.operands
            elif isinstance(v, iv.Load | iv.Argument | iv.Call | iv.ExtractValue) and (bits := self.content(v)):
                cell = self.cell(v.pointer) if isinstance(v, iv.Load) else (bits, 0)
                for region, offset in {cell, (bits, 0)}:
                    if used_as_integer(region, offset):
                        self.graph.doubt(region, region.key(offset, 0))
        self.graph.settle()

    def _holds_bits(self, v: iv.AnyValue, start: int = 0, end: int = 1 << 20) -> bool:
        """Is an integer known to hold a float in bytes [start, end), or doubted there?"""
        if not isinstance(scalar(v.type), IntType) or (region := self.contents.get(v)) is None:
            return False
        slots = find(region).slots.items()
        return any(s.all & (bl.FLOAT_MASK | CONFLICT_BIT) and (step or start <= o < end) for (o, step), s in slots)

    def _float_in(self, operands: Sequence[iv.AnyValue]) -> tuple[Region, tuple[int, int]] | None:
        """Where the bits of a float are among operands, or what is doubted."""
        regions = [find(self.contents[o]) for o in operands if o in self.contents]
        bits = bl.FLOAT_MASK | CONFLICT_BIT
        return next(((r, key) for r in regions for key, s in r.slots.items() if s.all & bits), None)

    def _reads_bits(self, i: iv.Instruction) -> bool:
        """Does arithmetic read bytes that hold a float, or are doubted?"""
        start, end = read_bytes(i) if isinstance(i, iv.Binary) else (0, 1 << 20)
        return any(self._holds_bits(o, start if n == 0 else 0, end) for n, o in enumerate(i.operands))

    # --- functions ----------------------------------------------------------------------------------------------

    def _function(self, f: iv.Function) -> None:
        if f in self.functions or f.is_declaration or (self._reached is not None and f not in self._reached):
            return
        self.functions[f] = None
        self.graph.source = f
        self._declare_parameters(f)
        self._locals = {v.name: v for v in [*f.arguments, *f.instructions()]}
        self._inner = Inner(f, self.module, self.debug)
        for i in f.instructions():
            for line in i.debug_records:
                self._debug_record(line)
            self.graph.source = i
            visit(self, i) if not self.control.accessed(i) else self._control(i)
            for v in i.operands:
                if isinstance(v, iv.Function) and not (isinstance(i, iv.Call) and v is i.callee):
                    self.take_address(v)

    def _control(self, i: iv.Instruction) -> None:
        """Control bytes tell nothing of what else lies in a hash table: there are no floats among them."""
        if isinstance(i, iv.Load) and (bits := self.content(i)) is not None:
            self.integer(bits, self.layout.size(i.type))

    def _declare_parameters(self, f: iv.Function) -> None:
        declared = self.debug.result_and_parameters(f)
        plain = declared is not None and len(declared[1]) == len(f.arguments)
        for a, d in zip(f.arguments, declared[1], strict=False) if plain and declared else ():
            if isinstance(a.type, PointerType) and isinstance(d.type, bl.Pointer):
                region, offset = self.cell(a)
                pointee = d.type.to()
                self.graph.declare_pointer(region, offset, pointee, OWN, d.type.reference)
                if f is self._root and isinstance(pointee, bl.Basic) and pointee.format:
                    self.graph.evidence(region, offset, pointee.mask, pointee.size)  # whatever is made of its bits
        for a in f.arguments:
            for attribute in a.attributes:
                if attribute.name in ("byval", "sret") and isinstance(attribute.value, Type):
                    self.declare_llvm(self.cell(a), attribute.value)

    def declare_llvm(self, cell: Cell, t: Type) -> None:
        self.graph.declare(cell[0], _bounded(self.llvm_type(t), cell[1]), LLVM_TYPE)

    @property
    def taken(self) -> Collection[iv.Function]:
        """The functions whose address is used."""
        return self._taken

    def take_address(self, f: iv.Function) -> None:
        """`f` may be called through a pointer: it is related to the indirect calls of its type."""
        if f not in self._taken:
            self._taken[f] = None
            self._pending.append(f)
            for call in self._indirect:
                if may_mean(call, f):
                    self.relate_call(call, f, call.arguments)

    def indirect_call(self, call: iv.Call) -> None:
        for f in met_functions(self.module):
            if may_mean(call, f):
                self.take_address(f)
        if self._memory is not None and not (known := self._memory.functions_called(call)).may_be_unknown:
            for f in known.functions:
                self.relate_call(call, f, call.arguments)
            return
        self._indirect.append(call)
        for f in self._taken:
            if may_mean(call, f):
                self.relate_call(call, f, call.arguments)

    def relate_call(self, call: iv.Call | None, f: iv.Function, arguments: Sequence[iv.AnyValue | None]) -> None:
        """Actual to formal arguments; what is returned to the call's result."""
        self._pending.append(f)
        declared = self._parameter_types(f)
        told = self._receivers.add(call, f) if self._receivers is not None and call is not None else None
        for n, (formal, actual) in enumerate(zip(f.arguments, arguments, strict=False)):
            if actual is not None and actual is not told and formal.type == actual.type:
                self.same(actual, formal, declared[n] if declared else None)
        if call is not None and call.type == f.function_type.result:
            self._call_sites.setdefault(f, []).append(call)
            for value in self._returns.get(f, ()):
                self._hand_back(value, call)

    def _parameter_types(self, f: iv.Function) -> tuple[bl.ByteType | None, ...]:
        """The declared types of a function's parameters; none where LLVM has others."""
        if f not in self._declared_types:
            declared = self.debug.result_and_parameters(f)
            plain = declared is not None and len(declared[1]) == len(f.arguments)
            self._declared_types[f] = tuple(d.type for d in declared[1]) if declared is not None and plain else ()
        return self._declared_types[f]

    def returned(self, value: iv.AnyValue, f: iv.Function) -> None:
        self._returns.setdefault(f, []).append(value)
        for call in self._call_sites.get(f, ()):
            self._hand_back(value, call)

    def _hand_back(self, value: iv.AnyValue, call: iv.Call) -> None:
        """What is returned becomes the result of a call. Where that is the call's own argument, it is so already: what
        other callers pass is none of its business."""
        if self._given_back(call) is None:
            self.same(value, call)

    # --- values' places -----------------------------------------------------------------------------------------

    def cell(self, v: iv.AnyValue) -> Cell:
        """Where a pointer points: a region and an offset."""
        found = self.cells.get(v)
        if found is None:
            found = self._make_cell(v)
            if not isinstance(v, (iv.ConstNull, iv.Undef)):
                self.cells[v] = found
        return find(found[0]), found[1]

    def _make_cell(self, v: iv.AnyValue) -> Cell:
        match v:
            case iv.GetElementPtr(source, pointer):
                chosen = self._few.chosen_indices(v)
                return self.cell(pointer) if is_rounded_up(v) else self._gep(source, pointer, *chosen)
            case iv.ConstExpr(opcode="getelementptr", operands=ops, source_type=source) if source is not None:
                return self._gep(source, ops[0], ops[1:])
            case iv.Cast("bitcast" | "addrspacecast", value) | iv.Unary("freeze", value):
                return self.cell(value)
            case iv.ConstExpr(opcode="bitcast" | "addrspacecast" | "inttoptr", operands=ops):
                return self.cell(ops[0]) if v.opcode != "inttoptr" else self._address(v)
            case iv.Cast("inttoptr", value) if (bits := self.content(value)) is not None:
                self.graph.evidence(bits, 0, bl.POINTER_BIT)
                return self.graph.pointee(bits, 0), 0
            case iv.Load(pointer) | iv.Other(opcode="atomicrmw", operands=[pointer, *_]):
                freed, tag = only_freed(v), self.types.tag(v)
                return self.graph.region() if freed else self.graph.pointee(*self.cell(pointer), tag), 0
            case iv.ExtractValue(aggregate, indices) if (bits := self.content(aggregate)) is not None:
                return self.graph.pointee(bits, self.layout.offset(aggregate.type, indices)), 0
            case iv.ExtractElement(vector, iv.ConstInt() as n) if (bits := self.content(vector)) is not None:
                return self.graph.pointee(bits, n.value * self.layout.size(v.type)), 0
            case iv.Alias():
                return self.cell(v.aliasee)
            case iv.Call() if (given := self._given_back(v)) is not None:
                return self.cell(given) if not is_column(v) else self._column(given, v.arguments[2])
            case iv.GlobalVariable():
                return self._global(v)
        return self.graph.region(), 0

    def _address(self, v: iv.ConstExpr) -> Cell:
        """What `inttoptr (add (ptrtoint @g, 8))` points to."""
        ((target, at), *others) = constant_targets(v, self.layout) or {(None, None)}
        region, start = (self.graph.region(), 0) if target is None or others else self.cell(target)
        return region, start + (at or 0)

    def _column(self, block: iv.AnyValue, number: iv.AnyValue) -> Cell:
        """A column of a tape block is memory of its own: what is kept there is read as what it was written as."""
        assert isinstance(number, iv.ConstInt)
        block_region, at = self.cell(block)
        key = (0, 0) if number.value >> 31 & 1 else (block_region.id, at)  # see `autodiff.emit.tape`
        region = self._columns.setdefault((*key, number.value), self.graph.region())
        if size := number.value >> 32:  # a column of integers
            self.graph.set_period(region, size)
            self.integer(region, size)
            self.integer(region, size, likely=True)
        return region, 0

    def _given_back(self, call: iv.Call) -> iv.AnyValue | None:
        """The pointer that a call is given and returns, where that is said; of a tape's column, the block."""
        f, pointers = call.called_function, isinstance(call.type, PointerType)
        if f is None or not pointers:
            return None
        if f.name.startswith(SAME_POINTER) or f.name in COPIES or is_column(call):
            return call.arguments[0]
        pairs = zip(f.arguments, call.arguments, strict=False)
        return next((given for formal, given in pairs if formal.attribute("returned") is not None), None)

    def _global(self, g: iv.GlobalVariable) -> Cell:
        region, before = self.graph.region(), self.graph.source
        self.cells[g], self.graph.source = (region, 0), g
        self.declare_llvm((region, 0), g.value_type)
        for declared in self.debug.global_types(g):
            self.graph.declare(region, _bounded(declared, 0), _variable_level(declared))
        if g.initializer is not None and len(list(self.leaves(g.value_type))) <= _MANY:
            self.put(g.initializer, (region, 0))
        self.graph.source = before
        return region, 0

    def _gep(self, source: Type, pointer: iv.AnyValue, *chosen: Sequence[iv.AnyValue]) -> Cell:
        """`chosen`: lists of indices, of which one it is."""
        if not isinstance(pointer.type, PointerType) or any(isinstance(i.type, VectorType) for i in chosen[0]):
            return self.graph.region(), 0
        region, offset = self.cell(pointer)
        offsets = [self._offset(source, indices) for indices in chosen]
        if len(offsets) > 1:
            made = self.graph.region()
            for constant, step, unit in offsets:
                self.graph.edge(region, offset + constant, made, step=step, unit=unit)
            return made, 0
        constant, step, unit = offsets[0]
        if step == 0:
            return region, offset + constant
        return self._element(region, offset + constant, step, unit)

    def _element(self, region: Region, at: int, step: int, unit: int = 0) -> Cell:
        """Some element of an array that begins at a byte of a region."""
        if region.period and step % region.period == 0:
            region.units |= {unit or step}
            return region, at
        made = self.graph.region()
        self.graph.edge(region, at, made, step=step, unit=unit)
        return made, 0

    def _offset(self, t: Type, indices: Sequence[iv.AnyValue]) -> tuple[int, int, int]:
        """Constant bytes, the step of the variable ones (0: none), and after what the indexed types repeat."""
        found = gep_terms(t, indices, self.layout)
        assert found is not None
        (constant, terms), step, unit = found, 0, 1
        for index, size in terms:
            start, multiple = bytes_apart(index, size)
            constant += start * size
            step = gcd(step, multiple * size)
            unit = lcm(unit, (multiple if size == 1 else 1) * size) if multiple else unit
        return constant, step, unit

    def content(self, v: iv.AnyValue) -> Region | None:
        """The bytes of a value; None for constants and scalars whose type says it all."""
        if isinstance(v, iv.Constant) or isinstance(v.type, (FloatType, PointerType)) or not self.sized(v.type):
            return None
        found = self.contents.get(v)
        if found is None:
            found = self._make_content(v)
            self.contents[v] = found
        return find(found)

    def _make_content(self, v: iv.AnyValue) -> Region:
        same = v.value if isinstance(v, iv.Cast | iv.Unary) and v.opcode in ("bitcast", "freeze") else None
        if same is not None and (inner := self.content(same)) is not None:
            self.seed(inner, v.type)
            return inner
        region = self.graph.region()
        self.seed(region, v.type)
        if is_arithmetic(v):
            self.integer(region, self.layout.size(v.type))
        if isinstance(v, iv.Cast) and v.opcode == "bitcast":
            self.seed(region, v.value.type)
        return region

    def seed(self, region: Region, t: Type, offset: int = 0) -> None:
        for at, leaf in self.leaves(t):
            if bit := scalar_bit(leaf):
                self.graph.evidence(region, offset + at, bit)

    def integer(self, region: Region, size: int, offset: int = 0, likely: bool = False) -> None:
        """Bytes that are used as integers; or `likely`: they are accessed as such, but may be the bits of a float."""
        for at, bit in bl.int_pieces(size):
            self.graph.evidence(region, offset + at, bl.LIKELY_INTS[bl.BIT_SIZES[bit]] if likely else bit)

    # --- relations ----------------------------------------------------------------------------------------------

    def same(self, source: iv.AnyValue, target: iv.Value, declared: bl.ByteType | None = None) -> None:
        """`target`, which may be declared to be of some type, may be `source`: phi, select, argument, result."""
        if isinstance(target.type, PointerType):
            if not isinstance(source, (iv.ConstNull, iv.Undef)):
                region, offset = self.cell(target)
                limit = self._inner.limit(source) or self._inner.limit_as(source, target, declared)
                self.graph.edge(*self.cell(source), region, to=offset, size=limit) if not offset else None
        else:
            self.copy_bits(source, 0, target, 0, None)

    def copy_bits(self, source: iv.AnyValue, at: int, target: iv.Value, to: int, size: int | None) -> None:
        """Bytes of one value become bytes of another (to the shorter end where `size` is None)."""
        child = self.content(target)
        if child is None:
            return
        if size is None:
            size = min(self.layout.size(target.type) - to, self.layout.size(source.type) - at)
        if isinstance(source, iv.Constant):
            if at == 0 and size == self.layout.size(source.type):
                self.put(source, (child, to))
        elif isinstance(source.type, (FloatType, PointerType)):
            self.put(source, (child, to))
        elif (parent := self.content(source)) is not None and size > 0:
            self.graph.edge(parent, at, child, size=size, to=to)

    def put(self, v: iv.AnyValue, cell: Cell, only: int = -1, tag: Tag | None = None) -> None:
        """A value is written to memory (or into a larger value); by an access that is declared to be of `only`.

        What part of a float it may be was a question where it was read.
        """
        region, offset = cell
        if isinstance(v, iv.ConstAggregate):
            for at, element in v.placed(self.layout):
                self.put(element, (region, offset + at))
            return
        if isinstance(v, (iv.Undef, iv.ConstZero)) or not self.sized(v.type):
            return
        self.seed(region, v.type, offset)
        if isinstance(v, iv.Function):  # in a table of functions
            self.take_address(v)
        if isinstance(v.type, PointerType):
            if not isinstance(v, iv.ConstNull):
                limit = self._inner.limit(v)
                self.graph.edge(*self.cell(v), self.graph.pointee(region, offset, tag), size=limit, store=True)
        elif (bits := self.content(v)) is not None and not all_float(v.type):
            self._mark(bits, v, only)
            self.graph.edge(bits, 0, region, size=self.layout.size(v.type), to=offset, store=True, only=only & ~CUT_BIT)

    def _mark(self, bits: Region, v: iv.AnyValue, only: int) -> None:
        """What is moved as an integer is declared to be floats, or pointers, all of it."""
        if only > 0:
            for o in range(0, self.layout.size(v.type), bl.mask_size(only)):
                self.graph.evidence(bits, o, only)

    def declared(self, i: iv.Instruction, size: int) -> int:
        """What an access through an integer type is declared to be of (LLVM makes such of copies); -1: anything."""
        if (ref := i.metadata.get("tbaa")) is None:
            return -1
        access = self.tbaa.tag(ref)[1]
        if isinstance(access, bl.Pointer) and size % 8 == 0:
            return bl.POINTER_BIT
        return access.mask if isinstance(access, bl.Basic) and access.format and size % access.size == 0 else -1

    def get(self, v: iv.Value, cell: Cell, only: int = -1) -> None:
        """A value is read from memory."""
        self.seed(cell[0], v.type, cell[1])
        if not isinstance(v.type, PointerType) and not all_float(v.type) and (bits := self.content(v)) is not None:
            self._mark(bits, v, only)
            self.graph.edge(*cell, bits, size=self.layout.size(v.type), only=only)

    def copy_elements(self, copy: iv.Call) -> bool:
        """A copy of some number of elements of a known size: each is copied to where it is in the other array."""
        target, source, length = copy.arguments[:3]
        start, multiple = linear(length)
        size = element(self.module, copy) if not isinstance(length, iv.ConstInt) else 0
        if not 1 < size <= _LARGE or start % size or multiple % size:
            return False
        cells = [self._element(*self.cell(pointer), size) for pointer in (target, source)]
        self.graph.edge(*cells[1], cells[0][0], to=cells[0][1], size=size, store=True)
        self.copied_elements[copy] = cells[0], cells[1], size
        return True

    def copy_memory(self, target: Cell, source: Cell, size: iv.AnyValue | None) -> None:
        """`memcpy`: exact for small constant sizes; otherwise both are seen as arrays of unknown length."""
        if isinstance(size, iv.ConstInt) and size.value <= _LARGE:
            self.graph.edge(*source, target[0], size=size.value, to=target[1], store=True)
            return
        read, written = self.graph.region(), self.graph.region()
        self.graph.edge(*source, read)
        self.graph.edge(*target, written)
        self.graph.edge(read, 0, written, store=True, moves=True)

    # --- types --------------------------------------------------------------------------------------------------

    def sized(self, t: Type) -> bool:
        return bool(self.layout.known_size(t))

    def leaves(self, t: Type) -> Iterator[tuple[int, Type]]:
        """The scalars of a type with their offsets; of a long array the first."""
        return self.layout.leaves(t, lanes=True, most=4 * _MANY)

    def llvm_type(self, t: Type) -> bl.ByteType:
        """LLVM's own type as a layout: integers and unions say nothing."""
        if t not in self._llvm_types:
            self._llvm_types[t] = self._make_llvm_type(t)
        return self._llvm_types[t]

    def _make_llvm_type(self, t: Type) -> bl.ByteType:
        size = self.layout.alloc_size(t) if self.sized(t) else 0
        match t:
            case FloatType(name):
                return bl.Basic(name, size, "float", name)
            case PointerType():
                return bl.Pointer("ptr", size, lambda: None)
            case ArrayType(element, count) | VectorType(element, count) if size:
                return bl.Sequence("", size, self.llvm_type(element), (count,))
            case StructType(fields, _, name) if fields is not None and "union." not in (name or ""):
                offsets = self.layout.offsets(t)
                return bl.Record("", size, tuple(bl.Member("", o, self.llvm_type(f)) for o, f in zip(offsets, fields)))  # noqa: B905
        return bl.Unknown("", size)

    # --- declarations -------------------------------------------------------------------------------------------

    def declared_formats(self, pointer: iv.AnyValue) -> frozenset[str]:
        """Formats of the floats in the type that is declared for what an argument, variable or pointer points to."""
        if isinstance(pointer, iv.GlobalVariable):
            types = self.debug.global_types(pointer) or [self.llvm_type(pointer.value_type)]
            return frozenset(f for t in types for f in bl.formats(t))
        if isinstance(pointer, iv.Argument):
            pointee = self.declared_pointee(pointer)
            return bl.formats(pointee) if pointee is not None else frozenset()
        tokens = self.cell(pointer)[0].tokens
        return frozenset(f for token, level in tokens.items() if level < WEAK for f in bl.formats(token.type))

    def declared_pointee(self, pointer: iv.Argument) -> bl.ByteType | None:
        """What an argument is declared to point to."""
        function = next(f for f in self.functions if pointer in f.arguments)
        declared = self.debug.result_and_parameters(function)
        plain = declared is not None and len(declared[1]) == len(function.arguments)
        t = declared[1][pointer.index].type if plain and declared else None
        return t.to() if isinstance(t, bl.Pointer) else None

    def _debug_record(self, line: str) -> None:
        record = debug_record(line)
        if record is None or not record.plain or "%" not in record.operand:
            return
        value = self._locals.get(record.operand.partition("%")[2].strip('"'))
        variable = self.debug.variable(record.variable)
        if value is None or variable is None or variable.type is None or bl.is_character(variable.type):
            return
        self.graph.source = record.variable
        if isinstance(value.type, PointerType):
            region, offset = self.cell(value)
            if record.kind == "declare":
                self.graph.declare(region, _bounded(variable.type, offset), _variable_level(variable.type))
            elif isinstance(variable.type, bl.Pointer):
                self.graph.declare_pointer(region, offset, variable.type.to(), DECLARED, variable.type.reference)
        elif record.kind == "value" and self.sized(value.type):
            bits = self.content(value)
            if bits is not None and self.layout.size(value.type) == variable.type.size:
                self.graph.declare(bits, _bounded(variable.type, 0), _variable_level(variable.type))

    def external(self, call: iv.Call, f: iv.Function) -> None:
        """A function without a body: what is known of its pointers."""
        if strings := behaviour(call, f).strings:
            for n in strings:
                self.string(self.cell(call.arguments[n]), *string_layout(f.name))
            return
        known = blas.pointees(f.name) if blas.is_own(f.name) else self.pointees.get(f.name, {})
        for n, format in known.items():
            if n < len(call.arguments) and isinstance(call.arguments[n].type, PointerType):
                t = self._floats.get(format, self._ints)
                self.graph.declare_pointer(*self.cell(call.arguments[n]), t, DECLARED)
        declared = self.debug.result_and_parameters(f)
        if declared is not None and len(declared[1]) <= len(call.arguments) and len(declared[1]) == len(f.arguments):
            for a, d in zip(call.arguments, declared[1], strict=False):
                if isinstance(a.type, PointerType) and isinstance(d.type, bl.Pointer):
                    self.graph.declare_pointer(*self.cell(a), d.type.to(), DECLARED, d.type.reference)

    def string(self, cell: Cell, size: int, pointer: int) -> None:
        """A `std::string` (`llgrad.transforms.guard.strings`): a pointer, the length, text or a capacity."""
        region, at = cell
        self.graph.evidence(region, at + pointer, bl.POINTER_BIT)
        self.graph.ask(find(region), find(region).key(at + pointer, 0))
        for o in range(0, size, 8):
            if o != pointer:
                self.graph.evidence(region, at + o, bl.LIKELY_INTS[8])

    def stated(self, cell: Cell, kind: str, size: iv.AnyValue) -> None:
        """The user says what the bytes at a pointer hold: floats, doubles, integers or pointers, all of them."""
        region, at = cell
        bit = {"pointer": bl.POINTER_BIT, "integer": bl.INT_BITS[1]}.get(kind) or bl.FLOAT_BIT[kind]
        unit = {"pointer": 8, "integer": 1}.get(kind) or bl.FLOAT_SIZES[kind]
        if kind in self._floats:
            self.graph.declare_pointer(region, at, self._floats[kind], DECLARED)
        known = size.value if isinstance(size, iv.ConstInt) and size.value <= _LARGE else unit
        if kind == "integer":  # also behind floats, of which there may be more than was said
            self.graph.declare(region, Token(self._ints, at, at, at + known), DECLARED)
        for o in range(0, known, unit):
            self.graph.evidence(region, at + o, bit)

    def tagged(self, i: iv.Instruction, cell: Cell, size: int) -> None:
        """The TBAA tag of an access of `size` bytes."""
        if (ref := i.metadata.get("tbaa")) is None:
            return
        base, access, offset = self.tbaa.tag(ref)
        region, at = cell
        if isinstance(base, bl.Record):
            self.graph.declare(region, Token(base, at - offset, at - offset, at - offset + base.size), DECLARED)
        self.scalar_type(cell, access, size, self.types.tag(i))

    def array_of(self, access: bl.ByteType, pointers: Sequence[iv.AnyValue]) -> None:
        """What the pointers point to are floats of the type `access`, if that is a float."""
        if isinstance(access, bl.Basic) and access.format:
            for pointer in pointers:
                self.graph.declare_pointer(*self.cell(pointer), access, DECLARED)

    def scalar_type(self, cell: Cell, access: bl.ByteType, size: int, tag: Tag | None = None) -> None:
        region, at = cell
        if isinstance(access, bl.Pointer):
            for o in range(at, at + size, access.size):
                self.graph.evidence(region, o, bl.POINTER_BIT)
                if (pointee := access.to()) is not None:
                    self.graph.declare_pointer(self.graph.pointee(region, o, tag), 0, pointee, DECLARED)
        elif isinstance(access, bl.Basic) and size % access.size == 0 and size <= 8 * _MANY:
            for o in range(at, at + size, access.size):
                if access.format:
                    self.graph.evidence(region, o, access.mask)
                else:
                    self.integer(region, access.size, o, likely=True)


def _variable_level(t: bl.ByteType) -> int:
    """An integer variable may hold the bits of anything; other variables hold what they are declared to."""
    return WEAK if isinstance(t, bl.Basic) and not t.format else DECLARED


def _bounded(t: bl.ByteType, at: int) -> Token:
    return Token(t, at, at, at + t.size)
