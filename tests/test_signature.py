"""Signatures from debug info and from IR types alone, and the names by which functions are found."""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys

import numpy as np
import pytest

from llgrad.errors import UnknownNameError
from llgrad.ir.parse import parse
from llgrad.signature import Array, Complex, Opaque, Pointer, Scalar, Signature, Struct, candidates, find, signature

LEVELS = ("-O0 -g", "-O1 -g", "-O2 -g")


@functools.cache
def ir(source: str, flags: str, language: str) -> str:
    clang = ["clang-22"] if shutil.which("clang-22") else [sys.executable, "-m", "ziglang", "cc"]
    command = [*clang, "-x", language, "-S", "-emit-llvm", *flags.split(), "-o", "-", "-"]
    done = subprocess.run(command, input=source, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def sign(source: str, name: str, flags: str = "-O1 -g", language: str = "c") -> Signature:
    return signature(parse(ir(source, flags, language)), name)


GMM = """
typedef struct { double gamma; int m; } Wishart;
void gmm(int d, int k, const double *alphas, double *restrict means, const float *const *rows, Wishart w, double *err)
{ *err = alphas[0] * means[d] + rows[0][k] + w.gamma * w.m; }
"""


@pytest.mark.parametrize("flags", LEVELS)
@pytest.mark.parametrize("names", ["-fno-discard-value-names", "-fdiscard-value-names"])
def test_c_spelling_and_arguments(flags: str, names: str) -> None:
    s = sign(GMM, "gmm", f"{flags} {names}")
    assert str(s) == (
        "void gmm(int d, int k, const double *alphas, double *restrict means, const float *const *rows, "
        "Wishart w, double *err)"
    )
    assert [p.ir_arguments for p in s.parameters] == [(0,), (1,), (2,), (3,), (4,), (5, 6), (7,)]
    assert not any(p.unsupported for p in s.parameters)
    assert s.source is not None and s.source.line == 3 and s.symbol == "gmm"
    alphas, w = s.parameter("alphas").type, s.parameter("w").type
    assert isinstance(alphas, Pointer) and alphas.const and alphas.dtype == np.float64
    assert isinstance(w, Struct) and w.size == 16 and [f.offset for f in w.fields] == [0, 8]
    assert w.dtype == np.dtype({"names": ["gamma", "m"], "formats": ["f8", "i4"], "offsets": [0, 8], "itemsize": 16})


@pytest.mark.parametrize("flags", LEVELS)
def test_structs_by_value(flags: str) -> None:
    source = """
    typedef struct { double a, b; } Pair; typedef struct { float x, y, z; } Three; typedef struct { double m[9]; } Big;
    typedef struct { int i; float f; } Mixed; typedef struct { char *p; long n; } Slice;
    Pair two(Pair p, int n, Three t) { p.a += t.z * n; return p; }
    Big big(Big b, double s) { b.m[3] *= s; return b; }
    float mixed(Mixed m, Slice s, double _Complex z, float _Complex c)
    { return m.i * m.f + s.n + __real__ z + __imag__ c; }
    """
    s = sign(source, "two", flags)
    assert str(s) == "Pair two(Pair p, int n, Three t)" and s.result_argument is None
    assert [p.ir_arguments for p in s.parameters] == [(0, 1), (2,), (3, 4)]
    s = sign(source, "big", flags)
    assert s.result_argument == 0 and [p.ir_arguments for p in s.parameters] == [(1,), (2,)]
    assert str(s) == "Big big(Big b, double s)"
    s = sign(source, "mixed", flags)
    assert [p.ir_arguments for p in s.parameters] == [(0,), (1, 2), (3, 4), (5,)]
    z = s.parameter("z").type
    assert isinstance(z, Complex) and z.dtype == np.complex128 and str(z) == "double _Complex"


@pytest.mark.parametrize("flags", LEVELS)
def test_element_types(flags: str) -> None:
    source = """#include <stddef.h>
    #include <stdint.h>
    #include <stdbool.h>
    enum E { A, B };
    struct L { struct L *next; double v; };
    double f(_Bool b, size_t n, uint8_t u, int64_t *i, long double *l, void *p, double (*m)[3], struct L *x, enum E e,
             double (*cb)(double)) { return b + n + u + *i + *l + m[1][2] + x->v + e + cb(1) + (p != 0); }"""
    s = sign(source, "f", flags)
    types = {p.name: p.type for p in s.parameters}
    assert [str(types[n]) for n in "bnuilpm"] == [
        "_Bool", "size_t", "uint8_t", "int64_t *", "long double *", "void *", "double (*)[3]",
    ]  # fmt: skip
    assert [types[n].dtype for n in "bnuil"] == [np.bool_, np.uint64, np.uint8, np.int64, np.longdouble]
    assert types["p"].dtype is None and isinstance(types["p"], Pointer) and types["p"].to == Opaque()
    m = types["m"]
    assert isinstance(m, Pointer) and m.to == Array(Scalar("float", 64, "double", "double"), (3,))
    node = types["x"]
    assert isinstance(node, Pointer) and isinstance(node.to, Struct) and node.to.fields[1].offset == 8
    assert not any(p.unsupported for p in s.parameters)


def test_without_debug_info() -> None:
    s = sign(GMM, "gmm", "-O1")
    assert not s.declared and s.source is None
    assert [str(p.type) for p in s.parameters][:3] == ["int32_t", "int32_t", "void *"]
    assert [p.name for p in s.parameters][:2] == ["arg0", "arg1"] or s.parameters[0].name == "d"
    assert [p.ir_arguments for p in s.parameters] == [(n,) for n in range(8)]


def test_what_is_not_certain_is_said() -> None:
    source = """struct N { N(const N &o) : x(o.x) {} ~N(); double x; };
    double f(N n, double y) { return n.x * y; }"""
    s = sign(source, "f", "-O1 -g", "c++")
    assert s.parameters[0].unsupported and "N" in s.parameters[0].unsupported


CPP = """
#include <vector>
double gmm(int d, const double *a) { return a[d]; }
namespace ns { double gradient(double x) { return x * x; }
struct A { double scale; double apply(double x) const; }; double A::apply(double x) const { return scale * x; } }
double over(double x) { return x; } double over(float x) { return x; }
static double hidden(double x) { return x; }
double sum(const std::vector<double> &v, double &out) { out = hidden(v[0]); return out; }
"""


@pytest.mark.parametrize("flags", ["-O1 -g", "-O1"])
def test_names_of_cpp(flags: str) -> None:
    module = parse(ir(CPP, flags, "c++"))
    assert find(module, "gmm").name == "_Z3gmmiPKd"
    assert find(module, "ns::gradient") is find(module, "gradient") is find(module, "_ZN2ns8gradientEd")
    assert find(module, "ns::A::apply").name == "_ZNK2ns1A5applyEd"
    with pytest.raises(UnknownNameError, match="overloaded") as e:
        find(module, "over")
    assert "_Z4overd" in str(e.value) and "_Z4overf" in str(e.value)
    with pytest.raises(UnknownNameError, match="did you mean gradient") as e:
        find(module, "gradeint")
    names = {c.name for c in candidates(module)}
    assert names >= {"gmm", "gradient", "apply", "over", "sum"} and "hidden" not in names


@pytest.mark.parametrize("flags", LEVELS)
def test_methods_and_references(flags: str) -> None:
    s = sign(CPP, "ns::A::apply", flags, "c++")
    assert [p.name for p in s.parameters] == ["this", "x"] and s.parameters[0].type.dtype == np.dtype([("scale", "f8")])
    s = sign(CPP, "sum", flags, "c++")
    out = s.parameter("out").type
    assert isinstance(out, Pointer) and out.dtype == np.float64
    assert [p.ir_arguments for p in s.parameters] == [(0,), (1,)]
    with pytest.raises(UnknownNameError, match="did you mean out"):
        s.parameter("ouput")
