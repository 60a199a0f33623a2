"""Functions of mathematics that a language brings itself, with bodies that call C's of the same meaning.

    define double @"libm::math::erf::erf"(double %x) { … }    →    { %r = call double @erf(double %x)  ret double %r }

C's functions have derivative rules; a language's own look at bits, and are refused. Two results of one function are a
struct where the language returns one (`returned` begins with a brace), and memory otherwise.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple


class Form(NamedTuple):
    """What a function returns and takes, and its body; `T` is the float's type, `F` the end of C's names."""

    returned: str
    taken: tuple[str, ...]
    body: str


def plain(function: str, *taken: str, returned: str = "T") -> Form:
    """A call of C's function, which takes and returns the same."""
    values = ", ".join(f"{t} %{n}" for n, t in enumerate(taken))
    return Form(returned, taken, f"  %r = call {returned} @{function}F({values})\n  ret {returned} %r\n")


SUFFIXES = {"double": "", "float": "f", "x86_fp80": "l", "fp128": "f128"}
_CALL = re.compile(r"= call ([^@]+) @(\w+)\(([^)]*)\)")


def written(form: Form, returned: str, taken: Sequence[str], t: str) -> str:
    """The body of a form for floats of type `t`, or "" where the function returns or takes something else."""
    if (returned, *taken) != tuple(re.sub(r"\bT\b", t, u) for u in (form.returned, *form.taken)):
        return ""
    return re.sub(r"(?<=[a-z\d])F(?=_r\b|\b)", SUFFIXES[t], re.sub(r"\bT\b", t, form.body))


def declared(body: str) -> dict[str, str]:
    """Declarations of the functions that a body calls, by name."""
    found = {}
    for result, function, values in _CALL.findall(body):
        types = ", ".join(v.rsplit(" ", 1)[0] for v in values.split(", "))
        found[function] = f"declare {result} @{function}({types})"
    return found


def with_declarations(text: str, declarations: dict[str, str]) -> str:
    """The module with those declarations that it lacks."""
    known = set(re.findall(r"^(?:declare|define) [^\n]*?@([\w.]+)\(", text, re.MULTILINE))
    return text + "".join(f"\n{line}\n" for name, line in sorted(declarations.items()) if name not in known)
