"""Structs that are passed by value between languages.

Clang, flang and zig pass the members of a small struct one by one; rustc and ldc pass it as one value of LLVM's, in the
same registers. A call of a function that is declared in the one way and defined in the other is a call of another type,
which nobody looks through. So functions with plain names (C's) that take structs have two symbols: their module calls
the one that its compiler wrote (`name.whole`), all others the one that takes members. A struct that is returned has no
name there. Members are doubles, pointers and integers of 64 bits: smaller ones share registers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_HEAD = re.compile(r"^(define|declare) ([^@\n]*)@([A-Za-z_]\w*)\(([^\n]*)$", re.MULTILINE)
_NOT_OUTSIDE = re.compile(r"\b(?:internal|private|linkonce|linkonce_odr|weak|weak_odr|available_externally)\b")
_MANGLED = re.compile(r"_[A-Z]|llvm")  # Rust's, C++'s and D's own
_NAMED = re.compile(r'^(%[-\w.$]+|%"[^"\n]+") = type (\{[^\n]*\})$', re.MULTILINE)
_STRUCT = r'\{[^{}\n]*\}|%[-\w.$]+|%"[^"\n]+"'
_RESULT = re.compile(rf"(?:{_STRUCT}|\w+)\** $")
_GIVEN = re.compile(rf"({_STRUCT})(?: noundef)?(?: %[^ ]+)?$")
_VALUE = re.compile(r' (?:%[-\w.$]+|%"[^"\n]+")$')
_MEMBER = re.compile(r"double|ptr|i64|[^{}%]*\*")


class _Parameter(NamedTuple):
    """Its type with attributes; of a struct, the type and those of its members."""

    text: str
    struct: str
    members: list[str]


class _Outside(NamedTuple):
    """A function as this module knows it, and the result as others do."""

    result: str
    known_as: str
    parameters: list[_Parameter]


def members_apart(text: str) -> str:
    """The module with both symbols of such functions."""
    named = dict(_NAMED.findall(text))
    beside = {}
    for m in _HEAD.finditer(text):
        kind, words, name, rest = m.groups()
        plain = not _NOT_OUTSIDE.search(words) and not _MANGLED.match(name)
        outside = _outside(words, _within(rest), named) if plain else None
        if outside is not None:
            beside[name] = (_defined if kind == "define" else _declared)(name, outside)
    for name in beside:
        text = re.sub(rf"@{name}(?![\w.$])", f"@{name}.whole", text)
        text = re.sub(rf"^declare [^@\n]*@{name}\.whole\([^\n]*\n", "", text, flags=re.MULTILINE)
        head = rf"^define (?:dso_local |hidden )*([^@\n]*@{name}\.whole\()"
        text = re.sub(head, r"define internal \1", text, flags=re.MULTILINE)
    return text + "".join(beside.values())


def _within(rest: str) -> str:
    """The parameters: what is before the bracket that ends them."""
    depth = 1
    for at, letter in enumerate(rest):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return rest[:at]
    return rest


def _outside(words: str, given: str, named: Mapping[str, str]) -> _Outside | None:
    """None if the two are the same, or it is not known what others call."""
    result = _RESULT.search(words)
    if result is None or "..." in given:
        return None
    plain = result[0].strip()
    known_as = named.get(plain, plain)
    parameters = [_parameter(p, named) for p in _split(given)]
    structs = [p for p in parameters if p.struct]
    if not all(p.members and all(map(_MEMBER.fullmatch, p.members)) for p in structs):
        return None
    return _Outside(plain, known_as, parameters) if structs or known_as != plain else None


def _parameter(text: str, named: Mapping[str, str]) -> _Parameter:
    struct = _GIVEN.fullmatch(text)
    members = _split(named.get(struct[1], struct[1])[1:-1].strip()) if struct else []
    return _Parameter(_VALUE.sub("", text), struct[1] if struct else "", members)


def _split(text: str) -> list[str]:
    """What commas separate, outside of brackets."""
    pieces, depth, last = [], 0, 0
    for at, letter in enumerate(text):
        depth += (letter in "({[<") - (letter in ")}]>")
        if letter == "," and not depth:
            pieces.append(text[last:at].strip())
            last = at + 1
    return [*pieces, text[last:].strip()] if text else []


def _defined(name: str, f: _Outside) -> str:
    """For others, of a function that is defined here: takes members."""
    lines = []
    for n, p in enumerate(f.parameters):
        for k, t in enumerate(p.members):
            made, before = f"%s{n}{f'.{k}' if k < len(p.members) - 1 else ''}", f"%s{n}.{k - 1}" if k else "undef"
            lines.append(f"{made} = insertvalue {p.struct} {before}, {t} %m{n}.{k}, {k}")
    lines += _returned(f"@{name}.whole({_wholes(f)})", f.result, f.known_as)
    return _function(f"{f.known_as} @{name}({_apart(f)})", lines)


def _declared(name: str, f: _Outside) -> str:
    """For this module, of a function that others define: takes structs."""
    lines = []
    for n, p in enumerate(f.parameters):
        lines += [f"%m{n}.{k} = extractvalue {p.struct} %s{n}, {k}" for k in range(len(p.members))]
    lines += _returned(f"@{name}({_apart(f)})", f.known_as, f.result)
    taken = ", ".join(t for p in f.parameters for t in p.members or [p.text])
    made = _function(f"internal {f.result} @{name}.whole({_wholes(f)})", lines)
    return f"\ndeclare {f.known_as} @{name}({taken})\n{made}"


def _wholes(f: _Outside) -> str:
    return ", ".join(f"{p.struct} %s{n}" if p.struct else f"{p.text} %p{n}" for n, p in enumerate(f.parameters))


def _apart(f: _Outside) -> str:
    return ", ".join(
        value
        for n, p in enumerate(f.parameters)
        for value in [f"{t} %m{n}.{k}" for k, t in enumerate(p.members)] or [f"{p.text} %p{n}"]
    )


def _returned(call: str, inner: str, outer: str) -> list[str]:
    """The call, and the return of its result as a value of the other type."""
    if inner == "void":
        return [f"call void {call}", "ret void"]
    if inner == outer:
        return [f"%r = call {inner} {call}", f"ret {inner} %r"]
    lines = [f"%r = call {inner} {call}"]
    members = _split((inner if inner[0] == "{" else outer)[1:-1].strip())
    for k, t in enumerate(members):
        before = f"%t{k - 1}" if k else "undef"
        lines += [f"%r{k} = extractvalue {inner} %r, {k}", f"%t{k} = insertvalue {outer} {before}, {t} %r{k}, {k}"]
    return [*lines, f"ret {outer} %t{len(members) - 1}"]


def _function(head: str, lines: list[str]) -> str:
    body = "".join(f"  {line}\n" for line in lines)
    return f"\ndefine {head} alwaysinline {{\n{body}}}\n"
