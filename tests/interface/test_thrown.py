"""What is thrown in ways that cannot be followed is refused: its handler would find no shadow."""

from __future__ import annotations

from pathlib import Path

import pytest

from llgrad.autodiff.requests.request import Act, Mode, Request
from llgrad.errors import UnsupportedError
from llgrad.frontends import compile_sources
from llgrad.programs import derivatives, stages

_HEAD = "#include <exception>\n#define OUT __attribute__((noinline)) static double\n"
_THROWS = "OUT g(double x) { if (x > 2) throw x * x; return x; }\n"
SOURCES = {
    "virtual table elsewhere": """struct A { double v; };
struct B : virtual A { double w; virtual void key(); };
OUT g(double x, const B &b) { if (x > 2) throw b; return x; }
B made(double x);
extern "C" double f(double x) {
  B b = made(x);
  b.v = x * x;
  try { return g(x, b); } catch (A &a) { return a.v * 3; }
}
""",
    "exception_ptr": _THROWS
    + """extern "C" double f(double x) {
  std::exception_ptr p;
  try { return g(x); } catch (...) { p = std::current_exception(); }
  try { std::rethrow_exception(p); } catch (double d) { return d * 3; }
}
""",
}


@pytest.mark.parametrize("name", SOURCES)
def test_what_is_thrown_is_not_followed(name: str, tmp_path: Path) -> None:
    source = tmp_path / "f.cpp"
    source.write_text(_HEAD + SOURCES[name])
    text = stages.prepare(stages.program(compile_sources([source], ["-w"]).modules), ["f"], 1)
    for mode in (Mode.FORWARD, Mode.COMBINED):
        act = Act.DUP if mode is Mode.FORWARD else Act.OUT
        with pytest.raises(UnsupportedError, match="an active value is thrown"):
            derivatives.derivative(text, Request("f", mode, (act,), act))


def test_unknown_code_that_may_throw(tmp_path: Path) -> None:
    """What never returns, and is not known, may throw what it is handed to a handler: that derivative was zero."""
    source = tmp_path / "f.cpp"
    source.write_text("""
struct E { double v; };
[[noreturn]] void fail(double v, int code);
extern "C" double f(double x) {
    try { if (x > 0) fail(x * x, 1); return x; } catch (E &g) { return g.v * 3; }
}
extern "C" double g(double x) {
    try { if (x > 100) fail(1.0, 2); return x * x; } catch (E &g) { return g.v * 3; }
}""")
    program = stages.program(compile_sources([source], ["-w"]).modules)
    with pytest.raises(UnsupportedError, match="an active value may be thrown"):
        derivatives.derivative(stages.prepare(program, ["f"], 1), Request("f", Mode.COMBINED, (Act.OUT,), Act.OUT))
    derivatives.derivative(stages.prepare(program, ["g"], 1), Request("g", Mode.COMBINED, (Act.OUT,), Act.OUT))
