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
from llgrad.ir.rewrite import after, before, called_instead, erase, local_names, replaced
from llgrad.ir.symbols import copied
from llgrad.ir.types import I1, I32, I64, PTR, VOID, FloatType, FunctionType, IntType, PointerType, StructType, Type
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Call,
    Constant,
    ConstNull,
    Function,
    GlobalVariable,
    Instruction,
    Load,
    Store,
)
from llgrad.ir.write import write, write_instruction
from llgrad.llvm.assembly import joined, spelt
from llgrad.rules import library

LOG = "llgrad.log.of."
_ARITHMETIC = ("add", "sub", "mul", "sdiv", "udiv", "srem", "urem", "sext", "fptosi", "fptoui", "icmp", "fcmp")
_COPIES = ("llvm.memcpy.", "llvm.memmove.", "llvm.memset.")
_KEPT = tuple(f"llvm.{word}" for word in ("lifetime.", "dbg.", "assume", "stacksave", "stackrestore"))
_ON_MEMORY = tuple(f"llvm.{word}" for word in ("memcpy", "masked", "vector", "matrix"))
_ALLOCATE, _FREE = ("malloc", "calloc", "_Znwm", "_Znam"), ("free", "_ZdlPv", "_ZdlPvm", "_ZdaPv", "_ZdaPvm")
_PRINTS = ("puts", "putchar", "fputs", "fflush", "fwrite")
_BEYOND = ("invoke", "load", "store", "atomicrmw", "cmpxchg", "va_arg", "fence", "call", "callbr")


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


def lower(text: str) -> tuple[str, frozenset[str]]:
    """The program with its calls of `__enzyme_fwdsplit` as those of forward mode; the functions that are replayed."""
    if SPLIT not in text:
        return text, frozenset()
    module = parse(text)
    twins = Twins(module)
    found: set[str] = set()
    for f in list(naming(module, SPLIT)):
        for n, i in enumerate(list(f.instructions())):
            if isinstance(i, Call) and i.called_function is not None and SPLIT in i.called_function.name:
                found |= _rewritten(module, i, f"{f.name}.{n}", twins)
    return joined([write(module), twins.beside()]), frozenset(found)


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
    replay = twins.twin(REPLAY, f)
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
    """The twins of functions; `types` are those of what is loaded and stored.

        %v = load double, ptr %p     the log:    %v = load double, ptr %p
                                                 call void @llgrad.log.put.double(ptr %llgrad.log, double %v)
                                     replayed:   %n = call double @llgrad.replay.next.double(ptr %llgrad.log)
                                                 %v = call double @llgrad.replay.get.double(ptr %p, double %n)
    """

    def __init__(self, module: Module) -> None:
        said = registrations.read(module)
        self.module, self.splits, self.rules = module, said.splits, dict[str, str]()
        apart = dict.fromkeys([*said.ruled, *said.splits, *said.like, *said.inactive, *said.heap])
        numbers = [f for f in (*said.tangents, *said.like) if PTR not in module.function(f).function_type.params]
        self.kept = dict.fromkeys(numbers)  # functions of numbers with a rule: they are asked for it
        self.defined = {f for f in module.functions if not f.is_declaration and f.name not in apart}
        self.types: dict[str, None] = {}

    def twin(self, prefix: str, f: Function) -> Function:
        """The twin of a function, which may be known only by name."""
        found = self.module.globals.get(prefix + f.name)
        if isinstance(found, Function):
            return found
        if f not in self.defined:
            return declare(self.module, prefix + f.name, f.function_type.result, [*f.function_type.params, PTR])
        log, replay = (self._copied(f, p) for p in (LOG, REPLAY))
        _Twin(self, f, log, LOG).write()
        _Twin(self, f, replay, REPLAY).write()
        return log if prefix == LOG else replay

    def _copied(self, f: Function, prefix: str) -> Function:
        new, kind = copied(f, prefix + f.name), f.function_type
        assert new.blocks  # reads the body, which knows the arguments that it has now
        new.linkage, new.prefix, new.suffix, new.metadata, new.personality = "external", (), "", {}, None
        new.attributes = new.result_attributes = ()
        new.arguments.append(Argument(PTR, "llgrad.log", len(new.arguments)))
        new.value_type = FunctionType(kind.result, (*kind.params, PTR))
        return new

    def beside(self) -> str:
        """What the twins call."""
        return "\n".join([RUNTIME, *self.rules.values(), *map(accesses, self.types), ALWAYS])


class _Twin:
    """Writes a twin: a copy of a function that has a log as its last argument."""

    def __init__(self, twins: Twins, f: Function, new: Function, prefix: str) -> None:
        self.twins, self.module, self.f, self.new, self.prefix = twins, twins.module, f, new, prefix
        self.log, self.names = new.arguments[-1], local_names(new)

    def write(self) -> None:
        logs, instructions = self.prefix == LOG, list(self.new.instructions())
        for i in instructions:
            i.metadata.pop("dbg", None)
            i.debug_records = ()
        for i in instructions:
            callee = i.callee if isinstance(i, Call) and i.opcode == "call" else None
            if isinstance(i, Load) and "atomic" not in i.flags and _is_scalar(i.type):
                self.put(after(i, self.names), i) if logs else self._replay_load(i)
            elif isinstance(i, Call) and isinstance(callee, Function):
                if callee in self.twins.defined:
                    self._call_twin(i, callee)
                elif callee.name in self.twins.splits:
                    (self._log_split if logs else self._replay_split)(i, self._rule(i, callee))
                elif not logs:
                    self._replay_call(i, callee)
                elif callee.name in _ALLOCATE:
                    self.put(after(i, self.names), i)
            elif not logs:
                self._replay_other(i)

    def uses(self, t: Type) -> str:
        """The name of a type of what is loaded or stored."""
        if t != PTR:
            self.twins.types[str(t)] = None
        return str(t)

    def put(self, b: Builder, v: AnyValue) -> None:
        """Write a value down."""
        put = declare(self.module, f"llgrad.log.put.{self.uses(v.type)}", VOID, [PTR, v.type])
        b.call(put, [self.log, v])

    def next(self, b: Builder, t: Type) -> AnyValue:
        """What was written down next; an address is a number."""
        f = declare(self.module, f"llgrad.replay.next.{self.uses(t)}", I64 if t == PTR else t, [PTR])
        return b.call(f, [self.log], "llgrad.next")

    def helper(self, b: Builder, name: str, given: list[AnyValue], result: Type = VOID) -> AnyValue:
        return b.call(declare(self.module, name, result, [v.type for v in given]), given)

    def _call_twin(self, i: Call, f: Function) -> None:
        twin = self.twins.twin(self.prefix, f)
        new = called_instead(i, twin, [*i.arguments, self.log], [*i.argument_attributes, ()])
        new.attributes, new.tail = (), ""

    def _rule(self, i: Call, f: Function) -> SplitRule:
        rule = split_rule(f, *map(self.module.function, self.twins.splits[f.name]))
        if rule is None:
            raise self.refused(i)
        self.twins.rules[f.name] = rule.text()
        return rule

    def refused(self, i: Instruction) -> UnsupportedError:
        return UnsupportedError(
            f"{self.f.name} cannot be run again from a tape, as {SPLIT} asks",
            span=self.f.module.place(i) if self.f.module is not None else None,
            cause=f"it has: {write_instruction(i).strip()[:80]}",
            fix="ask for __enzyme_fwddiff where memory has not changed",
        )  # fmt: skip

    def _log_split(self, i: Call, rule: SplitRule) -> None:
        """Call the rule's augmented sweep; write down its tape and the value."""
        b = before(i, self.names)
        doubled = [x for v in i.arguments for x in ([v, v] if isinstance(v.type, PointerType) else [v])]
        made: AnyValue = b.call(rule.augmented, doubled, "llgrad.augmented")
        both = isinstance(made.type, StructType)
        if rule.tape:
            self.put(b, b.extract(made, 0) if both else made)
        if i.type == VOID:
            return erase(i)
        if both:
            made = b.extract(made, 1)
        elif rule.tape:
            made = b.call(rule.f, i.arguments, "llgrad.value")
        self.put(b, made)
        return replaced(i, made)

    def _replay_load(self, i: Load) -> None:
        b = before(i, self.names)
        taken = self.next(b, i.type)
        if str(i.type) in SIZES:
            taken = self.helper(b, f"llgrad.replay.get.{i.type}", [i.pointer, taken], i.type)
        replaced(i, taken)

    def _replay_other(self, i: Instruction) -> None:
        if isinstance(i, Store) and "atomic" not in i.flags and _is_scalar(i.value.type):
            t = i.value.type
            if str(t) in SIZES:
                self.helper(before(i, self.names), f"llgrad.replay.put.{self.uses(t)}", [i.pointer, i.value])
            elif not _is_number(i.value):
                raise self.refused(i)
            erase(i)
        elif i.opcode in _BEYOND or (i.opcode == "bitcast" and isinstance(i.operands[0].type, IntType)):
            raise self.refused(i)

    def _replay_call(self, i: Call, f: Function) -> None:
        b, given = before(i, self.names), i.arguments
        if f.name.startswith(_COPIES):
            fills = f.name.startswith(_COPIES[-1])
            size = b.cast("zext", given[2], I64)
            self.helper(b, f"llgrad.replay.{'fill' if fills else 'copy'}", [*given[: 1 if fills else 2], size])
            erase(i)
        elif f.name in _ALLOCATE:
            size = given[0] if len(given) == 1 else b.binary("mul", given[0], given[1], "llgrad.size")
            replaced(i, self.helper(b, ALLOCATOR, [size, self.next(b, PTR)], PTR))
        elif f.name in _FREE:
            self.helper(b, "llgrad.replay.free", given[:1])
            erase(i)
        elif f.name in self.twins.kept or _is_silent(f.name, given):
            return
        elif _only_prints(f.name) and not i.users:
            erase(i)
        else:
            raise self.refused(i)

    def _replay_split(self, i: Call, rule: SplitRule) -> None:
        b, written = before(i, self.names), [*([PTR] if rule.tape else []), *([] if i.type == VOID else [i.type])]
        made = self.helper(b, rule.name, [*i.arguments, *(self.next(b, t) for t in written)], i.type)
        erase(i) if i.type == VOID else replaced(i, made)


def _is_scalar(t: Type) -> bool:
    return isinstance(t, IntType | FloatType) or t == PTR


def _is_number(v: AnyValue) -> bool:
    """Is an integer a constant or made by arithmetic, so that it is not the bits of a float?"""
    return isinstance(v, Constant) or isinstance(v, Instruction) and v.opcode in _ARITHMETIC


def _is_silent(name: str, given: list[AnyValue]) -> bool:
    """Does a function of the library look at no memory?"""
    pointers = any(isinstance(v.type, PointerType) for v in given)
    numbers = name.startswith("llvm.") and not name.startswith(_ON_MEMORY) and not pointers
    return numbers or name.startswith(_KEPT) or _is_pure(name)


def _only_prints(name: str) -> bool:
    return name in _PRINTS or name.lstrip("_").removeprefix("f").startswith("printf")


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
