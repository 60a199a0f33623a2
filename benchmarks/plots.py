"""Plots of `make bench`, as SVG. Needs matplotlib; `draw` raises ImportError without it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.suite import BEFORE, ENZYME, OURS, PAPER, RUST, SIZES, Result, rows_of

COLOURS = {OURS: "#1b6ca8", ENZYME: "#d1603d", BEFORE: "#9bb7d4", RUST: "#b7410e"}
LABELS = {OURS: "llgrad", ENZYME: "Enzyme", BEFORE: "llgrad, before optimisation", RUST: "llgrad, Rust"}


def draw(results: list[Result], machine: str, folder: Path) -> list[Path]:
    """Writes the plots; where."""
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "llgrad", "svg.fonttype": "none", "font.size": 10, "axes.spines.top": False,
                         "axes.spines.right": False})  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    made = {
        "gradients": _bars(plt, results), "growth": _growth(plt, results), "memory": _memory(plt, results),
        "languages": _languages(plt, results),
    }  # fmt: skip
    written = []
    for name, figure in made.items():
        if figure is not None:
            figure.text(0.995, 0.005, machine, ha="right", va="bottom", fontsize=7, color="#666666")
            path = folder / f"{name}.svg"
            figure.savefig(path, metadata={"Date": None})
            plt.close(figure)
            written.append(path)
    return written


def _middle(results: list[Result], variant: str) -> dict[str, dict[str, Result]]:
    """The middle size of each program."""
    rows = rows_of([r for r in results if r.variant == variant])
    return {program: row for (program, _, size), row in rows.items() if size == SIZES[program][1]}


def _bars(plt: Any, results: list[Result]) -> Any:
    figure, axes = plt.subplots(2, 1, figsize=(11, 8), sharex=True, layout="constrained")
    for axis, (variant, title) in zip(axes, _TITLES.items(), strict=True):
        rows = _middle(results, variant)
        _groups(axis, rows, (OURS, ENZYME, BEFORE), lambda r: r.ratio)
        axis.set_yscale("log")
        axis.axhline(1, color="#444444", linewidth=0.8)
        axis.set_ylabel("time ÷ primal")
        axis.set_title(title, loc="left")
        if 0 < (paper := sum(p in PAPER for p in rows)) < len(rows):
            axis.axvline(paper - 0.5, color="#bbbbbb", linewidth=0.8, linestyle="--")
        _plain(axis)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside upper right", ncols=3, frameon=False)
    figure.get_layout_engine().set(rect=(0, 0.02, 1, 0.98))
    return figure


_TITLES = {"restrict": "Gradients with restrict pointers (middle size)", "plain": "Gradients with plain pointers"}


def _plain(axis: Any) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter

    axis.yaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:g}"))
    axis.yaxis.set_minor_formatter(NullFormatter())
    axis.grid(axis="y", color="#e4e4e4", linewidth=0.6)
    axis.set_axisbelow(True)


def _groups(axis: Any, rows: dict[str, dict[str, Result]], tools: Sequence[str], value: Any) -> None:
    """Bars side by side for each program."""
    width = 0.8 / len(tools)
    for n, tool in enumerate(tools):
        at = [i for i, row in enumerate(rows.values()) if tool in row and value(row[tool])]
        heights = [value(list(rows.values())[i][tool]) for i in at]
        places = np.array(at) + (n - (len(tools) - 1) / 2) * width
        axis.bar(places, heights, width, color=COLOURS[tool], label=LABELS[tool])
    axis.set_xticks(range(len(rows)), [p.replace("_", "\n") for p in rows], rotation=30, ha="right")
    axis.tick_params(axis="x", labelbottom=True)


def _growth(plt: Any, results: list[Result]) -> Any:
    programs = [p for p in SIZES if len({r.size for r in results if r.program == p}) > 1]
    if not programs:
        return None
    across = 4
    figure, axes = plt.subplots(-(-len(programs) // across), across, figsize=(11, 2.4 * -(-len(programs) // across)),
                                layout="constrained", squeeze=False)  # fmt: skip
    for axis in axes.flat[len(programs) :]:
        axis.set_visible(False)
    for axis, program in zip(axes.flat, programs, strict=False):
        for tool in (OURS, ENZYME):
            for variant, style in (("restrict", "o-"), ("plain", "s:")):
                found = [r for r in results if (r.program, r.tool, r.variant) == (program, tool, variant)]
                label = f"{LABELS[tool]}, {variant}"
                axis.plot([r.size for r in found], [r.ratio for r in found], style, color=COLOURS[tool], markersize=4,
                          label=label)  # fmt: skip
        axis.set_xscale("log")
        axis.set_ylim(bottom=0)
        axis.set_title(program, loc="left", fontsize=10)
        axis.grid(color="#e4e4e4", linewidth=0.6)
        from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

        axis.xaxis.set_major_locator(FixedLocator(SIZES[program]))
        axis.xaxis.set_minor_locator(NullLocator())
        axis.xaxis.set_major_formatter(FuncFormatter(lambda v, _: f"{v:,.0f}"))
    handles, labels = axes.flat[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=4, frameon=False)
    figure.supylabel("time ÷ primal")
    figure.supxlabel("size")
    figure.get_layout_engine().set(rect=(0, 0.015, 1, 0.985))
    return figure


def _memory(plt: Any, results: list[Result]) -> Any:
    weighed = [r for r in results if r.memory is not None and r.variant == "restrict"]
    rows = {program: row for (program, _, _), row in rows_of(weighed).items()}
    if not rows:
        return None
    figure, axis = plt.subplots(figsize=(11, 4.2), layout="constrained")
    _groups(axis, rows, (OURS, ENZYME), lambda r: max(r.memory, 4096) / 2**20)
    axis.set_yscale("log")
    _plain(axis)
    axis.set_ylabel("MiB beyond the primal's")
    axis.set_title("Peak memory of one gradient in a fresh process (largest size, restrict)", loc="left")
    figure.legend(*axis.get_legend_handles_labels(), loc="outside upper right", ncols=2, frameon=False)
    figure.get_layout_engine().set(rect=(0, 0.03, 1, 0.97))
    return figure


def _languages(plt: Any, results: list[Result]) -> Any:
    rows = {program: row for program, row in _middle(results, "restrict").items() if RUST in row}
    if not rows:
        return None
    figure, axis = plt.subplots(figsize=(7, 3.6), layout="constrained")
    _groups(axis, rows, (OURS, RUST), lambda r: r.ratio)
    _plain(axis)
    axis.set_ylabel("time ÷ its own primal")
    axis.set_title("The same program in C and in Rust (middle size)", loc="left")
    figure.legend(["llgrad, C", "llgrad, Rust"], loc="outside upper right", ncols=2, frameon=False)
    figure.get_layout_engine().set(rect=(0, 0.04, 1, 0.96))
    return figure
