"""What errors say, and the page that documents them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import llgrad
from llgrad import errors

Source = Callable[..., Path]
ROOT = Path(__file__).parents[1]


def test_errors_quote_the_source(source: Source) -> None:
    path = source("double special(double);\ndouble f(double x) {\n\treturn 2 * special(x);\n}\n", "quoted.c")
    with pytest.raises(errors.NoRuleError) as caught:
        llgrad.grad(llgrad.load(path).f)(1.0)
    first, line, caret, *_ = str(caught.value).splitlines()
    assert first.endswith("quoted.c:3:13: no derivative for the call of special [no-rule]")
    assert (line, caret) == ("  | \treturn 2 * special(x);", "  | \t           ^")
    path.write_text("\n\n" + " " * 300 + "return 2 * special(x);" + " " * 300)
    cut = ["  | " + " " * 49 + "return 2 * special(x);", "  | " + " " * 60 + "^"]
    assert errors.Span(str(path), 3, 312).quoted() == cut
    assert errors.Span(str(path), 3).quoted() == [] == errors.Span(str(path), 9, 1).quoted()  # no column, not there
    path.unlink()
    assert "  | " not in str(caught.value)


def _codes(kind: type[errors.LlgradError]) -> set[str]:
    return {kind.code}.union(*map(_codes, kind.__subclasses__()))


def test_every_error_is_documented() -> None:
    text = (ROOT / "docs" / "errors.md").read_text()
    entries = {m[1]: m[2] for m in re.finditer(r"^## (\S+)\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)}
    assert set(entries) == _codes(errors.LlgradError)
    for code, entry in entries.items():
        kind = next(k for k in vars(errors).values() if isinstance(k, type) and getattr(k, "code", "") == code)
        assert f"`{kind.__name__}`" in entry, code
        assert "```" in entry, code
        assert code == "llgrad" or "What to do" in entry, code


@pytest.mark.parametrize("code", ["unsupported", "no-rule", "kind", "activity"])
def test_documented_examples_are_refused_so(source: Source, code: str) -> None:
    text = (ROOT / "docs" / "errors.md").read_text()
    entry = re.search(rf"^## {code}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert entry is not None and (examples := re.findall(r"```c\n(.*?)```", entry[1], re.DOTALL))
    for example in examples:
        lib = llgrad.load(source(example))
        with pytest.raises(errors.LlgradError) as caught:
            llgrad.grad(lib.f, wrt="x", of="y" if "void f" in example else None)
        assert caught.value.code == code, example
        assert caught.value.cause and caught.value.fix and caught.value.span is not None
