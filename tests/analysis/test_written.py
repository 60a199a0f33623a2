"""Pointers in globals: which loads find what the program itself has stored."""

from __future__ import annotations

import pytest
from compiled import c, loads

from llgrad.analysis.memory.must_stores import found_null, settled
from llgrad.ir.values import Call

OPEN = "static double *p; void set(double *q) { p = q; }\n"
PROGRAMS = {
    "stored before": (OPEN + "double f(double *x) { p = x; return *p; }", True),
    "stored after": (OPEN + "double f(double *x) { double v = *p; p = x; return v; }", False),
    "stored on one way": (OPEN + "double f(double *x, int n) { if (n) p = x; return *p; }", False),
    "stored on both ways": (OPEN + "double f(double *x, int n) { if (n) p = x; else p = x + 1; return *p; }", True),
    "stored by a callee": (OPEN + "double f(double *x) { set(x); return *p; }", True),
    "read by a callee": (
        OPEN + "static double g(void) { return *p; } double f(double *x) { p = x; return g(); }",
        True,
    ),
    "read by a callee of two": (
        OPEN + "static double g(void) { return *p; } double f(double *x) { double a = g(); p = x; return a + g(); }",
        False,
    ),
    "read through a table": (
        OPEN + """static double g(void) { return *p; } static double (*all[2])(void) = {g};
        double f(double *x, int n) { p = x; return all[n](); }""",
        False,
    ),
    "stored in a loop": (OPEN + "double f(double *x, int n) { for (; n; n--) p = x; return *p; }", False),
    "all of a table": (
        """static double *p[2]; double f(double *x, int n) { p[0] = x; p[1] = x; return *p[n]; }""",
        True,
    ),
    "half of a table": ("static double *p[2]; double f(double *x, int n) { p[0] = x; return *p[n]; }", False),
    "another member": (
        """static struct { double *p, *q; } s; double f(double *x) { s.q = x; return *s.p; }""",
        False,
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_loads_that_find_what_was_stored(name: str) -> None:
    source, expected = PROGRAMS[name]
    module = c(source, "0")
    found = settled(module, module.function("f"), list(module.variables))
    functions = [f for f in module.functions if not f.is_declaration and f.name in ("f", "g")]
    from_global = [i for f in functions for i in loads(f, "ptr") if "alloca" not in str(type(i.pointer)).lower()]
    assert from_global and any((i, 0) in found for i in from_global) is expected


def test_copies_of_what_was_stored() -> None:
    """Of a struct that is copied whole, the words that have been stored: not the one that was not."""
    source = """static struct s { double *p; long n; double *q; } old, new;
    double f(double *x) { new.p = x; new.n = 1; old = new; return *old.p; }"""
    module = c(source, "0")
    found = settled(module, module.function("f"), list(module.variables))
    assert {at for i, at in found if isinstance(i, Call)} == {0, 8}


NULL = OPEN + "_Noreturn void stop(void); double one(void); static double *q; static long n;\n"
TESTED = {
    "first of all": ("double f(double *x) { if (p) stop(); p = x; return one(); }", True),
    "the other way": ("double f(double *x) { if (!p) { p = x; return one(); } stop(); }", True),
    "what it was is kept": ("double f(double *x) { q = p; p = 0; if (p) stop(); return one(); }", False),
    "another is read before": ("double f(double *x) { double *was = q; if (p) stop(); p = was; return one(); }", True),
    "a call is before": ("double f(double *x) { double v = one(); if (p) stop(); return v; }", False),
    "goes on": ("double f(double *x) { if (p) return 0; p = x; return one(); }", False),
    "a number": ("double f(double *x) { if (n) stop(); p = x; return one(); }", False),
    "compared with another": ("double f(double *x) { if (p == x) stop(); p = x; return one(); }", False),
}


@pytest.mark.parametrize("name", TESTED)
def test_variables_that_are_found_null(name: str) -> None:
    source, expected = TESTED[name]
    for level in "12":
        found = found_null(c(NULL + source, level).function("f"))
        assert (found is not None and found.name == "p") == expected
