"""Tests of a language whose compiler is missing are skipped, with its name and how to install it."""

from __future__ import annotations

from pathlib import Path

import pytest

from llgrad.errors import CompilerError
from llgrad.frontends import language_of


def require(*sources: str) -> None:
    """Skip unless every source's compiler is here."""
    for source in sources:
        if source.endswith(".py"):
            pytest.importorskip("numba", reason="there is no Numba: pip install numba")
            continue
        try:
            language_of(Path(source)).identity()
        except CompilerError as error:
            pytest.skip(f"{error.message}: {error.cause} ({error.fix})")
