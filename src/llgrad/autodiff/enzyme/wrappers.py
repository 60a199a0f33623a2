"""The functions that stand between a program's `__enzyme_…` calls and the derivatives.

A wrapper has the arena of the derivative, converts what C's default promotions changed, makes what the derivative takes
and the call does not pass (seeds, hidden results), and returns the results as the caller declared them: a scalar, a
struct in registers, or through `sret`; that is, as bytes laid out like a struct of the results.

The tape of a split derivative is an arena that the augmented sweep takes from the pool and whose spare word
(`FRAME_AT`) has the frame's address. The reverse sweep runs on it and gives it back. With `enzyme_allocated` the
caller's memory holds the arena's address (`TAPE_BYTES`). A reverse sweep that may be repeated takes an arena of its own
for its scratch memory and leaves the tape alone. In a derivative that is differentiated again an arena is no memory:
there the tape is memory of its own, a *handle* with the addresses of arena and frame, with a shadow like any other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct, field

from llgrad.autodiff.emit import wide_results
from llgrad.autodiff.enzyme.calls import TAPE_BYTES, CallSite, Slot
from llgrad.autodiff.enzyme.coerced_arguments import UNCLEAR
from llgrad.autodiff.enzyme.result_struct import Member, Source, places
from llgrad.autodiff.requests.request import Act, Mode
from llgrad.errors import LlgradError, UnsupportedError
from llgrad.ir.build import call_instead
from llgrad.ir.module import Module
from llgrad.ir.parse_types import TypeReader
from llgrad.ir.types import (
    PTR,
    VOID,
    ArrayType,
    FloatType,
    FunctionType,
    IntType,
    PointerType,
    StructType,
    Type,
    VectorType,
)
from llgrad.ir.values import Function

FRAME_AT = 48  # behind the arena's own words (`tape`)
_ONES = {
    "half": "0xH3C00", "bfloat": "0xR3F80", "x86_fp80": "0xK3FFF8000000000000000",
    "fp128": f"0xL{'0' * 16}3FFF{'0' * 12}",
}  # fmt: skip
_CXX = "__gxx_personality_v0"
THROWN = """thrown:
  %what = landingpad { ptr, i32 } cleanup
  call void @llgrad.tape.abandon(ptr %arena)
  resume { ptr, i32 } %what
"""
_DECLARATIONS = """
declare void @llgrad.tape.abandon(ptr)
declare ptr @llgrad.tape.take()
declare void @llgrad.tape.give(ptr)
declare void @llgrad.tape.finish(ptr)
declare ptr @calloc(i64, i64)
declare ptr @malloc(i64)
declare void @free(ptr)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""


def replace(module: Module, site: CallSite, wrapper: str) -> None:
    """Call `wrapper` (declared here) in place of the site's call."""
    old = site.call
    asks = old.block.function
    if asks is not None:  # the derivative is taken in there, and a derivative is for speed
        asks.attributes = tuple(a for a in asks.attributes if a.name not in ("optsize", "minsize"))
    values = [*([old.arguments[0]] if site.hidden_result else []), *site.values]
    type = FunctionType(old.function_type.result, tuple(v.type for v in values))
    callee = Function(wrapper, type)
    module.add(callee)
    call_instead(old, callee, values, site.hidden_result)


class Target(Protocol):
    """The derivative that a wrapper calls: a `pipeline.Derived`."""

    @property
    def symbol(self) -> str: ...
    @property
    def parameters(self) -> tuple[str, ...]: ...
    @property
    def results(self) -> tuple[str, ...]: ...
    @property
    def aggregate(self) -> bool: ...
    @property
    def wide(self) -> bool: ...
    @property
    def tape(self) -> bool: ...


def size_wrapper(site: CallSite, wrapper: str) -> str:
    """For `__enzyme_augmentsize`: every tape is one address to its caller."""
    t = site.call.function_type.result
    return f"define {t} @{wrapper}() {{\n  ret {t} {TAPE_BYTES}\n}}\n"


def wrapper_text(site: CallSite, wrapper: str, target: Target, module: Module, again: bool = False) -> str:
    """IR of the function that stands between the caller and the derivative, which is differentiated `again`."""
    return _Wrapper(site, wrapper, target, module, not site.call.users, personality(module), again).text()


def personality(module: Module) -> str:
    """By what functions of a program clean up when something is thrown; "" where nothing is."""
    found = (f.personality for f in module.functions if f.personality is not None)
    return getattr(next(found, None), "name", _CXX if {"__cxa_throw", _CXX} & module.globals.keys() else "")


class _Wrapper(Struct):
    site: CallSite
    name: str
    target: Target
    module: Module  # the program, which knows its structs by name
    unused: bool  # nobody looks at the call's result, which may be declared as anything
    personality: str = ""
    again: bool = False
    lines: list[str] = field(default_factory=list)
    thrown: str = ""

    def text(self) -> str:
        site, target = self.site, self.target
        assert site.request is not None
        mode = site.request.mode
        passed = [] if mode is Mode.FORWARD else [f"ptr {self._arena()}"]
        self._hidden_memory()
        for slot in (*site.slots, *(site.seeds if site.sret is None else ())):
            wanted = target.parameters[len(passed)]
            passed.append(f"{wanted} {self._slot(slot, wanted)}")
        if mode is Mode.REVERSE:
            if site.sret is None:
                self._kept()
            else:
                self.lines.append("%frame = load ptr, ptr %kept")
            passed.append("ptr %kept" if site.sret is None else "ptr %frame")
        passed += [f"{t} {self._ones(t)}" for t in target.parameters[len(passed) :]]
        got = wide_results.spelt(target.results, target.aggregate, target.wide)
        self._call("" if got == "void" else "%r = ", f"{got} @{target.symbol}({', '.join(passed)})")
        parts = self._parts(got)
        self._after()
        self._return(parts)
        return self._whole(got)

    def _call(self, result: str, target: str) -> None:
        """Call the derivative. An exception that leaves it takes the arena along that was taken for it."""
        mode = self.site.request.mode if self.site.request else None
        taken = mode is Mode.AUGMENTED or (mode is Mode.COMBINED and self.target.tape)
        if not taken or not self.personality:
            self.lines.append(f"{result}call {target}")
            return
        self.lines.append(f"{result}invoke {target} to label %returned unwind label %thrown\nreturned:")
        kept = "  call void @free(ptr %kept)\n" if mode is Mode.AUGMENTED and self.site.sret is not None else ""
        self.thrown = THROWN.replace("  resume", f"{kept}  resume")

    def _kept(self) -> None:
        """What the tape's spare word has: the frame, or for a hidden result the memory that the two sweeps share."""
        at = "ptr %handle, i64 8" if self.again else f"ptr %tape, i64 {FRAME_AT}"
        self.lines += [f"%at = getelementptr i8, {at}", "%kept = load ptr, ptr %at"]

    def _shared_memory(self, t: Type, lanes: int) -> None:
        """The result of the sweeps of a split derivative and its shadows, behind the frame's address."""
        size, mode = self.module.layout.alloc_size(t), self.site.request.mode if self.site.request else None
        step = -(-size // 64) * 64
        if mode is Mode.AUGMENTED:
            self.lines.append(f"%kept = call ptr @calloc(i64 1, i64 {step * (lanes + 2)})")
        else:
            self._kept()
        for n, name in enumerate(("%hidden", *(f"%hidden.{n}" for n in range(lanes)))):
            self.lines.append(f"{name} = getelementptr i8, ptr %kept, i64 {step * (n + 1)}")
        for n, seed in enumerate(self.site.seeds):
            type = self.site.values[seed.value].type
            if not isinstance(type, PointerType):
                raise self._mismatch(f"the seed of a struct in memory has type {type}")
            given = f"ptr %hidden.{n}, ptr %v{seed.value}, i64 {size}, i1 false"
            self.lines.append(f"call void @llvm.memcpy.p0.p0.i64({given})")

    def _whole(self, got: str) -> str:
        site, target = self.site, self.target
        given = [*(["ptr %to"] if site.hidden_result else []), *(f"{v.type} %v{n}" for n, v in enumerate(site.values))]
        body = "\n".join(f"  {line}" for line in self.lines)
        personality = f" personality ptr @{self.personality}" if self.thrown else ""
        return f"""declare {got} @{target.symbol}({', '.join(target.parameters)}){_DECLARATIONS}
{f"declare i32 @{self.personality}(...)" if self.thrown else ""}
define {site.call.function_type.result} @{self.name}({', '.join(given)}){personality} {{
{body}
{self.thrown}}}
"""

    # --- arguments

    def _arena(self) -> str:
        """The arena of the derivative, taken here where it is not the caller's tape."""
        site = self.site
        assert site.request is not None
        mode = site.request.mode
        if mode is Mode.REVERSE:
            tape, given = f"%v{site.tape}", "%handle" if self.again else "%tape"
            if site.memory_is_callers:
                self.lines.append(f"{given} = load ptr, ptr {tape}, align 1")
            else:
                self.lines.append(f"{given} = getelementptr i8, ptr {tape}, i64 0")
            if self.again:
                self.lines.append("%tape = load ptr, ptr %handle")
            if not site.request.repeatable:
                return "%tape"
        elif mode is Mode.COMBINED and not self.target.tape:
            return "null"
        self.lines.append("%arena = call ptr @llgrad.tape.take()")
        return "%arena"

    def _slot(self, slot: Slot, wanted: str) -> str:
        """The name of a parameter's value, a `wanted`."""
        if slot.made:
            return "%hidden" if slot.made == "primal" else f"%hidden.{slot.lane}"
        n = slot.value
        name, given = f"%v{n}", str(self.site.values[n].type)
        unique = len(self.lines)
        if slot.lane and slot.stride >= 0:
            stride = self._as_i64(slot.stride)
            self.lines.append(f"%far{unique} = mul i64 {stride}, {slot.lane}")
            self.lines.append(f"%lane{unique} = getelementptr i8, ptr {name}, i64 %far{unique}")
            return f"%lane{unique}"
        if slot.by_reference:
            self.lines.append(f"%from{unique} = getelementptr i8, ptr {name}, i64 {slot.offset}")
            self.lines.append(f"%in{unique} = load {wanted}, ptr %from{unique}, align 1")
            return f"%in{unique}"
        if n in self.site.byval:
            return self._copied(n, self.site.byval[n])
        if slot.members:
            return self._together(slot, wanted)
        return self._converted(n, given, wanted)

    def _ones(self, t: str) -> str:
        """The seed of a result: 1 of each float in it."""
        if not self.site.packed:
            return _one(self._type(t))
        cell = f"%ones{len(self.lines)}"
        self.lines += [f"{cell} = alloca {t}, align 16", f"store {t} {_one(self._type(t))}, ptr {cell}, align 16"]
        for at, x in self.site.packed.items():
            self.lines.append(f"{cell}.{at} = getelementptr i8, ptr {cell}, i64 {at}")
            self.lines.append(f"store {x} {_one(x)}, ptr {cell}.{at}, align 1")
        self.lines.append(f"{cell}.all = load {t}, ptr {cell}, align 16")
        return f"{cell}.all"

    def _together(self, slot: Slot, wanted: str) -> str:
        """A struct of values."""
        whole, fields = "poison", getattr(self._type(wanted), "fields", None) or ()
        for k, member in enumerate(fields):
            n = slot.value + k
            given = self._converted(n, str(self.site.values[n].type), str(member))
            self.lines.append(f"%whole{n} = insertvalue {wanted} {whole}, {member} {given}, {k}")
            whole = f"%whole{n}"
        return whole

    def _as_i64(self, n: int) -> str:
        t = self.site.values[n].type
        if not isinstance(t, IntType):
            raise self._mismatch(f"value {n + 1}, a stride, has type {t}")
        if t.bits == 64:
            return f"%v{n}"
        unique = len(self.lines)
        self.lines.append(f"%s{unique} = {'sext' if t.bits < 64 else 'trunc'} {t} %v{n} to i64")
        return f"%s{unique}"

    def _copied(self, n: int, t: Type) -> str:
        """Memory passed by value: the callee has its own."""
        size = self.module.layout.alloc_size(t)
        self.lines += [
            f"%own{n} = alloca {t.body() if isinstance(t, StructType) else t}, align 16",
            f"call void @llvm.memcpy.p0.p0.i64(ptr %own{n}, ptr %v{n}, i64 {size}, i1 false)",
        ]
        return f"%own{n}"

    def _converted(self, n: int, given: str, wanted: str) -> str:
        """What C promotes in calls without a prototype is taken back."""
        if given == wanted:
            return f"%v{n}"
        casts = {("double", "float"): "fptrunc", ("float", "double"): "fpext"}
        narrower = given[:1] == wanted[:1] == "i" and int(given[1:]) > int(wanted[1:])
        cast = "trunc" if narrower else casts.get((given, wanted))
        if wanted[:1] == "<" and given == f"i{8 * self.module.layout.size(self._type(wanted))}":
            cast = "bitcast"  # a struct's floats, which have found no register
        if cast is None:
            cause = f"value {n + 1} has type {given}, where {self.site.function.name} takes {wanted}"
            raise self._mismatch(cause, "pass what the function takes, in its order, each with its marker")
        unique = len(self.lines)
        self.lines.append(f"%c{unique} = {cast} {given} %v{n} to {wanted}")
        return f"%c{unique}"

    def _hidden_memory(self) -> None:
        """The memory of a result that the function returns through a pointer: its shadow is the seed."""
        t = self.site.sret
        if t is None:
            return
        assert self.site.request is not None
        text, size = _spelt(t), self.module.layout.alloc_size(t)
        lanes = self.site.request.width if self.site.request.arguments[0] is Act.DUP else 0
        if self.site.request.mode in (Mode.AUGMENTED, Mode.REVERSE):
            self._shared_memory(t, lanes)
            return
        for name in ("%hidden", *(f"%hidden.{n}" for n in range(lanes))):
            self.lines.append(f"{name} = alloca {text}, align 16")
            self.lines.append(f"call void @llvm.memset.p0.i64(ptr {name}, i8 0, i64 {size}, i1 false)")
        if self.site.request.mode is Mode.COMBINED:
            for n in range(lanes):
                self.lines.append(f"store {text} {_one(t)}, ptr %hidden.{n}, align 16")

    # --- results

    def _parts(self, got: str) -> list[tuple[str, str]]:
        """(type, name) of each result, in the caller's order."""
        site, target = self.site, self.target
        assert site.request is not None
        parts = []
        for n, t in enumerate(target.results):
            if target.aggregate:
                self.lines.append(f"%x{n} = extractvalue {got} %r, {wide_results.member(n, target.wide)}")
            parts.append((t, f"%x{n}" if target.aggregate else "%r"))
        if site.request.mode is Mode.AUGMENTED:
            kept = parts[0][1]
            if site.sret is not None:
                self.lines.append(f"store ptr {kept}, ptr %kept")
                kept = "%kept"
            tape, at = ("%handle", 8) if self.again else ("%arena", FRAME_AT)
            self.lines += ["%handle = call ptr @malloc(i64 16)", "store ptr %arena, ptr %handle"] if self.again else []
            self.lines += [f"%at = getelementptr i8, ptr {tape}, i64 {at}", f"store ptr {kept}, ptr %at"]
            if site.memory >= 0:
                self.lines.append(f"store ptr {tape}, ptr %v{site.memory}, align 1")
            parts[0] = ("ptr", f"%v{site.memory}" if site.memory >= 0 else tape)
        if (struct := site.sret) is not None:
            augmented = site.request.mode is Mode.AUGMENTED
            hidden = ["%hidden"] if site.request.primal_result or augmented else []
            if site.request.mode is Mode.FORWARD and site.request.arguments[0] is Act.DUP:
                hidden += [f"%hidden.{n}" for n in range(site.request.width)]
            first = []
            for name in hidden:
                self.lines.append(f"{name}.whole = load {_spelt(struct)}, ptr {name}, align 16")
                first.append((_spelt(struct), f"{name}.whole"))
            parts = [*parts[:1], *first, *parts[1:]] if augmented else first + parts
        return parts

    def _after(self) -> None:
        """Give the arena back: a tape that was used up, or scratch memory."""
        site = self.site
        assert site.request is not None
        mode = site.request.mode
        if mode is Mode.REVERSE and not site.request.repeatable:
            self.lines += ["call void @free(ptr %kept)"] if site.sret is not None else []
            self.lines += ["call void @llgrad.tape.finish(ptr %tape)", "call void @llgrad.tape.give(ptr %tape)"]
            self.lines += ["call void @free(ptr %handle)"] if self.again else []
        elif mode is Mode.REVERSE or (mode is Mode.COMBINED and self.target.tape):
            self.lines.append("call void @llgrad.tape.give(ptr %arena)")

    def _return(self, parts: Sequence[tuple[str, str]]) -> None:
        """The results as the caller expects them."""
        site, expected = self.site, self.site.call.function_type.result
        if not site.hidden_result and expected == VOID:
            self.lines.append("ret void")
            return
        if self.unused and not site.hidden_result:
            self.lines.append(f"ret {expected} zeroinitializer")
            return
        if not parts:
            raise self._mismatch(f"the call expects {expected}, but there is nothing to return")
        assert site.request is not None
        if site.request.mode is Mode.AUGMENTED and isinstance(expected, PointerType):
            parts = parts[:1]  # a caller that wants the tape only
        elif site.request.mode is Mode.AUGMENTED and site.memory >= 0 and self._fits(parts[1:]):
            parts = parts[1:]  # a caller that has the tape in its memory
        if site.request.mode is Mode.AUGMENTED and self._tape_last(parts):
            parts = parts[::-1]
        if len(parts) == 1 and not site.hidden_result and str(expected) == parts[0][0]:
            self.lines.append(f"ret {expected} {parts[0][1]}")
            return
        target = "%to"
        declared = self._declared()
        scalar = not site.hidden_result and isinstance(expected, FloatType | IntType | PointerType)
        exact = site.unclear and site.request.width > 1
        found = None if scalar else places(self.module.layout, self._sources(parts), declared, exact)
        if found is None:
            returned = ", ".join(t for t, _ in parts)
            raise self._mismatch(f"the call expects {_spelt(declared)}, the derivative returns {returned}")
        if not site.hidden_result:
            self.lines += [f"%out = alloca {expected}, align 16", f"store {expected} zeroinitializer, ptr %out"]
            target = "%out"
        for n, (part, at) in enumerate(found):
            self.lines.append(f"%q{n} = getelementptr i8, ptr {target}, i64 {at}")
            self.lines.append(f"store {part.type} {part.name}, ptr %q{n}, align 1")
        if site.hidden_result:
            self.lines.append("ret void")
            return
        self.lines += [f"%whole = load {expected}, ptr %out", f"ret {expected} %whole"]

    def _sources(self, parts: Sequence[tuple[str, str]]) -> list[Source]:
        """The result's parts as they are, and the adjoints of each C argument, lane after lane."""
        assert self.site.request is not None
        width, adjoints = self.site.request.width, self.site.adjoints
        given = [Member(self._type(t), name) for t, name in parts]
        back = given[len(given) - width * sum(has for group in adjoints for _, has in group) :]
        found: list[Source] = [((m,),) for m in given[: len(given) - len(back)]]
        for group in adjoints:
            own = [[back.pop(0) for _ in range(width)] if has else [Member(t)] * width for t, has in group]
            found.append(tuple(zip(*own, strict=True)))
        return found

    def _tape_last(self, parts: Sequence[tuple[str, str]]) -> bool:
        """Does the caller declare {value, tape}? Its only pointer says so, where the value has none."""
        layout = self.module.layout

        def pointers(t: Type) -> list[int]:
            return [at for at, leaf in layout.leaves(t) if isinstance(leaf, PointerType)]

        (tape, _), *others = parts
        if len(others) != 1 or self._type(tape) != PTR or pointers(self._type(others[0][0])):
            return False
        found = pointers(self._declared())
        return len(found) == 1 and found[0] > 0

    def _fits(self, parts: Sequence[tuple[str, str]]) -> bool:
        """Is the caller's result as large as these?"""
        layout, struct = self.module.layout, StructType(tuple(self._type(t) for t, _ in parts))
        return bool(parts) and layout.alloc_size(struct) == layout.alloc_size(self._declared())

    def _declared(self) -> Type:
        """The type of the result that the caller declares, in registers or in memory."""
        call = self.site.call
        hidden = next((a.value for a in call.argument_attributes[0] if a.name == "sret"), None)
        return hidden if isinstance(hidden, Type) else call.function_type.result

    def _type(self, text: str) -> Type:
        return TypeReader(self.module, text).type()

    def _mismatch(self, cause: str, fix: str = "") -> LlgradError:
        gives = _GIVES.get(self.site.request.mode if self.site.request else Mode.COMBINED, _GIVES[Mode.COMBINED])
        declare = f"declare the __enzyme_ function so that it returns {gives}"
        unclear = f"; if {self.site.function.name} passes structs by value, {UNCLEAR}" if self.site.unclear else ""
        return UnsupportedError(
            f"the derivative of {self.site.function.name} does not fit the call", span=self.site.span,
            cause=f"{cause}{self.module.around(self.site.call)}", fix=f"{fix or declare}{unclear}",
        )  # fmt: skip


_GIVES = {
    Mode.COMBINED: "the adjoints of the enzyme_out arguments, in order",
    Mode.FORWARD: "the tangent of the result, if it has one",
    Mode.AUGMENTED: "{tape, value, shadow of a returned pointer}, as far as they exist",
}


def _spelt(t: Type) -> str:
    """A type without names of structs, which a module of its own would not know."""
    match t:
        case StructType(fields, packed) if fields is not None:
            inner = f"{{ {', '.join(map(_spelt, fields))} }}"
            return f"<{inner}>" if packed else inner
        case ArrayType(element, count):
            return f"[{count} x {_spelt(element)}]"
    return str(t)


def _one(t: Type) -> str:
    """The constant whose floats are all 1."""
    match t:
        case FloatType(name):
            return _ONES.get(name, "1.0")
        case StructType(fields, packed) if fields is not None:
            inner = f"{{ {', '.join(f'{_spelt(x)} {_one(x)}' for x in fields)} }}"
            return f"<{inner}>" if packed else inner
        case ArrayType(element, count):
            return f"[{', '.join([f'{_spelt(element)} {_one(element)}'] * count)}]"
        case VectorType(element, count):
            return f"<{', '.join([f'{element} {_one(element)}'] * count)}>"
        case PointerType():
            return "null"
    return "0" if isinstance(t, IntType) else "zeroinitializer"
