"""What Python says about functions of a library: rules of one's own, likeness, inactivity.

    @llgrad.rule(lib.f)                                  # f(x, y): a partial derivative for each float
    def partials(x, y):
        return y * cos(x), sin(x)

    llgrad.rule(lib.norm, tangent=lib.norm_tangent, augmented=lib.norm_forward, reverse=lib.norm_reverse)
    llgrad.function_like(lib.my_exp, "exp")
    llgrad.inactive(lib.log_value)

`sin, cos = llgrad.functions("sin cos")` are functions of expressions; a parameter of `partials` that the function does
not have is its result. The functions given to `rule` are of the same library and take and return what
docs/c-interface.md says. All of it holds for derivatives that are made afterwards, and is part of the cache's key. It
becomes what a C program would say (`synthesis.registrations`): one way in.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from llgrad import cache
from llgrad.errors import ArgumentError, UnknownNameError
from llgrad.library import ForeignFunction, Library
from llgrad.rules import library as rules
from llgrad.rules.expression import functions
from llgrad.rules.library import Entry
from llgrad.rules.rule import rule as made_rule
from llgrad.signature import Scalar
from llgrad.synthesis.registrations import PREFIX

__all__ = ["function_like", "functions", "inactive", "rule"]

Partials = Callable[..., Any]


def inactive(function: ForeignFunction) -> None:
    """No derivative passes through the function."""
    lib = _library(function, "inactive")
    lib.say(_registration("inactivefn", function))


def function_like(function: ForeignFunction, name: str) -> None:
    """Calls of the function have the derivative of the library function `name` (of libm, or of LLVM's)."""
    lib = _library(function, "function_like")
    if rules.lookup(name) is None:
        raise UnknownNameError(f"there is no rule for {name!r}", fix="docs/rules.md lists them")
    _say_like(lib, function, name)


def rule(
    function: ForeignFunction, partials: Partials | None = None, *, tangent: ForeignFunction | None = None,
    augmented: ForeignFunction | None = None, reverse: ForeignFunction | None = None,
) -> Any:  # fmt: skip
    """The function's derivative: partials as expressions, or compiled functions. A decorator where neither is given."""
    lib = _library(function, "rule")
    compiled = [f for f in (tangent, augmented, reverse) if f is not None]
    if (augmented is None) != (reverse is None):
        raise ArgumentError("a rule for reverse mode is two functions", fix="give augmented=… and reverse=…")
    if partials is None and not compiled:
        return lambda formula: _expressed(lib, function, formula)
    if partials is not None and compiled:
        raise ArgumentError("a rule is either expressions or compiled functions, not both")
    if partials is not None:
        return _expressed(lib, function, partials)
    for f in compiled:
        if f.library is not lib:
            raise ArgumentError(f"{f.__name__} is of another library", fix="load the sources together")
    if tangent is not None:
        lib.say(_registration("register_derivative", function, tangent))
    if augmented is not None and reverse is not None:
        lib.say(_registration("register_gradient", function, augmented, reverse))
    return None


def _expressed(lib: Library, function: ForeignFunction, partials: Partials) -> Partials:
    """Enter partial derivatives as a rule of the rule table, under a name made from what it says."""
    signature = function.signature
    given = [p.type for p in signature.parameters]
    if not isinstance(signature.result, Scalar) or signature.result.kind != "float" or not all(
        isinstance(t, Scalar) for t in given
    ):
        raise ArgumentError(
            f"{signature} takes or returns other things than numbers", fix="give its rule as compiled functions"
        )
    result: Scalar = signature.result
    kinds = "".join("f" if isinstance(t, Scalar) and t.kind == "float" else "i" for t in given)
    if any(isinstance(t, Scalar) and t.kind == "float" and t.format != result.format for t in given):
        raise ArgumentError(f"{signature} mixes formats of floats", fix="give its rule as compiled functions")
    count = partials.__code__.co_argcount
    if count not in (len(given), len(given) + 1):
        raise ArgumentError(
            f"the partials of {signature} take {count} parameters", fix=f"take {len(given)}, or one more: the result"
        )
    formula = partials if count > len(given) else _without_result(partials)
    try:
        found = made_rule("own", formula, kinds)
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"the partials of {signature} are no rule", cause=str(error)) from error
    name = f"rule{cache.key(repr(found.partials), kinds, result.format)[:16]}"
    rules.add(name, Entry(found, result.format))
    _say_like(lib, function, name)
    return partials


def _without_result(partials: Partials) -> Partials:
    """The same with one more parameter, which is not used."""
    names = [f"x{n}" for n in range(partials.__code__.co_argcount)]
    made: Partials = eval(f"lambda {', '.join([*names, 'result'])}: f({', '.join(names)})", {"f": partials})
    return made


def _library(function: ForeignFunction, what: str) -> Library:
    if not isinstance(function, ForeignFunction):
        raise ArgumentError(
            f"{what} takes a function of a library, not {type(function).__name__}",
            fix="lib = llgrad.load(…), then lib.name",
        )
    return function.library


def _registration(kind: str, *functions: ForeignFunction) -> str:
    parts = ", ".join(f"ptr {_spelt(f.signature.symbol)}" for f in functions)
    name = f"{PREFIX}{kind}.{cache.key(kind, parts)[:16]}"
    return f"@{name} = global [{len(functions)} x ptr] [{parts}]\n"


def _say_like(lib: Library, function: ForeignFunction, name: str) -> None:
    own = cache.key(function.signature.symbol, name)[:16]
    text = f"@llgrad.said.{own} = private constant [{len(name) + 1} x i8] c\"{name}\\00\"\n"
    parts = f"ptr {_spelt(function.signature.symbol)}, ptr @llgrad.said.{own}"
    lib.say(f"{text}@{PREFIX}function_like.{own} = global [2 x ptr] [{parts}]\n")


def _spelt(symbol: str) -> str:
    return f"@{symbol}" if re.fullmatch(r"[-\w.$]+", symbol) else f'@"{symbol}"'
