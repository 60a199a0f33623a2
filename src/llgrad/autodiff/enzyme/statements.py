"""Calls of `__enzyme_…` that ask for no derivative but say something, put in llgrad's terms before anything else.

    __enzyme_call_inactive(f, …)       a call of f that is marked inactive, and is not inlined
    __enzyme_ignore_derivatives(x)     `llgrad.ignore.double(x)`: an inactive identity, opaque until synthesis is done
    __enzyme_virtualreverse(f)         f: the shadow of code is the code, derivatives are chosen by its address
    __enzyme_float(p, bytes), …        `llgrad.kind.float(p, bytes)`, which the analysis of kinds reads
    __enzyme_batch(f, enzyme_width, N, enzyme_vector, a1 … aN, enzyme_scalar, b)    N calls of f, in a wrapper

`settled` takes out again what is opaque.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NoReturn

from llgrad.analysis.memory.call_effects import VIRTUAL, virtual_functions
from llgrad.autodiff.enzyme.calls import hidden_type, naming, origin
from llgrad.autodiff.enzyme.coerced_arguments import UNCLEAR, Raw, Together
from llgrad.autodiff.enzyme.result_struct import Member, places
from llgrad.autodiff.requests.markers import PREFIX, STATEMENTS, marker_of, marker_text
from llgrad.errors import UnsupportedError
from llgrad.ir.build import Builder, Names, call_instead, declare, i64, zero
from llgrad.ir.module import Module
from llgrad.ir.types import I64, PTR, VOID, FloatType, FunctionType, IntType, PointerType, Type, VectorType, is_float
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Attribute,
    Block,
    Call,
    Cast,
    ConstInt,
    Function,
    GlobalVariable,
    Instruction,
    Phi,
    Undef,
    replace_uses,
)
from llgrad.transforms.guard.inactive_identity import IGNORE, INACTIVE, ignoring
from llgrad.transforms.legalize.thrown_to_memory import RUNTIME, with_runtime

KIND = "llgrad.kind."
TYPE = "enzyme_type"  # attribute of parameters
_SIZES = {"pointer": 8, "integer": 8, "half": 2, "bfloat": 2, "float": 4, "double": 8, "x86_fp80": 16, "fp128": 16}
_MARKERS = {f"{PREFIX}{word}": word for word in STATEMENTS}


def says_something(text: str) -> bool:
    """Does the program have such calls, or such attributes?"""
    return any(marker in text for marker in _MARKERS) or f'"{TYPE}"=' in text


def stated(module: Module, raw: Raw = None) -> bool:
    """Put such calls in llgrad's terms. `raw` gives the module as it was written."""
    raw, changed = cache(raw) if raw is not None else None, False
    for f in list(naming(module, PREFIX)):
        for i in list(f.instructions()):
            called = i.called_function if isinstance(i, Call) else None
            word = next((w for m, w in _MARKERS.items() if m in called.name), "") if called is not None else ""
            if isinstance(i, Call) and called is not None and word:
                _Statement(module, i, called.name, word, raw).lower()
                changed = True
    for f in module.functions:
        for a in f.arguments if not f.is_declaration else ():
            if (said := a.attribute(TYPE)) is not None:
                a.attributes = tuple(x for x in a.attributes if x.name != TYPE)
                _say_kinds(module, f, a, str(said.value))
                changed = True
    return changed


def _say_kinds(module: Module, f: Function, a: Argument, said: str) -> None:
    """`{[-1]:Pointer, [-1,8]:Float@double}`: what the memory behind a parameter holds, offset by offset; -1 is all."""
    words = re.findall(r"\[\s*(-?\d+(?:\s*,\s*-?\d+)*)\s*\]\s*:\s*(?:Float@)?(\w+)", said)
    if not words:
        raise UnsupportedError(
            f"{TYPE}={said} of parameter {a.name} of {f.name} cannot be read", span=module.definition(f.name),
            fix='write it as "{[-1]:Pointer, [-1,0]:Float@double}"',
        )  # fmt: skip
    b = Builder(f.entry, Names(v.name for v in (*f.arguments, *f.instructions())))
    b.at = sum(isinstance(i, Alloca) for i in f.entry.instructions)
    for path, word in words:
        _, *offsets = [int(n) for n in path.split(",")]
        kind = word.lower()
        if len(offsets) == 1 and isinstance(a.type, PointerType) and kind in _SIZES:
            b.call(_kind(module, kind), [b.offset(a, max(offsets[0], 0)), i64(_SIZES[kind])])


def _kind(module: Module, word: str) -> Function:
    """The opaque function that says what memory holds."""
    f = declare(module, f"{KIND}{word}", VOID, [PTR, I64])
    f.attributes = (
        Attribute("nounwind"), Attribute("willreturn"), Attribute("memory", "inaccessiblemem: readwrite"),
        Attribute(INACTIVE, string=True),
    )  # fmt: skip
    f.arguments[0].attributes = (Attribute("captures", "none"),)
    return f


class _Statement:
    """Replaces one call."""

    def __init__(self, module: Module, call: Call, name: str, word: str, raw: Raw) -> None:
        self.module, self.call, self.name, self.word, self.raw = module, call, name, word, raw
        self.hidden = bool(call.arguments) and any(a.name == "sret" for a in call.argument_attributes[0])
        self.arguments = call.arguments[1:] if self.hidden else call.arguments
        given = zip(call.arguments, call.argument_attributes, strict=True)
        self.in_memory = [v for v, attributes in given if any(a.name == "byval" for a in attributes)]

    def lower(self) -> None:
        if not self.arguments:
            self.refuse("it is called without arguments")
        match self.word:
            case "call_inactive":
                self.call_inactive()
            case "ignore_derivatives":
                self.ignore()
            case "virtualreverse":
                self.virtual()
            case "batch":
                self.batch()
            case _:
                self.kind()

    def call_inactive(self) -> None:
        callee = origin(self.arguments[0])
        given = self.arguments[1:]
        if isinstance(callee, Function):
            wanted = callee.function_type.params[1:] if self.hidden else callee.function_type.params
            if len(wanted) != len(given) or callee.function_type.result != self.call.type:
                self.refuse(f"{callee.name} has the type {callee.function_type}")
            given = [self.fitted(v, t) for v, t in zip(given, wanted, strict=True)]
        hidden, said = self.call.arguments[:1] if self.hidden else [], list(self.call.argument_attributes)
        del said[self.hidden]
        new = self.replace(callee if isinstance(callee, Function) else self.arguments[0], [*hidden, *given])
        new.argument_attributes = [a.attributes for a in callee.arguments] if isinstance(callee, Function) else said
        new.attributes = (Attribute("noinline"), Attribute(INACTIVE, string=True))

    def virtual(self) -> None:
        """What is the shadow of code is a function that derivatives may meet; a variable tells them where it is."""
        f = origin(self.arguments[0])
        if not isinstance(f, Function):
            self.refuse("its argument is no function that is known when it is compiled")
        if not f.is_declaration and f not in virtual_functions(self.module):
            self.module.add(GlobalVariable(f"{VIRTUAL}{f.name}", PTR, f))
        replace_uses(self.call, f)
        self.remove()

    def ignore(self) -> None:
        if len(self.arguments) != 1 or self.hidden:
            self.refuse("it takes one number")
        t = self.call.type
        v = self.fitted(self.arguments[0], t)
        self.replace(ignoring(self.module, t), [v])

    def kind(self) -> None:
        if len(self.arguments) < 2 or not isinstance(self.arguments[0].type, PointerType):
            self.refuse("it takes a pointer and a number of bytes")
        size = self.arguments[1]
        if isinstance(size, ConstInt):
            size = ConstInt(I64, size.value)
        elif isinstance(size.type, IntType) and size.type != I64:
            size = self.before(Cast("zext", I64, [size]))
        self.replace(_kind(self.module, self.word), [self.arguments[0], size])

    def batch(self) -> None:
        """A function that calls `f` once for each column of arguments."""
        callee = origin(self.arguments[0])
        if not isinstance(callee, Function):
            self.refuse("its first argument is no function that is known when it is compiled")
        width, columns, values = self._columns(callee, list(self.arguments[1:]))
        through = hidden_type(callee)  # memory, whose address is the first parameter
        returned, expected = callee.function_type.result, self.call.function_type.result
        result = through or returned
        at = list[int]()
        if result != VOID:
            hidden = next((a.value for a in self.call.argument_attributes[0] if a.name == "sret"), expected)
            lanes = tuple((Member(result, f"%r{n}"),) for n in range(width))
            found = places(self.module.layout, [lanes], hidden) if isinstance(hidden, Type) else None
            if found is None:
                self.refuse(f"it is declared to return {hidden}, which is not {width} results of type {result}")
            at = [at for _, at in found]
        memory = self.call.arguments[:1] if self.hidden else []
        whole = VOID if self.hidden or not at else expected
        b = self._function("llgrad.batch", FunctionType(whole, tuple(v.type for v in (*memory, *values))))
        f = b.block.function
        assert f is not None
        to: AnyValue = f.arguments[0]
        if at and not self.hidden:
            to = b.alloca(expected, "to", 16)
            b.store(zero(expected), to, 0)
        taken = f.arguments[len(memory) :]
        for n in range(width):
            place = b.offset(to, at[n], "at") if at else to
            made = b.call(callee, [*([place] if through is not None else []), *(taken[c[n]] for c in columns)], "r")
            made.argument_attributes = [a.attributes for a in callee.arguments]
            if at and through is None:
                b.store(made, place)
        b.ret(None if whole == VOID else b.load(expected, to, "all", 0))
        self.replace(f, [*memory, *values])

    def _function(self, name: str, type: FunctionType) -> Builder:
        """What writes a new function."""
        f = Function(Names(self.module.globals).fresh(name), type)
        f.linkage = "internal"
        self.module.add(f)
        f._blocks.append(Block("entry", f))
        return Builder(f.entry, Names(a.name for a in f.arguments))

    def _columns(self, callee: Function, rest: list[AnyValue]) -> tuple[int, list[list[int]], list[AnyValue]]:
        """The width, and for each parameter the numbers of its N values."""
        columns, values = list[list[int]](), list[AnyValue]()
        width, begun = self._width(rest), False  # (with a marker)
        taken = callee.arguments[hidden_type(callee) is not None :]
        for one in Together(self.module, callee, self.raw).wholes(taken):
            group = one.parameters
            marker, vector = None, True
            while rest and (said := self._marker(rest[0])) is not None:
                marker = said
                del rest[0]
                if marker not in ("enzyme_vector", "enzyme_scalar"):
                    self.refuse(f"{marker} has no meaning here")
                vector = marker == "enzyme_vector"
            unclear = begun and not marker and one.unclear
            if unclear and width > 1:
                self.refuse(unclear, UNCLEAR)
            first = len(values)
            for _ in range(width if vector else 1):
                values += self._whole(group, rest)
            step = len(group) if vector else 0
            columns += [[first + n * step + k for n in range(width)] for k in range(len(group))]
            begun = bool(marker or unclear)
        if rest:
            self.refuse(f"{len(rest)} arguments are too many")
        return width, columns, values

    def _whole(self, group: list[Argument], rest: list[AnyValue]) -> list[AnyValue]:
        """One argument of C's, taken from the values: a struct goes through memory where registers are used up."""
        if rest and rest[0] in self.in_memory and not isinstance(group[0].type, PointerType):
            memory, b = rest.pop(0), self._builder()
            return [b.load(p.type, b.offset(memory, 8 * k), "piece", 1) for k, p in enumerate(group)]
        if len(rest) < len(group):
            self.refuse(f"argument {group[0].name} of the function is missing")
        return [self.fitted(rest.pop(0), p.type) for p in group]

    def _builder(self) -> Builder:
        """What writes before the call."""
        block = self.call.block
        assert block.function is not None
        b = Builder(block, Names(v.name for v in (*block.function.arguments, *block.function.instructions())))
        b.at = block.instructions.index(self.call)
        return b

    def _width(self, rest: list[AnyValue]) -> int:
        """The number after `enzyme_width`, wherever that stands; both are taken out."""
        width = 1
        for k in reversed([k for k, v in enumerate(rest) if self._marker(v) == "enzyme_width"]):
            n = rest[k + 1] if k + 1 < len(rest) else None
            if not isinstance(n, ConstInt) or not 0 < n.value < 4096:
                self.refuse("the number after enzyme_width is no constant")
            width = n.value
            del rest[k : k + 2]
        return width

    def _marker(self, v: AnyValue) -> str | None:
        text = marker_text(v)
        found = marker_of(text)
        if "enzyme_" in text and found is None:
            self.refuse(f"{text} is no marker that llgrad knows")
        return found

    # --- editing

    def fitted(self, v: AnyValue, wanted: Type) -> AnyValue:
        """What C promoted in a call without a prototype, taken back."""
        if v.type == wanted:
            return v
        match v.type, wanted:
            case FloatType() as a, FloatType() as b:
                return self.before(Cast("fptrunc" if a.bits > b.bits else "fpext", wanted, [v]))
            case IntType(a), IntType(b) if a > b:
                return self.before(Cast("trunc", wanted, [v]))
            case IntType(a), VectorType() if a == 8 * self.module.layout.size(wanted):  # of a struct in memory
                return self.before(Cast("bitcast", wanted, [v]))
        self.refuse(f"a {v.type} is given where a {wanted} is taken")

    def before(self, i: Instruction) -> Instruction:
        block = self.call.block
        i.block = block
        block.instructions.insert(block.instructions.index(self.call), i)
        return i

    def replace(self, callee: AnyValue, arguments: list[AnyValue]) -> Call:
        """Call `callee` in place of the call."""
        return call_instead(self.call, callee, arguments, self.hidden)

    def remove(self) -> None:
        if self.call.opcode != "call":  # a terminator stays one
            b = self._function("llgrad.nothing", FunctionType(PTR, ()))
            b.ret(zero(PTR))
            nothing = b.block.function
            assert nothing is not None
            nothing.attributes = (Attribute("alwaysinline"), Attribute("nounwind"))
            call_instead(self.call, nothing, [])
            return
        self.call.drop()

    def refuse(self, cause: str, fix: str = "see the manual of the C interface") -> NoReturn:
        raise UnsupportedError(
            f"a call of {self.name} that cannot be read", span=self.module.span(self.call),
            cause=f"{cause}{self.module.around(self.call)}", fix=fix,
        )  # fmt: skip


MARKS = (f"!{INACTIVE} ", f'"{INACTIVE}"')
"""What stands in a text where something may be marked."""


def marked_inactive(module: Module) -> bool:
    """Make instructions that are marked `enzyme_inactive` such that LLVM will not change them.

    Marked calls are not inlined; their numbers, and those of other instructions, go through an inactive identity.
    """
    marked = [i for f in module.functions if not f.is_declaration for i in f.instructions() if _is_marked(i)]
    for i in marked:
        if isinstance(i, Call):
            kept = [a for a in i.attributes if a.name not in ("noinline", "alwaysinline", INACTIVE)]
            i.attributes = (*kept, Attribute("noinline"), Attribute(INACTIVE, string=True))
        elif i.type == VOID and i.opcode in ("store", "atomicrmw", "cmpxchg"):
            raise UnsupportedError(
                f"`{i.opcode}` is marked {INACTIVE}", span=module.span(i),
                fix="pass what is stored through __enzyme_ignore_derivatives",
            )  # fmt: skip
        if is_float(i.type) and i.opcode != "invoke" and getattr(i, "tail", "") != "musttail":
            _ignored(module, i)
    return bool(marked)


def _is_marked(i: Instruction) -> bool:
    return INACTIVE in i.metadata or (isinstance(i, Call) and any(a.name == INACTIVE for a in i.attributes))


def _ignored(module: Module, i: Instruction) -> None:
    """What uses the number uses an inactive copy of it."""
    block = i.block
    assert block is not None and block.function is not None
    b = Builder(block, Names(v.name for v in (*block.function.arguments, *block.function.instructions())))
    b.at = max(block.instructions.index(i) + 1, sum(isinstance(x, Phi) for x in block.instructions))
    copy = b.call(ignoring(module, i.type), [Undef(i.type)], i.name)
    replace_uses(i, copy)
    copy.set_operand(0, i)


OPAQUE = (IGNORE, KIND, *RUNTIME)
"""What stands in a text where something is opaque to LLVM."""


def settled(module: Module) -> bool:
    """Give bodies to what was opaque: identities, functions that do nothing, and what throws."""
    opaque = [f for f in module.functions if f.is_declaration and f.name.startswith((IGNORE, KIND))]
    for f in opaque:
        f.linkage, f.prefix = "linkonce_odr", ("hidden",)
        f.attributes = (Attribute("alwaysinline"), Attribute("nounwind"))
        f._blocks.append(Block("entry", f))
        Builder(f.entry, Names()).ret(f.arguments[0] if f.name.startswith(IGNORE) else None)
    return with_runtime(module) or bool(opaque)
