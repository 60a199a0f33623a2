"""Functions of the program's own that have the name of a rule: they get another name, or keep it and its rule."""

from __future__ import annotations

import re

from llgrad.analysis.call_shapes import fits
from llgrad.ir.parse import parse
from llgrad.llvm.assembly import DEFINITION, plain, renamed
from llgrad.rules import library

# Reserved by C with external linkage (C11 7.1.3): whoever defines one means the function of the library.
_LIBM = """
acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh erf erfc exp exp2 expm1 fabs fdim floor fma fmax fmin
fmod frexp hypot ldexp lgamma log log10 log1p log2 modf nearbyint pow remainder remquo rint round sin sinh sqrt tan tanh
tgamma trunc
"""
_RESERVED = frozenset(f"{name}{suffix}" for name in _LIBM.split() for suffix in ("", "f", "l"))


def own_name(symbol: str) -> str:
    """The name under which a function that the program defines is differentiated: never that of a rule it may not mean.

    A static `y1`, or any `gamma`, is the user's: its body is what counts. A definition under a name that C reserves
    (`exp`) is that function: it keeps its name and its rule.
    """
    return f"llgrad.own.{symbol}" if symbol not in _RESERVED and library.lookup(symbol) is not None else symbol


def own_names(text: str) -> str:
    """Apply `own_name` to all definitions; what keeps a rule is never inlined. Static functions are the user's, and so
    are those of another type than the rule is for."""
    others: dict[str, str] = {}
    for head, name, _ in DEFINITION.findall(text):
        own = plain(name)
        if library.lookup(own) is None or own.startswith(library.LIKE):
            continue
        if re.search(r"\b(internal|private)\b", head) or own_name(own) != own or not _has_type_of_rule(text, own):
            others[own] = f"llgrad.own.{own}"
        else:
            head = rf"define [^@\n]*{re.escape(name)}\([^\n]*\)(?: (?:local_)?unnamed_addr)?"
            text = re.sub(rf"^({head})((?: [^\n{{]*)?\{{)$", r"\1 noinline\2", text, flags=re.MULTILINE)
    return renamed(text, others)


def _has_type_of_rule(text: str, name: str) -> bool:
    t = parse(text).function(name).function_type
    return not t.vararg and fits(name, t.result, t.params)
