"""What flang's modules say of descriptors, said again before each call of its runtime that reads them.

A descriptor's rank, type and size of elements are stored where a variable begins. LLVM loses sight of them once the
descriptor was passed to a procedure, or comes from a function; bodies of the runtime's calls then would do what all
types ask for. Here they are stored once more, which changes nothing: what a variable begins with, or is stored to it
in its function or in the one whose result it is, says them. Descriptors that may describe another type later
(polymorphic or of deferred length, allocatable or pointers) are left alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

_DESCRIPTOR = r"\{ ptr, i64, i32, i8, i8, i8, i8(?:, \[\d+ x \[3 x i64\]\])?(?:, ptr, \[1 x i64\])? \}"
_SHAPE = re.compile(r"\{ ptr, i64, i32, i8, i8, i8, i8(?:, \[(\d+) x \[3 x i64\]\])?(, ptr, \[1 x i64\])? \}")
_ALLOCA = re.compile(rf"^ +(%\S+) = alloca ({_DESCRIPTOR})", re.MULTILINE)
_STEP = re.compile(rf" getelementptr ({_DESCRIPTOR}), ptr (%[^\s,]+),")
_PARAMETER = re.compile(r"\bptr (?![^,]*\breadonly\b)[^,]*?(%[^\s,)]+)")
_GLOBAL = re.compile(rf"^(@\S+) = [^\n{{]*\bglobal {_DESCRIPTOR} (\{{[^\n]*)$", re.MULTILINE)
_STORE = re.compile(rf"^ +store {_DESCRIPTOR} (.*), ptr (%[^\s,]+), align \d+(.*)$", re.MULTILINE)
_COPY = re.compile(r"@llvm\.memcpy\.p0\.p0\.i32\(ptr (%[^\s,]+), ptr ([%@][^\s,]+), i32 \d+,")
_INSERT = re.compile(rf"^ +(%\S+) = insertvalue {_DESCRIPTOR} (.*), (?:ptr|i\d+) (\S+), (\d)[,\s]", re.MULTILINE)
_LITERAL = re.compile(
    r"\{ ptr [^,]*, i64 (\d+|undef), i32 \d+, i8 (\d+), i8 (\d+), i8 (\d+), i8 [^,]*"
    r"(, (?:\[.*\] [^@]*, )?ptr (?:@([^\s,]+)|\w+),)?"
)
_RESULT = re.compile(r"^ +call void @([\w.]+)\(ptr (%[^\s,)]+)[,)]", re.MULTILINE)
_CALL = re.compile(r"^ +(?:%\S+ = )?(?:tail )?call [^@\n]*@_FortranA(\w+)\(([^\n]*)\)[^\n]*$", re.MULTILINE)
_ARGUMENT = re.compile(r"\bptr ([%@][^\s,)]+)")
_TAG = re.compile(r"!tbaa !\d+")
_ANY_RANK, _TEXT, _DERIVED = 15, 40, 42


@dataclass(frozen=True, slots=True)
class _Said:
    """Rank, whether there is an addendum; where they never change, bytes and type of elements, derived type."""

    rank: int
    addendum: bool
    bytes: int | None = None
    type: int | None = None
    attribute: int | None = None
    derived: str = ""


def said_again(texts: Sequence[str]) -> list[str]:
    """The modules with those stores."""
    parts = [re.split(r"^(?=define )", text, flags=re.MULTILINE) for text in texts]
    functions = {m[1]: _Function(p) for ps in parts for p in ps if (m := re.match(r"define [^\n@]*@([\w.]+)\(", p))}
    variables = dict(v for text in texts for v in _GLOBAL.findall(text))
    for function in functions.values():
        function.others, function.variables = functions, variables
    made = []
    for ps in parts:
        known = ((re.match(r"define [^\n@]*@([\w.]+)\(", p), p) for p in ps)
        made.append("".join(functions[m[1]].written() if m else p for m, p in known))
    return made


class _Function:
    """A function's text, and what it says of its descriptors."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.others: dict[str, _Function] = {}
        self.variables: dict[str, str] = {}
        self._read = False
        self._known: dict[str, _Said | None] = {}

    def _prepare(self) -> None:
        if self._read:
            return
        self._read = True
        taken = set(_PARAMETER.findall(self.text.partition("\n")[0]))
        self._shapes = {v: shape for shape, v in _STEP.findall(self.text) if v in taken}
        self._shapes.update(_ALLOCA.findall(self.text))
        self._inserted = {m[1]: (m[2], m[4]) for m in _INSERT.finditer(self.text)}
        self._stored: dict[str, list[str]] = {}
        for value, at, _ in _STORE.findall(self.text):
            self._stored.setdefault(at, []).append(value)
        self._copied: dict[str, list[str]] = {}
        for at, source in _COPY.findall(self.text):
            self._copied.setdefault(at, []).append(source)
        self._results = {at: name for name, at in _RESULT.findall(self.text)}
        tag = next((t for *_, rest in _STORE.findall(self.text) if (t := _TAG.search(rest))), None)
        self._tag = f", {tag[0]}" if tag else ""

    def said(self, value: str) -> _Said | None:
        """What is known of the descriptor behind a pointer of this function's."""
        self._prepare()
        if value not in self._known:
            self._known[value] = None  # of what is copied in a circle nothing is
            self._known[value] = self._found(value)
        return self._known[value]

    def _found(self, value: str) -> _Said | None:
        if value[0] == "@":
            return self._literal(self.variables.get(value, ""))
        sources = [self._literal(v) for v in self._stored.get(value, ())]
        sources += map(self.said, self._copied.get(value, ()))
        if not sources and value in self._results and self._results[value] in self.others:
            sources = [self.others[self._results[value]].said("%0")]
        shape = _SHAPE.match(self._shapes.get(value, ""))
        own = _Said(int(shape[1] or 0), bool(shape[2])) if shape and shape[1] != str(_ANY_RANK) else None
        first = sources[0] if sources else None
        if first is None or any(s != first for s in sources):
            return own
        return first if own is None or (first.rank, first.addendum) == (own.rank, own.addendum) else own

    def _literal(self, value: str) -> _Said | None:
        """What a stored struct says: a constant, with other values in some of its places."""
        changed: set[int] = set()
        while value in self._inserted:
            value, place = self._inserted[value]
            changed.add(int(place))
        m = _LITERAL.match(value)
        if m is None or changed & {3, 4, 5}:
            return None
        rank, code, attribute, addendum = int(m[2]), int(m[3]), int(m[4]), m[5] is not None
        size = None if m[1] == "undef" or 1 in changed else int(m[1])
        if attribute and (addendum or code in (_TEXT, _DERIVED)):
            return _Said(rank, addendum, attribute=attribute)
        return _Said(rank, addendum, size, code, attribute, "" if (8 if rank else 7) in changed else m[6] or "")

    def written(self) -> str:
        """The text with what is known of descriptors stored before calls of the runtime."""
        if "@_FortranA" not in self.text:
            return self.text
        self._prepare()
        made, at, count = [], 0, 0
        for m in _CALL.finditer(self.text):
            given = [v for v in dict.fromkeys(_ARGUMENT.findall(m[2])) if v in self._shapes or v in self.variables]
            told = {v: s for v in given if (s := self.said(v))}
            made.append(self.text[at : m.start()])
            at = m.start()
            if m[1].startswith("Assign"):
                told = _alike(told)
            for value, said in told.items():
                if said.type is not None:
                    made += [f"  {s}{self._tag if s[0] == 's' else ''}\n" for s in _stores(value, said, count)]
                    count += 1
        return "".join([*made, self.text[at:]])


def _alike(told: dict[str, _Said]) -> dict[str, _Said]:
    """What is assigned is of the type of what it is assigned to, unless it is text or an object."""
    types = {(s.type, s.bytes) for s in told.values() if s.type not in (None, _TEXT, _DERIVED) and not s.addendum}
    if len(types) != 1 or any(s.addendum for s in told.values()):
        return told
    (code, size) = types.pop()
    return {v: s if s.type is not None else replace(s, type=code, bytes=size) for v, s in told.items()}


def _stores(value: str, said: _Said, count: int) -> Iterator[str]:
    places = [("i64", 8, said.bytes), ("i8", 20, said.rank), ("i8", 21, said.type), ("i8", 22, said.attribute)]
    for t, offset, known in places:
        if known is not None:
            yield f"%llgrad.said.{count}.{offset} = getelementptr i8, ptr {value}, i64 {offset}"
            yield f"store {t} {known}, ptr %llgrad.said.{count}.{offset}"
    at = f"%llgrad.said.{count}"
    yield f"{at}.23 = getelementptr i8, ptr {value}, i64 23"
    yield f"{at}.extra = load i8, ptr {at}.23"
    yield f"{at}.marked = {'or' if said.addendum else 'and'} i8 {at}.extra, {1 if said.addendum else -2}"
    yield f"store i8 {at}.marked, ptr {at}.23"
    if said.derived:
        yield f"{at}.type = getelementptr i8, ptr {value}, i64 {24 + 24 * said.rank}"
        yield f"store ptr @{said.derived}, ptr {at}.type"
