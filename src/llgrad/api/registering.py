"""What Python says about functions of a library: rules of one's own, likeness, inactivity.

    @llgrad.rule(lib.f)                                  # f(x, y): a partial derivative for each float
    def partials(x, y):
        return y * cos(x), sin(x)

    llgrad.rule(lib.norm, tangent=lib.norm_tangent, augmented=lib.norm_forward, reverse=lib.norm_reverse)
    llgrad.function_like(lib.my_exp, "exp")
    llgrad.inactive(lib.log_value)

    @llgrad.rule("gsl_sf_dawson")                        # any library's, by its linker name: doubles in and out
    def partials(x, y):
        return 1 - 2 * x * y

`sin, cos = llgrad.functions("sin cos")` are functions of expressions; a parameter of `partials` that the function does
not have is its result. The functions given to `rule` are of the same library and take and return what
docs/c-interface.md says. All of it holds for derivatives that are made afterwards, and is part of the cache's key. It
becomes what a C program would say (`autodiff.requests.registrations`): one way in.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from llgrad.autodiff.requests.registrations import PREFIX
from llgrad.errors import ArgumentError, UnknownNameError
from llgrad.execution import cache
from llgrad.execution.library import ForeignFunction
from llgrad.execution.loaded import EVERYWHERE
from llgrad.rules import library as rules
from llgrad.rules.expression import Operand, functions
from llgrad.rules.library import Entry
from llgrad.rules.rule import rule as made_rule
from llgrad.signature import Scalar

__all__ = ["function_like", "functions", "inactive", "rule"]

Partials = Callable[..., Any]


def inactive(function: ForeignFunction | str) -> None:
    """No derivative passes through the function, or through any function of that name."""
    _say(function, _registration("inactivefn", _symbol(function, "inactive")))


def function_like(function: ForeignFunction | str, name: str) -> None:
    """Calls of the function have the derivative of the library function `name` (of libm, or of LLVM's)."""
    symbol = _symbol(function, "function_like")
    if rules.lookup(name) is None:
        raise UnknownNameError(f"there is no rule for {name!r}", fix="docs/rules.md lists them")
    _say(function, _likeness(symbol, name))


def rule(
    function: ForeignFunction | str, partials: Partials | None = None, *, tangent: ForeignFunction | None = None,
    augmented: ForeignFunction | None = None, reverse: ForeignFunction | None = None,
) -> Any:  # fmt: skip
    """The function's derivative: partials as expressions, or compiled functions. A decorator where neither is given.

    A name stands for the functions of that name in all libraries: of doubles, by expressions only.
    """
    symbol = _symbol(function, "rule")
    compiled = [f for f in (tangent, augmented, reverse) if f is not None]
    if (augmented is None) != (reverse is None):
        raise ArgumentError("a rule for reverse mode is two functions", fix="give augmented=… and reverse=…")
    if partials is None and not compiled:
        return lambda formula: _expressed(function, formula)
    if partials is not None and compiled:
        raise ArgumentError("a rule is either expressions or compiled functions, not both")
    if partials is not None:
        return _expressed(function, partials)
    if isinstance(function, str):
        raise ArgumentError("compiled rules are for a function of a library", fix="lib = llgrad.load(…), then lib.name")
    for f in compiled:
        if f.library is not function.library:
            raise ArgumentError(f"{f.__name__} is of another library", fix="load the sources together")
    if tangent is not None:
        _say(function, _registration("register_derivative", symbol, _symbol(tangent, "rule")))
    if augmented is not None and reverse is not None:
        pair = (_symbol(augmented, "rule"), _symbol(reverse, "rule"))
        _say(function, _registration("register_gradient", symbol, *pair))
    return None


def _expressed(function: ForeignFunction | str, partials: Partials) -> Partials:
    """Enter partial derivatives as a rule of the rule table, under a name made from what it says."""
    try:
        kinds, format = _operands(function, partials)
        formula = partials if partials.__code__.co_argcount > len(kinds) else _without_result(partials)
        found = made_rule("own", formula, kinds)
    except ArgumentError:
        raise
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"the partials of {_shown(function)} are no rule", cause=str(error)) from error
    name = f"rule{cache.key(repr(found.partials), kinds, format)[:16]}"
    rules.add(name, Entry(found, format))
    _say(function, _likeness(_symbol(function, "rule"), name))
    return partials


def _operands(function: ForeignFunction | str, partials: Partials) -> tuple[str, str]:
    """A letter for each operand of the rule ("f", "i"), and the format of its floats."""
    count = partials.__code__.co_argcount
    if isinstance(function, str):
        found = partials(*map(Operand, range(count)))
        returned = len(found) if isinstance(found, tuple) else 1
        if count not in (returned, returned + 1):
            raise ArgumentError(
                f"the partials of {function} are {returned} of {count} parameters",
                fix="return one for each parameter; the last parameter may be the result",
            )
        return "f" * returned, "double"
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
    if count not in (len(given), len(given) + 1):
        raise ArgumentError(
            f"the partials of {signature} take {count} parameters", fix=f"take {len(given)}, or one more: the result"
        )
    return kinds, result.format


def _without_result(partials: Partials) -> Partials:
    """The same with one more parameter, which is not used."""
    names = [f"x{n}" for n in range(partials.__code__.co_argcount)]
    made: Partials = eval(f"lambda {', '.join([*names, 'result'])}: f({', '.join(names)})", {"f": partials})
    return made


def _symbol(function: ForeignFunction | str, what: str) -> str:
    """The linker name of a function, which may be given by it."""
    if isinstance(function, ForeignFunction):
        return function.facts.signature.symbol
    if isinstance(function, str) and function:
        return function
    raise ArgumentError(
        f"{what} takes a function of a library or a name, not {type(function).__name__}",
        fix="lib = llgrad.load(…), then lib.name",
    )


def _shown(function: ForeignFunction | str) -> str:
    return function if isinstance(function, str) else str(function.signature)


def _say(function: ForeignFunction | str, registration: str) -> None:
    if isinstance(function, str):
        EVERYWHERE[registration] = function
    else:
        function.library.say(registration)


def _registration(kind: str, *symbols: str) -> str:
    parts = ", ".join(f"ptr {_spelt(s)}" for s in symbols)
    name = f"{PREFIX}{kind}.{cache.key(kind, parts)[:16]}"
    return f"@{name} = global [{len(symbols)} x ptr] [{parts}]\n"


def _likeness(symbol: str, name: str) -> str:
    own = cache.key(symbol, name)[:16]
    text = f"@llgrad.said.{own} = private constant [{len(name) + 1} x i8] c\"{name}\\00\"\n"
    return f"{text}@{PREFIX}function_like.{own} = global [2 x ptr] [ptr {_spelt(symbol)}, ptr @llgrad.said.{own}]\n"


def _spelt(symbol: str) -> str:
    return f"@{symbol}" if re.fullmatch(r"[-\w.$]+", symbol) else f'@"{symbol}"'
