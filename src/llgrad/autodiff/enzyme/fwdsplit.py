"""`__enzyme_fwdsplit`: forward mode that reads values from a tape, because memory has changed since the function ran.

A function that is asked for so has two twins. `log` runs it and writes down every value that it loads:
`__enzyme_augmentfwd` calls that. `replay` takes all that it loads from the log and stores nothing; its derivative is
forward mode's, with rules (as `autodiff.custom_rules.custom_rules` has them) for what took the place of loads, stores
and copies: the value is the log's, tangents are those of shadow memory. The log is the frame of the tape
(`autodiff.enzyme.wrappers`).

Limits: what calls through pointers, throws, loads vectors or structs, or calls a function without a body or a rule is
refused; so is an integer that may be the bits of a float.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count

from msgspec import Struct

from llgrad.autodiff.enzyme.calls import hidden_type, naming, origin
from llgrad.autodiff.enzyme.fwdsplit_bodies import ALLOCATOR, ALWAYS, RUNTIME, SIZES, accesses
from llgrad.autodiff.enzyme.fwdsplit_rules import SplitRule, split_rule
from llgrad.autodiff.requests import registrations
from llgrad.autodiff.requests.markers import REPLAY, SPLIT, marker_of, marker_text
from llgrad.errors import UnsupportedError
from llgrad.ir.build import FALSE, TRUE, Builder, Names, call_instead, declare
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.types import I1, I32, PTR, VOID, PointerType
from llgrad.ir.values import AnyValue, Call, ConstNull, Function, GlobalVariable
from llgrad.ir.write import write
from llgrad.llvm.assembly import NAME, joined, plain, spelt
from llgrad.rules import library

LOG = "llgrad.log.of."
_SCALAR = r"half|bfloat|float|double|x86_fp80|fp128|i\d+|ptr"
_FLOATS = tuple(t for t in SIZES if t != "ptr")
_ARITHMETIC = ("add", "sub", "mul", "sdiv", "udiv", "srem", "urem", "sext", "fptosi", "fptoui", "icmp", "fcmp")
_POINTER = r"(\S+?|getelementptr .*?\))(?:, (?:align|!)[^\n]*)?"
_LOAD = re.compile(rf"^  (%\S+) = load (?:volatile )?({_SCALAR}), ptr {_POINTER}$")
_STORE = re.compile(rf"^  store (?:volatile )?({_SCALAR}) (.+), ptr {_POINTER}$")
_CALLS = re.compile(rf"^(  (?:(%\S+) = )?(?:tail |musttail |notail )?call [^@\n]*?)({NAME})\(([^\n]*)\)(.*)$")
_BEYOND = re.compile(
    r" +(?:%\S+ = )?(?:(?:tail |musttail |notail )?call|"
    r"invoke|load|store|atomicrmw|cmpxchg|va_arg|fence|bitcast i\d+)\b"
)
_POINTERLESS = re.compile(r"llvm\.(?!memcpy|masked|vector|matrix)\w+.*")
_SAID = re.compile(r"\b(?:noundef|nonnull|align \d+|dereferenceable\(\d+\)|readonly|writeonly|captures\([^)]*\)) ?")
_COPY = re.compile(r"llvm\.(memcpy|memmove|memset)\.")
_KEPT = re.compile(r"llvm\.(lifetime|dbg|assume|stacksave|stackrestore)\b.*")
_ALLOCATE, _FREE = re.compile(r"malloc|calloc|_Zn[wa]m"), re.compile(r"free|_Zd[la]Pvm?")
_SILENT = re.compile(r"_?_?f?printf\w*|puts|putchar|fputs|fflush|fwrite")


def _is_pure(name: str) -> bool:
    entry = library.lookup(name)
    return entry is not None and "pointer" not in entry.rule.operands


class Logged(Struct, frozen=True):
    """The forward sweep of a function that is replayed, as `wrappers.Target`."""

    symbol: str
    parameters: tuple[str, ...]
    results: tuple[str, ...]
    aggregate: bool = True
    wide: bool = False
    tape: bool = True


_DEFINED = re.compile(rf"^define [^@\n]*({NAME})\([^\n]*\{{\n.*?^\}}$", re.MULTILINE | re.DOTALL)


def lower(text: str) -> tuple[str, frozenset[str]]:
    """The program with its calls of `__enzyme_fwdsplit` as those of forward mode; the functions that are replayed."""
    if SPLIT not in text:
        return text, frozenset()
    module = parse(text)
    twins = Twins({plain(m[1]): m[0] for m in _DEFINED.finditer(text)}, module)
    found: set[str] = set()
    for f in list(naming(module, SPLIT)):
        for n, i in enumerate(list(f.instructions())):
            if isinstance(i, Call) and i.called_function is not None and SPLIT in i.called_function.name:
                found |= _rewritten(module, i, f"{f.name}.{n}", twins)
    return joined([write(module), twins.whole()]), frozenset(found)


def _rewritten(module: Module, call: Call, mark: str, twins: Twins) -> set[str]:
    """Ask for forward mode of the function's replay; the function, unless its tape is null."""
    given = list(call.arguments)
    hidden = [given.pop(0)] if given and any(a.name == "sret" for a in call.argument_attributes[0]) else []
    f = origin(given.pop(0)) if given else None
    if not isinstance(f, Function) or f.is_declaration or call.opcode != "call":
        raise UnsupportedError(
            f"{SPLIT} of a function that is not known here", span=module.span(call),
            fix="pass the function itself, in a program that has its body",
        )  # fmt: skip
    words = [marker_of(marker_text(v)) for v in given]
    keep, memory = "enzyme_nofree" in words, None
    if "enzyme_tape" in words:
        memory = given[words.index("enzyme_tape") + 1]
    for word, more in (("enzyme_nofree", 0), ("enzyme_tape", 1), ("enzyme_allocated", 1)):
        if word in words:
            at = words.index(word)
            del given[at : at + 1 + more], words[at : at + 1 + more]
    tape = memory if memory is not None else given.pop() if given else None
    if tape is None or not isinstance(tape.type, PointerType):
        raise UnsupportedError(
            f"{SPLIT} is called without a tape", span=module.span(call), cause="its last argument is no pointer",
            fix="pass what __enzyme_augmentfwd returned, last",
        )  # fmt: skip
    if isinstance(tape, ConstNull):
        _ask(module, call, f"__enzyme_fwddiff.replay.{mark}", [*hidden, f, *given])
        return set()
    through = hidden_type(f) is not None
    if through and "enzyme_primal_return" in words:
        raise UnsupportedError(
            f"{SPLIT} with enzyme_primal_return of {f.name}, which returns a struct through memory",
            span=module.span(call), cause="that memory is not written again",
            fix="take the value from __enzyme_augmentfwd",
        )  # fmt: skip
    twins.add(f.name)
    block = call.block
    assert block.function is not None
    b = Builder(block, Names(v.name for v in (*block.function.arguments, *block.function.instructions())))
    b.at = block.instructions.index(call)
    if memory is not None:
        tape = b.load(PTR, memory, "", 1)
    behind = TRUE if through else FALSE
    log = b.call(declare(module, "llgrad.log.open", PTR, [PTR, I1]), [tape, behind])
    if not keep:
        b.at = block.instructions.index(call) + 1
        b.call(declare(module, "llgrad.log.close", VOID, [PTR, I1]), [tape, behind])
    replay = declare(module, REPLAY + f.name, f.function_type.result, [*f.function_type.params, PTR])
    at = words.index("enzyme_interleave") if "enzyme_interleave" in words else len(given)
    given[at:at] = [_const(module), log]
    _ask(module, call, f"__enzyme_fwddiff.replay.{mark}", [*hidden, replay, *given])
    return {f.name}


def _ask(module: Module, call: Call, name: str, given: list[AnyValue]) -> None:
    callee = declare(module, name, call.function_type.result, [v.type for v in given])
    said = {id(v): attributes for v, attributes in zip(call.arguments, call.argument_attributes, strict=True)}
    made = call_instead(call, callee, given)
    made.argument_attributes = [said.get(id(v), ()) for v in given]  # (structs in memory)


def _const(module: Module) -> AnyValue:
    found = module.globals.get("enzyme_const")
    if isinstance(found, GlobalVariable):
        return found
    made = GlobalVariable("enzyme_const", I32, None)
    module.add(made)
    return made


class Twins:
    """The twins of functions, written as text; `types` are those of what is loaded and stored."""

    def __init__(self, definitions: dict[str, str], module: Module) -> None:
        said = registrations.read(module)
        self.module, self.splits, self.rules = module, said.splits, dict[str, str]()
        self.said = dict.fromkeys([*said.ruled, *said.splits, *said.like, *said.inactive, *said.heap])
        numbers = [f for f in (*said.tangents, *said.like) if PTR not in module.function(f).function_type.params]
        self.kept = dict.fromkeys(numbers)  # functions of numbers with a rule: they are asked for it
        self.definitions = {name: text for name, text in definitions.items() if name not in self.said}
        self.marks = count()
        self.texts: dict[str, str] = {}
        self.types: dict[str, None] = {}

    def add(self, name: str) -> None:
        if name in self.texts or name not in self.definitions:
            return
        self.texts[name] = ""  # recursion ends here
        head, _, body = self.definitions[name].partition("\n")
        lines = body.split("\n")
        twins = []
        for prefix, edit in ((LOG, self._log), (REPLAY, self._replay)):
            result = self.module.function(name).function_type.result
            first = f"define {result} {spelt(prefix + name)}({head.partition(f'{spelt(name)}(')[2]}"
            first = re.sub(r" (?:!dbg|comdat|personality)[^{]*", " ", first)
            first = re.sub(r"\)[^()]*\{$", ", ptr %llgrad.log) {", first)
            first = first.replace("(, ptr", "(ptr")
            twins.append("\n".join([first, *(x for line in lines for x in edit(name, line))]))
        self.texts[name] = "\n".join(twins)

    def _log(self, name: str, line: str) -> Iterator[str]:
        line = re.sub(r", !dbg !\d+", "", line)
        if (m := _LOAD.match(line)) is not None:
            self._uses(m[2])
            yield line
            yield f"  call void @llgrad.log.put.{m[2]}(ptr %llgrad.log, {m[2]} {m[1]})"
        elif (m := _CALLS.match(line)) is not None and plain(m[3]) in self.splits:
            yield from self._log_split(name, line, m)
        elif m is not None and plain(m[3]) in self.definitions:
            yield self._twin_call(LOG, m)
        else:
            yield line
            if m is not None and m[2] and _ALLOCATE.fullmatch(plain(m[3])):
                yield f"  call void @llgrad.log.put.ptr(ptr %llgrad.log, ptr {m[2]})"

    def _replay(self, name: str, line: str) -> Iterator[str]:
        line = re.sub(r", !dbg !\d+", "", line)
        if (m := _LOAD.match(line)) is not None:
            made, t = m[1], m[2]
            self._uses(t)
            held = "i64" if t == "ptr" else t
            taken = f"%llgrad.next.{made[1:]}" if t in SIZES else made
            yield f"  {taken} = call {held} @llgrad.replay.next.{t}(ptr %llgrad.log)"
            if t in SIZES:
                yield f"  {made} = call {t} @llgrad.replay.get.{t}(ptr {m[3]}, {held} {taken})"
        elif (m := _STORE.match(line)) is not None:
            if m[1] in (*_FLOATS, "ptr"):
                self._uses(m[1])
                yield f"  call void @llgrad.replay.put.{m[1]}(ptr {m[3]}, {m[1]} {m[2]})"
            elif not self._is_number(name, m[2]):
                raise self.refused(name, line)
        elif (m := _CALLS.match(line)) is not None:
            yield from self._call(name, line, m)
        elif _BEYOND.match(line):
            raise self.refused(name, line)
        else:
            yield line

    def _uses(self, t: str) -> None:
        if t != "ptr":
            self.types[t] = None

    def _is_number(self, name: str, value: str) -> bool:
        """Is an integer a constant or made by arithmetic, so that it is not the bits of a float?"""
        if not value.startswith("%"):
            return True
        made = re.search(rf"^  {re.escape(value)} = (\w+) ", self.definitions[name], re.MULTILINE)
        return made is not None and made[1] in _ARITHMETIC

    def _call(self, name: str, line: str, m: re.Match[str]) -> Iterator[str]:
        callee = plain(m[3])
        if callee in self.definitions:
            yield self._twin_call(REPLAY, m)
        elif callee in self.splits:
            yield from self._replay_split(name, line, m)
        elif (copy := _COPY.match(callee)) is not None:
            parts = [_SAID.sub("", p).strip() for p in m[4].split(", ")]
            word = "fill" if copy[1] == "memset" else "copy"
            given = [parts[0], *([parts[1]] if word == "copy" else []), parts[2].replace("i32 ", "i64 ")]
            yield f"  call void @llgrad.replay.{word}({', '.join(given)})"
        elif _ALLOCATE.fullmatch(callee) and m[2]:
            sizes = [_SAID.sub("", p).split()[-1] for p in m[4].split(", ")]
            size = sizes[0] if len(sizes) == 1 else f"%llgrad.size.{m[2][1:]}"
            if len(sizes) == 2:
                yield f"  {size} = mul i64 {sizes[0]}, {sizes[1]}"
            yield f"  %llgrad.next.{m[2][1:]} = call i64 @llgrad.replay.next.ptr(ptr %llgrad.log)"
            yield f"  {m[2]} = call ptr @{ALLOCATOR}(i64 {size}, i64 %llgrad.next.{m[2][1:]})"
        elif _FREE.fullmatch(callee):
            yield f"  call void @llgrad.replay.free({m[4].split(', ')[0]})"
        elif callee in self.kept or self._is_silent(callee, m[4]):
            yield line
        elif not (_SILENT.fullmatch(callee) and m[2] is None):
            raise self.refused(name, line)

    def _split(self, name: str, line: str, callee: str) -> SplitRule:
        rule = split_rule(*(self.module.function(f) for f in (callee, *self.splits[callee])))
        if rule is None:
            raise self.refused(name, line)
        self.rules[callee] = rule.text()
        if rule.value != "void":
            self._uses(rule.value)
        return rule

    def _log_split(self, name: str, line: str, m: re.Match[str]) -> Iterator[str]:
        """Call the rule's augmented sweep; write down its tape and the value."""
        rule, mark = self._split(name, line, plain(m[3])), f"rule.{next(self.marks)}"
        given = [p for p in m[4].split(", ") if p]
        behind = ", ".join(x for p in given for x in ([p, p] if p.startswith("ptr ") else [p]))
        made = f"%llgrad.augmented.{mark}"
        returned = "" if rule.returned == "void" else f"{made} = "
        yield f"  {returned}call {rule.returned} {spelt(rule.augmented.name)}({behind})"
        if rule.tape:
            kept = made if rule.returned == "ptr" else f"%llgrad.tape.{mark}"
            if rule.returned != "ptr":
                yield f"  {kept} = extractvalue {rule.returned} {made}, 0"
            yield f"  call void @llgrad.log.put.ptr(ptr %llgrad.log, ptr {kept})"
        if rule.value == "void":
            return
        value = m[2] or f"%llgrad.value.{mark}"
        if rule.returned == f"{{ ptr, {rule.value} }}":
            yield f"  {value} = extractvalue {rule.returned} {made}, 1"
        elif rule.returned == rule.value:
            yield f"  {value} = select i1 true, {rule.value} {made}, {rule.value} {made}"
        else:
            yield f"  {value} = call {rule.value} {spelt(rule.f.name)}({m[4]})"
        yield f"  call void @llgrad.log.put.{rule.value}(ptr %llgrad.log, {rule.value} {value})"

    def _replay_split(self, name: str, line: str, m: re.Match[str]) -> Iterator[str]:
        rule, mark = self._split(name, line, plain(m[3])), f"rule.{next(self.marks)}"
        given = [p for p in m[4].split(", ") if p]
        if rule.tape:
            yield f"  %llgrad.kept.{mark} = call i64 @llgrad.replay.next.ptr(ptr %llgrad.log)"
            given.append(f"i64 %llgrad.kept.{mark}")
        if rule.value != "void":
            yield f"  %llgrad.next.{mark} = call {rule.value} @llgrad.replay.next.{rule.value}(ptr %llgrad.log)"
            given.append(f"{rule.value} %llgrad.next.{mark}")
        yield f"  {f'{m[2]} = ' if m[2] else ''}call {rule.value} {spelt(rule.name)}({', '.join(given)})"

    def _is_silent(self, callee: str, given: str) -> bool:
        """Does a function of the library look at no memory?"""
        pointerless = _POINTERLESS.fullmatch(callee) is not None and "ptr" not in given
        return pointerless or _KEPT.fullmatch(callee) is not None or _is_pure(callee)

    def _twin_call(self, prefix: str, m: re.Match[str]) -> str:
        name = plain(m[3])
        self.add(name)
        given = f"{m[4]}, ptr %llgrad.log" if m[4] else "ptr %llgrad.log"
        return f"{m[1].replace('musttail', 'tail')}{spelt(prefix + name)}({given})"

    def refused(self, name: str, line: str) -> UnsupportedError:
        return UnsupportedError(
            f"{name} cannot be run again from a tape, as {SPLIT} asks", cause=f"it has: {line.strip()[:80]}",
            fix="ask for __enzyme_fwddiff where memory has not changed",
        )  # fmt: skip

    def whole(self) -> str:
        return "\n".join([*self.texts.values(), RUNTIME, *self.rules.values(), *map(accesses, self.types), ALWAYS])


def logged(module: Module, f: Function, shadows: list[int]) -> tuple[Logged, str]:
    """What `__enzyme_augmentfwd` calls; `shadows` says how many values follow each parameter."""
    result = f.function_type.result
    results = ("ptr",) if result == VOID else ("ptr", str(result))
    parameters, given = ["ptr"], []
    for a, more in zip(f.arguments, shadows, strict=True):
        given.append(f"{a.type} %p{len(parameters)}")
        parameters += [str(a.type)] * (1 + more)
    name = f"llgrad.logged.{f.name}.{''.join(map(str, shadows))}"
    head = ", ".join(f"{t} %p{n}" for n, t in enumerate(parameters))
    call = f"call {result} {spelt(LOG + f.name)}({', '.join([*given, 'ptr %log'])})"
    whole = f"{{ {', '.join(results)} }}"
    lines = ["%log = call ptr @llgrad.log.new()", call if result == VOID else f"%v = {call}",
             f"%a = insertvalue {whole} poison, ptr %log, 0"]  # fmt: skip
    lines += [] if result == VOID else [f"%b = insertvalue {whole} %a, {result} %v, 1"]
    lines.append(f"ret {whole} {'%a' if result == VOID else '%b'}")
    types = ", ".join([*(str(a.type) for a in f.arguments), "ptr"])
    body = "\n  ".join([f"define {whole} {spelt(name)}({head}) {{", *lines])
    declared = f"declare {result} {spelt(LOG + f.name)}({types})\ndeclare ptr @llgrad.log.new()"
    return Logged(name, tuple(parameters), results), f"{declared}\n{body}\n}}\n"
