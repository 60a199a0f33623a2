"""Vector maths: let LLVM's vectorisers use the host's libmvec for exp, log, sin, pow and their like.

LLVM vectorises a call if the call site carries `"vector-function-abi-variant"` (LangRef; the Vector Function
ABI names), which is what this module writes into the text of a module before its last optimisation. The
vector functions' declarations are kept alive in `@llvm.compiler.used`, because LLVM asserts that they exist.

Contract: `with_vector_maths(text)` takes what LLVM prints and gives the same program, whose calls may be
replaced by functions that are at most 4 ulp wrong (glibc's promise) instead of under 1. The calls become pure:
`errno` is not kept, else the vectorisers refuse them. Only symbols that the installed libmvec has, and widths
that the CPU has, are named. Calls of functions that the module itself defines, and calls marked `nobuiltin` or
`strictfp`, are left alone.
"""

from __future__ import annotations

import re

from msgspec import Struct

from llgrad.llvm import target
from llgrad.llvm.libraries import has_vector_maths
from llgrad.support.brackets import listed

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
_PURE = "nounwind willreturn memory(none)"
_CALL = re.compile(
    r"^(?P<head> *(?:%[^=\n]+ = )?(?:tail |notail )?call (?:[a-z]+ )*(?:double|float) )@(?P<name>[\w.]+)\((?P<rest>.*)$"
)
_USED = re.compile(r"^@llvm\.compiler\.used = appending global \[(\d+) x ptr\] \[(.*)\](.*)$", re.MULTILINE)


class Variant(Struct, frozen=True):
    """A vector version of a scalar function."""

    symbol: str
    lanes: int
    type: str
    arity: int

    def mapping(self, scalar: str) -> str:
        """The Vector Function ABI string that maps `scalar` to this symbol."""
        return f"_ZGV_LLVM_N{self.lanes}{'v' * self.arity}_{scalar}({self.symbol})"

    def declaration(self) -> str:
        vector = f"<{self.lanes} x {self.type}>"
        arguments = ", ".join([vector] * self.arity)
        return f"declare {vector} @{self.symbol}({arguments}) nocallback nofree nounwind willreturn memory(none)\n"


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
    if match := re.fullmatch(r"llvm\.(\w+)\.f(32|64)", callee):
        return (match[1], "float" if match[2] == "32" else "double") if match[1] in _INTRINSICS else ("", "")
    if callee in _FUNCTIONS:
        return callee, "double"
    return (callee[:-1], "float") if callee.endswith("f") else ("", "")


def with_vector_maths(text: str, cpu: str = "native") -> str:
    """`text` with vector variants on its calls of mathematical functions; unchanged where there is no libmvec."""
    defined = set(re.findall(r"^define [^@\n]*@([\w.]+)\(", text, re.MULTILINE))
    declared = set(re.findall(r"^declare [^@\n]*@([\w.]+)\(", text, re.MULTILINE))
    table = {name: found for name in declared - defined if (found := variants(name, cpu))}
    if not table:
        return text
    barred = _groups_with(text, ("nobuiltin", "strictfp", "vector-function-abi-variant"))
    used: dict[str, Variant] = {}
    lines = [_with_variants(line, table, barred, used) for line in text.split("\n")]
    fresh = [variant.declaration() for variant in used.values() if variant.symbol not in declared]
    return _kept_alive("\n".join(lines) + "\n" + "".join(fresh), list(used)) if used else text


def _groups_with(text: str, attributes: tuple[str, ...]) -> frozenset[str]:
    """The attribute groups (`#3`) that hold one of `attributes`."""
    groups = re.findall(r"^attributes (#\d+) = \{([^\n]*)\}$", text, re.MULTILINE)
    return frozenset(name for name, body in groups if any(attribute in body for attribute in attributes))


def _with_variants(
    line: str, table: dict[str, list[Variant]], barred: frozenset[str], used: dict[str, Variant]
) -> str:
    match = _CALL.match(line)
    if not match or match["name"] not in table or "vector-function-abi-variant" in line:
        return line
    _, end = listed(match["rest"])
    arguments, tail = match["rest"][:end], match["rest"][end + 1 :]
    if barred & set(re.findall(r"#\d+", tail)):
        return line
    found = table[match["name"]]
    used.update((variant.symbol, variant) for variant in found)
    mapping = ",".join(variant.mapping(match["name"]) for variant in found)
    attributes = re.match(r"(?: #\d+)?", tail)
    end = attributes.end() if attributes else 0
    attribute = f' {_PURE} "vector-function-abi-variant"="{mapping}"'
    return f"{match['head']}@{match['name']}({arguments}){tail[:end]}{attribute}{tail[end:]}"


def _kept_alive(text: str, symbols: list[str]) -> str:
    """`text` with `symbols` added to `@llvm.compiler.used`."""
    old = _USED.search(text)
    kept = [item for item in re.split(r", (?=ptr )", old[2])] if old else []
    kept += [item for item in (f"ptr @{symbol}" for symbol in symbols) if item not in kept]
    section = old[3] if old else ', section "llvm.metadata"'
    line = f"@llvm.compiler.used = appending global [{len(kept)} x ptr] [{', '.join(kept)}]{section}"
    return text[: old.start()] + line + text[old.end() :] if old else f"{text}{line}\n"
