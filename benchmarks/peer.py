"""The three ADBench problems as clang runs them, differentiated by Enzyme and by `llgrad opt` from one C driver.

Every call leaves its results in the arrays of the `Peer`. Gradients are cleared within the timed call, because
Enzyme adds to shadows and a user would have to clear them too.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from benchmarks import native
from examples.adbench.instances import Array, Ba, Gmm, Lstm, read_ba, read_gmm, read_lstm
from examples.adbench.problems import ba_rows

Call = Callable[[], object]
ENZYME, OURS, SWEEPS = "Enzyme", "llgrad opt", ", whole sweeps"
_TOOLS = {ENZYME: "enzyme", OURS: "llgrad"}


@dataclass(frozen=True, slots=True)
class Peer:
    """Named gradient calls, the arrays they fill, and the primal call of the same problem."""

    primal: Call
    gradients: dict[str, Call]
    results: dict[str, Callable[[], tuple[Array, ...]]]

    def add(self, label: str, call: Call, results: tuple[Array, ...]) -> None:
        """One more gradient, and where it leaves its results."""
        self.gradients[label], self.results[label] = call, lambda: results


def _cleared(call: Call, *shadows: Array) -> Call:
    def run() -> None:
        for shadow in shadows:
            shadow.fill(0.0)
        call()

    return run


def gmm(g: Gmm, variant: native.Variant) -> Peer:
    """The gradient by alphas, means and icf."""
    peer = Peer(native.bind(native.primal("gmm", variant).gmm_objective, g.arguments()), {}, {})
    for label, tool in _TOOLS.items():
        shadows = (np.zeros_like(g.alphas), np.zeros_like(g.means), np.zeros_like(g.icf))
        d_alphas, d_means, d_icf = shadows
        arguments = (*g.sizes, g.alphas, d_alphas, g.means, d_means, g.icf, d_icf, g.x, g.gamma, g.m, np.zeros(1))
        gradient = native.bind(native.differentiated(tool, "gmm", variant).gmm_gradient, arguments)
        peer.add(label, _cleared(gradient, *shadows), shadows)
    return peer


def lstm(s: Lstm, variant: native.Variant) -> Peer:
    """The gradient by main and extra parameters."""
    peer = Peer(native.bind(native.primal("lstm", variant).lstm_objective, s.arguments()), {}, {})
    for label, tool in _TOOLS.items():
        shadows = (np.zeros_like(s.main), np.zeros_like(s.extra))
        arguments = (*s.sizes, s.main, shadows[0], s.extra, shadows[1], s.state, s.sequence, np.zeros(1))
        gradient = native.bind(native.differentiated(tool, "lstm", variant).lstm_gradient, arguments)
        peer.add(label, _cleared(gradient, *shadows), shadows)
    return peer


def _ba_sweeps(b: Ba, variant: native.Variant, tool: str) -> tuple[Call, tuple[Array, ...]]:
    """The Jacobian's blocks by two seeded sweeps over the expanded instance (see `Ba.expanded`)."""
    wide = b.expanded()
    rows = [(np.zeros_like(wide.cams), np.zeros_like(wide.points), np.zeros_like(wide.weights)) for _ in range(2)]
    errors, seeds = np.zeros_like(b.feats), np.zeros_like(b.feats)
    w_err, w_seed = np.zeros_like(b.weights), np.zeros_like(b.weights)
    sweep = native.differentiated(tool, "ba", variant).ba_sweep
    calls = []
    for d_cams, d_points, d_w in rows:
        shadowed = (wide.cams, d_cams, wide.points, d_points, wide.weights, d_w)
        arguments = (*wide.arguments()[:3], *shadowed, wide.obs, wide.feats, errors, seeds, w_err, w_seed)
        calls.append(_cleared(native.bind(sweep, arguments), d_cams, d_points, d_w, w_seed))

    def run() -> None:
        for call, seed in zip(calls, np.eye(2), strict=True):
            seeds[:] = seed
            call()

    return run, tuple(block for row in rows for block in row)


def ba(b: Ba, variant: native.Variant) -> Peer:
    """The Jacobian, projection by projection within C, and by sweeps over the whole instance."""
    peer = Peer(native.bind(native.primal("ba", variant).ba_objective, b.arguments()), {}, {})
    count = len(b.weights)
    for label, tool in _TOOLS.items():
        by_loop = (np.zeros((count, 2, 15)), np.zeros(count))
        arguments = (count, b.cams, b.points, b.weights, b.obs, b.feats, np.zeros_like(b.feats), *by_loop)
        peer.add(label, native.bind(native.differentiated(tool, "ba", variant).ba_jacobian, arguments), by_loop)
        sweeps, blocks = _ba_sweeps(b, variant, tool)
        peer.gradients[label + SWEEPS], peer.results[label + SWEEPS] = sweeps, lambda blocks=blocks: ba_rows(blocks)  # type: ignore[misc]
    return peer


PEERS: dict[str, Callable[[native.Variant], Peer]] = {
    "gmm": lambda variant: gmm(read_gmm(), variant),
    "ba": lambda variant: ba(read_ba(), variant),
    "lstm": lambda variant: lstm(read_lstm(), variant),
}
