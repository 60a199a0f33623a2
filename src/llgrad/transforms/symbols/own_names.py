"""Functions of the program's own that have the name of a rule: they get another name, or keep it and its rule."""

from __future__ import annotations

from llgrad.analysis.call_shapes import fits
from llgrad.ir.parse import parse
from llgrad.ir.values import Attribute, Function
from llgrad.ir.write import write
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
    are those of another type than the rule is for.

        define internal double @y1(double %x)  ->  define internal double @llgrad.own.y1(double %x)
        define double @exp(double %x)          ->  define double @exp(double %x) noinline
    """
    defined = [plain(name) for _, name, _ in DEFINITION.findall(text)]
    ruled = [name for name in defined if library.lookup(name) is not None and not name.startswith(library.LIKE)]
    if not ruled:
        return text
    module = parse(text)
    kept = [f for f in map(module.function, ruled) if _means_rule(f)]
    for f in kept:
        f.attributes = (*f.attributes, Attribute("noinline"))
    others = {name: f"llgrad.own.{name}" for name in ruled if module.globals[name] not in kept}
    return renamed(write(module) if kept else text, others)


def _means_rule(f: Function) -> bool:
    """Is it the function of the library, defined by the program?"""
    t = f.function_type
    named = f.linkage not in ("internal", "private") and own_name(f.name) == f.name
    return named and not t.vararg and fits(f.name, t.result, t.params)
