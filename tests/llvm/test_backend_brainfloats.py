"""Conversions to bfloat: every way of rounding against exact fractions, from each format; commands that need them."""

from __future__ import annotations

import ctypes
import shutil
import struct
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from llgrad.llvm import Engine, LLVMModule

CPU = "x86-64"  # which has no instruction for it
FORMATS = {"float": np.float32, "double": np.float64, "x86_fp80": np.longdouble}
LONGEST = Fraction(2**127) * (2 - Fraction(1, 128))


def narrowed(value: Fraction) -> int:
    """The bits of the bfloat nearest to a positive fraction, ties to even."""
    exponent = -126
    while value >= Fraction(2) ** (exponent + 1):
        exponent += 1
    step = Fraction(2) ** (exponent - 7)
    units = value / step
    count = units.numerator // units.denominator
    rest = units - count
    count += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and count % 2)
    if count * step > LONGEST:
        return 0x7F80
    return ((exponent + 126) << 7) + count  # a fraction of 256 units carries into the exponent


def engine_for(conversions: str) -> Engine:
    return Engine([LLVMModule.from_text(conversions)], cpu=CPU)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    made = engine_for(
        "".join(
            f"""
define void @of_{t}(i64 %n, ptr %x, ptr %y) {{
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %next, %loop ]
  %at = getelementptr {t}, ptr %x, i64 %i
  %to = getelementptr bfloat, ptr %y, i64 %i
  %v = load {t}, ptr %at
  %s = fptrunc {t} %v to bfloat
  store bfloat %s, ptr %to
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
            for t in FORMATS
        )
    )
    yield made
    made.close()


def converted(engine: Engine, type: str, values: np.ndarray) -> list[int]:
    made = np.zeros(len(values), np.uint16)
    call = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)(engine.address(f"of_{type}"))
    call(len(values), values.ctypes.data, made.ctypes.data)
    return [int(v) for v in made]


def edges() -> list[Fraction]:
    """Bfloats of all magnitudes, the middles between them and their upper neighbours, and what lies close to those."""
    found = []
    for upper in (0, 1, 2, 0x7E, 0x7F, 0x80, 0x81, 0xFF, 0x100, 0x3F7F, 0x3F80, 0x3F81, 0x4040, 0x7F00, 0x7F7E, 0x7F7F):
        low = Fraction(struct.unpack("<f", struct.pack("<I", upper << 16))[0])
        gap = Fraction(2) ** (max(upper >> 7, 1) - 127 - 7)
        for part in (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(3, 4)):
            tiny = gap / 2**16
            found += [low + gap * part, low + gap * part + tiny]
            found += [low + gap * part - tiny] if part else []
    return found


def test_the_oracle() -> None:
    assert narrowed(Fraction(1)) == 0x3F80
    assert narrowed(1 + Fraction(1, 256)) == 0x3F80
    assert narrowed(1 + Fraction(3, 256)) == 0x3F82
    assert narrowed(LONGEST) == 0x7F7F
    assert narrowed(Fraction(2) ** -133) == 1


def test_floats_are_rounded_to_nearest(engine: Engine) -> None:
    """Every upper half, with lower halves around the tie, of both signs."""
    upper = np.arange(0x7F80, dtype=np.uint32) << 16
    for lower in (0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF):
        bits = upper + np.uint32(lower)
        up = (lower > 0x8000) | ((lower == 0x8000) & (upper >> 16 & 1 == 1))
        expected = (upper >> 16) + up
        assert converted(engine, "float", bits.view(np.float32)) == expected.tolist()
        negative = (bits | np.uint32(0x80000000)).view(np.float32)
        assert converted(engine, "float", negative) == (expected | 0x8000).tolist()


@pytest.mark.parametrize(("type", "dtype"), list(FORMATS.items()))
def test_edges(engine: Engine, type: str, dtype: Any) -> None:
    values = [v for v in edges() if type != "float" or (float(np.float32(float(v))) == v)]
    assert len(values) > 50
    given = np.array([dtype(float(v)) for v in values], dtype)
    assert converted(engine, type, given) == [narrowed(v) for v in values]
    assert converted(engine, type, -given) == [narrowed(v) | 0x8000 for v in values]


@pytest.mark.parametrize("type", ["double", "x86_fp80"])
def test_nothing_is_rounded_twice(engine: Engine, type: str) -> None:
    """Just above a tie, by less than a float can tell: as a float it would be the tie itself."""
    dtype: Any = FORMATS[type]
    near = np.array([dtype(2) ** -40, dtype(2) ** -50])
    ties = np.array([1 + 2.0**-8, 1 + 3 * 2.0**-8], dtype)
    assert converted(engine, type, ties) == [0x3F80, 0x3F82]
    assert converted(engine, type, ties + near[0]) == [0x3F81, 0x3F82]
    assert converted(engine, type, ties - near[1]) == [0x3F80, 0x3F81]
    tiny = np.array([2.0**-134, 2.0**-134 * (1 + 2.0**-40), 2.0**-160, 5e-324, 3 * 2.0**-134], dtype)
    assert converted(engine, type, tiny) == [0, 1, 0, 0, 2]


@pytest.mark.parametrize(("type", "dtype"), list(FORMATS.items()))
def test_infinities_and_nans(engine: Engine, type: str, dtype: Any) -> None:
    values = np.array([np.inf, -np.inf, 0.0, -0.0, np.nan, -np.nan], dtype)
    infinite, minus, zero, less, nan, other = converted(engine, type, values)
    assert (infinite, minus, zero, less) == (0x7F80, 0xFF80, 0, 0x8000)
    assert (nan & 0x7FFF, other & 0x7FFF) == (0x7FC0, 0x7FC0)
    assert nan ^ other == 0x8000
    huge = np.array([3.3895313e38, 3.3961775e38, 3.4e38], dtype)
    assert converted(engine, type, huge) == [0x7F7F, 0x7F7F if type != "float" else 0x7F80, 0x7F80]


def test_signalling_nans_become_quiet(engine: Engine) -> None:
    bits = np.array([0x7F800001, 0xFFBFFFFF, 0x7FA50000], np.uint32)
    assert converted(engine, "float", bits.view(np.float32)) == [0x7FC0, 0xFFFF, 0x7FE5]


PROGRAM = """
#include <stdio.h>
double __enzyme_autodiff(double (*)(double), double);
static double f(double x)
{
    __bf16 b = (__bf16)x, c = b * b;
    return (double)c * x;
}
int main(void)
{
    volatile double x = 1.5;
    printf("%.3f %.3f\\n", f(x), __enzyme_autodiff(f, x));
    return 0;
}
"""


@pytest.mark.parametrize("command", ["cc", "opt", "run"])
def test_programs(command: str, tmp_path: Path) -> None:
    """f is x^3 where x is a bfloat whose square is one."""
    clang = shutil.which("clang-22") or shutil.which("clang")
    if clang is None:
        pytest.skip("there is no clang: apt install clang-22")
    (tmp_path / "p.c").write_text(PROGRAM)
    llgrad = [sys.executable, "-m", "llgrad.cli"]
    words: dict[str, Any] = {"capture_output": True, "text": True, "cwd": tmp_path}
    flags = ["-O1", "-march=x86-64"]
    if command == "run":
        done = subprocess.run([*llgrad, "run", *flags, "p.c"], **words, check=False)
    else:
        if command == "cc":
            lines = [[*llgrad, "cc", *flags, "p.c", "-o", "p"]]
        else:
            raw = ["-O1", "-Xclang", "-disable-llvm-passes", "-S", "-emit-llvm", "p.c", "-o", "p.ll"]
            opt = [*llgrad, "opt", "--cpu", CPU, "p.ll", "-o", "o.ll"]
            lines = [[clang, *raw], opt, [clang, "o.ll", "-o", "p", "-lm"]]
        for line in lines:
            done = subprocess.run(line, **words, check=False)
            assert done.returncode == 0, done.stderr
        done = subprocess.run([tmp_path / "p"], **words, check=False)
    assert done.stdout == "3.375 6.750\n", done.stderr
