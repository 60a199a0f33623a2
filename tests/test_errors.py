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
    assert first.endswith("quoted.c:3:13: no derivative for the call of special, in the derivative of f [no-rule]")
    assert (line, caret) == ("  | \treturn 2 * special(x);", "  | \t           ^")
    path.write_text("\n\n" + " " * 300 + "return 2 * special(x);" + " " * 300)
    cut = ["  | " + " " * 49 + "return 2 * special(x);", "  | " + " " * 60 + "^"]
    assert errors.Span(str(path), 3, 312).quoted() == cut
    assert errors.Span(str(path), 3).quoted() == [] == errors.Span(str(path), 9, 1).quoted()  # no column, not there
    path.unlink()
    assert "  | " not in str(caught.value)


REUSED = """#include <stdlib.h>
#include <string.h>
static void number(long *w, int n) { for (int i = 0; i < n; i++) w[i] = i * 7; }
static void fill(double *w, const double *x, int n) { for (int i = 0; i < n; i++) w[i] = x[i] * x[i]; }
double f(const double *x, void *out, int n) {
  long *w = malloc(8 * n); number(w, n); long t = w[n / 2]; fill((double *)w, x, n);
  memcpy(out, w, 8 * n); double s = w[n / 3] + ((double *)w)[n / 2] * t; free(w);
  return s; }
"""


@pytest.mark.parametrize("flags", [["-O0", "-g"], ["-O2", "-g"], ["-O2", "-g0"]])
def test_kind_errors_name_what_disagrees(source: Source, flags: list[str]) -> None:
    """With debug info the lines of both accesses, else their file and functions."""
    lib = llgrad.load(source(REUSED, "reused.c"), flags=flags)
    with pytest.raises(errors.KindError) as caught:
        llgrad.grad(lib.f, wrt=0)
    first, where = str(caught.value).splitlines()[0], caught.value.cause
    if "-g" in flags:
        assert re.search(r"reused\.c:7:\d+: .* in f are used both as a float", first)
        assert re.search(r"a double is .*reused\.c:4:\d+ in fill, an integer is .*reused\.c:3:\d+ in number: ", where)
    else:
        assert re.search(r"reused\.c: .* in f are used both as a float", first)
        assert re.search(r"a double is .*reused\.c in f, an integer is .*reused\.c in f: ", where)


def test_errors_without_debug_info_name_file_and_function(source: Source) -> None:
    text = """#include <string.h>
    double f(double x) { long b; memcpy(&b, &x, 8); b = b * 3; memcpy(&x, &b, 8); return x; }"""
    with pytest.raises(errors.UnsupportedError, match=r"twist\.c: `mul` changes .*, in the derivative of f \["):
        llgrad.grad(llgrad.load(source(text, "twist.c"), flags=["-g0"]).f)


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
