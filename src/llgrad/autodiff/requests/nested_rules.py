"""Functions that have a rule or an allocator's name, in derivatives that are to be differentiated themselves.

A derivative is made of copies of the program's functions; what is registered names the program's own, and holds for no
copy. The code of a rule may call the function itself, or the user's allocator: when a derivative becomes part of the
program, it calls the program's, so that the next one asks the rule there, too.
"""

from __future__ import annotations

from llgrad.autodiff.requests.registrations import PREFIX, RULE, read
from llgrad.ir.parse import parse
from llgrad.ir.values import Function
from llgrad.ir.write import write


def shown(program: str) -> tuple[str, dict[str, str]]:
    """The program with such functions visible to what is linked to it, and their types."""
    if f"@{PREFIX}" not in program:
        return program, {}
    module = parse(program)
    found = read(module)
    named = map(module.function, dict.fromkeys([*found.gradients, *found.tangents, *found.heap]))
    types = {}
    for f in named:
        if not f.is_declaration:
            types[f.name] = str(f.function_type)
            f.linkage = "external" if f.linkage in ("internal", "private") else f.linkage
    return write(module) if types else program, types


def borrowing(part: str, types: dict[str, str]) -> str:
    """A derivative that calls these functions of the program's, where it has copies of them."""
    if not types:
        return part
    module = parse(part)
    for f in [f for f in module.functions if not f.is_declaration and types.get(f.name) == str(f.function_type)]:
        _declare(f)
    return write(module)


def _declare(f: Function) -> None:
    f._body, f._blocks = None, []
    f.linkage, f.suffix, f.personality, f.metadata = "", "", None, {}
    f.attributes = tuple(a for a in f.attributes if a.name not in (RULE, "alwaysinline"))
