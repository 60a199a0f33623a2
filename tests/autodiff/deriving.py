"""From C to plans and derivatives, for the tests of synthesis."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

from llgrad.autodiff.derivation import Derivation
from llgrad.autodiff.requests.request import Act, Mode, Request
from llgrad.frontends import compile_sources
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.programs import stages

FILE = "case.c"  # the name of every source, in spans too


@cache
def prepared(source: str, name: str = "f", level: int = 1, flags: tuple[str, ...] = ()) -> str:
    """The IR that is differentiated: `source` compiled and normalised for the root `name`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, FILE)
        path.write_text(source)
        return stages.prepare(stages.program(compile_sources([path], flags).modules), [name], level)


def request(mode: Mode, letters: str, name: str = "f") -> Request:
    """`letters`: for each argument and, last, for the result: c constant, d duplicated, o active float.

    Forward mode has no adjoints to return: `o` means a tangent there.
    """
    active = Act.DUP if mode is Mode.FORWARD else Act.OUT
    acts = [{"c": Act.CONST, "d": Act.DUP, "o": active}[letter] for letter in letters]
    return Request(name, mode, tuple(acts[:-1]), acts[-1])


def derivation(text: str, mode: Mode, letters: str, name: str = "f") -> Derivation:
    return Derivation(parse(text), request(mode, letters, name))


def derived(text: str, mode: Mode, letters: str, name: str = "f") -> Module:
    """The module with the derivative written into it."""
    made = derivation(text, mode, letters, name)
    made.derive()
    return made.module
