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
from llgrad.autodiff.requests.markers import STATEMENTS, marker_of, marker_text
from llgrad.errors import UnsupportedError
from llgrad.ir.build import Builder, Names, call_instead, declare, i64
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.types import I64, PTR, VOID, FloatType, IntType, PointerType, Type, VectorType, is_float
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Attribute,
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
from llgrad.ir.write import write
from llgrad.ir.write_values import attributes
from llgrad.llvm.assembly import joined, spelt
from llgrad.transforms.guard.inactive_identity import IGNORE, INACTIVE, ignoring
from llgrad.transforms.legalize.thrown_to_memory import with_runtime

KIND = "llgrad.kind."
TYPE = "enzyme_type"  # attribute of parameters
_SIZES = {"pointer": 8, "integer": 8, "half": 2, "bfloat": 2, "float": 4, "double": 8, "x86_fp80": 16, "fp128": 16}
_SAID = re.compile(rf"__enzyme_({'|'.join(STATEMENTS)})")
_OPAQUE = re.compile(
    rf"^declare [^@\n]*?(\S+|<[^>]*>) @((?:{re.escape(IGNORE)}|{re.escape(KIND)})[\w.]+)\([^\n]*$", re.MULTILINE
)


def says_something(text: str) -> bool:
    """Does the program have such calls, or such attributes?"""
    return _SAID.search(text) is not None or f'"{TYPE}"=' in text


def lower(module: Module, raw: Raw = None) -> str:
    """Replace them all; the text of the functions that this takes. `raw` gives the module as it was written."""
    texts: list[str] = []
    raw = cache(raw) if raw is not None else None
    for f in list(naming(module, "__enzyme_")):
        for i in list(f.instructions()):
            called = i.called_function if isinstance(i, Call) else None
            if isinstance(i, Call) and called is not None and (m := _SAID.search(called.name)):
                _Statement(module, i, called.name, m[1], texts, raw).lower()
    for f in list(module.functions):
        for a in f.arguments if not f.is_declaration else ():
            if (said := a.attribute(TYPE)) is not None:
                a.attributes = tuple(x for x in a.attributes if x.name != TYPE)
                _say_kinds(module, f, a, str(said.value))
    return "\n".join(texts)


def _say_kinds(module: Module, f: Function, a: Argument, said: str) -> None:
    """`{[-1]:Pointer, [-1,8]:Float@double}`: what the memory behind a parameter holds, offset by offset; -1 is all."""
    words = re.findall(r"\[\s*(-?\d+(?:\s*,\s*-?\d+)*)\s*\]\s*:\s*(?:Float@)?(\w+)", said)
    if not words:
        raise UnsupportedError(
            f"{TYPE}={said} of parameter {a.name} of {f.name} cannot be read",
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

    def __init__(self, module: Module, call: Call, name: str, word: str, texts: list[str], raw: Raw) -> None:
        self.module, self.call, self.name, self.word, self.texts, self.raw = module, call, name, word, texts, raw
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
        name = f"llgrad.batch.{len(self.texts)}"
        given = [*(["ptr %to"] if self.hidden else []), *(f"{v.type} %v{n}" for n, v in enumerate(values))]
        lines, at, named = [], list[int](), spelt(callee.name)
        if result != VOID:
            hidden = next((a.value for a in self.call.argument_attributes[0] if a.name == "sret"), expected)
            lanes = tuple((Member(result, f"%r{n}"),) for n in range(width))
            found = places(self.module.layout, [lanes], hidden) if isinstance(hidden, Type) else None
            if found is None:
                self.refuse(f"it is declared to return {hidden}, which is not {width} results of type {result}")
            at = [at for _, at in found]
        if at and not self.hidden:
            lines += [f"%to = alloca {expected}, align 16", f"store {expected} zeroinitializer, ptr %to"]
        taken = [f"{a.type} {attributes(a.attributes)}" for a in callee.arguments]
        memory = taken.pop(0) if through is not None else ""
        for n in range(width):
            passed = ", ".join(f"{a}%v{c[n]}" for a, c in zip(taken, columns, strict=True))
            if at:
                lines.append(f"%at{n} = getelementptr i8, ptr %to, i64 {at[n]}")
            if through is not None:
                lines.append(f"call void {named}({', '.join([f'{memory}%at{n}', *([passed] if passed else [])])})")
                continue
            lines.append(f"{f'%r{n} = ' if at else ''}call {returned} {named}({passed})")
            if at:
                lines.append(f"store {result} %r{n}, ptr %at{n}, align 1")
        ends = "ret void" if self.hidden or not at else f"%all = load {expected}, ptr %to\n  ret {expected} %all"
        whole = "void" if self.hidden or not at else expected
        body = "\n  ".join([*lines, ends])
        self.texts.append(f"declare {returned} {named}({', '.join(map(str, callee.function_type.params))})\n"
                          f"define internal {whole} @{name}({', '.join(given)}) {{\n  {body}\n}}\n")
        f = declare(self.module, name, self.call.type, [PTR] * self.hidden + [v.type for v in values])
        self.replace(f, [*(self.call.arguments[:1] if self.hidden else []), *values])

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
            name = f"llgrad.nothing.{len(self.texts)}"
            self.texts.append(f"define internal ptr @{name}() alwaysinline nounwind {{\n  ret ptr null\n}}\n")
            call_instead(self.call, declare(self.module, name, PTR, []), [])
            return
        self.call.drop()

    def refuse(self, cause: str, fix: str = "see the manual of the C interface") -> NoReturn:
        raise UnsupportedError(
            f"a call of {self.name} that cannot be read", span=self.module.span(self.call), cause=cause,
            fix=fix,
        )  # fmt: skip


_MARKED = re.compile(rf'^ .*!{INACTIVE}\b|"{INACTIVE}"', re.MULTILINE)


def marked_inactive(text: str) -> str:
    """The program with instructions that are marked `enzyme_inactive` as LLVM will not change them.

    Marked calls are not inlined; their numbers, and those of other instructions, go through an inactive identity.
    """
    if INACTIVE not in text or not _MARKED.search(text):
        return text
    module = parse(text)
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
    return write(module) if marked else text


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


def settled(text: str) -> str:
    """The text with bodies for what was opaque: identities, functions that do nothing, and what throws."""

    def body(m: re.Match[str]) -> str:
        t, name = m[1], m[2]
        if name.startswith(KIND):
            return f"define linkonce_odr hidden void @{name}(ptr %p, i64 %n) alwaysinline nounwind {{\n  ret void\n}}"
        return f"define linkonce_odr hidden {t} @{name}({t} %x) alwaysinline nounwind {{\n  ret {t} %x\n}}"

    return with_runtime(_OPAQUE.sub(body, text))


def stated(text: str, raw: Raw = None) -> str:
    """The program with such calls in llgrad's terms; `raw` gives it as it was written."""
    if not says_something(text):
        return text
    module = parse(text)
    functions = lower(module, raw)
    return joined([write(module), functions])
