"""Files of LLVM assembly and bitcode, whatever they hold: each gives a derivative that LLVM accepts, or an error.

    python tests/ir_sweep.py FOLDER... --results sweep.jsonl [--count 5000] [--seed 1]
    python tests/ir_sweep.py @names.txt --results sweep.jsonl

Each file that LLVM's verifier accepts is tried as it is and mutated once (`ir_mutations`). A try is `llgrad opt`
without a request, or with one for a function of the file: up to three functions, in turn in reverse and in forward
mode. Tries run in a forked child with a limit of time and memory: its death is an outcome, and the next child goes on
behind it.

Outcomes: `derivative` (or `program` where none was asked for); the code of an error; and what must never be: `invalid`
(LLVM rejects what llgrad wrote), `bug` (an error that says so), `traceback`, `died`. `late` is beyond the limit of
time.
"""

from __future__ import annotations

import argparse
import faulthandler
import io
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn
from unittest import mock

from ir_mutations import mutated

from llgrad.analysis.objects import holds_type
from llgrad.errors import LlgradError
from llgrad.ir.parse import parse
from llgrad.ir.types import FloatType, PointerType, Type
from llgrad.ir.values import Function
from llgrad.llvm import LLVMModule, child, isolate
from llgrad.llvm.module import BITCODE_MAGIC
from llgrad.programs.program import optimise_program, read_ir

FUNCTIONS, BUDGET = 3, 0.3  # of each variant of a file, and the seconds after which no other one is begun
LIMIT, MEMORY, LARGE = 30, 6 << 30, 200_000  # seconds of a try; bytes of a child, and of a file in a folder
NEVER, LATE = ("invalid", "bug", "traceback", "died"), "late"
Report = Callable[..., None]


def for_this_machine(data: bytes) -> bytes:
    """Assembly without the triple and the layout of the machine that it was written for."""
    if data.startswith(BITCODE_MAGIC):
        return data
    lines = data.split(b"\n")
    return b"\n".join(b"" if s.startswith((b"target triple", b"target datalayout")) else s for s in lines)


def asking(f: Function, mode: str) -> str:
    """A function that asks for the derivative of `f`, as LLVM assembly; floats are active, pointers have shadows."""
    forward, result = mode == "fwddiff", f.function_type.result
    parameters, passed = list[str](), [f"ptr @{_spelt(f.name)}"]
    for n, p in enumerate(f.arguments):
        if p.attribute("sret") is not None:
            continue
        own = [f"{p.type} %p{n}"]
        if isinstance(p.type, PointerType) or (forward and holds_type(p.type, FloatType)):
            own.append(f"{p.type} %s{n}")
        parameters += own
        passed += own
    floats = [p.type for p in f.arguments if holds_type(p.type, FloatType)]
    t = _tangent(result) if forward else _adjoints(floats)
    call = f"call {t} (...) @__enzyme_{mode}.sweep({', '.join(passed)})"
    body = f"  {call}\n  ret void" if t == "void" else f"  %d = {call}\n  ret {t} %d"
    return f"\ndeclare {t} @__enzyme_{mode}.sweep(...)\ndefine {t} @sweep({', '.join(parameters)}) {{\n{body}\n}}\n"


def _tangent(result: Type) -> str:
    return str(result) if isinstance(result, PointerType) or holds_type(result, FloatType) else "void"


def _adjoints(floats: Sequence[Type]) -> str:
    if len(floats) < 2:
        return str(floats[0]) if floats else "void"
    return f"{{ {', '.join(map(str, floats))} }}"


def _spelt(name: str) -> str:
    return name if name.replace(".", "").replace("_", "").isalnum() and not name.isdigit() else json.dumps(name)


def tries(text: str, modes: Sequence[str], begun: float) -> Iterator[tuple[str, str]]:
    """What to try, and the text of the program: without a request, then with one for each of a few functions."""
    yield "plain", text
    functions = [f for f in parse(text).functions if not f.is_declaration]
    chosen = sorted(functions, key=lambda f: not _has_floats(f))[:FUNCTIONS]
    for n, f in enumerate(chosen):
        if n and time.monotonic() - begun > BUDGET:
            return
        mode = modes[n % len(modes)]
        yield f"{mode} {f.name}", text + asking(f, mode)


def _has_floats(f: Function) -> bool:
    return any(holds_type(t, FloatType) for t in (f.function_type.result, *f.function_type.params))


def outcome(run: Callable[[], str]) -> dict[str, str]:
    """What became of a try; the last line of a traceback says where."""
    try:
        return {"outcome": run()}
    except LlgradError as error:
        code = "bug" if error.code == "internal" else "invalid" if error.code == "verify" else error.code
        return {"outcome": code, "text": str(error)}
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        places = [f"{Path(f.filename).name}:{f.lineno} {f.name}" for f in frames[-4:]]
        return {"outcome": "traceback", "text": f"{type(error).__name__}: {error}", "at": " < ".join(reversed(places))}


def differentiated(text: str, asked: bool) -> str:
    """The outcome of `llgrad opt` on a program."""
    made = optimise_program(LLVMModule.from_text(text), 0 if asked else 2, before=2)
    LLVMModule.from_text(made.text())
    return "derivative" if asked else "program"


def sweep_file(path: Path, seed: int, report: Report) -> None:
    """Report on each try of a file."""
    begun = time.monotonic()
    report(variant="own", what="read")
    try:
        text = read_ir(for_this_machine(path.read_bytes())).text()
    except LlgradError as error:
        report(variant="own", what="read", outcome="unread", text=str(error)[:300])
        return
    except Exception:
        report(variant="own", what="read", **outcome(lambda: read_ir(for_this_machine(path.read_bytes())).text()))
        return
    _sweep_variant("own", text, seed, begun, report)
    begun, draw = time.monotonic(), random.Random(f"{seed} {path.name}")
    report(variant="mutated", what="mutate")
    if (other := mutated(text, draw)) is None:
        report(variant="mutated", what="mutate", outcome="unmutated")
    else:
        _sweep_variant("mutated", other, seed + 1, begun, report)


def _sweep_variant(variant: str, text: str, seed: int, begun: float, report: Report) -> None:
    modes = ("autodiff", "fwddiff") if seed % 2 else ("fwddiff", "autodiff")

    def run(whole: str, asked: bool) -> str:
        return differentiated(whole, asked)

    report(variant=variant, what="parse")
    found: list[tuple[str, str]] = []
    steps = tries(text, modes, begun)
    while True:
        got = outcome(lambda: next(_next(steps, found)))
        if got["outcome"] == "end":
            return
        if got["outcome"] != "more":
            report(variant=variant, what="parse", **got)
            return
        what, whole = found[-1]
        report(variant=variant, what=what)
        if what != "plain":
            try:
                LLVMModule.from_text(whole)
            except LlgradError as error:
                report(variant=variant, what=what, outcome="unasked", text=str(error)[:300])
                continue
        _limit()
        at = time.monotonic()
        got = outcome(lambda whole=whole, asked=what != "plain": run(whole, asked))  # type: ignore[misc]
        report(variant=variant, what=what, seconds=round(time.monotonic() - at, 2), **got)


def _next(steps: Iterator[tuple[str, str]], found: list[tuple[str, str]]) -> Iterator[str]:
    for step in steps:
        found.append(step)
        yield "more"
        return
    yield "end"


class Forked:
    """`subprocess`, as `llvm.isolate` sees it: its jobs run in a fork of this process, which has loaded LLVM."""

    TimeoutExpired = subprocess.TimeoutExpired

    @staticmethod
    def run(command: list[str], *, input: bytes, timeout: float, **_: object) -> subprocess.CompletedProcess[bytes]:
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as made, tempfile.TemporaryFile() as said:
            given.write(input)
            given.seek(0)
            if (pid := os.fork()) == 0:
                for n, file in enumerate((given, made, said)):
                    os.dup2(file.fileno(), n)
                sys.stdin, sys.stdout = io.TextIOWrapper(open(0, "rb")), io.TextIOWrapper(open(1, "wb"))  # noqa: SIM115
                signal.alarm(int(timeout))
                status = 1
                try:
                    status = child.main()
                    sys.stdout.flush()
                finally:
                    os._exit(status)
            ended = os.waitpid(pid, 0)[1]
            made.seek(0)
            said.seek(0)
            code = os.waitstatus_to_exitcode(ended)
            return subprocess.CompletedProcess(command, code, made.read(), said.read())


# --- children ------------------------------------------------------------------------------------------------------


def sweep(paths: Sequence[Path], seed: int, results: Path) -> None:
    """Try each file; what comes out is added to `results`, a JSON object a line."""
    log = results.with_suffix(".stderr")
    n = 0
    while n < len(paths):
        read, write = os.pipe()
        if (pid := os.fork()) == 0:
            os.close(read)
            _child(paths[n : n + 40], seed, write, log)
        os.close(write)
        last: dict[str, Any] = {}
        with os.fdopen(read) as lines, results.open("a") as out:
            for line in lines:
                last = json.loads(line)
                if "end" in last:
                    n += 1
                elif "outcome" in last:
                    out.write(line)
            _, status = os.waitpid(pid, 0)
            if status:
                late = os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGALRM, signal.SIGPROF)
                said = log.read_text(errors="replace")[-400:]
                died = {**last, "outcome": LATE if late else "died", "text": f"status {status}: {said}"}
                out.write(json.dumps(died) + "\n")
                n += "end" not in last


def _limit() -> None:
    """From now on, so much time: of this process, and by the clock, where the machine is busy or LLVM's child works."""
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    signal.alarm(5 * LIMIT)


def _child(paths: Sequence[Path], seed: int, write: int, log: Path) -> NoReturn:
    faulthandler.disable()
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    mock.patch.object(isolate, "subprocess", Forked).start()  # for the whole life of the child
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    errors = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    os.dup2(errors, 2)
    with os.fdopen(write, "w", buffering=1) as pipe:
        for path in paths:
            _limit()
            name = str(path)
            sweep_file(path, seed, lambda name=name, **what: print(json.dumps({"file": name, **what}), file=pipe))
            print(json.dumps({"end": name}), file=pipe)
            os.ftruncate(errors, 0)
    os._exit(0)


def files(folders: Sequence[Path], count: int, seed: int) -> list[Path]:
    """The files that are named, and so many below the folders, drawn at random; not large, and none of Enzyme's."""
    found = sorted({p for f in folders for suffix in ("ll", "bc") for p in f.rglob(f"*.{suffix}") if p.is_file()})
    kept = [p for p in found if "enzyme" not in str(p).lower() and p.stat().st_size <= LARGE]
    random.Random(seed).shuffle(kept)
    return [*(f for f in folders if f.is_file()), *kept][:count]


def summary(results: Path) -> str:
    """How often each outcome came, and each kind of what must never be."""
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    counts = Counter((r["variant"], r["what"].split()[0], r["outcome"]) for r in rows)
    never = Counter(f"{r['outcome']}: {r.get('at', '')} {r.get('text', '')[:150]!r}" for r in rows
                    if r["outcome"] in (*NEVER, LATE))  # fmt: skip
    lines = [f"{len({r['file'] for r in rows})} files"]
    lines += [f"{n:7} {' '.join(key)}" for key, n in sorted(counts.items())]
    return "\n".join([*lines, *(f"{n:5} {what}" for what, n in never.most_common(100))])


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0], fromfile_prefix_chars="@")
    options.add_argument("folders", nargs="+", type=Path)
    options.add_argument("--results", type=Path, required=True)
    options.add_argument("--count", type=int, default=1_000_000)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    sweep(files(given.folders, given.count, given.seed), given.seed, given.results)
    print(summary(given.results))


if __name__ == "__main__":
    main()
