"""What is thrown, as memory like any other: handlers reach it by addresses that the analyses can follow (Itanium ABI).

The runtime hands a handler the address of what was thrown; where that lies is its secret, and so is where its shadow
does. So the object is made in a block of the program's own, behind a header that counts its handlers as the runtime
does; what the runtime throws is a copy of its bits, by which it finds the handler. The address of the object goes with
the exception (`transforms.legalize.exceptions_to_results`), and the handler takes it; where the handler wants a base
class, its offset is one of those that the type information of what is thrown knows. The last handler destroys the
object. An exception that leaves for handlers outside takes the object along: the runtime's destructor of the copy is
that of the object.

What is thrown may be a pointer: the object is the pointer then, and a handler takes what lies in there, as the runtime
does. Where `throw;` stands in a function that does not catch itself, the handlers that run are a list of all functions,
the head of which lies beside the pending exception.

Left alone (`payloads` is None): pointers to members, classes whose virtual tables are elsewhere, `std::exception_ptr`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from llgrad.analysis.cfg.flow import flow
from llgrad.analysis.solver import reach
from llgrad.ir.build import Builder, const_int, declare, i64, zero
from llgrad.ir.module import Module
from llgrad.ir.parse import parse_function_text
from llgrad.ir.types import I32, I64, PTR, VOID, IntType, StructType, Type
from llgrad.ir.values import (
    AnyValue,
    Block,
    Branch,
    Call,
    Compare,
    ConstAggregate,
    ConstExpr,
    ConstInt,
    ConstNull,
    ExtractValue,
    Function,
    GetElementPtr,
    GlobalVariable,
    InsertValue,
    Instruction,
    Other,
    Phi,
    Select,
    Undef,
    replace_uses,
)

HEADER = 32  # of an object: destructor, size, number of handlers, whether it is in flight; also the runtime's own
_PREFIX = "llgrad.exception."
THROW, GIVE, DIES = (_PREFIX + word for word in ("throw", "give", "dies"))  # known to `analysis.memory.call_effects`
LEAVE, CAUGHT, AGAIN, DONE = (_PREFIX + word for word in ("leave", "caught", "again", "done"))
LARGEST = 4096  # bytes of an object
ADDRESS = ("__cxa_begin_catch", "__cxa_get_exception_ptr")
_SINGLE = "_ZTVN10__cxxabiv120__si_class_type_infoE"
_MULTIPLE = "_ZTVN10__cxxabiv121__vmi_class_type_infoE"
_NODE = StructType((PTR, PTR))  # what a handler has caught, and the handler around it
_KEPT = ("current_exception", "rethrow_exception", "_primary_exception", "exception_ptr")
_SEES_EXCEPTION = (
    "__cxa_begin_catch", "__cxa_get_exception_ptr", "__cxa_call_", "__clang_call_terminate", "_Unwind_Resume",
)  # fmt: skip
_FUNDAMENTAL = "vwbcahstijlmxynofdegz"  # Itanium's letters


class Payloads(Struct, frozen=True):
    """`offsets` of base classes in what is thrown, and in what thrown pointers have `pointed` to (none: no pointers);
    the `destructors` of objects. Is what handlers have caught thrown again by `others`?"""

    offsets: tuple[int, ...]
    pointed: tuple[int, ...]
    destructors: tuple[str, ...]
    others: bool


class BeyondError(Exception):
    """What is thrown is not as `Payloads` says."""


def payloads(changed: Sequence[Function]) -> Payloads | None:
    """What is thrown in some functions, if any of them looks at it."""
    calls = [(i, n) for f in changed for i in f.instructions() if isinstance(i, Call) and (n := _name(i))]
    if not any(looks_at_exception(i) for f in changed for i in f.instructions()):
        return None
    if any(word in n for f in changed[:1] if f.module is not None for n in f.module.globals for word in _KEPT):
        return None
    offsets, pointed, others = {0}, set[int](), False
    for i, n in calls:
        for type in _ways([i.arguments[1]]) if n == "__cxa_throw" else ():
            found = _bases(_pointee(type), None) if _is_pointer(type) else _bases(type, type)
            if not found:
                return None
            (pointed if _is_pointer(type) else offsets).update(found)
        others |= n == "__cxa_rethrow" and not catches_before(i)
    sizes = [i.arguments[0] for i, n in calls if n == "__cxa_allocate_exception"]
    destructors = {*_ways([i.arguments[2] for i, n in calls if n == "__cxa_throw"])} - {ConstNull(PTR)}
    if not all(isinstance(s, ConstInt) and s.value <= LARGEST for s in sizes):
        return None
    if not all(isinstance(d, Function) for d in destructors):
        return None
    names = sorted(d.name for d in destructors if isinstance(d, Function))
    return Payloads(tuple(sorted(offsets)), tuple(sorted(pointed)), tuple(names), others)


def _ways(values: Sequence[AnyValue]) -> list[AnyValue]:
    """What may be meant: LLVM makes one call of several throws, of what each of them has."""

    def merged(v: AnyValue) -> list[AnyValue]:
        match v:
            case Phi():
                return list(v.operands)
            case Select(_, yes, no):
                return [yes, no]
        return []

    return [v for v in reach(values, merged) if not merged(v)]


def looks_at_exception(i: Instruction) -> bool:
    """Does a handler look at what it has caught? One that takes a pointer by reference does so without a call."""
    if isinstance(i, Call):
        return _name(i) in ADDRESS and bool(i.users)
    return i.opcode == "landingpad" and any(_is_pointer(v) for v in i.operands)


def _name(call: Call) -> str:
    return call.called_function.name if call.called_function is not None else ""


def catches_before(again: Call) -> bool:
    """Does the function of a `throw;` catch what that throws?"""
    f = again.block.function
    assert f is not None
    catches = [i for i in f.instructions() if isinstance(i, Call) and _name(i) == ADDRESS[0]]
    return any(flow(f).dominates_instruction(c, again) for c in catches)


def _caught_type(catch: Call) -> AnyValue | None:
    """The type that a handler is for, if only one is."""
    assert catch.block.function is not None
    tree = flow(catch.block.function)
    b: Block | None = catch.block
    while b is not None:
        match b.terminator:
            case Branch(Compare("icmp", "eq", a, c), (yes, _)) if tree.dominates_edge(b, yes, catch.block):
                for v in (a, c):
                    if isinstance(v, Call) and _name(v).startswith("llvm.eh.typeid.for"):
                        return v.arguments[0]
            case _:
                pass
        b = tree.idom[b]
    return None


def _is_of_library(type: AnyValue | None) -> bool:
    """May it be a class of the standard library's?"""
    return getattr(type, "name", "_ZTISt").startswith(("_ZTISt", "_ZTINSt", "_ZTIKSt", "_ZTINKSt"))


def _is_pointer(type: AnyValue | None) -> bool:
    return getattr(type, "name", "").startswith("_ZTIP")


def _pointee(type: AnyValue) -> AnyValue:
    """What a type of pointers points to; the type itself for those of the fundamental types, which the runtime has."""
    initial = type.initializer if isinstance(type, GlobalVariable) else None
    return initial.elements[3] if isinstance(initial, ConstAggregate) else type


def _bases(type: AnyValue, whole: AnyValue | None) -> set[int]:
    """The offsets of a class's base classes, and 0; nothing where they are not known. `whole`: the object's class."""
    if not isinstance(type, GlobalVariable) or type.name.startswith(("_ZTIM", "_ZTIF")):
        return set()
    known = type.name.startswith(("_ZTISt", "_ZTINSt")) or type.name[4:].lstrip("PK") in _FUNDAMENTAL
    if not isinstance(type.initializer, ConstAggregate):
        return {0} if known else set()
    vtable, members = str(type.initializer.elements[0]), type.initializer.elements
    if _SINGLE in vtable:
        return _bases(members[2], whole)
    if _MULTIPLE not in vtable:
        return {0}
    found = {0}
    for base, where in zip(members[4::2], members[5::2], strict=True):
        if not isinstance(where, ConstInt):
            return set()
        starts = _virtual_offsets(whole) if where.value & 1 else [where.signed >> 8]
        offsets = {start + o for start in starts for o in _bases(base, whole)}
        if not offsets:
            return set()
        found |= offsets
    return found


def _virtual_offsets(type: AnyValue | None) -> list[int]:
    """Where virtual base classes may be in an object of a class: what stands before the type in its virtual table."""
    tables = type.module.globals if isinstance(type, GlobalVariable) and type.module is not None else {}
    table = getattr(tables.get(getattr(type, "name", "").replace("_ZTI", "_ZTV", 1)), "initializer", None)
    if not isinstance(table, ConstAggregate) or not isinstance(first := table.elements[0], ConstAggregate):
        return []
    found = set()
    for entry in first.elements:
        match entry:
            case ConstExpr(opcode="inttoptr", operands=(ConstInt() as offset,)) if 0 <= offset.signed < LARGEST:
                found.add(offset.signed)
            case ConstNull():
                found.add(0)
            case _ if entry is type:
                return sorted(found)
            case _:
                pass
    return []


_BODIES = f"""
declare ptr @__cxa_allocate_exception(i64)
declare void @__cxa_throw(ptr, ptr, ptr) noreturn
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @free(ptr)
define internal void @{THROW}(ptr %object, ptr %type, ptr %owned) noinline {{
  %at = getelementptr i8, ptr %object, i64 -24
  %size = load i64, ptr %at
  %copy = call ptr @__cxa_allocate_exception(i64 {LARGEST + 16})
  call void @llvm.memcpy.p0.p0.i64(ptr %copy, ptr %object, i64 %size, i1 false)
  %slot = getelementptr i8, ptr %copy, i64 {LARGEST}
  store ptr %owned, ptr %slot
  call void @__cxa_throw(ptr %copy, ptr %type, ptr @{DIES})
  unreachable
}}
define internal void @{DIES}(ptr %copy) {{
  %slot = getelementptr i8, ptr %copy, i64 {LARGEST}
  %object = load ptr, ptr %slot
  %none = icmp eq ptr %object, null
  br i1 %none, label %done, label %some
some:
  %block = getelementptr i8, ptr %object, i64 -{HEADER}
  %destroy = load ptr, ptr %block
  %bits = icmp eq ptr %destroy, null
  br i1 %bits, label %release, label %destruction
destruction:
  call void %destroy(ptr %object)
  br label %release
release:
  call void @free(ptr %block)
  br label %done
done:
  ret void
}}
define internal void @{GIVE}(ptr %exception, ptr %object) noinline {{
  %copy = getelementptr i8, ptr %exception, i64 {HEADER}
  %at = getelementptr i8, ptr %object, i64 -24
  %size = load i64, ptr %at
  call void @llvm.memcpy.p0.p0.i64(ptr %copy, ptr %object, i64 %size, i1 false)
  %block = getelementptr i8, ptr %object, i64 -{HEADER}
  %destroy = load ptr, ptr %block
  %bits = icmp eq ptr %destroy, null
  %owned = select i1 %bits, ptr null, ptr %object
  %slot = getelementptr i8, ptr %copy, i64 {LARGEST}
  store ptr %owned, ptr %slot
  ret void
}}
"""


RUNTIME = (THROW, GIVE)


def with_runtime(module: Module) -> bool:
    """Give bodies to what the analyses only know by name."""
    wanted = any(name in module.globals and module.function(name).is_declaration for name in RUNTIME)
    if wanted:
        parse_function_text(module, _BODIES)
    return wanted


def helpers(p: Payloads) -> str:
    """Functions that converted ones call, as text."""
    destroys = "".join(
        f"""  %is.{n} = icmp eq ptr %destroy, @{name}
  br i1 %is.{n}, label %do.{n}, label %no.{n}
do.{n}:
  call void @{name}(ptr %object)
  br label %no.{n}
no.{n}:
"""
        for n, name in enumerate(p.destructors)
    )
    return f"""
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @{THROW}(ptr, ptr, ptr)
declare void @{GIVE}(ptr, ptr)
define internal void @{LEAVE}(ptr %exception, ptr %object) alwaysinline {{
  %none = icmp eq ptr %object, null
  br i1 %none, label %done, label %some
some:
  call void @{GIVE}(ptr %exception, ptr %object)
  %block = getelementptr i8, ptr %object, i64 -{HEADER}
  %destroy = load ptr, ptr %block
  %bits = icmp eq ptr %destroy, null
  br i1 %bits, label %go, label %done
go:
  call void @free(ptr %block)
  br label %done
done:
  ret void
}}
define internal void @{CAUGHT}(ptr %handled, ptr %node, ptr %object) alwaysinline {{
  %before = load ptr, ptr %handled
  %link = getelementptr i8, ptr %node, i64 8
  store ptr %before, ptr %link
  store ptr %object, ptr %node
  store ptr %node, ptr %handled
  %none = icmp eq ptr %object, null
  br i1 %none, label %done, label %some
some:
  %count.at = getelementptr i8, ptr %object, i64 -16
  %count = load i32, ptr %count.at
  %more = add i32 %count, 1
  store i32 %more, ptr %count.at
  %flying.at = getelementptr i8, ptr %object, i64 -12
  store i32 0, ptr %flying.at
  br label %done
done:
  ret void
}}
define internal void @{AGAIN}(ptr %object) alwaysinline {{
  %none = icmp eq ptr %object, null
  br i1 %none, label %done, label %some
some:
  %flying.at = getelementptr i8, ptr %object, i64 -12
  store i32 1, ptr %flying.at
  br label %done
done:
  ret void
}}
define internal void @{DONE}(ptr %handled) alwaysinline {{
  %node = load ptr, ptr %handled
  %object = load ptr, ptr %node
  %link = getelementptr i8, ptr %node, i64 8
  %before = load ptr, ptr %link
  store ptr %before, ptr %handled
  %none = icmp eq ptr %object, null
  br i1 %none, label %done, label %some
some:
  %count.at = getelementptr i8, ptr %object, i64 -16
  %count = load i32, ptr %count.at
  %less = sub i32 %count, 1
  store i32 %less, ptr %count.at
  %flying.at = getelementptr i8, ptr %object, i64 -12
  %flying = load i32, ptr %flying.at
  %held = or i32 %less, %flying
  %last = icmp eq i32 %held, 0
  br i1 %last, label %destruction, label %done
destruction:
  %block = getelementptr i8, ptr %object, i64 -{HEADER}
  %destroy = load ptr, ptr %block
{destroys}  call void @free(ptr %block)
  br label %done
done:
  ret void
}}
"""


class Origins:
    """Of what is caught in a function, the values that stand for the objects: one for each that is an exception."""

    def __init__(self, pads: dict[Block, Phi], foreign: dict[Block, int], fresh: Callable[[str], str]) -> None:
        self.pads, self.foreign, self._fresh = pads, foreign, fresh
        self._found: dict[AnyValue, AnyValue] = {}
        self._made: list[AnyValue] = []

    def of(self, v: AnyValue) -> AnyValue:
        """The object of an exception, or of the pair that a `landingpad` gives."""
        if v not in self._found:
            match v:
                case Phi():
                    self._merged(v)
                case Other(opcode="landingpad"):
                    self._found[v] = self.pads[v.block]
                case ExtractValue(pair, (0,)) if isinstance(pair.type, StructType):
                    self._found[v] = self.of(pair)
                case InsertValue(pair, value, (n,)) if isinstance(v.type, StructType):
                    self._found[v] = self.of(value) if n == 0 else self.of(pair)
                case Undef():
                    return ConstNull(PTR)
                case _:
                    raise BeyondError
        return self._found[v]

    def foreign_to(self, thrown: AnyValue) -> int:
        """May an exception have no object of the program's? 0: no, 1: one of the library's, 2: any."""

        def merged(v: AnyValue) -> list[AnyValue]:
            return v.operands if isinstance(v, Phi) and v in self._made else []

        ends = [v for v in reach([thrown], merged) if v not in self._made]
        levels = {phi: self.foreign[block] for block, phi in self.pads.items()}
        return max([levels.get(v, 2) if isinstance(v, Phi) else 2 for v in ends], default=0)

    def _merged(self, v: Phi) -> None:
        made = Phi(PTR, name=self._fresh("object"))
        made.block = v.block
        self._found[v] = made
        self._made.append(made)
        for value, block in v.incoming():
            made.add(self.of(value), block)
        v.block.instructions.insert(0, made)


def _handed_on(v: Instruction) -> list[Instruction]:
    """What is the same exception as `v`, or the pair that has it, in other hands."""
    firsts = [i for i in v.users if isinstance(i, ExtractValue) and i.indices == (0,)]
    return [*firsts, *(i for i in v.users if isinstance(i, Phi | InsertValue))]


class Objects:
    """Writes what a function does with what is thrown; `b` stands at its entry.

    If it `is_first`, no other function's handlers run: none that would take what is thrown along.
    """

    def __init__(
        self, module: Module, f: Function, b: Builder, payloads: Payloads, pending: AnyValue, is_first: bool
    ) -> None:
        self.module, self.f, self.b, self.payloads = module, f, b, payloads
        self.handled = b.offset(pending, 16) if payloads.others else b.alloca(PTR, "handled", 8)
        if is_first and payloads.others:
            none = b.alloca(_NODE, "outside", 8)
            b.store(zero(_NODE), none, 8)
            b.store(none, self.handled, 8)
        elif not payloads.others:
            b.store(zero(PTR), self.handled, 8)
        self.nodes = {c: b.alloca(_NODE, "handler", 8) for c in self._called(ADDRESS[0])}

    def convert(self, origin: Origins) -> None:
        """Everything but what throws."""
        self._references(origin)
        for call in self._called("__cxa_allocate_exception"):
            self._allocation(call)
        for call in self._called("__cxa_free_exception"):
            self._at(call)
            self._helper("free", VOID, [self.b.offset(call.arguments[0], -HEADER)])
            call.drop()
        for call in self._called("__cxa_end_catch"):
            self._at(call)
            self._helper(DONE, VOID, [self.handled])
        for name in ADDRESS:
            for call in self._called(name):
                thrown = origin.of(call.arguments[0])
                self._handler(call, thrown, origin.foreign_to(thrown))

    def _references(self, origin: Origins) -> None:
        """Handlers that take a pointer by reference look for it behind the runtime's header themselves."""
        landings: list[Instruction] = [i for i in self.f.instructions() if i.opcode == "landingpad"]
        for v in reach(landings, _handed_on):
            for i in list(v.users) if v.type == PTR else []:
                match i:
                    case GetElementPtr(IntType(8), pointer, [ConstInt(signed=at)]) if at == HEADER and pointer is v:
                        replace_uses(i, origin.of(v))
                    case Call() if not _name(i).startswith(_SEES_EXCEPTION):
                        raise BeyondError
                    case Call() | InsertValue() | Phi():
                        pass
                    case _:
                        raise BeyondError

    def thrown_by(self, call: Call) -> AnyValue:
        """The object that a call throws, which goes on in the program's own way."""
        self._at(call)
        if call.called_function is not None and call.called_function.name == "__cxa_rethrow":
            node = self.b.load(PTR, self.handled, "handler", 8)
            thrown = self.b.load(PTR, node, "object", 8)
            self._helper(AGAIN, VOID, [thrown])
            return thrown
        return self._thrown(call, zero(PTR))

    def leaves_by(self, call: Call) -> None:
        """What a call throws is caught outside."""
        self._at(call)
        if call.arguments:
            self._thrown(call, call.arguments[0])
        else:
            raise BeyondError

    def leaves(self, exception: AnyValue, thrown: AnyValue) -> None:
        self._helper(LEAVE, VOID, [exception, thrown])

    def _thrown(self, call: Call, owner: AnyValue) -> AnyValue:
        thrown, _, destroy = call.arguments
        self.b.store(destroy, self.b.offset(thrown, -HEADER), 8)
        self.b.store(const_int(I32, 0), self.b.offset(thrown, -16), 4)
        self.b.store(const_int(I32, 1), self.b.offset(thrown, -12), 4)
        call.set_operand(call.arity, declare(self.module, THROW, VOID, [PTR, PTR, PTR]))
        call.set_operand(2, owner)
        return thrown

    def _allocation(self, call: Call) -> None:
        assert isinstance(size := call.arguments[0], ConstInt)
        self._at(call)
        block = self._helper("malloc", PTR, [i64(size.value + HEADER)])
        self.b.store(size, self.b.offset(block, 8), 8)
        replace_uses(call, self.b.offset(block, HEADER, "thrown"))
        call.drop()

    def _handler(self, call: Call, thrown: AnyValue, foreign: int) -> None:
        self._at(call, after=True)
        if call in self.nodes:
            self._helper(CAUGHT, VOID, [self.handled, self.nodes[call], thrown])
        users = list(call.users)
        if not users:
            return
        type, address = _caught_type(call), thrown
        base, offsets = self.b.offset(call.arguments[0], HEADER), self.payloads.offsets
        if self.payloads.pointed and (type is None or (_is_pointer(type) and foreign == 2)):
            raise BeyondError
        if self.payloads.pointed and _is_pointer(type):
            address = base = self.b.load(PTR, thrown, "pointer", 8)
            offsets = self.payloads.pointed
        if len(offsets) > 1:
            first = address
            begins, ends = self.b.cast("ptrtoint", base, I64), self.b.cast("ptrtoint", call, I64)
            offset = self.b.binary("sub", ends, begins, "offset")
            for n in offsets[1:]:
                there = self.b.offset(first, n)
                address = self.b.select(self.b.icmp("eq", offset, i64(n)), there, address)
        if foreign > (not _is_of_library(type)) and not _is_pointer(type):
            address = self.b.select(self.b.icmp("eq", thrown, zero(PTR)), call, address, "address")
        for user in users:
            for n, v in enumerate(user.operands):
                if v is call:
                    user.set_operand(n, address)

    def _called(self, name: str) -> list[Call]:
        return [i for i in self.f.instructions() if isinstance(i, Call) and _name(i) == name]

    def _at(self, call: Call, after: bool = False) -> None:
        """Write before a call, or after it."""
        block = call.block
        self.b.block, self.b.at = block, block.instructions.index(call) + after

    def _helper(self, name: str, result: Type, arguments: Sequence[AnyValue]) -> Call:
        return self.b.call(declare(self.module, name, result, [a.type for a in arguments]), arguments)
