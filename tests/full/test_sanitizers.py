"""The self-checking programs under the sanitizers that `test_selfcheck` leaves out at each level."""

from __future__ import annotations

from pathlib import Path

import pytest
import sanitizers
from test_selfcheck import EIGEN, HEAVY, NAMES, PROGRAMS, REFUSED, SANITIZER, outcome, through_opt

OTHER = {level: next(k for k in sanitizers.KINDS if k != kind) for level, kind in SANITIZER.items()}
CASES = [
    (name, level) for name in NAMES for level in OTHER
    if f"opt{level}" not in REFUSED.get(name, ("", "", ""))[1] and (level or name not in HEAVY)
]  # fmt: skip


@pytest.mark.parametrize(("name", "level"), CASES)
def test_program(name: str, level: int, tmp_path: Path) -> None:
    if name.startswith("eigen") and not EIGEN.is_dir():
        pytest.skip("Eigen is not installed")
    if not sanitizers.available(OTHER[level]):
        pytest.skip(f"the compiler has no {OTHER[level]} sanitizer")
    said = through_opt(PROGRAMS / name, level, tmp_path / "program", OTHER[level]) or outcome(tmp_path / "program")
    assert not said, said
