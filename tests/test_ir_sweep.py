"""The sweep over IR of others (`ir_sweep`), on files of the repository: what leaves llgrad are errors with a code."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from pathlib import Path

import pytest
from ir_mutations import MUTATIONS, all_mutations, mutated
from ir_sweep import LATE, NEVER, asking, files, sweep

from llgrad.ir.parse import parse
from llgrad.llvm import LLVMModule

HERE = Path(__file__).parent
FOLDERS = ("ir/exotic", "ir/languages", "interface/bare", "interface/modules")
BROKEN = """define double @f(double %x) {
  %y = fmul double %x, %x
  ret double %y
}
"""


def outcomes(paths: list[Path], results: Path) -> list[dict[str, str]]:
    sweep(paths, 1, results)
    return _read(results)


def _read(results: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in results.read_text().splitlines()]


@pytest.mark.parametrize("part", range(4))
def test_files_of_the_repository(part: int, tmp_path: Path) -> None:
    chosen = files([HERE / folder for folder in FOLDERS], 20, 1)[part::4]
    listed, results = tmp_path / "list", tmp_path / "sweep.jsonl"
    listed.write_text("\n".join(map(str, chosen)))
    command = [sys.executable, str(HERE / "ir_sweep.py"), f"@{listed}", "--results", str(results), "--seed", "1"]
    subprocess.run(command, check=False, capture_output=True)  # (it forks, which a process with threads may not)
    found = _read(results)
    assert {Path(r["file"]) for r in found} == set(chosen)
    assert not [r for r in found if r["outcome"] in (*NEVER, LATE)]
    assert any(r["outcome"] == "derivative" for r in found) and {r["variant"] for r in found} == {"own", "mutated"}


def test_a_fault_is_an_outcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the sweep looks for is seen by it: exceptions, and the death of a process."""
    path = tmp_path / "f.ll"
    path.write_text(BROKEN)

    def broken(*_: object) -> None:
        raise KeyError(3)

    monkeypatch.setattr("llgrad.autodiff.derivation.make_plan", broken)
    found = outcomes([path], tmp_path / "bug.jsonl")
    assert "bug" in {r["outcome"] for r in found}
    monkeypatch.setattr("ir_sweep.optimise_program", broken)
    assert "traceback" in {r["outcome"] for r in outcomes([path], tmp_path / "traceback.jsonl")}
    monkeypatch.setattr("ir_sweep.optimise_program", lambda *_a, **_b: __import__("os").abort())
    found = outcomes([path, path], tmp_path / "died.jsonl")
    assert [r["outcome"] for r in found] == ["died", "died"]


def test_mutations_are_accepted_and_drawn_again_alike() -> None:
    text = LLVMModule.from_text("@g = global double 1.0\n" + BROKEN).text()
    made = [mutated(text, random.Random(n)) for n in range(20)]
    assert made == [mutated(text, random.Random(n)) for n in range(20)]
    assert len(set(made)) > 5 and text not in made
    assert len(list(all_mutations(text, random.Random(1)))) > 3 and len(MUTATIONS) > 10


def test_what_is_asked_for_is_accepted() -> None:
    f = parse("define <2 x float> @f(double %x, ptr %p, i32 %n, { float, i8 } %s) {\n  unreachable\n}\n")
    for mode in ("autodiff", "fwddiff"):
        text = "declare <2 x float> @f(double, ptr, i32, { float, i8 })\n" + asking(f.function("f"), mode)
        assert "@sweep" in LLVMModule.from_text(text).text()
