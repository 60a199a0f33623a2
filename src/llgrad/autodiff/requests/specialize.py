"""Functions with some arguments fixed: LLVM sees constants, and the loops they bound have known lengths."""

from __future__ import annotations

from llgrad.autodiff.requests.request import Constants
from llgrad.errors import UnsupportedError
from llgrad.ir.floats import from_float
from llgrad.ir.parse import parse
from llgrad.ir.types import FloatType, IntType
from llgrad.ir.values import Argument, Constant, ConstFloat, ConstInt
from llgrad.ir.write import write
from llgrad.llvm.assembly import names_in, plain, renamed
from llgrad.transforms.contexts import Preparation
from llgrad.transforms.pass_manager import Unit


def specialised(text: str, root: str, name: str, constants: Constants) -> str:
    """The program with the arguments of `root` fixed, under another name.

    UnsupportedError where the program calls `root` or takes its address: that would mean the function as it was.
    """
    if sum(plain(name) == root for name in names_in(text)) > 1:
        raise UnsupportedError(
            f"{root} cannot be specialised", cause="it calls itself, or its address is taken",
            fix="write a function that calls it with constants, and differentiate that",
        )  # fmt: skip
    module = parse(text)
    f = module.function(root)
    assert f.blocks is not None
    for n, value in constants:
        _replace(f.arguments[n], _constant(f.arguments[n], value))
    return renamed(write(module), {root: name})


def _constant(a: Argument, value: int | float) -> Constant:
    if isinstance(a.type, FloatType):
        return ConstFloat(a.type, from_float(a.type, float(value)))
    assert isinstance(a.type, IntType)
    return ConstInt(a.type, int(value) & (1 << a.type.bits) - 1)


def _replace(a: Argument, constant: Constant) -> None:
    for user in list(dict.fromkeys(a.users)):
        for n, v in enumerate(user.operands):
            if v is a:
                user.set_operand(n, constant)


def specialise(unit: Unit, c: Preparation) -> bool:
    """The root's constant arguments are fixed."""
    made = unit.put(specialised(unit.text(), c.roots[0], c.special, c.constants))
    c.roots = [c.special]
    return made
