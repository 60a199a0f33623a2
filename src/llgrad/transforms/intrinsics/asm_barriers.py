"""Empty inline assembly: `asm("" : "+x"(s))` hides a value from the optimiser, `asm volatile("" ::: "memory")` orders.

It does nothing when it runs, so `opened` leaves it out of what is differentiated (LangRef, Inline Assembler
Expressions): an output that is tied to an input (`"=x,0"`) is that input, one in memory that is an input too is left
alone, and an input that is tied to an output in memory is stored there. An output that nothing is tied to has no
value: such assembly stays, and is refused where it carries a float. One line that is a comment is empty, too: all
assemblers take one that begins with `#` for that (Eigen marks its kernels so).
"""

from __future__ import annotations

import re

from llgrad.support.brackets import listed

_EMPTY = re.compile(
    r'^(?P<space> +)(?:(?P<name>%[-\w.$]+|%"[^"]*") = )?(?:(?:tail|notail) )?call (?P<type>[^@\n]*?) asm '
    r'(?:(?:sideeffect|alignstack|inteldialect|unwind) )*"(?:#[^"\\;]*)?", "(?P<said>[^"]*)"\((?P<given>.*)\)[^()\n]*$',
    re.MULTILINE,
)
_POINTEE = re.compile(r"^ptr elementtype\((.*)\) (\S+)$")


def opened(text: str) -> str:
    """The text without empty assembly."""
    if " asm " not in text:
        return text
    count = 0

    def edit(m: re.Match[str]) -> str:
        nonlocal count
        count += 1
        lines = _lines(m, f"%llgrad.opened.{count}")
        return m[0] if lines is None else "\n".join(f"{m['space']}{line}" for line in lines)

    return _EMPTY.sub(edit, text)


def _lines(m: re.Match[str], mark: str) -> list[str] | None:
    """What stands for the call; None where an output has no value."""
    constraints = [c for c in m["said"].split(",") if not c.startswith("~")]
    given, _ = listed(m["given"])
    outputs = [c for c in constraints if c.startswith("=")]
    places = [n for n, c in enumerate(outputs) if c.startswith("=*")]
    if any("*" in c and not c.startswith(("=*", "*")) for c in constraints) or "!" in m["said"]:
        return None
    inputs = constraints[len(outputs) :]
    if len(given) != len(places) + len(inputs):
        return None
    memory, values = dict(zip(places, given, strict=False)), given[len(places) :]
    tied = {int(c): v for c, v in zip(inputs, values, strict=True) if c.isdigit()}
    lines, results = [], []
    for n in range(len(outputs)):
        if n not in memory:
            if n not in tied:
                return None
            results.append(tied[n])
        elif n in tied:
            pointee = _POINTEE.match(memory[n])
            if pointee is None:
                return None
            lines.append(f"store {tied[n]}, ptr {pointee[2]}, align 1")
        elif memory[n] not in values:
            return None
    return [*lines, *_results(m["name"], m["type"], results, mark)]


def _results(name: str | None, type: str, results: list[str], mark: str) -> list[str]:
    """The call's value: one, or members of a struct."""
    if name is None or not results:
        return []
    if not type.startswith("{"):
        return [f"{name} = bitcast {results[0]} to {type}"]
    lines, whole = [], "poison"
    for n, v in enumerate(results):
        made = name if n == len(results) - 1 else f"{mark}.{n}"
        lines.append(f"{made} = insertvalue {type} {whole}, {v}, {n}")
        whole = made
    return lines


