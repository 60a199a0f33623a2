"""Long tables of constant numbers, set aside while derivatives are made.

Nothing about a derivative depends on what such a table holds, but reading and printing it again and again takes longer
than all the rest: the coefficients of a filter are megabytes of text. Meanwhile it is declared alone.

    @t = internal constant [9000 x double] […], align 16        →      @t = external constant [9000 x double], align 16
"""

from __future__ import annotations

from msgspec import Struct

from llgrad.ir.parse import parse
from llgrad.ir.values import GlobalVariable
from llgrad.llvm import LLVMModule
from llgrad.llvm.assembly import spelt
from llgrad.support.brackets import listed

_LONG = 50_000  # characters of a line
_OWN = ("internal", "private")
_WORDS = frozenset(("dso_local", "unnamed_addr", "local_unnamed_addr"))


class Tables(Struct, frozen=True):
    """A module that defines them, as text, and the names of those that are a file's own."""

    text: str
    own: tuple[str, ...]

    def put_back(self, whole: LLVMModule) -> None:
        """Links them with a program that declares them."""
        whole.link(LLVMModule.from_text(self.text))
        whole.internalize([name for name in whole.definitions() if name not in self.own])


def set_aside(text: str) -> tuple[str, Tables | None]:
    """A program that declares its long tables; these. Of their lines all but the elements is parsed."""
    lines = text.split("\n")
    long = [n for n, line in enumerate(lines) if len(line) >= _LONG and _is_constant(line) and "@" not in line[1:]]
    shared = [line for line in lines if line.startswith("target ") or " = type " in line[:200]] if long else []
    made, own = list[str](), list[str]()
    for n in long:
        head, type, elements, clauses = _parts(lines[n])
        if elements[:1] not in tuple("[{<"):
            continue
        (v,) = parse("\n".join([*shared, f"{head}{type} zeroinitializer{clauses}"])).variables
        if _is_table(v):
            aligned = f", align {v.align}" if v.align else ""
            lines[n] = f"{spelt(v.name)} = external constant {type}{aligned}"
            made.append(f"{spelt(v.name)} = constant {type} {elements}{aligned}")
            own += [v.name] if v.linkage in _OWN else []
    if not made:
        return text, None
    return "\n".join(lines), Tables("\n".join([*shared, *made, ""]), tuple(own))


def _is_constant(line: str) -> bool:
    words = line[:500].split("[")[0].split()
    return line[0] == "@" and "constant" in words and "global" not in words


def _parts(line: str) -> tuple[str, str, str, str]:
    """What stands before a constant's type, this, its elements and what follows; no elements where it has no list."""
    start = line.find(" constant ") + len(" constant ")
    last = max(line.rfind(bracket) for bracket in "]}>") + 1
    end = line.index(" ", start) if line[start] == "%" else listed(line, start + 1)[1] + 1
    return line[:start], line[start:end], line[end:last].strip(), line[last:]


def _is_table(v: GlobalVariable) -> bool:
    """Has it no more to say than where its elements lie?"""
    plain = v.linkage in (*_OWN, "external") and _WORDS.issuperset(v.prefix) and not v.suffix and not v.attributes
    return v.constant and plain


__all__ = ["Tables", "set_aside"]
