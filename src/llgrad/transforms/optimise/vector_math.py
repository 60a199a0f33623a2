"""Vector maths: let LLVM's vectorisers use the host's libmvec for exp, log, sin, pow and their like.

LLVM vectorises a call if the call site carries `"vector-function-abi-variant"` (LangRef; the Vector Function
ABI names), which is what this pass writes before the last optimisation. The
vector functions' declarations are kept alive in `@llvm.compiler.used`, because LLVM asserts that they exist.

Contract: the calls may be replaced by functions that are at most 4 ulp wrong (glibc's promise) instead of under
1. They become pure: `errno` is not kept, else the vectorisers refuse them. Only symbols that the installed libmvec
has, and widths that the CPU has, are named. Calls of functions that the module itself defines, and calls marked
`nobuiltin` or `strictfp`, are left alone.

    %y = call double @exp(double %x)
          ->  %y = call double @exp(double %x) nounwind willreturn memory(none)
                       "vector-function-abi-variant"="_ZGV_LLVM_N4v_exp(_ZGVdN4v_exp)"
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct

from llgrad.ir.build import declare
from llgrad.ir.module import Module
from llgrad.ir.rewrite import calls
from llgrad.ir.types import PTR, ArrayType, FloatType, VectorType
from llgrad.ir.values import Attribute, ConstAggregate, Function, GlobalVariable, parts
from llgrad.llvm import target
from llgrad.llvm.libraries import has_vector_maths

# libm's name -> number of arguments
_FUNCTIONS = {
    "acos": 1, "acosh": 1, "asin": 1, "asinh": 1, "atan": 1, "atanh": 1, "cbrt": 1, "cos": 1, "cosh": 1,
    "erf": 1, "erfc": 1, "exp": 1, "exp10": 1, "exp2": 1, "expm1": 1, "log": 1, "log10": 1, "log1p": 1,
    "log2": 1, "sin": 1, "sinh": 1, "tan": 1, "tanh": 1, "atan2": 2, "hypot": 2, "pow": 2,
}  # fmt: skip
_NO_INTRINSIC = frozenset({"acosh", "asinh", "atanh", "cbrt", "erf", "erfc", "expm1", "log1p", "hypot"})
_INTRINSICS = frozenset(_FUNCTIONS) - _NO_INTRINSIC
# feature -> (letter of the ABI, lanes of double)
_LEVELS = (("sse2", "b", 2), ("avx", "c", 4), ("avx2", "d", 4), ("avx512f", "e", 8))
_FORMATS = {"f32": "float", "f64": "double"}
_PURE = (Attribute("nounwind"), Attribute("willreturn"), Attribute("memory", "none"))
_DECLARED = (Attribute("nocallback"), Attribute("nofree"), *_PURE)
_MAPPING = "vector-function-abi-variant"
_BARRED = {"nobuiltin", "strictfp", _MAPPING}
_USED = "llvm.compiler.used"


class Variant(Struct, frozen=True):
    """A vector version of a scalar function."""

    symbol: str
    lanes: int
    type: str
    arity: int

    def mapping(self, scalar: str) -> str:
        """The Vector Function ABI string that maps `scalar` to this symbol."""
        return f"_ZGV_LLVM_N{self.lanes}{'v' * self.arity}_{scalar}({self.symbol})"

    def declared(self, module: Module) -> Function:
        vector = VectorType(FloatType(self.type), self.lanes)
        f = declare(module, self.symbol, vector, [vector] * self.arity)
        f.attributes = f.attributes or _DECLARED
        return f


def variants(callee: str, cpu: str = "native") -> list[Variant]:
    """libmvec's versions of `callee` (`exp`, `expf`, `llvm.exp.f64`, …) that `cpu` can run; [] if there are none."""
    base, kind = _scalar(callee)
    if base not in _FUNCTIONS:
        return []
    features, arity = target.features_of(cpu), _FUNCTIONS[base]
    by_lanes: dict[int, Variant] = {}
    for feature, letter, doubles in _LEVELS:
        lanes = doubles if kind == "double" else 2 * doubles
        symbol = f"_ZGV{letter}N{lanes}{'v' * arity}_{base}{'f' if kind == 'float' else ''}"
        if feature in features and has_vector_maths(symbol):
            by_lanes[lanes] = Variant(symbol, lanes, kind, arity)
    return list(by_lanes.values())


def _scalar(callee: str) -> tuple[str, str]:
    """`llvm.exp.f32` or `expf` → ("exp", "float"); ("", "") if it is not a function of that form."""
    if callee.startswith("llvm."):
        base, _, format = callee.removeprefix("llvm.").partition(".")
        return (base, _FORMATS[format]) if base in _INTRINSICS and format in _FORMATS else ("", "")
    if callee in _FUNCTIONS:
        return callee, "double"
    return (callee[:-1], "float") if callee.endswith("f") else ("", "")


def may_have_vector_maths(text: str) -> bool:
    """May it call functions of which there are vector versions?"""
    return any(f"@{name}(" in text or f"@{name}f(" in text or f"@llvm.{name}." in text for name in _FUNCTIONS)


def with_vector_maths(module: Module, cpu: str = "native") -> bool:
    """Offer vector variants for calls of mathematical functions; are there any?"""
    declared = [f.name for f in module.functions if f.is_declaration]
    table = {name: found for name in declared if (found := variants(name, cpu))}
    used: dict[str, Variant] = {}
    for c in calls(module, *table) if table else ():
        name = c.called_function.name if c.called_function is not None else ""
        plain = c.opcode == "call" and c.tail != "musttail" and isinstance(c.type, FloatType)
        if plain and name in table and _BARRED.isdisjoint(a.name for a in c.attributes):
            used.update((variant.symbol, variant) for variant in table[name])
            mapping = ",".join(variant.mapping(name) for variant in table[name])
            kept = [a for a in c.attributes if a.name not in ("nounwind", "willreturn", "memory")]
            c.attributes = (*kept, *_PURE, Attribute(_MAPPING, mapping, string=True))
    if used:
        _keep_alive(module, [variant.declared(module) for variant in used.values()])
    return bool(used)


def _keep_alive(module: Module, functions: Iterable[Function]) -> None:
    """Add functions to `@llvm.compiler.used`."""
    used = module.globals.get(_USED)
    if not isinstance(used, GlobalVariable):
        used = GlobalVariable(_USED, PTR, None)
        used.linkage, used.suffix = "appending", ', section "llvm.metadata"'
        module.add(used)
    old = parts(used.initializer) if used.initializer is not None else ()
    kept = (*old, *(f for f in functions if f not in old))
    used.value_type = ArrayType(PTR, len(kept))
    used.initializer = ConstAggregate(used.value_type, kept)
