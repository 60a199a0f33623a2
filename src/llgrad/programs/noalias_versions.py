"""Derivatives in two versions, of which a test of the pointers chooses when they are called: is their memory apart?

Without `restrict`, LLVM must believe that each store changes what every other pointer leads to: the norm stays in the
loop, values are loaded again and kept on the tape, adjoints are not vectorised. Where the bytes that the function may
touch behind each pointer have bounds at its entry (`analysis.memory.access_ranges`), its derivative becomes

    if the ranges are apart: the derivative of the function optimised once more, its pointers `noalias`
    else:                    the derivative as it is for any pointers

`dispatched` writes that where a pointer that the function's own loops use is in another's way: what it merely calls
is compiled for any pointers in both versions, and shadows alone, of pointers that are `restrict` or only read, gain too
little for what a second derivative costs to compile.

The ranges are those of the function as it is, and of what it becomes: what LLVM concludes from `noalias` holds for the
accesses of the first, what is said of the derivative for those of the second. Tested are the primals' ranges where one
of two is written and the source does not say `restrict`, and all shadows with each other: both versions rely on it that
no shadow is primal memory (`autodiff.emit.alias_scopes`).

Python sees buffers whole: where it finds that none overlap, the derivative that it calls is of the function optimised
once more, without a test (`derivatives_promised`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import combinations

from msgspec import Struct
from msgspec.structs import replace

from llgrad import llvm
from llgrad.analysis.memory.access_ranges import Extents, extents
from llgrad.analysis.memory.entry_polynomials import Refused, argument_name
from llgrad.analysis.memory.entry_values import Prelude
from llgrad.analysis.memory.polynomial_bounds import Unbounded, Value, Writer
from llgrad.autodiff.requests import registrations
from llgrad.autodiff.requests.request import Mode, Request
from llgrad.autodiff.sweeps.primal_copy import takes_shadow
from llgrad.errors import LlgradError
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.types import PTR, PointerType
from llgrad.ir.values import Argument, Attribute, Function
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule
from llgrad.llvm.assembly import spelt
from llgrad.models.gpu import DEVICE
from llgrad.programs import derivatives
from llgrad.programs.derivatives import Derived
from llgrad.programs.promoted_pointers import promote
from llgrad.programs.stages import Prepared, normal
from llgrad.transforms.guard.equalities import hide, hide_bits
from llgrad.transforms.symbols import own_names

MOST_TESTS = 2_000
MOST_WRITTEN = 60  # each by instructions of its own; more are compared in a loop over a table
CLASH = """define linkonce_odr hidden i1 @llgrad.clash(ptr %ends, ptr %pairs, i64 %n) noinline nounwind {
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %head ]
  %any = phi i1 [ false, %entry ], [ %more, %head ]
  %pair = getelementptr { i16, i16 }, ptr %pairs, i64 %i
  %other = getelementptr i16, ptr %pair, i64 1
  %one.i = load i16, ptr %pair
  %other.i = load i16, ptr %other
  %one.at = getelementptr { i64, i64 }, ptr %ends, i16 %one.i
  %other.at = getelementptr { i64, i64 }, ptr %ends, i16 %other.i
  %one.end = getelementptr i64, ptr %one.at, i64 1
  %other.end = getelementptr i64, ptr %other.at, i64 1
  %a = load i64, ptr %one.at
  %b = load i64, ptr %one.end
  %c = load i64, ptr %other.at
  %d = load i64, ptr %other.end
  %first = icmp sgt i64 %b, %c
  %second = icmp sgt i64 %d, %a
  %both = and i1 %first, %second
  %more = or i1 %any, %both
  %next = add i64 %i, 1
  %go = icmp ne i64 %next, %n
  br i1 %go, label %head, label %done
done:
  ret i1 %more
}
"""
INTRINSICS = """
declare { i64, i1 } @llvm.sadd.with.overflow.i64(i64, i64)
declare { i64, i1 } @llvm.smul.with.overflow.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare i64 @llvm.smin.i64(i64, i64)
"""


class Versions(Struct, frozen=True):
    """What is chosen between: the function prepared for pointers that are apart, and the test that they are.

    `test` computes `%apart` from `%p0`, `%p1`, … (arguments) and `%s0.0`, … (shadows, by lane); `tests` of ranges.
    The function has more arguments than it had: pointers that `prelude` finds in memory. `request` has them, too.
    """

    text: str
    test: tuple[str, ...]
    tests: int
    constants: str
    request: Request
    prelude: Prelude

    def __str__(self) -> str:
        return f"two versions, of which {self.tests} tests of where memory lies choose when it is called"


def dispatched(text: str, request: Request, level: int, parsed: Module | None = None) -> Derived:
    """The derivative of the prepared text that `request` asks for, in two versions where that promises something.

    `parsed`: the text as a module, which becomes the derivative's.
    """
    if request.disjoint:
        return derivatives_promised(Prepared(text, parsed), [request], level)[0]
    general = derivatives.derivative(text, request, level, parsed)
    found = versions(text, request, level)
    if not isinstance(found, Versions):
        return general
    try:
        fast = derivatives.derivative(found.text, replace(found.request, disjoint=True), level)
    except LlgradError:  # the general version does for all
        return general
    return _joined(general, fast, found, request)


def derivatives_promised(prepared: Prepared, requests: Sequence[Request], level: int) -> list[Derived]:
    """The sweeps of one derivative; where no buffers overlap, by the caller's word, of what LLVM makes of that."""
    text = prepared.text
    if (changed := promised(text, requests[0], level, prepared.read())) != text:
        with suppress(LlgradError):  # the text as it is does for all
            return derivatives.derivatives(changed, requests, level)
    return derivatives.derivatives(text, requests, level, parsed=prepared.take())


def promised(text: str, request: Request, level: int, parsed: Module | None = None) -> str:
    """The prepared text, optimised again where the caller's word that buffers are apart tells LLVM something new.

    `parsed` is the text as a module.
    """
    while request.inner is not None:
        request = request.inner
    if level == 0 or not request.disjoint or request.runtime_activity:
        return text
    root = (parsed or parse(text)).function(own_names.own_name(request.function))
    plain = [a for a in root.arguments if isinstance(a.type, PointerType) and a.attribute("noalias") is None]
    read = [a for a in plain if a.attribute("readonly") or a.attribute("readnone")]
    return apart(text, root.name, level) if len(plain) > max(1, len(read)) else text


def versions(text: str, request: Request, level: int) -> Versions | str:
    """What to choose between; or why there is one version."""
    if level == 0 or request.inner is not None or request.mode not in (Mode.FORWARD, Mode.COMBINED):
        return "one version: a derivative in one sweep of an optimised function can have two"
    if request.disjoint or request.runtime_activity:
        return "one version: its pointers are apart" if request.disjoint else "one version: shadows may be primals"
    module = parse(text)
    root = module.function(own_names.own_name(request.function))
    if root.attribute(DEVICE) is not None:
        return "one version: the threads of a block take the same way"
    request, ahead = promote(module, root, request)
    pointers = [a for a in root.arguments if isinstance(a.type, PointerType)]
    if any(a.type != PTR for a in pointers):
        return "one version: addresses of several address spaces are not compared"
    if len(pointers) < 2:
        return "one version: it has one pointer at most"
    try:
        before = extents(module, root, opaque(module), ahead)
        looped = {a for a, touched in before.touched.items() if touched.looped}
        if not any(a in looped or b in looped for a, b in _hindered(root, before)):
            return "one version: in its own loops, no pointer is in the way of another"
        changed = apart(write(module) if ahead.pointers else text, root.name, level)
        module = parse(changed)
        again = module.function(root.name)
        after = extents(module, again, opaque(module), ahead)
        w = Writer()
        tests = _test(w, [(root, before), (again, after)], request)
        shadows = [request.width * takes_shadow(act) for act in request.arguments]
        prelude = Prelude(ahead, shadows, module.layout)
    except (Refused, Unbounded) as reason:
        return f"one version: whether memory overlaps cannot be tested, because {reason}"
    return Versions(changed, tuple(w.lines), tests, "".join(w.constants), request, prelude)


def apart(text: str, root: str, level: int) -> str:
    """The prepared text, optimised again with the pointers of `root` being `noalias`."""
    module = parse(text)
    for a in module.function(root).arguments:
        if isinstance(a.type, PointerType) and a.attribute("noalias") is None:
            a.attributes = (*a.attributes, Attribute("noalias"))
    hide(module)
    hide_bits(module)
    work = LLVMModule.from_text(write(module))
    work.optimise(level, vectorize=False, unroll=False, loads_apart=True, tests_whole=True)
    return normal(work)


def opaque(module: Module) -> list[str]:
    """Functions whose derivatives are the user's; where allocators or shadows are, nothing is known of memory."""
    found = registrations.read(module)
    if found.shadow_globals or found.heap:
        raise Refused("the program has allocators, or shadows of globals, of its own")
    return [*found.ruled, *found.splits]


# --- the test ---------------------------------------------------------------------------------------------------------


def _shadows(request: Request, a: Argument) -> list[str]:
    """The names of an argument's shadows in the test."""
    lanes = request.width if takes_shadow(request.arguments[a.index]) else 0
    return [f"%s{a.index}.{lane}" for lane in range(lanes)]


Pair = tuple[str, str]
"""Two pieces of memory that must be apart, by their names in the test."""


def _hindered(root: Function, found: Extents) -> Iterator[tuple[Argument, Argument]]:
    """Pointers of which LLVM must believe that a store through one changes what the other leads to."""
    touched = [a for a in root.arguments if a in found.touched]
    for n, a in enumerate(touched):
        for b in touched[n + 1 :]:
            said = a.attribute("noalias") is not None or b.attribute("noalias") is not None
            if not said and (found.touched[a].written or found.touched[b].written):
                yield a, b


def _pairs(root: Function, found: Extents, request: Request) -> Iterator[Pair]:
    """What must be apart: primals of which one is written, and all shadows."""
    for a, b in _hindered(root, found):
        yield argument_name(a), argument_name(b)
    yield from combinations([name for a in root.arguments if a in found.touched for name in _shadows(request, a)], 2)


def _test(w: Writer, found: Sequence[tuple[Function, Extents]], request: Request) -> int:
    """Write `%apart`, the test of all that was found; how many pairs of ranges it compares."""
    found_ends: dict[str, tuple[dict[Value, None], dict[Value, None]]] = {}
    pairs: dict[Pair, None] = {}
    for f, e in found:
        for p, least, most in e.needs:
            w.within(p, least, most)
        for a, touched in e.touched.items():
            for name in (argument_name(a), *_shadows(request, a)):
                for known, more in zip(found_ends.setdefault(name, ({}, {})), touched.ends(w), strict=True):
                    known.update(dict.fromkeys(more))
        pairs.update(dict.fromkeys(_pairs(f, e, request)))
    if len(pairs) > MOST_TESTS:
        raise Refused(f"there are {len(pairs)} pairs of pointers")
    ends = {name: (w.least_of(lows), w.most_of(highs)) for name, (lows, highs) in found_ends.items()}
    if len(pairs) > MOST_WRITTEN:
        clashes = [_looked_up(w, ends, list(pairs))]
    else:
        clashes = [_clash(w, ends, one, other) for one, other in pairs]
    total = "false"
    for name in (*w.failed(), *clashes):
        total = name if total == "false" else w.emit(f"or i1 {total}, {name}")
    w.lines.append(f"%apart = xor i1 {total}, true")
    return len(pairs)


def _clash(w: Writer, ends: dict[str, tuple[Value, Value]], one: str, other: str) -> str:
    """May two ranges overlap?"""
    (a, b), (c, d) = (_addresses(w, name, ends[name]) for name in (one, other))
    first = w.emit(f"icmp sgt i64 {b}, {c}")
    second = w.emit(f"icmp sgt i64 {d}, {a}")
    return w.emit(f"and i1 {first}, {second}")


def _addresses(w: Writer, name: str, ends: tuple[Value, Value]) -> list[Value]:
    at = w.emit(f"ptrtoint ptr {name} to i64")
    return [w.checked("sadd", at, end) if end != 0 else at for end in ends]


def _looked_up(w: Writer, ends: dict[str, tuple[Value, Value]], pairs: Sequence[Pair]) -> str:
    """May two ranges of any pair overlap? `llgrad.clash` goes through a table of pairs."""
    places = list(dict.fromkeys(name for pair in pairs for name in pair))
    found = [x for name in places for x in _addresses(w, name, ends[name])]
    w.lines.append(f"%ends = alloca [{len(found)} x i64]")
    for n, x in enumerate(found):
        at = w.emit(f"getelementptr i64, ptr %ends, i64 {n}")
        w.lines.append(f"store i64 {x}, ptr {at}")
    table = [places.index(name) for pair in pairs for name in pair]
    pairs_at = f"[{len(table)} x i16] [{', '.join(f'i16 {n}' for n in table)}]"
    w.constants.append(f"@llgrad.pairs = private unnamed_addr constant {pairs_at}\n{CLASH}")
    return w.emit(f"call i1 @llgrad.clash(ptr %ends, ptr @llgrad.pairs, i64 {len(pairs)})")


# --- the derivative that chooses --------------------------------------------------------------------------------------


def _joined(general: Derived, apart: Derived, found: Versions, request: Request) -> Derived:
    """One text with both versions, and the function that chooses."""
    symbol = f"{general.symbol}.either"
    parts = []
    for d in (general, apart):
        part = llvm.verified(d.text)
        part.internalize([d.symbol])
        if d is general:
            part.mark(["cold", "optsize"])
        parts.append(part)
    parts.append(LLVMModule.from_text(_chooser(general, apart, found, request, symbol)))
    whole = LLVMModule.linked(parts)
    whole.internalize([symbol])
    whole.mark(["cold", "optsize", "noinline"], [general.symbol])
    whole.mark(["alwaysinline"], [apart.symbol])
    made = dict.fromkeys([symbol, *general.made, *apart.made])
    borrowed = tuple(dict.fromkeys([*general.borrowed, *apart.borrowed]))
    tape = general.tape or apart.tape
    return replace(
        general, text=whole.text(), symbol=symbol, made=tuple(made), borrowed=borrowed, tape=tape, module=whole
    )


def _chooser(general: Derived, apart: Derived, found: Versions, request: Request, symbol: str) -> str:
    given = _parameters(general, request)
    more = _parameters(apart, found.request)
    seen = ", ".join([more, *(f"{t} {name}" for t, name in found.prelude.names())])
    types = [", ".join(d.parameters) for d in (general, apart)]
    result = general.returned
    ahead, lines = ("\n".join(f"  {line}" for line in part) for part in (found.prelude.lines, found.test))
    returned = ("", "ret void") if result == "void" else ("%r = ", f"ret {result} %r")

    def version(label: str, d: Derived, given: str) -> str:
        call = f"{returned[0]}call {result} {spelt(d.symbol)}({given})"
        return f"{label}:\n  {call}\n  {returned[1]}\n".replace("%r", f"%r.{label}")

    return f"""{INTRINSICS}{found.constants}{found.prelude.functions()}
declare {result} {spelt(general.symbol)}({types[0]})
declare {result} {spelt(apart.symbol)}({types[1]})
define {result} {spelt(symbol)}({given}) {{
{ahead}
  %apart = call i1 {spelt(f"{symbol}.test")}({seen})
  br i1 %apart, label %fast, label %slow
{version("fast", apart, more)}{version("slow", general, given)}}}
define i1 {spelt(f"{symbol}.test")}({seen}) noinline noimplicitfloat nounwind {{
{lines}
  ret i1 %apart
}}
"""


def _parameters(derived: Derived, request: Request) -> str:
    """What a derivative is given, with types."""
    names = ["%arena"] * (request.mode is not Mode.FORWARD)
    for n, act in enumerate(request.arguments):
        names.append(f"%p{n}")
        names += [f"%s{n}.{lane}" for lane in range(request.width if takes_shadow(act) else 0)]
    names += [f"%x{n}" for n in range(len(derived.parameters) - len(names))]
    return ", ".join(f"{t} {name}" for t, name in zip(derived.parameters, names, strict=True))
