"""Numbers that leave the program's memory and come back: what is printed is inactive, unless it is read again.

Formatting has no derivative, and a program that prints needs none. One that formats an active float and parses the
text again, by a function of the library or by itself, would have a zero derivative where it depends on the float: it
is refused. Texts in memory are followed; of files and streams only the console's are known to be never read, so all
others count as one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

from llgrad.analysis.activity.graph import has_rule
from llgrad.analysis.memory.alias import Place
from llgrad.analysis.memory.call_effects import behaviour
from llgrad.analysis.memory.mod_ref import Memory, MemoryObject
from llgrad.analysis.objects import TEXT
from llgrad.analysis.solver import reach
from llgrad.analysis.valueflow.bit_provenance import becomes_float, first_end
from llgrad.autodiff.custom_rules.custom_rules import OWN
from llgrad.ir.types import FloatType, IntType, PointerType, scalar
from llgrad.ir.values import (
    AnyValue,
    Call,
    Cast,
    ConstInt,
    Function,
    GetElementPtr,
    GlobalVariable,
    Instruction,
    Load,
    Store,
    Unreachable,
)
from llgrad.models.effects import FORMAT, STRING, string_layout
from llgrad.models.mpi import sends
from llgrad.rules import library
from llgrad.rules.blas import is_own
from llgrad.support.lazy_pattern import lazy_pattern

Varied = Callable[[AnyValue | MemoryObject], bool]
HoldsFloats = Callable[[Instruction], bool]
FORMATTERS = frozenset({
    "sprintf", "snprintf", "vsprintf", "vsnprintf", "__sprintf_chk", "__snprintf_chk", "__vsprintf_chk",
    "__vsnprintf_chk",
})  # fmt: skip
_TO_TEXT = lazy_pattern(rf"{STRING}\w+\.\w\._ZNSt3__1(?:9to_string|10to_wstring)E[dfe]")
_PRINTED = lazy_pattern(rf"{FORMAT}\w+\.\w\._ZNSt3__17__print")
_STANDARDS = ("", "__isoc99_", "__isoc23_")
PARSERS = frozenset({"atof", "strtod", "strtof", "strtold", *(f"{s}{v}sscanf" for s in _STANDARDS for v in ("", "v"))})
_WRITERS = {"fprintf": 0, "vfprintf": 0, "__fprintf_chk": 0, "__vfprintf_chk": 0, "fwrite": 3, "write": 0, "pwrite": 0}
_READERS = {"fread": 3, "fgets": 2, "getline": 2, "getdelim": 3, "read": 0, "pread": 0} | {
    f"{s}{v}fscanf": 0 for s in _STANDARDS for v in ("", "v")
}  # where each has its stream
_LIBCXX_OUT, _LIBCXX_IN = (rf"_ZNSt3__113basic_{way}stream\w*E" for way in "oi")
_INSERTED = lazy_pattern(
    rf"_ZNSo(?:9_M_insertI[dfeg]|ls[Edfeg])\w*|{_LIBCXX_OUT}lsE[dfeg]|_ZN?St(?:3__1)?lsI\w*7complex\w*"
)
_EXTRACTED = lazy_pattern(rf"_ZNSi(?:10_M_extractI|rsE)\w*|{_LIBCXX_IN}rsER[dfeg]")
_BYTES_OUT = lazy_pattern(rf"(?:_ZNSo|{_LIBCXX_OUT})(?:5writeEPKcl|3putEc)")
_BYTES_IN = lazy_pattern(
    rf"(?:_ZNSi|{_LIBCXX_IN})(?:4read|8readsome|3get|7getline)E\w*|_ZN?St(?:3__1)?(?:7getline|rs)I\w*"
)
_CHAINED = lazy_pattern(
    r"_ZNSo|_ZNSi|_ZStls|_ZStrs|_ZSt16__ostream_insert|_ZSt4endl|llgrad\.stream\.|_ZNSt3__113basic_[io]stream"
)
_PUT = lazy_pattern(r"_FortranAioOutput(?:Real|Complex|Descriptor|Derived)")
_GOT = lazy_pattern(r"_FortranAioInput(?:Real|Complex)")
_PUT_IN_TEXT, _GOT_FROM_TEXT = (lazy_pattern(rf"_FortranAioBeginInternal\w*{way}") for way in ("Output", "Input"))
_PARSES = lazy_pattern(
    rf"{_GOT_FROM_TEXT.pattern}|_ZNSt3__1[45]sto(?:[fd]|ld)ERKNS_12basic_string|_ZN?St(?:3__1)?\d+(?:__)?from_chars"
)
_PUT_OUT, _GOT_IN = (lazy_pattern(rf"_FortranAioBegin(?:External|Unformatted)\w*{way}") for way in ("Output", "Input"))
_IN_MEMORY = {"open_memstream", "open_wmemstream", "fmemopen"}  # streams whose text is found in memory
_RUST_PARSER = lazy_pattern(r"_R\w*4core3num(?:7dec2flt|11float_parse)")
_RUST_CONSOLE = lazy_pattern(r"_R\w*3std2io5stdio")
_CHARACTER = 8  # bits
_NEVER = lazy_pattern("(?!)")
_CONSOLE = {"stdout", "stderr", "stdin"} | {f"{std}{name}" for std, names in (
    ("_ZSt", ("4cout", "4cerr", "4clog", "3cin")), ("_ZNSt3__1", ("4coutE", "4cerrE", "4clogE", "3cinE")),
) for name in names}


def read_back(
    memory: Memory, functions: Sequence[Function], varied: Varied, useful: Varied, holds_floats: HoldsFloats
) -> Instruction | None:
    """What may read a number from text, or a file, which an active float was written to: a call, or a conversion."""
    calls = [(c, _names(memory, c)) for f in functions for c in f.instructions() if isinstance(c, Call)]
    if (found := _rust_reads_back(memory, calls, varied)) is not None:
        return found
    opened = next((c for c, names in calls if names & _IN_MEMORY), None)
    if opened is not None and any("fwrite" in names and _hands_on(memory, c, names, varied) for c, names in calls):
        return opened
    parsers = [c for c, names in calls if names & PARSERS or any(map(_PARSES.match, names))]
    readers = [c for c, names in calls if _stream(c, names, _READERS, _EXTRACTED) or any(map(_GOT_IN.match, names))]
    text = _texts(memory, calls, varied)
    if text and (digit := _number_of(memory, functions, text, useful, holds_floats)) is not None:
        return digit
    anywhere = any(o.kind == "unknown" for o in text)
    if (found := next((c for c in parsers if text and (anywhere or _may_read(memory, c, text))), None)) is not None:
        return found
    if (found := next((c for c, names in calls if _reads_unknown(memory, c, names, text, useful)), None)) is not None:
        return found
    bytes_out = any(_puts_bytes(memory, c, names, varied) for c, names in calls)
    if bytes_out and useful(TEXT):
        return next((c for c, names in calls if any(map(_BYTES_OUT.match, names))), None)
    bytes_in = [c for c, names in calls if _stream(c, names, {}, _BYTES_IN)] if bytes_out else []
    written = bytes_out or any(
        _stream(c, names, _WRITERS, _INSERTED) and (_hands_on(memory, c, names, varied) or _reads(memory, c, text))
        for c, names in calls
    ) or any(
        _stream(c, names, {}, _PRINTED) and _formats(memory, c, names, varied) for c, names in calls
    ) or (_puts(memory, calls, varied) and any(map(_puts_out, calls)))
    inserted = any(names & _IN_MEMORY or any(map(_INSERTED.match, names)) for _, names in calls)
    return next(iter([*readers, *bytes_in, *(parsers if inserted else [])]), None) if written else None


def _number_of(
    memory: Memory, functions: Sequence[Function], text: set[MemoryObject], useful: Varied, holds_floats: HoldsFloats
) -> Instruction | None:
    """Where a float that matters is made of what was computed from characters of such text."""

    def is_end(v: AnyValue | MemoryObject, u: Instruction) -> bool:
        match u:
            case Cast("sitofp" | "uitofp"):
                return useful(u)
            case GetElementPtr(pointer=pointer):
                return v is not pointer and any(_is_float(x) and useful(x) for x in _loads(u))
            case Store():
                return holds_floats(u) and any(useful(o) for a in memory.writes(u) for o in a.objects)
        return becomes_float(u) and useful(u)

    everything = [i for f in functions for i in f.instructions()]
    heads = {p for i in everything if isinstance(i, Call) for p in _heads(memory, i)}
    loads = (i for i in everything if isinstance(i, Load) and isinstance(i.type, IntType))
    return first_end(memory, [i for i in loads if _is_character(memory, i, text, heads)], is_end)


def _heads(memory: Memory, call: Call) -> Iterable[Place]:
    """Where libc++'s strings begin that a call changes: with their length, if they are short, not with text."""
    f = call.called_function
    if f is None or not f.name.startswith(STRING) or string_layout(f.name)[1] == 0:
        return ()
    strings = [call.arguments[n] for n in behaviour(call, f).strings]
    return [(o, at) for v in strings for o, at in memory.places(v) if at is not None]


def _is_float(x: Load) -> bool:
    return isinstance(scalar(x.type), FloatType)


def _loads(element: GetElementPtr) -> list[Load]:
    """What is read at an address that is computed."""

    def on(g: GetElementPtr) -> list[GetElementPtr]:
        return [u for u in g.users if isinstance(u, GetElementPtr)]

    return [u for g in reach([element], on) for u in g.users if isinstance(u, Load)]


def _is_character(memory: Memory, load: Load, text: set[MemoryObject], heads: set[Place]) -> bool:
    """Is a character of such text read? Of other memory bytes alone count: text may lie beside numbers."""
    read = {p for a in memory.reads(load) for p in a.places if p[0] in text} - heads
    assert isinstance(load.type, IntType)
    return bool(read) and (load.type.bits == _CHARACTER or any(o.kind == "text" for o, _ in read))


def _reads_unknown(
    memory: Memory, call: Call, names: frozenset[str], text: set[MemoryObject], useful: Varied
) -> bool:
    """Does a function of which nothing is known make of such text what active outputs depend on?

    Of a pointer to a function, which may be that of `what()`, only what it returns counts.
    """
    known = {o for o in text if o.kind != "unknown"}
    if not any(map(_is_unknown, names)) or not _reads(memory, call, known):
        return False
    written = (o for a in memory.writes(call) for o in a.objects) if any(map(_is_unknown, names - {""})) else ()
    return useful(call) or any(map(useful, written))


def _puts_bytes(memory: Memory, call: Call, names: frozenset[str], varied: Varied) -> bool:
    """Are bytes of active floats written to a stream that is not the console's?"""
    if not _stream(call, names, {}, _BYTES_OUT):
        return False
    given = call.arguments[1]
    return varied(given) or _is_byte_of_float(memory, given, varied) or any(map(varied, memory.points_to(given)))


def _is_byte_of_float(memory: Memory, v: AnyValue, varied: Varied) -> bool:
    read = memory.reads(v) if isinstance(v, Load) else ()
    return any(varied(o) for a in read for o in a.objects)


def _rust_reads_back(
    memory: Memory, calls: list[tuple[Call, frozenset[str]]], varied: Varied
) -> Call | None:
    """A call that parses text that is no constant, in a program that puts active floats into text."""
    read = [c for c, names in calls if any(map(_RUST_PARSER.match, names)) and not _is_constant_text(memory, c)]
    return next(iter(read), None) if any(_formats(memory, c, names, varied) for c, names in calls if read) else None


def is_parser(call: Call) -> bool:
    """Is it known that what is called makes a number of text?"""
    name = call.called_function.name if call.called_function is not None else ""
    return name in PARSERS or any(p.match(name) for p in (_PARSES, _RUST_PARSER))


def _is_constant_text(memory: Memory, parser: Call) -> bool:
    pointers = [a for a in parser.arguments if isinstance(a.type, PointerType)]
    objects = memory.points_to(pointers[-1]) if pointers else frozenset()
    return bool(objects) and all(o.is_constant for o in objects)


def _formats(memory: Memory, call: Call, names: frozenset[str], varied: Varied) -> bool:
    known = [library.effects(name) for name in names if not _RUST_CONSOLE.match(name)]
    if not any(e is not None and e.text for e in known):
        return False
    return any(varied(o) for o in memory.reachable(frozenset(o for a in call.arguments for o in memory.points_to(a))))


def read_over(memory: Memory, functions: Iterable[Function], varied: Varied) -> Call | None:
    """A call that reads a float to where active ones are: Fortran's front end gives each memory of its own."""
    calls = [c for f in functions for c in f.instructions() if isinstance(c, Call)]
    read = [c for c in calls if c.called_function is not None and _GOT.match(c.called_function.name)]
    return next((c for c in read if any(varied(o) for a in c.arguments[1:] for o in memory.points_to(a))), None)


def _texts(memory: Memory, calls: list[tuple[Call, frozenset[str]]], varied: Varied) -> set[MemoryObject]:
    """The memory that active floats were (or may have been) formatted into, and what was copied from there."""
    text: set[MemoryObject] = set()
    if _puts(memory, calls, varied):
        places = (c.arguments[0] for c, names in calls if any(map(_PUT_IN_TEXT.match, names)))
        text |= {o for place in places for o in memory.points_to(place)}
    for c, names in calls:
        formats = names & FORMATTERS or any(map(_TO_TEXT.match, names))
        if not (formats or any(map(_is_unknown, names))) or not _hands_on(memory, c, names, varied):
            continue
        text |= memory.points_to(c.arguments[0]) if c.arguments else frozenset()
        text |= set() if names <= FORMATTERS else {o for a in memory.writes(c) for o in a.objects}
    for c in (c for c, names in calls if any(name.startswith(FORMAT) for name in names)):
        if _formats(memory, c, _names(memory, c), varied):
            text |= {TEXT, *memory.points_to(c.arguments[0])}
    inserted = [c for c, names in calls if _stream(c, names, {}, _INSERTED) and _hands_on(memory, c, names, varied)]
    if inserted:
        held = memory.reachable(frozenset(o for c in inserted for o in memory.points_to(c.arguments[0])))
        text |= {TEXT, *(o for o in held if not (o.is_code or o.is_constant or o.kind == "unknown"))}
    if any(_stream(c, names, _WRITERS, _NEVER) and _hands_on(memory, c, names, varied) for c, names in calls):
        opened = [memory.points_to(c.arguments[0]) for c, names in calls if names & _IN_MEMORY]
        text |= {o for held in opened for o in (*held, *(p for h in held for p in memory.contents(h)))}
    size = -1
    while text and size != len(text):  # copies of the text
        size = len(text)
        for c, _ in calls:
            if _reads(memory, c, text) and not _ends(c):
                text |= {o for a in memory.writes(c) for o in a.objects}
    return text


def _ends(call: Call) -> bool:
    """Is it a function of the program that ends it, or the derivative (as `llgrad_fail` does)? Nobody sees what it
    writes."""
    f = call.called_function
    if f is None or f.is_declaration or not any(a.name == "nounwind" for a in f.attributes):
        return False
    last = [b.instructions[-2:] for b in f.blocks if not b.successors()]
    return bool(last) and all(isinstance(b[-1], Unreachable) and len(b) > 1 and _stops(b[0]) for b in last)


def _stops(i: Instruction) -> bool:
    known = library.effects(i.called_function.name) if isinstance(i, Call) and i.called_function is not None else None
    return known is not None and known.noreturn


def _puts(memory: Memory, calls: list[tuple[Call, frozenset[str]]], varied: Varied) -> bool:
    """Does Fortran write active floats? Arrays and objects may hold some."""

    def hands_on(c: Call, names: frozenset[str]) -> bool:
        whole = any("Descriptor" in name or "Derived" in name for name in names)
        return whole or _hands_on(memory, c, names, varied)

    return any(any(map(_PUT.match, names)) and hands_on(c, names) for c, names in calls)


def _puts_out(call: tuple[Call, frozenset[str]]) -> bool:
    """Does Fortran begin to write to a unit that is not the console's?"""
    c, names = call
    unit = c.arguments[0] if c.arguments else None
    return any(map(_PUT_OUT.match, names)) and not (isinstance(unit, ConstInt) and unit.signed in (-1, 0, 6))


def _is_unknown(name: str) -> bool:
    """Is it a function of which nothing is known? It may be like `gcvt`."""
    return library.effects(name) is None and not name.startswith(("llvm.", OWN))


def _hands_on(memory: Memory, call: Call, names: frozenset[str], varied: Varied) -> bool:
    """Are active floats formatted or written by a call? Those of a list of arguments may be."""
    listed = any(name.lstrip("_").startswith("v") for name in names)
    floats = any(isinstance(a.type, FloatType) and varied(a) for a in call.arguments)
    if listed or floats:
        return True
    given = call.arguments if names & {"fwrite", "write", "pwrite"} else []
    given = call.arguments[1:] if any("7complex" in name for name in names) else given
    return any(varied(o) for a in given if isinstance(a.type, PointerType) for o in memory.points_to(a))


def _reads(memory: Memory, call: Call, text: set[MemoryObject]) -> bool:
    return bool(text) and any(o in text for a in memory.reads(call) for o in a.objects)


def _stream(call: Call, names: frozenset[str], places: dict[str, int], method: re.Pattern[str]) -> bool:
    """Is it a call of such a function, of any stream but the console's?"""
    known = [places[name] for name in names if name in places]
    known += [0] if any(map(method.match, names)) else []
    return any(n >= len(call.arguments) or not _is_console(call.arguments[n]) for n in known)


def _is_console(stream: AnyValue) -> bool:
    """`stdout`, `std::cout`, or what `std::cout << x` returns."""
    while isinstance(stream, Call) and stream.called_function is not None and stream.arguments:
        if not _CHAINED.match(stream.called_function.name):
            return False
        stream = stream.arguments[0]
    place = stream.pointer if isinstance(stream, Load) else stream
    return isinstance(place, GlobalVariable) and place.name in _CONSOLE


def _may_read(memory: Memory, parser: Call, text: set[MemoryObject]) -> bool:
    """Does a parser's first argument point to such text? It may be a string, which leads there."""
    objects = memory.reachable(memory.points_to(parser.arguments[0]))
    return not text.isdisjoint(objects) or any(o.kind == "unknown" for o in objects)


def _names(memory: Memory, call: Call) -> frozenset[str]:
    """The functions without bodies and rules that a call may reach; one without a name where it may reach any."""
    functions, unknown = memory.functions_called(call)
    others = (f for f in functions if f.is_declaration and not (has_rule(f) or is_own(f.name) or sends(f.name)))
    return frozenset(f.name for f in others) | ({""} if unknown else set())
