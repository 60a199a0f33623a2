"""The same IR by another tool that understands `__enzyme_autodiff` and `__enzyme_fwddiff`: `TOOL IN.ll OUT.ll`.

It may refuse, crash, not end or be wrong itself: where the two differ, finite differences decide, and the answer says
for whom. So it has a process group of its own, as what it makes has a process, and little time.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from cases import Program
from harness import MODES, SLOT, Built, _failure_hook, entry_name, jacobian, prepared
from oracle import Matrix, disagreement
from sandbox import Crash, isolated

from llgrad.autodiff.requests.request import Mode
from llgrad.llvm import Engine
from llgrad.programs import stages

SECONDS = 60  # for the tool, and for what it makes of one program
_NAMES = {Mode.FORWARD: "__enzyme_fwddiff", Mode.COMBINED: "__enzyme_autodiff"}


def ready(tool: Path) -> None:
    """What the tool does but once (it may fetch itself) is not on any program's time."""
    with tempfile.TemporaryDirectory() as folder:
        _run(tool, "define void @nothing() {\n  ret void\n}\n", Path(folder), None)


def compared(tool: Path, whole: Any, program: Program, ours: Matrix, trusted: bool) -> str:
    """A few words: what the tool makes of the program, against our Jacobian (which finite differences confirmed)."""
    try:
        built = _built(tool, prepared(whole, [program], 1), program)
    except Exception as error:
        return f"other tool: no derivative ({type(error).__name__})"
    try:
        differs = isolated(_differing, built, program, ours, seconds=SECONDS)
    except Crash as crash:
        return f"other tool: its derivative {str(crash).splitlines()[-1]}"
    if differs is None:
        return "other tool: the same"
    return f"other tool: {differs} differs, " + ("finite differences side with us" if trusted else "near a kink")


def _differing(built: Built, program: Program, ours: Matrix) -> Mode | None:
    for mode in MODES:
        theirs = jacobian(built, program, mode, program.point)[0]
        if mode is Mode.COMBINED:
            theirs[:-1] -= theirs[-1]  # the result's seed is always 1
        if disagreement("", theirs, ours, program.precision.others):
            return mode
    return None


def _built(tool: Path, text: str, program: Program) -> Built:
    with tempfile.TemporaryDirectory() as folder:
        made = _run(tool, text + "\n".join(_entry(program, mode) for mode in MODES), Path(folder), SECONDS)
        keep = [*(entry_name(program, mode) for mode in MODES), "llgrad_fail"]
        return Built(1, Engine([stages.finish(made, [_failure_hook()], keep, level=1)], opt_level=1))


def _run(tool: Path, text: str, folder: Path, seconds: int | None) -> str:
    """What the tool makes of the text; nothing that it starts outlives it."""
    source, target = folder / "in.ll", folder / "out.ll"
    source.write_text(text)
    with subprocess.Popen([tool, source, target], stderr=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            status = process.wait(seconds)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
    if status:
        raise subprocess.CalledProcessError(status, process.args)
    return target.read_text()


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
