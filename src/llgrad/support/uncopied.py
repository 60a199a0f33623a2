"""Things that refer to code of this process: a copy of one is the thing itself."""

from __future__ import annotations

from typing import Any, Self


class Uncopied:
    """`copy.copy` and `copy.deepcopy` give the thing itself."""

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: Any) -> Self:
        return self
