"""Known functions: which rule a symbol has, what to call for an operation, and what else a symbol is known to do.

Families are declared once: `sin` stands for sin, sinf, sinl, sinf32 … sinf128, __sin_finite, llvm.sin.f64,
llvm.sin.v4f32. x86-64 conventions of the System V ABI: `long double` is x86_fp80.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from llgrad.errors import UnsupportedError
from llgrad.models.effects import Allocator, Deallocator, Effects, listed

from . import complex_functions, libdevice, libm, scalar, special_functions
from .constants import FORMATS, SUFFIXES
from .rule import Rule

__all__ = [
    "Allocator",
    "CallKind",
    "Deallocator",
    "Effects",
    "Entry",
    "Shape",
    "call_format",
    "effects",
    "instruction",
    "lookup",
    "symbol",
]

Shape = Literal["scalar", "pair", "vector", "vector result", "byval"]
CallKind = Literal["intrinsic", "libm", "body"]

INSTRUCTIONS: dict[str, Rule] = {rule.name: rule for rule in scalar.INSTRUCTIONS}
FUNCTIONS: dict[str, Rule] = {rule.name: rule for rule in scalar.INTRINSICS + libm.RULES + complex_functions.RULES}
COMPLEX = frozenset(rule.name for rule in complex_functions.RULES)


def words(text: str) -> frozenset[str]:
    """A set of names."""
    return frozenset(text.split())


BOTH = words(
    """sin cos tan asin acos atan atan2 sinh cosh tanh exp exp2 exp10 log log2 log10 pow sqrt fabs copysign
    floor ceil trunc rint nearbyint round roundeven fma ldexp lround llround lrint llrint"""
)
"""Rules whose libm function and LLVM intrinsic have the same name."""

INTRINSIC_OF: dict[str, str] = {
    "fmax": "maxnum",
    "fmin": "minnum",
    "fmaximum": "maximum",
    "fminimum": "minimum",
    "fmaximum_num": "maximumnum",
    "fminimum_num": "minimumnum",
    **{name: name for name in BOTH},
    **{rule.name: rule.name.removeprefix("llvm.") for rule in scalar.INTRINSICS},
}
"""Rule -> intrinsic without `llvm.`, where there is one."""

LIBM = frozenset(rule.name for rule in libm.RULES) - frozenset(special_functions.NAMES) - {"lgamma_r"}
"""Rules whose name is that of a libm function in double, to which a suffix is added."""

LEGACY: dict[str, str] = {
    **{name: name for name in ("scalb", "significand", "nexttoward")},
    **{"drem": "remainder", "gamma": "lgamma", "pow10": "exp10"},
}
"""Names in libm -> rule, for those that have the suffixes f and l only."""

FINITE = words(
    """acos acosh asin atan2 atanh cosh exp exp2 exp10 fmod hypot j0 j1 jn y0 y1 yn log log2 log10 pow remainder
    scalb sinh sqrt"""
)
"""Rules of glibc's `__sin_finite`-style names, which -ffast-math called before glibc 2.31."""

C_SUFFIXES: dict[str, str] = {
    "": "double",
    "f": "float",
    "l": "x86_fp80",
    "f32": "float",
    "f64": "double",
    "f32x": "double",
    "f64x": "x86_fp80",
    "f128": "fp128",
}
"""Suffix of a libm function -> format."""

ARITHMETIC: dict[str, tuple[str, str, Shape]] = {
    "__mulsc3": ("cmul", "float", "vector result"),
    "__muldc3": ("cmul", "double", "pair"),
    "__mulxc3": ("cmul", "x86_fp80", "pair"),
    "__divsc3": ("cdiv", "float", "vector result"),
    "__divdc3": ("cdiv", "double", "pair"),
    "__divxc3": ("cdiv", "x86_fp80", "pair"),
}
"""The compiler's complex multiplication and division: real and imaginary parts are separate arguments in all."""

C_COMPLEX: tuple[tuple[str, str, Shape], ...] = (
    ("f", "float", "vector"),
    ("", "double", "pair"),
    ("l", "x86_fp80", "byval"),
)
"""Suffix of a complex libm function, format, and how it passes complex numbers."""


class Entry(Struct, frozen=True):
    """What a symbol computes: a rule in a format, and how its complex numbers are passed.

    shape  "scalar"         operands and results are as in the rule (fields: of the returned struct);
           "pair"           a complex operand is two arguments, a complex result a struct of two: {double, double};
           "vector"         a complex operand is one <2 x float>, a complex result one <2 x float>;
           "vector result"  a complex operand is two arguments, the result one <2 x float>;
           "byval"          a complex operand is a `ptr byval({x86_fp80, x86_fp80}) align 16`, the result a struct.
    lanes  width of a vector intrinsic ("llvm.sin.v4f32": 4), which applies the rule lane by lane.
    """

    rule: Rule
    format: str
    shape: Shape = "scalar"
    lanes: int = 1

    def depends_on(self, argument: int) -> bool:
        """Has a result a partial derivative by this argument of a call, or by a part of it?"""
        parts = 2 if self.shape == "vector" else 1
        operands = range(len(self.rule.operands))[argument * parts : argument * parts + parts]
        return not operands or any(map(self.rule.depends_on, operands))


def instruction(opcode: str) -> Rule | None:
    """The rule of a floating-point instruction ("fadd", …, "fneg"), if it is one."""
    return INSTRUCTIONS.get(opcode)


_OWN: dict[str, Entry] = {}


def add(name: str, entry: Entry) -> None:
    """Enter a rule of the user's under a name that no function has."""
    _OWN[name] = entry


PARTS = "llgrad.parts."
"""`llgrad.parts.cexpl` is `cexpl` with real and imaginary parts as arguments of their own: shape "pair"."""

LIKE = "llgrad.like."
"""`llgrad.like.exp.mine` (`llgrad.like.exp$1.mine`, …) is a function of the user's that has the rule of `exp`."""


def as_word(symbol: str) -> str:
    """A name of LLVM's as it stands after `LIKE`: `llvm-sin-f64`."""
    return symbol.replace(".", "-")


@cache
def lookup(symbol: str) -> Entry | None:
    """The rule of a function by its linker name, or None if none is known."""
    if symbol.startswith("llvm."):
        return _intrinsic(symbol)
    if symbol.startswith(LIKE):
        return lookup(re.split(r"[.$]", symbol.removeprefix(LIKE))[0].replace("-", "."))
    if symbol in _OWN:
        return _OWN[symbol]
    if symbol.startswith(libdevice.PREFIX):
        found = libdevice.lookup(symbol)
        return Entry(*found) if found is not None else None
    if symbol.startswith(PARTS):
        whole = _table().get(symbol.removeprefix(PARTS))
        return replace(whole, shape="pair") if whole is not None and whole.shape == "byval" else None
    return _table().get(symbol) or _in_lanes(symbol)


_LANES = re.compile(r"_ZGV[a-z]N(?P<lanes>\d+)(?P<given>v+)_(?P<name>\w+)|__svml_(?P<own>[a-z\d]+?)(?P<of>2|4|8|16)")


def _in_lanes(symbol: str) -> Entry | None:
    """The vector form of a function of numbers: by the vector function ABI (glibc's libmvec), or Intel's SVML."""
    m = _LANES.fullmatch(symbol)
    entry = _table().get(m["name"] or m["own"]) if m else None
    if m is None or entry is None or entry.shape != "scalar" or {*entry.rule.operands} != {"float"}:
        return None
    if len(entry.rule.results) > 1 or len(m["given"] or entry.rule.operands) != len(entry.rule.operands):
        return None
    return replace(entry, lanes=int(m["lanes"] or m["of"]))


@cache
def is_differentiated(symbol: str) -> bool:
    """Has a function without a body a derivative, or does it make or free memory, which may have a shadow?"""
    known = effects(symbol)
    memory = known is not None and (known.allocator is not None or known.deallocator is not None)
    return memory or lookup(symbol) is not None


def effects(symbol: str) -> Effects | None:
    """What a function without a body is known to do besides computing; None if nothing is known.

    Functions that have a rule read nothing and write only through their output pointers (errno is ignored).
    """
    entry = lookup(symbol)
    if entry is None:
        return listed(symbol)
    stores = "pointer" in entry.rule.operands
    return Effects(
        inactive=entry.rule.inactive,
        reads_memory="args" if entry.shape == "byval" else "none",
        writes_memory="args" if stores else "none",
    )


def symbol(base: str, format: str, lanes: int = 1) -> tuple[str, CallKind]:
    """What generated code calls for the function `base` of an `Apply`: its name, and of which kind it is.

    An intrinsic where the code generator supports one (with `lanes` > 1 its vector form), else the libm function,
    else a body of ours: those two are scalar always. half and bfloat have intrinsics only; for other functions
    the answer is that of `call_format(base, format)`, in which the caller calls.
    Raises UnsupportedError for a function or format that does not exist.
    """
    inner = call_format(base, format)
    if base in INTRINSIC_OF and _has_intrinsic(base, inner):
        suffix = FORMATS[inner].suffix
        vector = f"v{lanes}" if lanes > 1 else ""
        tail = {"powi": ".i32", "ldexp": f".{vector}i32"}.get(base, "")
        return f"llvm.{INTRINSIC_OF[base]}.{vector}{suffix}{tail}", "intrinsic"
    if base in LIBM:
        return base + {"float": "f", "double": "", "x86_fp80": "l", "fp128": "f128"}[inner], "libm"
    if base in special_functions.NAMES and inner in special_functions.FORMATS_WITH_BODY:
        return special_functions.symbol(base, inner), "body"
    raise UnsupportedError(f"no function {base} in format {format}", cause="neither LLVM, libm nor llgrad has one")


def call_format(base: str, format: str) -> str:
    """The format in which `base` is called for values of `format`: float for half and bfloat where only libm
    or a body has it (extend the operands, truncate the result), else the format itself."""
    return "float" if format in ("half", "bfloat") and base not in INTRINSIC_OF else format


def _has_intrinsic(base: str, format: str) -> bool:
    """minimum and maximum stop LLVM 22's code generator in x86_fp80 and fp128 (tried); fp128's libm calls have
    names of their own, which LLVM knows."""
    if format in ("x86_fp80", "fp128"):
        return INTRINSIC_OF[base] not in ("minimum", "maximum", "minimumnum", "maximumnum")
    return True


_TYPE = re.compile(r"\.(?:nx)?(?:v(\d+))?(f16|bf16|f32|f64|f80|f128)(?=\.|$)")


def _intrinsic(symbol: str) -> Entry | None:
    match = _TYPE.search(symbol)
    if not match or "nxv" in symbol:
        return None
    base = re.sub(r"\.(v\d+)?i\d+$", "", symbol[: match.start()]).removeprefix("llvm.")
    rule = _intrinsics().get(base)
    return Entry(rule, SUFFIXES[match[2]], lanes=int(match[1] or 1)) if rule else None


@cache
def _intrinsics() -> dict[str, Rule]:
    return {intrinsic: FUNCTIONS[name] for name, intrinsic in INTRINSIC_OF.items()}


@cache
def _table() -> dict[str, Entry]:
    """Every symbol that is not an intrinsic."""
    table: dict[str, Entry] = {}
    for name in LIBM - LEGACY.keys():
        table |= {name + suffix: Entry(FUNCTIONS[name], format) for suffix, format in C_SUFFIXES.items()}
    for name in FINITE:
        table |= {f"__{name}{s}_finite": Entry(FUNCTIONS[name], C_SUFFIXES[s]) for s in ("", "f", "l", "f128")}
    for suffix, format, shape in C_COMPLEX:
        table |= {name + suffix: Entry(FUNCTIONS[rule], format) for name, rule in LEGACY.items()}
        table |= {name + suffix: Entry(FUNCTIONS[name], format, shape) for name in COMPLEX - {"cmul", "cdiv"}}
        table[f"__sincos{suffix}"] = Entry(FUNCTIONS["sincos"], format)
        table[f"lgamma{suffix}_r"] = table[f"__lgamma{suffix}_r_finite"] = Entry(FUNCTIONS["lgamma_r"], format)
    for name, (base, format, shape) in ARITHMETIC.items():
        table[name] = Entry(FUNCTIONS[base], format, shape)
    for name in FUNCTIONS.keys() & set(special_functions.NAMES):
        table |= {
            special_functions.symbol(name, f): Entry(FUNCTIONS[name], f) for f in special_functions.FORMATS_WITH_BODY
        }
    return table
