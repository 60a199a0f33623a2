"""Checks of array sizes, written in IR: does what a function accesses for these integers lie within its arrays?

`limits` reads the accesses of a function (`analysis.memory.conditional_accesses`) and writes `i32 @llgrad.check(ptr
block)`.
`docs/memory-checks.md` says what the block holds and what the results mean. The test that all fits is straight-line
code; what exceeds an array, and where, is looked for in a function of its own, which runs only if the test failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from llgrad.analysis.memory.call_effects import forgets
from llgrad.analysis.memory.conditional_accesses import (
    Access,
    Accesses,
    Condition,
    accesses,
    argument_name,
    happening,
    held,
)
from llgrad.analysis.memory.entry_polynomials import is_readable
from llgrad.analysis.memory.entry_values import Field
from llgrad.analysis.memory.polynomial_bounds import Poly, Unbounded, Value, Writer
from llgrad.ir.module import Module
from llgrad.ir.types import IntType, PointerType
from llgrad.ir.values import Argument, Function, Instruction, Load, Store
from llgrad.programs.guarded_memory import ANSWERS, EXCEEDS, FITS, SOMEWHERE, UNPROVEN, Limits, Place
from llgrad.programs.noalias_versions import INTRINSICS

CHECK = "llgrad.check"
MOST_CERTAIN, MOST_POINTERS = 200, 62
Range = tuple[Value, Value]


def limits(module: Module, root: Function, opaque: Iterable[str] = ()) -> Limits:
    """What is known of `root`. `opaque`: functions whose bodies are not what is run."""
    found = accesses(module, root, opaque)
    made = _Check(root, found)
    text = made.text()
    places = tuple(Place(a.index, x.written, str(module.place(by) or "")) for a, x, by in made.certain)
    pointers = [a for a in root.arguments if isinstance(a.type, PointerType)]
    said = {a.index: {x.name for x in a.attributes} for a in pointers}
    read = frozenset(n for n, names in said.items() if names & {"readonly", "readnone"})
    pinned = frozenset(a.index for a in pointers if not forgets(a))
    numbers, tested = (tuple(a.index for a in part) for part in (made.numbers, made.pointers))
    return Limits(numbers, tested, places, made.unknown, pinned, read, _alignment(root, module), text)


class _Check:
    """Writes the check of one function."""

    def __init__(self, root: Function, found: Accesses) -> None:
        self.root, self.found = root, found
        self.unknown = {a.index: why for a, why in found.unknown.items()}
        read = {root.arguments[x.base] for x in found.fields}
        self.written = [a for a, known in found.known.items() if read and any(x.written for x in known)]
        addresses = read.union(self.written)
        self.numbers = [a for a in root.arguments if is_readable(a.type) or a in addresses]
        self.pointers = [a for a, known in found.known.items() if known or a in found.unknown]
        self.certain: list[tuple[Argument, Access, Instruction]] = []

    def text(self) -> str:
        """IR of the check, or nothing where nothing can be proven or refuted."""
        if not self.pointers:
            return ""
        try:
            if len(self.pointers) > MOST_POINTERS:
                raise Unbounded("it has too many pointers")
            return f"{INTRINSICS}\n{self._tests()}\n{self._looks()}\n{self._behind()}"
        except Unbounded as reason:
            self.unknown.update({a.index: str(reason) for a in self.pointers})
            self.pointers, self.numbers, self.certain = [], [], []
            return ""

    # --- does all fit?

    def _tests(self) -> str:
        w = Writer()
        self._require(w)
        fits = [(n, w.emit(f"and i1 {a}, {b}")) for n, (a, b) in self._each_fits(w)]
        mask = self._mask(w, fits)
        body = "\n".join(f"  {line}" for line in (*self._loads(), *w.lines))
        return f"""define i32 @{CHECK}(ptr %block) noimplicitfloat nounwind {{
{body}
  %all = icmp eq i64 {mask}, 0
  br i1 %all, label %fits, label %look
fits:
  ret i32 {FITS}
look:
  store i64 {mask}, ptr %block, align 8
  %found = call i32 @{CHECK}.look(ptr %block)
  ret i32 %found
}}"""

    def _each_fits(self, w: Writer) -> list[tuple[int, tuple[str, str]]]:
        return [(n, ends) for n, a in enumerate(self.pointers) for ends in self._fits(w, a)]

    def _mask(self, w: Writer, fits: Sequence[tuple[int, str]]) -> Value:
        """A bit for each pointer of which something is unknown, or does not hold."""
        mask: Value = sum(1 << n for n, a in enumerate(self.pointers) if a.index in self.unknown)
        for n, name in fits:
            bit = w.emit(f"select i1 {name}, i64 0, i64 {1 << n}")
            mask = bit if mask == 0 else w.emit(f"or i64 {mask}, {bit}")
        for name in w.failed():
            mask = w.emit(f"select i1 {name}, i64 {(1 << len(self.pointers)) - 1}, i64 {mask}")
        return mask

    def _require(self, w: Writer) -> None:
        w.failures.update({f"{name}.missing": None for name in self.found.fields.values()})
        for p, least, most in self.found.needs:
            w.within(p, least, most)

    def _fits(self, w: Writer, a: Argument) -> list[tuple[str, str]]:
        if a.index in self.unknown:
            return []
        try:
            return list(self._fit(w, a))
        except Unbounded as reason:
            self.unknown[a.index] = str(reason)
            return []

    def _fit(self, w: Writer, a: Argument) -> Iterator[tuple[str, str]]:
        """Conditions that hold together where all accesses behind `a` lie within its memory: not before, not behind."""
        groups: dict[tuple[Condition, ...], list[Access]] = {}
        for x in self.found.known[a]:
            groups.setdefault(x.path.only_if, []).append(x)
        for only_if, group in groups.items():
            low, high = _hull(w, group)
            ends = _at_least(w, low, a), _at_most(w, high, a)
            happens = held(w, only_if, {})
            if happens != "true":
                least, most = (w.emit(f"select i1 {happens}, i1 {name}, i1 true") for name in ends)
                ends = least, most
            yield ends

    def _loads(self) -> Iterator[str]:
        """Reads the block: `%p3` of a number, `%before3` and `%behind3` of a pointer; and integers in memory: `%f0`."""
        at = 8 * ANSWERS

        def load(name: str, type: str = "i64") -> Iterator[str]:
            nonlocal at
            yield f"{name}.at = getelementptr i8, ptr %block, i64 {at}"
            yield f"{name} = load {type}, ptr {name}.at, align 8"
            at += 8

        for a in self.numbers:
            yield from load(argument_name(a), str(a.type))
        for a in self.pointers:
            yield from load(f"%before{a.index}")
            yield from load(f"%behind{a.index}")
            yield f"%least{a.index} = sub i64 0, %before{a.index}"
        for a in self.numbers if self.found.fields else ():
            if isinstance(a.type, PointerType):
                yield f"%at{a.index} = ptrtoint ptr {argument_name(a)} to i64"
                yield f"%start{a.index} = sub i64 %at{a.index}, %before{a.index}"
                yield f"%end{a.index} = add i64 %at{a.index}, %behind{a.index}"
        for field, name in self.found.fields.items():
            yield from self._field_lines(field, name)

    def _field_lines(self, field: Field, name: str) -> Iterator[str]:
        """Reads an integer in memory that holds it, apart from what is written; else (`.missing`) whatever."""
        assert isinstance(field.type, IntType)
        yield f"{name}.short = icmp slt i64 %behind{field.base}, {field.offset + field.type.bits // 8}"
        yield f"{name}.unknown = icmp sge i64 %behind{field.base}, {SOMEWHERE}"
        yield f"{name}.missing0 = or i1 {name}.short, {name}.unknown"
        for n, a in enumerate(self.written):
            yield f"{name}.first{n} = icmp slt i64 %start{a.index}, %end{field.base}"
            yield f"{name}.last{n} = icmp slt i64 %start{field.base}, %end{a.index}"
            yield f"{name}.both{n} = and i1 {name}.first{n}, {name}.last{n}"
            yield f"{name}.missing{n + 1} = or i1 {name}.missing{n}, {name}.both{n}"
        yield f"{name}.missing = or i1 {name}.missing{len(self.written)}, false"
        yield f"{name}.place = getelementptr i8, ptr %p{field.base}, i64 {field.offset}"
        yield f"{name}.at = select i1 {name}.missing, ptr %block, ptr {name}.place"
        yield f"{name} = load {field.type}, ptr {name}.at, align 1"

    # --- what exceeds its array?

    def _looks(self) -> str:
        w = Writer()
        self._require(w)
        tests: dict[tuple[str, Value, Value], int] = {}
        for a in self.pointers:
            for x, by in self.found.known[a].items():
                if len(tests) < MOST_CERTAIN and self.found.certain(x):
                    tests.update({t: len(self.certain) for t in self._outside(w, a, x)})
                    self.certain.append((a, x, by))
        wrong = w.failed()
        lines = [f"define internal i32 @{CHECK}.look(ptr %block) noinline cold noimplicitfloat nounwind {{"]
        lines += [*self._loads(), "%low = getelementptr i8, ptr %block, i64 8"]
        lines += ["%high = getelementptr i8, ptr %block, i64 16", *w.lines]
        for n, name in enumerate(wrong):
            lines += [f"br i1 {name}, label %unproven, label %right{n}", f"right{n}:"]
        for n, ((outside, low, high), which) in enumerate(tests.items()):
            lines += [f"br i1 {outside}, label %exceeds{n}, label %test{n}", f"exceeds{n}:"]
            lines += [f"store i64 {which}, ptr %block, align 8", f"store i64 {low}, ptr %low, align 8"]
            lines += [f"store i64 {high}, ptr %high, align 8", f"ret i32 {EXCEEDS}", f"test{n}:"]
        lines += ["br label %unproven", "unproven:", f"%behind = call i64 @{CHECK}.behind(ptr %block)"]
        return "\n".join([*lines, "store i64 %behind, ptr %low, align 8", f"ret i32 {UNPROVEN}", "}"])

    def _behind(self) -> str:
        """Tells pointers behind whose memory something may be accessed from those before whose memory alone it may."""
        w = Writer()
        self._require(w)
        mask = self._mask(w, [(n, end) for n, (_, end) in self._each_fits(w)])
        head = f"define internal i64 @{CHECK}.behind(ptr %block) noinline cold noimplicitfloat nounwind {{"
        return "\n".join([head, *self._loads(), *w.lines, f"ret i64 {mask}", "}"])

    def _outside(self, w: Writer, a: Argument, x: Access) -> Iterator[tuple[str, Value, Value]]:
        """Conditions under which the access certainly leaves the memory of `a`, and its bytes."""
        with suppress(Unbounded):
            for happens, low, high in happening(w, x):
                least = w.emit(f"icmp slt i64 {low}, %least{a.index}")
                outside = w.emit(f"or i1 {least}, {w.emit(f'icmp sgt i64 {high}, %behind{a.index}')}")
                yield outside if happens == "true" else w.emit(f"and i1 {outside}, {happens}"), low, high


def _hull(w: Writer, group: Sequence[Access]) -> Range:
    """From the first byte of all accesses to the one behind the last; of what differs by constants, the outermost."""
    lows: dict[Poly, int] = {}
    highs: dict[Poly, int] = {}
    for x in group:
        a, b = x.low.terms.get((), 0), x.high.terms.get((), 0)
        lows[x.low - a] = min(a, lows.get(x.low - a, a))
        highs[x.high - b] = max(b, highs.get(x.high - b, b))
    return w.least_of([w.least(p + c) for p, c in lows.items()]), w.most_of([w.most(p + c) for p, c in highs.items()])


def _at_least(w: Writer, low: Value, a: Argument) -> str:
    return w.emit(f"icmp sge i64 {low}, %least{a.index}")


def _at_most(w: Writer, high: Value, a: Argument) -> str:
    return w.emit(f"icmp sle i64 {high}, %behind{a.index}")


def _alignment(root: Function, module: Module) -> int:
    """What loads and stores of the function and of what it calls rely on, at most; parameters say it, too."""
    seen, waiting, found = {root}, [root], 1
    while waiting:
        f = waiting.pop()
        said = [x.value for a in f.arguments for x in a.attributes if x.name == "align"]
        found = max([found, *(n for n in said if isinstance(n, int))])
        for i in (i for b in f.blocks for i in b.instructions):
            if isinstance(i, Load | Store):
                found = max(found, i.align or 1)
            new = {v for v in i.operands if isinstance(v, Function) and not v.is_declaration} - seen
            seen |= new
            waiting += new
    return found


__all__ = ["CHECK", "limits"]
