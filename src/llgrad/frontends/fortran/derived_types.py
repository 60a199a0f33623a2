"""Fortran's derived types: what flang leaves to its runtime, written out in C for each type of a program.

flang describes a type in a constant, `…EXdtX<type>`, whose components are in a table, `…EXcX<type>`; its runtime walks
them. Here each type gets functions that set its components to what they begin with, finalise them, let them go, and
assign them one by one; `runtime/flang/flang_types.c` calls those of the type that a descriptor names, which LLVM knows
in most places. Where it cannot be said (characters of a length known as the program runs, final procedures for arrays,
assignments of one's own, parameters) types are left to flang's runtime, and have no derivatives where it meets them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from llgrad.support.brackets import listed

BODIES = Path(__file__).parents[2] / "runtime" / "flang" / "flang_types.c"

_DATA, _POINTER, _ALLOCATABLE = 1, 2, 3
_COMPLEX, _CHARACTER, _DERIVED = 3, 4, 6
_RANKS = 4
_CODES = {  # of (category, kind): the descriptor's code and bytes of an element
    (0, 1): (7, 1), (0, 2): (8, 2), (0, 4): (9, 4), (0, 8): (10, 8), (2, 4): (27, 4), (2, 8): (28, 8),
    (3, 4): (34, 8), (3, 8): (35, 16), (4, 1): (40, 1),
    (5, 1): (14, 1), (5, 2): (14, 2), (5, 4): (14, 4), (5, 8): (14, 8),
}  # fmt: skip
_LONG = {(0, 16): 16, (2, 2): 2, (2, 3): 2, (2, 10): 16, (2, 16): 16, (3, 10): 32, (3, 16): 32}
_VALUES = {
    **{(category, kind): f"int{8 * kind}_t" for category in (0, 5) for kind in (1, 2, 4, 8)},
    **{(category, kind): "float" if kind == 4 else "double" for category in (2, 3) for kind in (4, 8)},
}
_TYPE = re.compile(r"^@(\S+EXdtX\S+) = [^\n]*?%_QM__fortran_type_infoTderivedtype (\{[^\n]*)$", re.MULTILINE)
_SIZE = re.compile(r"i8 40, i8 \d+, i8 \d+ \}, i64 (\d+),")
_PADDED = r"\[\d x i8\] (?:undef|zeroinitializer)"
_COMPONENT = re.compile(
    rf"i8 40, i8 \d+, i8 \d+ \}}, i8 (\d+), i8 (\d+), i8 (\d+), i8 (\d+), {_PADDED}, i64 (\d+), "
    rf"%_QM__fortran_type_infoTvalue (?:zeroinitializer|\{{ i8 (\d+), {_PADDED}, i64 (\d+) \}}), "
    r"\{[^{}]*\} \{ ptr (?:null|@(\S+)),"
)
_BOUNDS = re.compile(r"@([^\s,]*EXbX[^\s,]+)")
_BOUND = re.compile(rf"infoTvalue \{{ i8 (\d+), {_PADDED}, i64 (-?\d+) \}}")
_INITIAL = re.compile(r"@([^\s,]*EXdiX[^\s,]+) to i64")
_SPECIAL = re.compile(
    rf"infoTspecialbinding \{{ i8 (\d+), i8 (\d+), i8 \d+, i8 \d+, {_PADDED}, [^{{]*\{{ i64 ptrtoint \(ptr @(\S+) to"
)
_EXTENDS = re.compile(r", i8 1, i8 \d, i8 \d, i8 \d, i8 \d, \[3 x i8\]")
_FINAL = (9, 7)  # for a scalar, for each element
_ANY_RANK_FINAL = 8
_ARRAY_FINALS = range(10, 14)  # for arrays of rank 1, 2, …
_ASSIGNMENT = (1, 2)
_BUILTIN = "_QM__fortran_builtins"
_POLYMORPHIC = re.compile(r"@_FortranA\w*Polymorphic\(")
_READING = (3, 4, 5, 6)  # procedures for input and output
_CALLED = re.compile(
    r"@_FortranA(Assign(?:Temporary|Polymorphic)?|Destroy(?:WithoutFinalization)?|Initialize|Finalize|ClassIs|MoveAlloc|"
    r"AllocatableInitDerivedForAllocate|(?:Allocatable|Pointer)Deallocate(?:Polymorphic)?|PointerNullifyDerived|"
    r"(?:Allocatable|Pointer)Allocate(?:Source)?|AllocatableApplyMold|PushArrayConstructorValue)\("
)
_VALUE = re.compile(r"^ +(%\S+) = (?:alloca|getelementptr(?: inbounds| nuw)*) (.*)$", re.MULTILINE)
_MEMBER = re.compile(r"(%\S+), ptr \S+, i\d+ [^,]+((?:, i\d+ \d+)+)")
_FIRST = re.compile(r"ptr[^,)%@]*([%@][^\s,)]+)?(?:, ptr[^,)%@]*([%@][^\s,)]+))?")  # arguments of a call
_METADATA = re.compile(r"^(!\d+) = (?:distinct )?(!(?:DICompositeType|DIDerivedType|\{)[^\n]*)$", re.MULTILINE)
_LOCAL = re.compile(r"^(!\d+) = !DILocalVariable\([^\n]*\btype: (!\d+)", re.MULTILINE)
_DECLARE = re.compile(r"#dbg_declare\(ptr (%\S+), (!\d+), !DIExpression\(\),")
_ARRAY = re.compile(r"DW_TAG_array_type,[^\n]*\bbaseType: (!\d+),[^\n]*\belements: (!\d+)")
_STRUCT = re.compile(r'DW_TAG_structure_type, name: "(\w+)"')
_POINTER_TYPE = re.compile(r"DW_TAG_pointer_type,[^\n]*\bbaseType: (!\d+),")
_DESCRIPTOR = r"\{ ptr, i64, i32, i8, i8, i8, i8(?:, \[(\d+) x \[3 x i64\]\])?(, ptr, \[1 x i64\])? \}"
_FLAT, _DECLARED = 16, 256  # what is said of descriptors beside their rank: no addendum; of what type


class _Component(Struct, frozen=True):
    """A component: how it is held, of what, where; how many elements; what it begins with."""

    genre: int
    category: int
    kind: int
    rank: int
    offset: int
    length: int
    type: str
    count: int
    initial: str

    @property
    def size(self) -> int:
        """Bytes of an element that is no derived type."""
        if self.category == _CHARACTER:
            return self.length * self.kind
        what = self.category, self.kind
        return _CODES[what][1] if what in _CODES else _LONG.get(what, 0)

    @property
    def holds(self) -> bool:
        """Objects, its own?"""
        return self.category == _DERIVED and self.genre != _POINTER

    @property
    def unlimited(self) -> bool:
        """An allocatable `class(*)`?"""
        return self.category == _DERIVED and self.genre == _ALLOCATABLE and not self.type

    @property
    def descriptor(self) -> int:
        """Bytes of its descriptor."""
        return 24 + 24 * self.rank + (16 if self.category == _DERIVED else 0)


class _Derived(Struct, frozen=True):
    """A type: bytes, components (its parent is the first), final procedures for a scalar, for any element, and for
    arrays of each rank (of rank 0: for a scalar, by a descriptor)."""

    size: int
    components: tuple[_Component, ...]
    scalar_final: str
    elemental_final: str
    extends: str
    array_finals: tuple[tuple[int, str], ...] = ()
    assignment: str = ""  # a procedure for objects of the type, and which of its arguments are descriptors
    described: int = 0


def renamed(text: str, numbers: Mapping[str, int]) -> str:
    """The module with the runtime's calls for derived types as calls of what is written here, which are told what the
    types of variables and components, and debug info, say of the descriptors; types are said by `numbers`."""
    structs = dict(re.findall(r"^(%\S+) = type (\{.*\})$", text, re.MULTILINE))
    variables = dict(re.findall(r"^(@\S+) = [^\n{]*\b(?:global|constant) (\{[^\n]*)$", text, re.MULTILINE))
    metadata = dict(_METADATA.findall(text))
    debug = {name: _declared(kind, metadata, numbers) for name, kind in _LOCAL.findall(text)}
    parts = re.split(r"^(?=define )", text, flags=re.MULTILINE)
    return "".join(_told(part, structs, variables, debug) for part in parts)


def _declared(kind: str, metadata: Mapping[str, str], numbers: Mapping[str, int]) -> tuple[int, int]:
    """What debug info says of the descriptor of a variable: its rank if it describes objects (else -1), their type."""
    array = _ARRAY.search(metadata.get(kind, ""))
    base = array or _POINTER_TYPE.search(metadata.get(kind, ""))
    struct = _STRUCT.search(metadata.get(base[1], "")) if base else None
    if struct is None or "rank:" in metadata[kind]:
        return -1, 0
    named = [n for symbol, n in numbers.items() if symbol.endswith(f"EXdtX{struct[1]}")]
    return metadata.get(array[2], "").count("!") - 1 if array else 0, named[0] + 1 if len(named) == 1 else 0


def _told(
    part: str, structs: Mapping[str, str], variables: Mapping[str, str], debug: Mapping[str, tuple[int, int]]
) -> str:
    """One function with its calls renamed."""
    values = dict(_VALUE.findall(part)) if _CALLED.search(part) else {}
    declared = {value: debug.get(name, (-1, 0)) for value, name in _DECLARE.findall(part)} if values else {}

    def said(value: str | None) -> int:
        if not value:
            return -1
        what = variables.get(value) or values.get(value, "")
        if (m := _MEMBER.match(what)) and m[1] in structs:
            what = m[1]
            for index in re.findall(r"\d+(?=,|$)", m[2]):
                what = _field(structs.get(what, what), int(index))
        v = re.escape(value)
        views = {what} | {m[0] for m in re.finditer(rf"(?<=getelementptr ){_DESCRIPTOR}(?=, ptr {v},)", part)}
        known = {int(d[1] or 0) + (0 if d[2] else _FLAT) for view in views if (d := re.match(_DESCRIPTOR, view))}
        if not known:  # copied as many bytes as it has
            sizes = {int(n) - 24 for n in re.findall(rf"memcpy[^\n]*ptr {v}, [^\n]*i32 (\d+), i1", part)}
            known = {n // 24 + (0 if n % 24 else _FLAT) for n in sizes}
        rank, its = declared.get(value, (-1, 0))
        if len(known) == 1:
            rank = known.pop()
        return rank if rank < 0 or rank >= _FLAT else rank + _DECLARED * its

    def call(m: re.Match[str]) -> str:
        line = part[m.end() : part.find("\n", m.end())]
        given = _FIRST.match(line)
        told = "i32" if given is None or not given[1] else f"i32 {said(given[1])}", f"i32 {said(given and given[2])}"
        return f"@llgrad_{m[1]}({told[0]}, {told[1] if told[0] != 'i32' else 'i32'}, "

    return _CALLED.sub(call, part)


def _field(struct: str, index: int) -> str:
    """The type of one field of a struct or an array, as it is written."""
    if struct.startswith("["):
        return struct[struct.index(" x ") + 3 : -1]
    fields, _ = listed(struct, 1)
    return fields[index] if index < len(fields) else ""


def written_out(texts: Sequence[str]) -> tuple[str, dict[str, int]]:
    """A unit in C for the types of a program, and their numbers; nothing where it has none that can be written out, or
    that is used."""
    found = {name: t for text in texts for name, t in _types(text)}
    types = _supported(found)
    own = any(_BUILTIN not in name for name in types)
    used = any(map((_CALLED if own else _POLYMORPHIC).search, texts))
    return "\n".join(_unit(types, len(types) == len(found))) if used else "", {name: n for n, name in enumerate(types)}


def _types(text: str) -> Iterator[tuple[str, _Derived | None]]:
    lines = dict(re.findall(r"^@(\S+EX[cbs]X\S+) = ([^\n]*)$", text, re.MULTILINE))
    for m in _TYPE.finditer(text):
        size, table = _SIZE.search(m[2]), re.search(r"ptr @(\S*EXcX[^\s,]+)", m[2])
        special = re.search(r"ptr @(\S*EXsX[^\s,]+)", m[2])
        if size is None or (table and table[1] not in lines):
            continue
        components = _components(lines[table[1]], lines) if table else []
        finals = {int(w): (p, d) for w, d, p in _SPECIAL.findall(lines.get(special[1], "") if special else "")}
        procedures = {w: int(d) for w, (_, d) in finals.items() if w not in (*_READING, *_ASSIGNMENT)}
        described_finals = (_ANY_RANK_FINAL, *_ARRAY_FINALS)
        if components is None or any(
            d != (w in described_finals) or w not in (*_FINAL, *described_finals) for w, d in procedures.items()
        ):
            yield m[1], None
            continue
        parent = components[0].type if components and _EXTENDS.search(m[2]) else ""
        scalar, elemental = (finals.get(w, ("", ""))[0] for w in _FINAL)
        arrays = tuple((w - _ARRAY_FINALS[0] + 1, finals[w][0]) for w in procedures if w in _ARRAY_FINALS)
        if _ANY_RANK_FINAL in procedures:  # for all ranks that have none of their own
            taken = {0: scalar} if scalar else {}
            missing = set(range(_RANKS + 1)) - taken.keys() - dict(arrays).keys()
            arrays += tuple((rank, finals[_ANY_RANK_FINAL][0]) for rank in sorted(missing))
            elemental = ""
        assignment, described = next((finals[w] for w in _ASSIGNMENT if w in finals), ("", "0"))
        yield m[1], _Derived(
            int(size[1]), tuple(components), scalar, elemental, parent, arrays, assignment, int(described)
        )  # fmt: skip


def _components(table: str, lines: Mapping[str, str]) -> list[_Component] | None:
    found = []
    for chunk in table.split("%_QM__fortran_type_infoTcomponent {")[1:]:
        m = _COMPONENT.search(chunk)
        if m is None:
            return None
        genre, category, kind, rank, offset = map(int, m.groups()[:5])
        bounds, initial = _BOUNDS.search(chunk), _INITIAL.search(chunk)
        values = _BOUND.findall(lines.get(bounds[1], "")) if bounds and genre == _DATA else []
        if any(g != "2" for g, _ in values) or (category == _CHARACTER and genre == _DATA and m[6] != "2"):
            return None
        count = 1
        for (_, low), (_, high) in zip(values[::2], values[1::2], strict=True):
            count *= max(int(high) - int(low) + 1, 0)
        if (genre == _DATA and rank and len(values) != 2 * rank) or genre not in (_DATA, _POINTER, _ALLOCATABLE):
            return None
        begins = initial[1] if initial else ""
        found.append(_Component(genre, category, kind, rank, offset, int(m[7] or 0), m[8] or "", count, begins))
    return found


def _supported(types: dict[str, _Derived | None]) -> dict[str, _Derived]:
    """Those of which all components can be written out; what may hold objects of any extension, only if all can."""
    known = {name: t for name, t in types.items() if t is not None}

    def fits(c: _Component) -> bool:
        if c.genre == _POINTER:
            return True
        if c.genre == _ALLOCATABLE and c.category == _DERIVED and any(
            name not in known and _BUILTIN not in name for name in types
        ):
            return False
        if c.genre == _ALLOCATABLE and c.rank > _RANKS:
            return False
        family = [known[name] for name in _held(c, known)]
        if c.genre == _ALLOCATABLE and any(t.assignment for t in family):
            return False
        if c.genre == _DATA and c.rank and any(t.array_finals for t in family):
            return False
        if c.category == _DERIVED:
            return c.type in known or c.unlimited
        return (c.category, c.kind) in _CODES if c.genre == _ALLOCATABLE else c.category == _CHARACTER or c.size > 0

    while bad := [name for name, t in known.items() if not all(map(fits, t.components))]:
        for name in bad:
            del known[name]
    return known


# --- the unit in C ----------------------------------------------------------------------------------------------------

# What there is for each type: what it is called, its parameters, what is passed on
_DONE = (
    ("init", "char *o", "o"), ("final", "char *o, int rank", "o, rank"), ("whole", "Array a", "a"),
    ("free", "char *o", "o"), ("assign", "char *to, const char *from", "to, from"),
)  # fmt: skip


def _unit(types: Mapping[str, _Derived], whole: bool) -> Iterator[str]:
    number = {name: n for n, name in enumerate(types)}
    made = {n: _Functions(n, types, number).made() for n in number.values()}
    yield f'#include "flang.h"\n#include <string.h>\n#define ALL {int(whole)}\n#define ONE(n) (Type){{t##n, (n) + 1}}'
    for name, n in number.items():
        yield f'extern const char t{n}[] __asm__("{name}");'
        yield from made[n].declared
        yield from (f"static void {what}_{n}({given});" for what, given, _ in _DONE if made[n].bodies[what])
    among = {n: [number[a] for a in types if _extends(name, a, types)] for name, n in number.items()}
    sizes = {n: f"return {types[name].size};" for name, n in number.items()}
    yield _chain("int64_t", "size_of", sizes, "return 0;", among)
    itself = {n: "return 1;" for name, n in number.items() if _reaches(name, types)}
    yield _chain("int", "holds_itself", itself, "return 0;", among)
    parents = {n: f"return t{number[t.extends]};" for name, n in number.items() if (t := types[name]).extends in number}
    yield _chain("const void *", "parent_of", parents, "return 0;", among)
    for what, given, passed in _DONE:
        calls = {n: f"{{ {what}_{n}({passed}); return; }}" for n in number.values() if made[n].bodies[what]}
        yield _chain("void", f"{what}_of", calls, "", among, f", {given}")
    yield f'#include "{BODIES.name}"'
    for n in number.values():
        for what, given, _ in _DONE:
            if body := made[n].bodies[what]:
                yield "\n".join([f"static void {what}_{n}({given})", "{", *(f"    {line}" for line in body), "}"])


def _chain(
    result: str, name: str, cases: Mapping[int, str], otherwise: str, among: Mapping[int, Sequence[int]],
    given: str = "",
) -> str:  # fmt: skip
    """A function that does what belongs to the type `t`, which is, or extends, the one that is declared."""

    def test(n: int) -> str:
        return " || ".join(["!t.among", *(f"t.among == {a + 1}" for a in among[n])])

    tests = "".join(f"    if (({test(n)}) && t.is == t{n}) {case}\n" for n, case in cases.items())
    return f"INSIDE {result} {name}(Type t{given})\n{{\n{tests}    {otherwise}\n}}"


def _reaches(name: str, types: Mapping[str, _Derived]) -> bool:
    """May an object of the type hold, somewhere, another of it, or of what it extends or is extended by?"""
    seen: set[str] = set()
    work = [name]
    while work:
        for c in types[work.pop()].components:
            if c.holds:
                held = {c.type} if c.genre == _DATA else set(_held(c, types))
                if name in held:
                    return True
                work += held - seen
                seen |= held
    return False


def _held(c: _Component, types: Mapping[str, _Derived]) -> list[str]:
    """The types that the objects of a component may have."""
    return [t for t in types if c.category == _DERIVED and (c.unlimited or _extends(t, c.type, types))]


def _extends(name: str, parent: str, types: Mapping[str, _Derived]) -> bool:
    while name in types and name != parent:
        name = types[name].extends
    return name == parent


class _Functions:
    """What sets an object of a type to what it begins with, finalises it, frees what it holds, and assigns it."""

    def __init__(self, n: int, types: Mapping[str, _Derived], number: Mapping[str, int]) -> None:
        self.n, self.types, self.number = n, types, number
        self.type = types[list(number)[n]]
        self.declared: list[str] = []
        self.bodies: dict[str, list[str]] = {what: [] for what, *_ in _DONE}
        self._copied = 0  # bytes that `assign` has done

    def made(self) -> _Functions:
        t = self.type
        ranks = [0] if t.scalar_final else []
        for rank, name in t.array_finals:
            ranks.append(rank)
            call, room = self._procedure(name, "char *"), 40 + 24 * rank
            its, what, objects = ("a.rank", "whole", "a") if rank else ("rank", "final", f"object(o, {t.size})")
            self.bodies[what].append(
                f"if ({its} == {rank}) {{ int64_t d[{room // 8}]; describe_objects((char *)d, {objects}, t{self.n}); "
                f"{call}((char *)d); }}"
            )
        others = " && ".join(f"rank != {rank}" for rank in ranks) or "1"
        for name, test in ((t.scalar_final, "!rank"), (t.elemental_final, others)):
            if name:
                self.bodies["final"].append(f"if ({test}) {self._procedure(name, 'char *')}(o);")
        parent = t.components[0] if t.extends else None
        for c in (*t.components[bool(parent) :], *t.components[: bool(parent)]):  # the parent is finalised last
            self._ended(c)
        for k, c in enumerate(t.components):
            self._begun(k, c)
            self._assigned(c)
        self._between(t.size)
        return self

    def _procedure(self, name: str, given: str) -> str:
        """What a procedure of the program's is called in C."""
        call = f"procedure_{self.n}_{len(self.declared)}"
        self.declared.append(f'extern void {call}({given}) __asm__("{name}");')
        return call

    def _each(self, c: _Component, what: str, places: str, more: str = "") -> str:
        """What is done to each object of a component that is no array apart."""
        loop = f"for (int64_t i = 0; i < {c.count}; i++) " if c.count != 1 else ""
        at = f"{c.offset} + i * {self.types[c.type].size}" if loop else str(c.offset)
        places = ", ".join(f"{p} + {at}" for p in places.split())
        return f"{loop}{what}_of(ONE({self.number[c.type]}), {places}{more});"

    def _any(self, c: _Component, at: str, call: str) -> str:
        """What is done to an allocatable component of objects, by the type that they have."""
        family = _held(c, self.types)
        if len(family) == 1 and not c.unlimited:
            return call.format(f"ONE({self.number[c.type]})")
        its = f"TYPE_AT({at} + {c.offset}, {c.rank})"
        return " else ".join(f"if ({its} == t{self.number[f]}) {call.format(f'ONE({self.number[f]})')}" for f in family)

    def _begun(self, k: int, c: _Component) -> None:
        begins = self.bodies["init"]
        if c.unlimited:
            begins.append(f"establish_any(o + {c.offset}, {c.rank});")
        elif c.genre == _ALLOCATABLE:
            derived = c.category == _DERIVED
            code = 42 if derived else _CODES[c.category, c.kind][0]
            own = f"t{self.number[c.type]}" if derived else "0"
            size = self.types[c.type].size if derived else c.size
            begins.append(f"establish(o + {c.offset}, {size}, {c.rank}, {code}, {own});")
        elif c.initial:
            size = c.descriptor if c.genre == _POINTER else c.size * c.count
            size = self.types[c.type].size * c.count if c.genre == _DATA and c.category == _DERIVED else size
            self.declared.append(f'extern const char b{self.n}_{k}[] __asm__("{c.initial}");')
            begins.append(f"memcpy(o + {c.offset}, b{self.n}_{k}, {size});")
        elif c.genre == _DATA and c.category == _DERIVED:
            begins.append(self._each(c, "init", "o"))

    def _ended(self, c: _Component) -> None:
        final, freed = self.bodies["final"], self.bodies["free"]
        if c.genre == _ALLOCATABLE and c.category == _DERIVED:
            if self._finals(c):
                final.append(self._any(c, "o", f"final_component(o + {c.offset}, {c.rank}, {{}});"))
            freed.append(self._freed(c, "o"))
        elif c.genre == _ALLOCATABLE:
            freed.append(f"free_numbers(o + {c.offset});")
        elif c.genre == _DATA and c.category == _DERIVED:
            if self._finals(c):
                final.append(self._each(c, "final", "o", f", {c.rank}"))
            if self._owns(c.type):
                freed.append(self._each(c, "free", "o"))

    def _assigned(self, c: _Component) -> None:
        """Each component as what it is: that is how kinds know what memory holds."""
        assign, at = self.bodies["assign"], f"to + {c.offset}, from + {c.offset}"
        self._between(c.offset)
        if c.genre != _DATA:
            self._copied = c.offset + c.descriptor
        if c.genre == _POINTER:
            assign.append(f"assign_pointer({at}, {c.rank}, {int(c.category == _DERIVED)});")
        elif c.genre == _ALLOCATABLE and c.category == _DERIVED:
            assign.append(self._replaced(c))
        elif c.genre == _ALLOCATABLE and c.category == _CHARACTER:
            assign.append(f"assign_texts({at}, {c.rank});")
        elif c.genre == _ALLOCATABLE:
            code, size = _CODES[c.category, c.kind]
            assign.append(f"assign_numbers({at}, {c.rank}, {code}, {size});")
        elif c.category == _DERIVED:
            assign.append(self._own(c) if self.types[c.type].assignment else self._each(c, "assign", "to from"))
            self._copied += self.types[c.type].size * c.count
        elif value := _VALUES.get((c.category, c.kind)):
            parts = c.count * (2 if c.category == _COMPLEX else 1)
            loop = f"for (int64_t i = 0; i < {parts}; i++) " if parts > 1 else ""
            more = "[i]" if loop else "[0]"
            to, of = (f"(({value} *)({o} + {c.offset})){more}" for o in ("to", "from"))
            assign.append(f"{loop}{to} = {of};")
            self._copied += c.size * c.count
        else:
            size = c.size * c.count
            if size:
                assign.append(f"memmove({at}, {size});")
            self._copied += size

    def _own(self, c: _Component) -> str:
        """Components of a type with an assignment of its own are assigned by that."""
        t, n = self.types[c.type], self.number[c.type]
        call, given, made = self._procedure(t.assignment, "char *, char *"), [], []
        for bit, o in enumerate(("to", "(char *)from")):
            at = f"{o} + {c.offset} + i * {t.size}"
            if t.described >> bit & 1:
                made.append(f"describe_objects((char *)d[{bit}], object({at}, {t.size}), t{n});")
            given.append(f"(char *)d[{bit}]" if t.described >> bit & 1 else at)
        done = f"int64_t d[2][5]; {' '.join(made)} {call}({', '.join(given)});"
        return f"for (int64_t i = 0; i < {c.count}; i++) {{ {done} }}"

    def _replaced(self, c: _Component) -> str:
        """An allocatable component of objects is freed where it holds none afterwards, or those of another type."""
        at = f"to + {c.offset}, from + {c.offset}, {c.rank}"
        freed = self._freed(c, "to")
        given = self._any(c, "from", f"assign_component({at}, {{}});")
        if c.unlimited:
            given = _otherwise(given, f"assign_anything({at});")
        if "TYPE_AT" in given or c.unlimited:
            return f"if (changes({at})) {{ {freed} }} if (retyped({at})) {{ {given} }}"
        return f"if (ends(from + {c.offset})) {freed} else {given}"

    def _freed(self, c: _Component, o: str) -> str:
        """An allocatable component of objects is freed by what they are; a `class(*)` may hold numbers."""
        freed = self._any(c, o, f"free_component({o} + {c.offset}, {c.rank}, {{}});")
        return _otherwise(freed, f"free_numbers({o} + {c.offset});") if c.unlimited else freed

    def _between(self, end: int) -> None:
        """Bytes that no component of the table has are pointers to procedures, or nothing."""
        for at in range(-(-self._copied // 8) * 8, end - 7, 8):
            self.bodies["assign"].append(f"*(void **)(to + {at}) = *(void *const *)(from + {at});")
        self._copied = end

    def _owns(self, name: str) -> bool:
        return any(
            c.genre == _ALLOCATABLE or (c.genre == _DATA and c.category == _DERIVED and self._owns(c.type))
            for c in self.types[name].components
        )

    def _finals(self, c: _Component, seen: frozenset[str] = frozenset()) -> bool:
        """Has an object of a component, or what such objects hold, a final procedure?"""
        family = {c.type, *_held(c, self.types)} & self.types.keys() - seen
        return any(
            (t := self.types[n]).scalar_final or t.elemental_final or t.array_finals
            or any(self._finals(c, seen | family) for c in t.components if c.holds)
            for n in family
        )  # fmt: skip


def _otherwise(cases: str, last: str) -> str:
    """`if … else if … else last`"""
    return f"{cases} else {last}" if cases else last
