"""`specialize=`: a derivative for each combination of values that some arguments have."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from llgrad.errors import ArgumentError
from llgrad.execution.library import ForeignFunction

KEYWORDS = ("seed", "tangents")


class PerValues:
    """A derivative that is made anew, once, for every combination of values of the parameters `names`."""

    def __init__(
        self, function: ForeignFunction, names: str | Sequence[str], make: Callable[[ForeignFunction], Any], *,
        along: bool = False,
    ) -> None:  # fmt: skip
        """`make` gives the derivative of a specialised function; `along`: it takes a direction, last."""
        if not isinstance(function, ForeignFunction):
            raise ArgumentError(f"specialize takes a function of a library, not {type(function).__name__}")
        self.function, self._make, self._along = function, make, along
        self.names = (names,) if isinstance(names, str) else tuple(names)
        self._positions = [function.number(n).index for n in self.names]
        self._made: dict[tuple[Any, ...], Any] = {}
        self._lock = threading.Lock()
        self.__name__ = function.__name__

    def __call__(self, *args: Any, **named: Any) -> Any:
        """What the derivative of the function for these values gives."""
        options = {k: named.pop(k) for k in KEYWORDS if k in named}
        args, direction = (args[:-1], args[-1:]) if self._along else (args, ())
        values = self.function.checker.values(args, named)
        return self.derivative(*(values[n] for n in self._positions))(*values, *direction, **options)

    def derivative(self, *values: Any) -> Any:
        """The derivative for these values of the parameters `names`."""
        # 0.0 and -0.0 are two values, and NaN is one
        key = tuple(float(v).hex() if isinstance(v, float | np.floating) else int(v) for v in values)
        with self._lock:
            if key not in self._made:
                fixed = dict(zip(self.names, values, strict=True))
                self._made[key] = self._make(self.function.specialized(**fixed))
            return self._made[key]

    def __repr__(self) -> str:
        return f"<derivatives for each {', '.join(self.names)}: {self.function.signature}>"
