"""The pass manager: units and their forms, lists, and what `llgrad opt` shows of them."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import pytest
from click.testing import CliRunner

import llgrad
import llgrad.ir.parse as parsing
from llgrad.cli import main
from llgrad.errors import VerifyError
from llgrad.ir.module import Module
from llgrad.llvm import LLVMModule
from llgrad.pipeline import lists
from llgrad.support.lazy_pattern import beginning, lazy_pattern
from llgrad.transforms.pass_manager import (
    IR,
    LLVM,
    TEXT,
    Pass,
    Unit,
    Watch,
    of_llvm,
    on_ir,
    on_llvm,
    on_text,
    run_passes,
    timed,
    watching,
)

IDENTITY = "define double @f(double %x) {\n  ret double %x\n}\n"
ASKING = """
declare double @__enzyme_autodiff(...)
define double @f(double %x) {
  %y = fmul double %x, %x
  ret double %y
}
define double @main_gradient(double %x) {
  %d = call double (...) @__enzyme_autodiff(ptr @f, double %x)
  ret double %d
}
"""


def rename(text: str) -> str:
    return text.replace("@f", "@g")


def test_a_form_is_made_once_and_only_when_it_is_asked_for() -> None:
    unit = Unit(IDENTITY)
    assert not unit.made
    assert unit.ir() is unit.ir() and unit.llvm() is unit.llvm()
    assert unit.made == {IR: 1, LLVM: 1}


def test_an_edit_makes_other_forms_out_of_date() -> None:
    unit = Unit(IDENTITY)
    assert "f" in unit.ir().globals
    assert unit.put(rename(unit.text()))
    assert "g" in unit.ir().globals and [f.name for f in unit.llvm().functions()] == ["g"]


def test_the_same_text_is_no_change() -> None:
    unit = Unit(IDENTITY)
    module = unit.llvm()
    assert not unit.put(IDENTITY)
    assert unit.llvm() is module


def drop_functions(module: Module) -> bool:
    module.globals.clear()
    return True


def test_changes_in_place_are_seen_in_the_other_forms() -> None:
    unit = run_passes(Unit(IDENTITY), [on_ir("drop", drop_functions, "")], None)
    assert "define" not in unit.text()
    unit = run_passes(Unit(IDENTITY), [on_llvm("rename", lambda m, _: m.rename({"f": "h"}), "")], None)
    assert "@h(" in unit.text() and unit.made[TEXT] == 1


def test_an_unchanged_module_is_not_written_again() -> None:
    unit = run_passes(Unit(IDENTITY), [on_ir("look", lambda m: "h" in m.globals, "")], None)
    assert unit.text() == IDENTITY and unit.made[TEXT] == 0


def test_a_list_runs_what_its_context_wants() -> None:
    passes: list[Pass[int]] = [
        on_text("rename", rename, "", wanted=lambda c: c > 1),
        of_llvm("dce", wanted=lambda c: c > 2),
    ]
    with watching(Watch()) as watch:
        assert run_passes(Unit(IDENTITY), passes, 1).text() == IDENTITY
        assert "@g" in run_passes(Unit(IDENTITY), passes, 2).text()
    assert watch.order == ["rename"]


def test_a_watch_counts_and_prints() -> None:
    shown: list[str] = []
    with watching(Watch(frozenset("*"), frozenset({"rename"}), show=shown.append)) as watch:
        run_passes(Unit(IDENTITY), [on_text("rename", rename, ""), on_text("again", rename, "")], None)
        with timed("waiting"):
            pass
    assert [text.split("\n")[0] for text in shown] == [
        "; --- before rename", "; --- after rename", "; --- before again",
    ]  # fmt: skip
    assert {name: (s.runs, s.changes) for name, s in watch.spent.items()} == {
        "rename": (1, 1), "again": (1, 0), "waiting": (1, 1),
    }  # fmt: skip
    assert "rename" in watch.table() and watch.table().endswith(" all")


def test_a_pass_that_writes_what_llvm_rejects_is_named() -> None:
    broken: Pass[None] = on_text("break", lambda text: text.replace("%x\n", "%y\n"), "")
    with watching(Watch(verify=True)), pytest.raises(VerifyError, match="the pass break wrote IR that LLVM rejects"):
        run_passes(Unit(IDENTITY), [broken], None)


@pytest.mark.parametrize("title", lists())
def test_lists_name_each_pass_once_and_say_what_it_does(title: str) -> None:
    passes = lists()[title]
    assert len({p.name for p in passes}) == len(passes)
    for p in passes:
        assert 10 < len(p.meaning) <= 80 and p.meaning[-1] != "."


SOURCES = sorted(Path(__file__).parent.glob("programs/*.c"))[::25]


@pytest.mark.parametrize("level", (0, 2))
@pytest.mark.parametrize("source", SOURCES, ids=lambda p: p.stem)
def test_llvm_accepts_what_each_pass_leaves(source: Path, level: int) -> None:
    from llgrad.frontends import compile_sources
    from llgrad.programs.program import optimise_program

    whole = LLVMModule.linked([LLVMModule.read(m) for m in compile_sources([source]).modules])
    with watching(Watch(verify=True)) as watch:
        optimise_program(whole, level)
    assert {"unblock", "inline", "normal-form", "vectorise"} <= watch.spent.keys()


MOST = {"prints": 5, "readings": 5, "parses": 3}  # one reading is for the check of arrays; wanted: 4, 3, 2


def test_conversions_of_a_simple_derivative(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """How often LLVM prints and reads the module, and we parse it, from a C file to its gradient."""
    made = dict.fromkeys(MOST, 0)

    def counted(name: str, function: Any) -> Any:
        def run(*args: Any) -> Any:
            made[name] += 1
            return function(*args)

        return run

    warm, source = tmp_path / "warm.c", tmp_path / "cold.c"
    text = "double f(int n, const double *restrict x) { double s = 0; while (n--) s += x[n] * x[n]; return s; }"
    warm.write_text(text + "\n")
    source.write_text(text)
    x = np.arange(3.0)
    monkeypatch.setenv("LLGRAD_CACHE", "off")
    llgrad.grad(llgrad.load(warm).f, wrt="x")(3, x)  # the arena's runtime is read once a process
    text_of = LLVMModule.text
    monkeypatch.setattr(
        LLVMModule, "text", lambda m: counted("prints", text_of)(m) if m._printed is None else text_of(m)
    )
    monkeypatch.setattr(llvm, "parse_assembly", counted("readings", llvm.parse_assembly))
    monkeypatch.setattr(parsing, "_entities", counted("parses", parsing._entities))
    assert llgrad.grad(llgrad.load(source).f, wrt="x")(3, x).tolist() == [0.0, 2.0, 4.0]
    assert made == MOST, "if there are fewer now, say so here"


def opt(tmp_path: Path, *words: str) -> tuple[int, str]:
    path = tmp_path / "asking.ll"
    path.write_text(ASKING)
    done = CliRunner().invoke(main, ["opt", str(path), "-o", str(tmp_path / "out.ll"), *words])
    return done.exit_code, done.output


def test_opt_prints_after_a_pass_and_the_time_of_all(tmp_path: Path) -> None:
    status, said = opt(tmp_path, "--print-after=internalize", "--time-passes")
    assert status == 0
    assert said.count("; --- after internalize") == 1 and "define internal" not in said.split("; --- after")[0]
    assert " derive\n" in said and " vectorise\n" in said


def test_opt_prints_before_all_passes(tmp_path: Path) -> None:
    status, said = opt(tmp_path, "--print-before-all")
    assert status == 0
    names = [line.removeprefix("; --- before ") for line in said.splitlines() if line.startswith("; --- before ")]
    assert names[0] == "unblock" and names[-1] == "quote-names" and "normal-form" in names


def test_opt_knows_its_passes(tmp_path: Path) -> None:
    status, said = opt(tmp_path, "--print-after=sings")
    assert status == 2
    assert "there is no pass sings" in said and "signs," in said


def test_explain_shows_the_lists() -> None:
    done = CliRunner().invoke(main, ["explain", "--passes"])
    assert done.exit_code == 0
    assert all(f"{title}:" in done.output for title in lists())
    assert "hide-equalities" in done.output


def test_watching_is_of_this_context_alone() -> None:
    with watching(Watch()) as watch:
        llgrad.errors.LlgradError("nothing runs")
    run_passes(Unit(IDENTITY), [on_text("rename", rename, "")], None)
    assert not watch.order


@pytest.mark.parametrize(("text", "begins"), [
    ("abc?(d|e)", "ab"), ("a|b", ""), ("(a|b)c", ""), (r"_R\w*3std", "_R"), (r"llvm\.lifetime", "llvm"),
    ("[(]|x", ""), (r"x\(|y", ""), ("ab", "ab"), ("", ""), (r"a{2}b", ""), ("ab+", "a"), ("[]|]|a", ""),
    ("(?!)", ""), ("ab$", "ab"), ("ab|", ""),
])  # fmt: skip
def test_lazy_patterns_know_how_what_they_match_begins(text: str, begins: str) -> None:
    assert beginning(text) == begins


def test_lazy_patterns_are_patterns() -> None:
    lazy = lazy_pattern(r"ab(\d)")
    assert lazy.fullmatch("xb1") is None and lazy.match("xab1", 0) is None
    for _ in range(2):
        found = lazy.match("xab1", 1), lazy.fullmatch("ab1"), lazy.search("xab1")
        assert [m[1] for m in found if m is not None] == ["1"] * 3
    assert lazy.sub("-", "ab1ab2") == "--" and lazy.pattern == r"ab(\d)"
    assert lazy_pattern("AB", re.IGNORECASE).match("ab")
