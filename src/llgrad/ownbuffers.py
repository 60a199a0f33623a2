"""Static pointers of a file that hold nothing but blocks of their own.

`static double *work;`, which one function allocates and others use: whoever ran before, it holds null or a block of
`malloc`'s or `new`'s that no other variable was given. So it is as good as a static variable of one function, which no
other can name (`analysis.keptbuffers`), and is given the name of one. Read off the text of the whole program, where
each place that names the variable can be seen.

Contract: every store to such a variable is of null or of what a call of an allocator returned, which goes nowhere
else; what is loaded from it is not stored but in variables of a function, not returned, and given to no function that
asks for a derivative, or leads to one that does: it would be an argument with a shadow of the user's.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from llgrad.assembly import DEFINITION, GLOBAL, NAME, plain

OWNER = "of-its-own."  # before the name: no name of C's, or of LLVM's, has it
_POINTER = re.compile(r"ptr null(?:,|$)")
_END = r"(?![-\w.$])"
_ALLOCATES = re.compile(r"(?:call|invoke) [^@\n]*@(?:malloc|calloc|realloc|_Znwm|_Znam)\(")
_LOADS = re.compile(rf"^ *(%[-\w.$]+) = load ptr, ptr {NAME}(?:,|$)")
_STORES = re.compile(rf"^ *store ptr (null|%[-\w.$]+), ptr {NAME}(?:,|$)")
_STORED = re.compile(r"^ *store (?:volatile )?ptr (%[-\w.$]+), ptr ([@%][-\w.$]+)")
_DERIVED = re.compile(r"^ *(%[-\w.$]+) = (?:getelementptr|phi|select|freeze|\w+cast|ptrtoint|insertvalue) ")
_CALLED = re.compile(rf"\b(?:call|invoke) [^@\n]*?({NAME}|%[-\w.$]+)\(")
_ASKS = "__enzyme"


def own_buffers(text: str) -> set[str]:
    """The private variables of a program that are such pointers."""
    found = [m for m in GLOBAL.finditer(text) if _is_pointer(m)]
    asking = _asking(text) if found else set[str]()
    return {plain(m[1]) for m in found if _is_own(text, m[1], m.start(), asking)}


def _is_pointer(m: re.Match[str]) -> bool:
    """Is it a private variable, which begins as a null pointer?"""
    private = not {"internal", "private"}.isdisjoint(m[2].split()) and "thread_local" not in m[2]
    return private and m[3] == "global" and _POINTER.match(m.string, m.end()) is not None


def _asking(text: str) -> set[str]:
    """The functions that ask for derivatives, and what names those."""
    named: dict[str, set[str]] = {}
    for m in DEFINITION.finditer(text):
        for name in set(re.findall(NAME, text[m.end() : text.find("\n}", m.end())])):
            named.setdefault(name, set()).add(m[2])
    found, work = set[str](), [name for name in named if _ASKS in name]
    while work:
        if (name := work.pop()) not in found:
            found.add(name)
            work += named.get(name, ())
    return found


def _is_own(text: str, name: str, declared: int, asking: Collection[str]) -> bool:
    places = [m.start() for m in re.finditer(re.escape(name) + _END, text) if m.start() != declared]
    return bool(places) and all(_is_harmless(text, at, asking) for at in places)


def _is_harmless(text: str, at: int, asking: Collection[str]) -> bool:
    """Does the line at `at` load the variable, or store a block to it, as the contract says?"""
    start, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    line = text[start:end]
    body = text[text.rfind("\ndefine ", 0, start) + 1 : text.find("\n}", end)]
    if m := _LOADS.match(line):
        return not _leads_on(body, m[1], asking)
    if (m := _STORES.match(line)) is None:
        return False
    return m[1] == "null" or all(
        user == line or "icmp " in user or (_ALLOCATES.search(user) and user.lstrip().startswith(f"{m[1]} = "))
        for user in _users(body, m[1])
    )


def _leads_on(body: str, value: str, asking: Collection[str]) -> bool:
    """Is a pointer kept where other functions find it, or may a derivative be asked for with it?"""
    work, seen = [value], set[str]()
    while work:
        if (value := work.pop()) in seen:
            continue
        seen.add(value)
        for user in _users(body, value):
            called = _CALLED.search(user)
            if user.startswith("  ret ") or (called and (called[1][0] == "%" or called[1] in asking)):
                return True
            if (m := _STORED.match(user)) and m[1] == value:
                if f"{m[2]} = alloca " not in body:
                    return True
                work += _loaded(body, m[2])
            elif m := _DERIVED.match(user):
                work.append(m[1])
    return False


def _loaded(body: str, slot: str) -> list[str]:
    """What is read from a variable of a function's own."""
    return re.findall(rf"^ *(%[-\w.$]+) = load ptr, ptr {re.escape(slot)}(?:,|$)", body, re.MULTILINE)


def _users(body: str, value: str) -> Iterator[str]:
    for m in re.finditer(re.escape(value) + _END, body):
        yield body[body.rfind("\n", 0, m.start()) + 1 : body.find("\n", m.start())]


__all__ = ["OWNER", "own_buffers"]
