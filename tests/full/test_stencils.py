"""Random stencils: adjoints that are collected, shared and gathered in short strips, against the unoptimised program's.

Loads lie at constant distances in one row or another, forwards and backwards, some at the other end of a ring; they are
summed or multiplied. Nothing is collected or peeled in unoptimised code.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from full.switches import switched

import llgrad
from llgrad.autodiff.fusion import adjoint_columns

COUNT = 5
LENGTHS = (1, 2, 3, 5, 20)  # strips have 4 iterations


def stencil(name: str, r: random.Random) -> str:
    """A function of rows around element 64 of `u`."""
    step, row = r.choice((1, 1, 1, 2, -1)), r.choice(("0", "r * 24", "r * n"))

    def load() -> str:
        if r.random() < 0.15:
            border, other = r.choice(("j == 0", "j + 1 == n")), r.choice(("n - 1", "0", "2"))
            return f"u[64 + ({border} ? {other} : j + {r.randint(-3, 3)})]"
        return f"u[{r.choice(('64', f'64 + {row}', f'65 + {row}'))} + {step} * j + {r.randint(-3, 3)}]"

    def term() -> str:
        forms = (load, lambda: f"{load()} * {load()}", lambda: f"0.25 * ({load()} + {load()} - {load()})")
        return r.choice(forms)()

    def terms() -> str:
        return " + ".join(term() for _ in range(r.randint(2, 5)))

    more = f"a += {terms()};" if r.random() < 0.4 else ""
    return f"""double {name}(int n, int r, const double *restrict u, double *restrict v) {{
    double a = 0;
    for (int t = 0; t < 2; t++)
        for (int j = 0; j < n; j++) {{ v[64 + {row} + j] = {terms()}; {more} }}
    for (int j = 0; j < n; j++) a += v[64 + {row} + j] * (1 + j);
    return a;
}}
"""


@pytest.mark.parametrize("seed", range(3))
def test_gathered(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LLGRAD_CACHE", "off")
    r = random.Random(seed)
    names = [f"f{n}" for n in range(COUNT)]
    source = tmp_path / "stencils.c"
    source.write_text("".join(stencil(name, r) for name in names))
    met: list[int] = []
    group = adjoint_columns._grouped

    def grouped(*given: Any) -> Any:
        found = group(*given)
        met.append(len(found))
        return found

    monkeypatch.setattr(adjoint_columns, "_grouped", grouped)
    with switched("all_collecting"):
        fast = llgrad.load(source)
        fast_ones = [llgrad.value_and_grad(getattr(fast, name), wrt=("u", "v")) for name in names]
        got = [f(n, 1, *_memory()) for f in fast_ones for n in LENGTHS]
    plain = llgrad.load(source, optimize=0)
    plain_ones = [llgrad.value_and_grad(getattr(plain, name), wrt=("u", "v")) for name in names]
    wanted = [f(n, 1, *_memory()) for f in plain_ones for n in LENGTHS]
    assert sum(met) >= COUNT
    for (value, gradients), (expected, others) in zip(got, wanted, strict=True):
        assert np.isclose(value, expected, rtol=1e-11)
        for mine, other in zip(gradients, others, strict=True):
            np.testing.assert_allclose(mine, other, rtol=1e-9, atol=1e-12)


def _memory() -> list[np.ndarray]:
    r = np.random.default_rng(1)
    return [r.random(256), r.random(256)]
