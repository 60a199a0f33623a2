"""The words of Enzyme's C interface: what calls and markers are called, and which a value is.

Names are recognised as a substring, so that C++'s mangled names and suffixes such as `__enzyme_autodiff_two` count. A
marker is a global's address or its value, or a metadata string; the paper's `diffe_dup` is an alias of `enzyme_dup`.
"""

from __future__ import annotations

import re

from llgrad.autodiff.requests.request import Act, Mode
from llgrad.ir.values import AnyValue, Cast, ConstExpr, GlobalVariable, Load, MetadataValue

PREFIX = "__enzyme_"
MODES = {
    "__enzyme_autodiff": Mode.COMBINED, "__enzyme_fwddiff": Mode.FORWARD, "__enzyme_augmentfwd": Mode.AUGMENTED,
    "__enzyme_reverse": Mode.REVERSE,
}  # fmt: skip
SIZE = "__enzyme_augmentsize"
SPLIT = "__enzyme_fwdsplit"
KINDS = ("float", "double", "integer", "pointer", "bfloat")
STATEMENTS = ("call_inactive", "ignore_derivatives", "virtualreverse", "batch", *KINDS)  # ask for no derivative
REPLAY = "llgrad.replay.of."  # the twin of a function that takes what it loads from a tape (`fwdsplit`)
ACTS = {
    "enzyme_const": Act.CONST, "enzyme_dup": Act.DUP, "enzyme_dupnoneed": Act.DUPNONEED, "enzyme_out": Act.OUT,
    "enzyme_dupv": Act.DUP, "enzyme_dupnoneedv": Act.DUPNONEED,
}  # fmt: skip
STRIDED = frozenset({"enzyme_dupv", "enzyme_dupnoneedv"})
RETURNS = {"enzyme_const_return": Act.CONST, "enzyme_active_return": Act.OUT, "enzyme_dup_return": Act.DUP}
FLAGS = frozenset({
    "enzyme_primal_return", "enzyme_runtime_activity", "enzyme_strong_zero", "enzyme_nofree", "enzyme_interleave",
    "enzyme_noret",  # the value is not wanted: it is returned only where `enzyme_primal_return` asks for it anyway
})  # fmt: skip
VALUED = frozenset({"enzyme_width", "enzyme_allocated", "enzyme_tape"})  # a value follows
OF_ARGUMENT = frozenset({*ACTS, "enzyme_not_overwritten", "enzyme_byref", "enzyme_vector", "enzyme_scalar"})
OF_CALL = frozenset({*RETURNS, *FLAGS, *VALUED})
_WORD = re.compile(f"({'|'.join(sorted(OF_ARGUMENT | OF_CALL, key=len, reverse=True))})(?![a-z0-9])")


def marker_text(v: AnyValue) -> str:
    """The name of the global, or the string, that a value is; with the paper's spelling made Enzyme's."""
    if isinstance(v, Load):
        v = v.pointer
    while isinstance(v, ConstExpr | Cast):
        v = v.operands[0]
    text = v.name if isinstance(v, GlobalVariable) else v.text if isinstance(v, MetadataValue) else ""
    return text.replace("diffe_", "enzyme_")


def marker_of(text: str) -> str | None:
    """The marker of that name; None for what is called otherwise."""
    found = _WORD.search(text)
    return found[0] if found else None
