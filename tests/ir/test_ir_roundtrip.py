"""Reading and writing whole modules: LLVM finds the same module behind our text as behind its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from ir_corpus import Case, comparable, full, llvm_print, sample

from llgrad.ir import metadata, parse, verify, write
from llgrad.ir.module import Module


def force(module: Module) -> None:
    """Parse everything that is parsed on demand."""
    for function in module.functions:
        assert function.blocks is not None
    for variable in module.variables:
        assert variable.initializer is not None or variable.is_declaration


def check(case: Case, folder: Path) -> None:
    if case.missing:
        pytest.skip(f"this machine lacks {case.missing}")
    text = llvm_print(case.compile(folder))
    module = parse.parse(text)
    lazy = write.write(module)
    assert comparable(llvm_print(lazy)) == comparable(text), "written from the raw bodies"
    force(module)
    written = write.write(module)
    assert comparable(llvm_print(written)) == comparable(text), "written from the instructions"
    verify.verify(module)
    again = parse.parse(written)
    force(again)
    assert write.write(again) == written, "the second text differs from the first"
    for i, raw in module.raw_metadata.items():
        assert metadata.node_text(module.node(i)) == raw


@pytest.mark.parametrize("case", sample(), ids=str)
def test_round_trip(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


@pytest.mark.full
@pytest.mark.parametrize("case", full(), ids=str)
def test_round_trip_of_all(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)
