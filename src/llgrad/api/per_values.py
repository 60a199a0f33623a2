"""`specialize=`: a derivative for each combination of values that some arguments have."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np

from llgrad.errors import ArgumentError, at_the_caller
from llgrad.execution.library import ForeignFunction, with_parameters

KEYWORDS = ("seed", "tangents", "direction")


class PerValues:
    """A derivative that is made anew, once, for every combination of values of the parameters `names`."""

    def __init__(
        self, function: ForeignFunction, names: str | Sequence[str], make: Callable[..., Any], args: Sequence[Any] = (),
        options: Mapping[str, Any] = MappingProxyType({}), *, extra: Sequence[str] = (),
    ) -> None:  # fmt: skip
        """`make(f, *args, **options)` gives the derivative of a specialised function; `extra`: what that takes beside
        the function's arguments."""
        if not isinstance(function, ForeignFunction):
            raise ArgumentError(f"specialize takes a function of a library, not {type(function).__name__}")
        self.function, self._make, self._extra = function, make, tuple(extra)
        self._args, self._options = tuple(args), dict(options)
        self.names = (names,) if isinstance(names, str) else tuple(names)
        self._positions = [function.number(n).index for n in self.names]
        self._made: dict[tuple[Any, ...], Any] = {}
        self._lock = threading.Lock()
        self.__name__ = function.__name__
        self.__signature__ = with_parameters(function.__signature__, extra)

    @at_the_caller
    def __call__(self, *args: Any, **named: Any) -> Any:
        """What the derivative of the function for these values gives."""
        options = {k: named.pop(k) for k in KEYWORDS if k in named}
        last = "direction" in self._extra and not options.keys() & {"direction", "tangents"}
        args, direction = (args[:-1], args[-1:]) if last else (args, ())
        values = self.function.values(args, named)
        return self.derivative(*(values[n] for n in self._positions))(*values, *direction, **options)

    def derivative(self, *values: Any) -> Any:
        """The derivative for these values of the parameters `names`."""
        # 0.0 and -0.0 are two values, and NaN is one
        key = tuple(float(v).hex() if isinstance(v, float | np.floating) else int(v) for v in values)
        with self._lock:
            if key not in self._made:
                fixed = dict(zip(self.names, values, strict=True))
                self._made[key] = self._make(self.function.specialized(**fixed), *self._args, **self._options)
            return self._made[key]

    def __reduce__(self) -> Any:
        made = partial(PerValues, extra=self._extra)
        return made, (self.function, self.names, self._make, self._args, self._options)

    def __repr__(self) -> str:
        return f"<derivatives for each {', '.join(self.names)}: {self.function.signature}>"
