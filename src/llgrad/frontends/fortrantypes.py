"""Fortran's derived types with allocatable components: what flang leaves to its runtime, written out for each type.

flang describes a type in a constant, `…EXdtX<type>`, whose components are in a table, `…EXcX<type>`. A scalar of that
type is assigned, and let go at the end of its scope, by the runtime through a descriptor that names the constant. Where
all components are numbers, or allocatable numbers and arrays of numbers, this writes both as functions of the type: the
bytes between allocatable components are copied, those are assigned by themselves, through copies of their descriptors
that say what is known of them. Types with components of derived types, with parents and with final procedures are left
to the runtime, and so refused.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_ALLOCATABLE, _CHARACTER, _DERIVED = 3, 4, 6
_CODES = {  # of (category, kind): the descriptor's code and bytes of an element
    (0, 1): (7, 1), (0, 2): (8, 2), (0, 4): (9, 4), (0, 8): (10, 8),
    (2, 4): (27, 4), (2, 8): (28, 8), (3, 4): (34, 8), (3, 8): (35, 16),
}  # fmt: skip
_TYPE = re.compile(r"^@(\S+EXdtX\S+) = [^\n]*?%_QM__fortran_type_infoTderivedtype (\{[^\n]*)$", re.MULTILINE)
_TABLE = re.compile(r"ptr @(\S*EXcX[\w.$]+), i64")
_COMPONENT = re.compile(
    r"i8 40, i8 \d+, i8 \d+ \}, i8 (\d+), i8 (\d+), i8 (\d+), i8 (\d+), \[4 x i8\] (?:undef|zeroinitializer), "
    r"i64 (\d+),"
)
_SIZE = re.compile(r"i8 40, i8 \d+, i8 \d+ \}, i64 (\d+),")
_CALL = re.compile(
    r"^(\s+)call void @_FortranA(Destroy|Assign)\(ptr (%[\w.]+)(?:, ptr (%[\w.]+), (ptr [^,\n]+, i32 \d+))?\)([^\n]*)$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class _Derived:
    """A type: bytes; offset, rank, code and bytes of an element of its allocatable components."""

    size: int
    allocatable: tuple[tuple[int, int, int, int], ...]


def written_out(text: str) -> str:
    """The module with the runtime's calls for scalars of simple derived types replaced."""
    types = _types(text) if "@_FortranADestroy(" in text or "EXdtX" in text else {}
    needed: set[tuple[str, str]] = set()

    def call(m: re.Match[str]) -> str:
        objects = [_object(text, m.start(), d) for d in (m[3], m[4]) if d]
        names = {name for name, _ in objects}
        name = names.pop() if len(names) == 1 else ""
        if name not in types:
            return m[0]
        needed.add((m[2], name))
        values = ", ".join(f"ptr {o}" for _, o in objects)
        more = f", {m[5]}" if m[5] else ""
        return f'{m[1]}call void @"llgrad.{m[2]}.{name}"({values}{more}){m[6]}'

    made = _CALL.sub(call, text) if types else text
    bodies = [(_destroy if what == "Destroy" else _assign)(name, types[name]) for what, name in sorted(needed)]
    declared = {
        "free": "declare void @free(ptr)",
        "llvm.memmove.p0.p0.i64": "declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)",
        "_FortranAAssign": "declare void @_FortranAAssign(ptr, ptr, ptr, i32)",
    }
    for name, line in declared.items():
        known = re.search(rf"^(?:declare|define) [^\n]*@{re.escape(name)}\(", made, re.MULTILINE)
        if f"@{name}(" in "".join(bodies) and not known:
            bodies.append(line)
    return "\n".join([made, *bodies, ""]) if bodies else text


def _types(text: str) -> dict[str, _Derived]:
    found = {}
    for m in _TYPE.finditer(text):
        table, size = _TABLE.search(m[2]), _SIZE.search(m[2])
        line = re.search(rf"^@{re.escape(table[1])} = [^\n]*$", text, re.MULTILINE) if table else None
        if line is None or size is None or "EXsX" in m[2]:
            continue
        components = [tuple(map(int, c)) for c in _COMPONENT.findall(line[0])]
        numbers = all(
            category not in (_CHARACTER, _DERIVED) and (genre != _ALLOCATABLE or (category, kind) in _CODES)
            for genre, category, kind, _, _ in components
        )
        if numbers and len(components) == line[0].count("i8 40,"):
            inside = sorted((c[4], c[3], *_CODES[c[1], c[2]]) for c in components if c[0] == _ALLOCATABLE)
            found[m[1]] = _Derived(int(size[1]), tuple(inside))
    return found


def _object(text: str, end: int, descriptor: str) -> tuple[str, str]:
    """The type's constant, and the object, of the scalar's descriptor as it was last written before `end`."""
    start, name = text.rfind("\ndefine ", 0, end), re.escape(descriptor)
    written = rf"store \{{[^\n]*\}} (%[\w.]+), ptr {name},|@llvm\.memcpy[\w.]*\(ptr {name}, ptr (%[\w.]+), i32 40,"
    last = max(re.finditer(written, text[start:end]), key=lambda m: m.start(), default=None)
    if last is None:
        return "", ""
    if last[2]:
        return _object(text, start + last.start(), last[2])
    made = re.search(
        rf"^\s+{re.escape(last[1])} = insertvalue [^\n]*i8 0, i8 42, i8 \d+, i8 1, ptr @(\S+), \[1 x i64\] \w+ \}}, "
        r"ptr (%[\w.]+), 0", text[start:end], re.MULTILINE,
    )  # fmt: skip
    return (made[1], made[2]) if made else ("", "")


def _destroy(name: str, t: _Derived) -> str:
    lines = [f'define internal void @"llgrad.Destroy.{name}"(ptr %o) alwaysinline {{']
    for n, (at, *_) in enumerate(t.allocatable):
        lines += [f"  %p{n} = getelementptr i8, ptr %o, i64 {at}", f"  %b{n} = load ptr, ptr %p{n}"]
        lines += [f"  call void @free(ptr %b{n})", f"  store ptr null, ptr %p{n}"]
    return "\n".join([*lines, "  ret void", "}"])


def _assign(name: str, t: _Derived) -> str:
    lines = [f'define internal void @"llgrad.Assign.{name}"(ptr %to, ptr %from, ptr %file, i32 %line) alwaysinline {{']
    at = 0
    for n, (offset, rank, code, size) in enumerate(t.allocatable):
        lines += _copied(f"{n}", at, offset)
        descriptor = 24 + 24 * rank
        at = offset + descriptor
        for side in ("to", "from"):
            lines += [f"  %{side}{n} = getelementptr i8, ptr %{side}, i64 {offset}"]
        lines += [
            f"  %b{n} = load ptr, ptr %from{n}", f"  %no{n} = icmp eq ptr %b{n}, null",
            f"  br i1 %no{n}, label %none{n}, label %some{n}", f"none{n}:", f"  %old{n} = load ptr, ptr %to{n}",
            f"  call void @free(ptr %old{n})", f"  store ptr null, ptr %to{n}", f"  br label %next{n}", f"some{n}:",
        ]  # fmt: skip
        for side in ("to", "from"):
            d, whole = f"%{side}{n}.d", f"i64 {descriptor}, i1 false"
            lines += [f"  {d} = alloca [{descriptor} x i8], align 8"]
            lines += [f"  call void @llvm.memmove.p0.p0.i64(ptr {d}, ptr %{side}{n}, {whole})"]
            known = {8: f"i64 {size}", 20: f"i8 {rank}", 21: f"i8 {code}", 22: "i8 2", 23: "i8 0"}
            for place, value in known.items():
                lines += [f"  {d}{place} = getelementptr i8, ptr {d}, i64 {place}", f"  store {value}, ptr {d}{place}"]
        lines += [
            f"  call void @_FortranAAssign(ptr %to{n}.d, ptr %from{n}.d, ptr %file, i32 %line)",
            f"  call void @llvm.memmove.p0.p0.i64(ptr %to{n}, ptr %to{n}.d, i64 {descriptor}, i1 false)",
            f"  br label %next{n}", f"next{n}:",
        ]  # fmt: skip
    lines += _copied("last", at, t.size)
    return "\n".join([*lines, "  ret void", "}"])


def _copied(name: str, start: int, end: int) -> list[str]:
    """The bytes between allocatable components."""
    if start >= end:
        return []
    return [
        f"  %t.{name} = getelementptr i8, ptr %to, i64 {start}",
        f"  %f.{name} = getelementptr i8, ptr %from, i64 {start}",
        f"  call void @llvm.memmove.p0.p0.i64(ptr %t.{name}, ptr %f.{name}, i64 {end - start}, i1 false)",
    ]  # fmt: skip
