"""Passes, and the manager that runs lists of them.

A `Unit` is a program on its way through the compiler. It has up to three forms: LLVM's module, LLVM assembly, and our
`ir.Module`. A pass asks for one form and changes it. Another form is made when a pass asks for it; each making is
counted in `Unit.made`, for a test.

A `Pass` is a function with a name and a meaning, which `llgrad explain --passes` shows. The lists are in `pipeline`;
a list is for units in a context `C`, which holds what its passes must know (roots, level, …).

    SIGNS = on_ir("signs", with_signs, "Masks of bits become signs of floats")
    run_passes(Unit("define …"), [SIGNS], None)

Whoever wants to look on sets a `Watch` (`watching`): it prints units before or after passes, adds up the time, and can
have LLVM verify each unit.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Generic, TypeVar

from msgspec import Struct, field

from llgrad.errors import ParseError, VerifyError
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule

C = TypeVar("C", contravariant=True)
TEXT, LLVM, IR = "text", "llvm", "ir"


class Unit:
    """A program in at least one of three forms."""

    def __init__(self, program: LLVMModule | Module | str) -> None:
        self._text: str | None = None
        self._llvm: LLVMModule | None = None
        self._ir: Module | None = None
        self.made: Counter[str] = Counter()  # how often a form was made of another
        self.put(program)

    def text(self) -> str:
        """The program as LLVM assembly."""
        if self._text is None:
            self.made[TEXT] += 1
            self._text = self._llvm.text() if self._llvm is not None else write(self._module())
        return self._text

    def llvm(self, read: Callable[[str], LLVMModule] = LLVMModule.from_text) -> LLVMModule:
        """The program as LLVM's module; whoever changes it says so (`changed`)."""
        if self._llvm is None:
            self.made[LLVM] += 1
            self._llvm = read(self.text())
        return self._llvm

    def ir(self) -> Module:
        """The program as our module; whoever changes it says so (`changed`)."""
        if self._ir is None:
            self.made[IR] += 1
            self._ir = parse(self.text())
        return self._ir

    def has(self, form: str) -> bool:
        """Is the program there in this form?"""
        return {TEXT: self._text, LLVM: self._llvm, IR: self._ir}[form] is not None

    def concerns(self, asks: Callable[[str], bool]) -> bool:
        """Is the program our module already, or has its text what `asks` looks for?"""
        return (self._ir is not None and self._text is None and self._llvm is None) or asks(self.text())

    def put(self, program: LLVMModule | Module | str) -> bool:
        """Make this the program; False if it is the same text."""
        if isinstance(program, str):
            if self._text is None and self._llvm is None and self._ir is None or program != self.text():
                self._text, self._llvm, self._ir = program, None, None
                return True
            return False
        self._text = None
        self._llvm = program if isinstance(program, LLVMModule) else None
        self._ir = program if isinstance(program, Module) else None
        return True

    def put_all(self, work: LLVMModule, module: Module) -> bool:
        """Make this the program: a module of LLVM's that is printed, and its text as ours."""
        self._text, self._llvm, self._ir = work.text(), work, module
        return True

    def module(self) -> Module | None:
        """The program as our module, if it is that already, or None."""
        return self._ir

    def changed(self, form: str) -> None:
        """`form` was changed in place: the others are out of date."""
        self.put(self.llvm() if form == LLVM else self._module())

    def _module(self) -> Module:
        assert self._ir is not None
        return self._ir


def _always(context: object) -> bool:
    return True


class Pass(Struct, Generic[C], frozen=True):
    """A change of a unit. `run` returns whether it changed anything; `wanted` says for which contexts it runs."""

    name: str
    run: Callable[[Unit, C], bool]
    meaning: str
    wanted: Callable[[C], bool] = _always


Passes = Sequence[Pass[C]]


def on_text(name: str, edit: Callable[[str], str], meaning: str, *, wanted: Callable[[C], bool] = _always) -> Pass[C]:
    """A pass that edits LLVM assembly."""
    return Pass(name, lambda unit, _: unit.put(edit(unit.text())), meaning, wanted)


def on_llvm(
    name: str, change: Callable[[LLVMModule, C], object], meaning: str, *,
    wanted: Callable[[C], bool] = _always,
) -> Pass[C]:  # fmt: skip
    """A pass that changes LLVM's module; one that returns False has changed nothing."""

    def run(unit: Unit, context: C) -> bool:
        if change(unit.llvm(), context) is False:
            return False
        unit.changed(LLVM)
        return True

    return Pass(name, run, meaning, wanted)


def on_ir(
    name: str, change: Callable[[Module], bool], meaning: str, *,
    wanted: Callable[[C], bool] = _always, asks: Callable[[str], bool] | None = None,
) -> Pass[C]:  # fmt: skip
    """A pass that changes our module and says whether it has; a text that `asks` finds nothing in is not parsed."""

    def run(unit: Unit, _: C) -> bool:
        if asks is not None and not unit.concerns(asks) or not change(unit.ir()):
            return False
        unit.changed(IR)
        return True

    return Pass(name, run, meaning, wanted)


def of_llvm(*passes: str, name: str = "", meaning: str = "", wanted: Callable[[C], bool] = _always) -> Pass[C]:
    """Passes of LLVM's own, by llvmlite's names."""
    meaning = meaning or f"LLVM's {', '.join(passes)}"
    return on_llvm(name or "+".join(passes), lambda module, _: module.run(passes), meaning, wanted=wanted)


def naming(*words: str) -> Callable[[str], bool]:
    """Says whether a text has one of these words."""
    return lambda text: any(word in text for word in words)


def some_body(asks: Callable[[str], bool]) -> Callable[[str], bool]:
    """Asks each function of a text."""
    return lambda text: any(map(asks, text.split("\n}\n")))


# --- watching ---------------------------------------------------------------------------------------------------------


class Spent(Struct):
    """How often a pass ran, how often it changed something, and the seconds it took."""

    runs: int = 0
    changes: int = 0
    seconds: float = 0.0


class Watch(Struct):
    """What is wanted of the manager: `print_after` and `print_before` are names of passes, or "*" for all."""

    print_before: frozenset[str] = frozenset()
    print_after: frozenset[str] = frozenset()
    verify: bool = False
    show: Callable[[str], object] = print
    spent: dict[str, Spent] = field(default_factory=dict)
    order: list[str] = field(default_factory=list)  # the passes that ran, each time

    def before(self, name: str, unit: Unit) -> None:
        if {name, "*"} & self.print_before:
            self.show(f"; --- before {name}\n{unit.text()}")

    def after(self, name: str, unit: Unit, changed: bool, seconds: float) -> None:
        self.add(name, changed, seconds)
        if {name, "*"} & self.print_after:
            self.show(f"; --- after {name}{'' if changed else ' (no change)'}\n{unit.text()}")
        if self.verify and changed:
            _verify(name, unit)

    def add(self, name: str, changed: bool, seconds: float) -> None:
        self.order.append(name)
        spent = self.spent.setdefault(name, Spent())
        spent.runs, spent.changes, spent.seconds = spent.runs + 1, spent.changes + changed, spent.seconds + seconds

    def table(self) -> str:
        """The time that passes took, the longest first, as lines of text."""
        rows = sorted(self.spent.items(), key=lambda row: -row[1].seconds)
        total = sum(spent.seconds for _, spent in rows) or 1.0
        head = f"{'seconds':>9} {'share':>6} {'runs':>5} {'changed':>7}  pass"
        return "\n".join(
            [head]
            + [f"{s.seconds:9.4f} {s.seconds / total:6.1%} {s.runs:5} {s.changes:7}  {name}" for name, s in rows]
            + [f"{total:9.4f}                       all"]
        )


_watch: ContextVar[Watch | None] = ContextVar("llgrad.watch", default=None)


@contextmanager
def watching(watch: Watch) -> Iterator[Watch]:
    """`watch` looks on while passes run in this context."""
    token = _watch.set(watch)
    try:
        yield watch
    finally:
        _watch.reset(token)


def run_passes(unit: Unit, passes: Passes[C], context: C) -> Unit:
    """Run those of `passes` that the context wants, in order, on `unit`, which is returned."""
    watch = _watch.get()
    for p in passes:
        if not p.wanted(context):
            continue
        if watch is None:
            p.run(unit, context)
            continue
        watch.before(p.name, unit)
        started = time.perf_counter()
        changed = p.run(unit, context)
        watch.after(p.name, unit, changed, time.perf_counter() - started)
    return unit


@contextmanager
def timed(name: str) -> Iterator[None]:
    """Count the time of what is no pass: analyses, synthesis, code generation."""
    if (watch := _watch.get()) is None:
        yield
        return
    started = time.perf_counter()
    try:
        yield
    finally:
        watch.add(name, True, time.perf_counter() - started)


def _verify(name: str, unit: Unit) -> None:
    try:
        LLVMModule.from_text(unit.text())
    except (ParseError, VerifyError) as error:
        raise VerifyError(
            f"the pass {name} wrote IR that LLVM rejects: this is a bug in llgrad",
            cause=error.cause or error.message, fix="report it with the source",
        ) from error  # fmt: skip
