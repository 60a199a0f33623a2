"""The same IR by another tool that understands `__enzyme_autodiff` and `__enzyme_fwddiff`: `TOOL IN.ll OUT.ll`.

It may refuse, crash or be wrong itself: where the two differ, finite differences decide, and the answer says for whom.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import Any

from cases import Program
from harness import MODES, SLOT, Built, _failure_hook, entry_name, jacobian, prepared
from oracle import Matrix, disagreement

from llgrad import pipeline
from llgrad.backend import Engine
from llgrad.synthesis.request import Mode

_NAMES = {Mode.FORWARD: "__enzyme_fwddiff", Mode.COMBINED: "__enzyme_autodiff"}


def compared(tool: Path, whole: Any, program: Program, ours: Matrix, trusted: bool) -> str:
    """A few words: what the tool makes of the program, against our Jacobian (which finite differences confirmed)."""
    try:
        built = _built(tool, prepared(whole, [program], 1), program)
    except Exception as error:
        return f"other tool: no derivative ({type(error).__name__})"
    for mode in MODES:
        theirs = jacobian(built, program, mode, program.point)[0]
        if mode is Mode.COMBINED:
            theirs[:-1] -= theirs[-1]  # the result's seed is always 1
        if disagreement("", theirs, ours, 1e-7 if program.precise else 2e-3):
            return f"other tool: {mode} differs, " + ("finite differences side with us" if trusted else "near a kink")
    return "other tool: the same"


def _built(tool: Path, text: str, program: Program) -> Built:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.ll"), Path(folder, "out.ll")
        source.write_text(text + "\n".join(_entry(program, mode) for mode in MODES))
        subprocess.run([tool, source, target], check=True, capture_output=True, timeout=120)
        keep = [*(entry_name(program, mode) for mode in MODES), "llgrad_fail"]
        return Built(1, Engine([pipeline.finish(target.read_text(), [_failure_hook()], keep, level=1)], opt_level=1))


def _entry(program: Program, mode: Mode) -> str:
    """An entry as the harness calls it (see `harness.Call`); the arena, first in reverse mode, is unused."""
    forward, scalar = mode is Mode.FORWARD, "enzyme_dup" if mode is Mode.FORWARD else "enzyme_out"
    lines = [f"define void @{entry_name(program, mode)}(ptr %results, ptr %arguments) noinline {{"]
    words, at = [f"ptr @{program.name}"], 0 if forward else 1
    for p in program.parameters:
        marker = scalar if p.kind == "float" else "enzyme_dup" if p.kind == "buffer" and p.active else "enzyme_const"
        words.append(f'metadata !"{marker}"')
        for _ in range(1 + (marker == "enzyme_dup")):
            lines.append(f"  %p{at} = getelementptr i8, ptr %arguments, i64 {SLOT * at}")
            lines.append(f"  %a{at} = load {p.type}, ptr %p{at}, align 16")
            words.append(f"{p.type} %a{at}")
            at += 1
    lines.append(f"  %r = call double (...) @{_NAMES[mode]}({', '.join(words)})")
    lines += ["  store double %r, ptr %results, align 16", "  ret void", "}", f"declare double @{_NAMES[mode]}(...)"]
    return "\n".join([*lines, ""])
