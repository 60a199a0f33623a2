"""Intrinsics of AVX-512 whose lanes a mask switches, written out in LLVM's own operations.

A lane that is off is that of another operand (Intel's intrinsics guide). What is named `.ss` or `.sd` computes the
first lane, from the first lanes of its operands; the others are the first operand's. Rounding modes are the current
one, and approximate reciprocals are computed exactly, as in `x86`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from llgrad.support.brackets import lanes_of
from llgrad.support.lazy_pattern import lazy_pattern

from .x86 import BITS, SUFFIX, listed, rounded


def lines(symbol: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """The instructions of the body; none for intrinsics that are left alone."""
    name = symbol.removeprefix("llvm.x86.avx512.").removeprefix("mask.")
    if name == symbol:
        return
    for pattern, make in _WHOLE:
        if pattern.fullmatch(name):
            yield from make(name, parameters, result)
            return
    for pattern, computed in _MASKED:
        if pattern.fullmatch(name):
            made = _first if any(word in name for word in (".ss", ".sd", "sd2ss", "ss2sd")) else _lanes
            yield from made(name, parameters, result, computed)
            return


# --- one number for each lane ----------------------------------------------------------------------------------------

Computed = Callable[[str, Sequence[str], str, str], Iterator[str]]
"""Yields the lines that make a number %<end>r of the operands %<end>x and %<end>y, from the intrinsic's name, the
names of its other operands, the element's type and the end that keeps names apart."""


def _mask(t: str, name: str, count: int) -> Iterator[str]:
    """%on: the lanes whose bit is set in a mask of type `t`."""
    if t.startswith("<"):
        yield f"%on = freeze {t} {name}"
        return
    few = name
    if t != f"i{count}":
        few = "%few"
        yield f"%few = trunc {t} {name} to i{count}"
    yield f"%on = bitcast i{count} {few} to <{count} x i1>"


def _lanes(name: str, parameters: Sequence[str], result: str, computed: Computed) -> Iterator[str]:
    """f(v[, w][, immediate], otherwise, mask[, mode]), lane by lane."""
    (count, element), mask = lanes_of(parameters[0]), _at_mask(parameters)
    made, other = lanes_of(result)
    operands = [n for n in range(mask - 1) if parameters[n].startswith("<")]
    immediates = [f"%a{n}" for n in range(mask - 1) if n not in operands]
    yield from _mask(parameters[mask], f"%a{mask}", count)
    last = "zeroinitializer"
    for n in range(min(count, made)):
        for operand, word in zip(operands, "xy", strict=False):
            yield f"%l{n}.{word} = extractelement {parameters[operand]} %a{operand}, i64 {n}"
        yield from computed(name, immediates, element, f"l{n}.")
        yield f"%o{n} = extractelement {result} %a{mask - 1}, i64 {n}"
        yield f"%m{n} = extractelement <{count} x i1> %on, i64 {n}"
        yield f"%c{n} = select i1 %m{n}, {other} %l{n}.r, {other} %o{n}"
        yield f"%r{n} = insertelement {result} {last}, {other} %c{n}, i64 {n}"
        last = f"%r{n}"
    yield f"ret {result} {last}"


_OF_SECOND = ("rndscale", "getexp", "getmant", "sqrt", "rcp", "rsqrt", "cvt")


def _first(name: str, parameters: Sequence[str], result: str, computed: Computed) -> Iterator[str]:
    """f(a, b, otherwise, mask[, immediate][, mode]): of the first lanes, before the others of `a`."""
    other = lanes_of(result)[1]
    mask = _at_mask(parameters)
    immediates = [f"%a{n}" for n in (*range(2, mask - 1), *range(mask + 1, len(parameters)))]
    yield f"%on = trunc {parameters[mask]} %a{mask} to i1"
    first, second = ("y", "x") if name.startswith(_OF_SECOND) else ("x", "y")
    yield f"%l.{first} = extractelement {parameters[0]} %a0, i64 0"
    t, x = lanes_of(parameters[1])[1], f"%l.{second}"
    if name.startswith("sqrt"):  # of 1 where it is off: LLVM 22 confuses the operands of a root that is selected
        x = "%l.second"
    yield f"{x} = extractelement {parameters[1]} %a1, i64 0"
    if x != f"%l.{second}":
        yield f"%l.{second} = select i1 %on, {t} {x}, {t} 1.0"
    yield from computed(name, immediates, t, "l.")
    yield f"%o = extractelement {result} %a{mask - 1}, i64 0"
    yield f"%c = select i1 %on, {other} %l.r, {other} %o"
    yield f"%whole = insertelement {result} %a0, {other} %c, i64 0"
    yield f"ret {result} %whole"


def _at_mask(parameters: Sequence[str]) -> int:
    """Which operand is the mask: an integer behind a vector, of 8 or 16 bits."""
    return max(n for n, t in enumerate(parameters) if t in ("i8", "i16") or t.endswith("x i1>"))


def _arithmetic(name: str, _: Sequence[str], t: str, end: str) -> Iterator[str]:
    yield f"%{end}r = f{name.split('.')[0]} {t} %{end}x, %{end}y"


def _extremum(name: str, _: Sequence[str], t: str, end: str) -> Iterator[str]:
    """The second, where neither is less."""
    yield f"%{end}is = fcmp {'olt' if name.startswith('min') else 'ogt'} {t} %{end}x, %{end}y"
    yield f"%{end}r = select i1 %{end}is, {t} %{end}x, {t} %{end}y"


def _root(name: str, _: Sequence[str], t: str, end: str) -> Iterator[str]:
    """sqrt(x), 1/x, 1/sqrt(x)"""
    below, root = f"%{end}x", "r" if name.startswith("sqrt") else "root"
    if "sqrt" in name:
        yield f"%{end}{root} = call {t} @llvm.sqrt.{SUFFIX[t]}({t} %{end}x)"
        below = f"%{end}root"
    if root == "root":
        yield f"%{end}r = fdiv {t} 1.0, {below}"


def _converted(name: str, _: Sequence[str], t: str, end: str) -> Iterator[str]:
    cast, to = ("fptrunc", "float") if t == "double" else ("fpext", "double")
    yield f"%{end}r = {cast} {t} %{end}x to {to}"


def _scaled(_: str, __: Sequence[str], t: str, end: str) -> Iterator[str]:
    """x 2^floor(y)"""
    yield f"%{end}floor = call {t} @llvm.floor.{SUFFIX[t]}({t} %{end}y)"
    yield f"%{end}n = call i32 @llvm.fptosi.sat.i32.{SUFFIX[t]}({t} %{end}floor)"
    yield f"%{end}r = call {t} @llvm.ldexp.{SUFFIX[t]}.i32({t} %{end}x, i32 %{end}n)"


def _exponent(_: str, __: Sequence[str], t: str, end: str) -> Iterator[str]:
    yield f"%{end}r = call {t} @logb{'f' * (t == 'float')}({t} %{end}x)"


def _mantissa(name: str, immediates: Sequence[str], t: str, end: str) -> Iterator[str]:
    """getmant(x, interval and sign): x without its exponent, in [1, 2), [1/2, 2), [1/2, 1) or [3/4, 3/2)."""
    s, how, x = SUFFIX[t], immediates[0], f"%{end}x"
    yield f"%{end}e = call {t} @logb{'f' * (t == 'float')}({t} {x})"
    yield f"%{end}n = fptosi {t} %{end}e to i32"
    yield f"%{end}back = sub i32 0, %{end}n"
    yield f"%{end}one = call {t} @llvm.ldexp.{s}.i32({t} {x}, i32 %{end}back)"
    yield f"%{end}m = call {t} @llvm.fabs.{s}({t} %{end}one)"
    yield f"%{end}h = fmul {t} %{end}m, 0.5"
    yield f"%{end}interval = and i32 {how}, 3"
    yield f"%{end}odd = trunc i32 %{end}n to i1"
    yield f"%{end}large = fcmp oge {t} %{end}m, 1.5"
    yield f"%{end}is1 = icmp eq i32 %{end}interval, 1"
    yield f"%{end}is2 = icmp eq i32 %{end}interval, 2"
    yield f"%{end}is3 = icmp eq i32 %{end}interval, 3"
    yield f"%{end}h1 = and i1 %{end}is1, %{end}odd"
    yield f"%{end}h3 = and i1 %{end}is3, %{end}large"
    yield f"%{end}h12 = or i1 %{end}h1, %{end}is2"
    yield f"%{end}half = or i1 %{end}h12, %{end}h3"
    yield f"%{end}size = select i1 %{end}half, {t} %{end}h, {t} %{end}m"
    yield f"%{end}signed = call {t} @llvm.copysign.{s}({t} %{end}size, {t} {x})"
    yield f"%{end}bit = and i32 {how}, 4"
    yield f"%{end}keeps = icmp eq i32 %{end}bit, 0"
    yield f"%{end}r = select i1 %{end}keeps, {t} %{end}signed, {t} %{end}size"


def _rounded(_: str, immediates: Sequence[str], t: str, end: str) -> Iterator[str]:
    """rndscale(x, how and at which binary place)"""
    s, how = SUFFIX[t], immediates[0]
    yield f"%{end}place = lshr i32 {how}, 4"
    yield f"%{end}few = and i32 %{end}place, 15"
    yield f"%{end}back = sub i32 0, %{end}few"
    yield f"%{end}scaled = call {t} @llvm.ldexp.{s}.i32({t} %{end}x, i32 %{end}few)"
    yield from rounded(t, s, f"%{end}scaled", "i32", how, end)
    yield f"%{end}r = call {t} @llvm.ldexp.{s}.i32({t} %{end}r3, i32 %{end}back)"


# --- all lanes together ----------------------------------------------------------------------------------------------


def _fused(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """vfmadd.f64(a, b, c, mode)"""
    yield f"%r = call {result} @llvm.fma.{SUFFIX[result]}({result} %a0, {result} %a1, {result} %a2)"
    yield f"ret {result} %r"


def _compressed(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """compress(v, otherwise, mask), expand(v, otherwise, mask)"""
    count, element = lanes_of(result)
    bits, suffix = f"<{count} x i1>", f"v{count}{SUFFIX.get(element, element)}"
    yield f"%kept = alloca {result}"
    if name.startswith("compress"):
        yield f"store {result} %a1, ptr %kept"
        yield f"call void @llvm.masked.compressstore.{suffix}({result} %a0, ptr %kept, {bits} %a2)"
        yield f"%r = load {result}, ptr %kept"
    else:
        yield f"store {result} %a0, ptr %kept"
        call = f"@llvm.masked.expandload.{suffix}(ptr %kept, {bits} %a2, {result} %a1)"
        yield f"%r = call {result} {call}"
    yield f"ret {result} %r"


def _gathered(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """gather(otherwise, base, numbers, mask, scale): a lane that is off is read from a cell of its own."""
    count, element = lanes_of(result)
    if element not in BITS:
        return
    used = min(count, lanes_of(parameters[2])[0], lanes_of(parameters[3])[0])
    yield from _addresses(element, used, "%a1", (parameters[2], "%a2"), (parameters[3], "%a3"), parameters[4])
    last = "zeroinitializer"
    for n in range(used):
        yield f"%e{n} = extractelement {result} %a0, i64 {n}"
        yield f"store {element} %e{n}, ptr %cell"
        yield f"%v{n} = load {element}, ptr %q{n}, align 1"
        yield f"%r{n} = insertelement {result} {last}, {element} %v{n}, i64 {n}"
        last = f"%r{n}"
    yield f"ret {result} {last}"


def _scattered(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """scatter(base, mask, numbers, v, scale), the first lane first."""
    count, element = lanes_of(parameters[3])
    if element not in BITS:
        return
    used = min(count, lanes_of(parameters[2])[0], lanes_of(parameters[1])[0])
    yield from _addresses(element, used, "%a0", (parameters[2], "%a2"), (parameters[1], "%a1"), parameters[4])
    for n in range(used):
        yield f"%e{n} = extractelement {parameters[3]} %a3, i64 {n}"
        yield f"store {element} %e{n}, ptr %q{n}, align 1"
    yield "ret void"


def _addresses(
    element: str, count: int, base: str, numbers: tuple[str, str], mask: tuple[str, str], scale: str
) -> Iterator[str]:
    """%q0, %q1, …: where each lane is, or %cell."""
    yield f"%cell = alloca {element}"
    yield f"%scale = sext {scale} %a4 to i64"
    t = lanes_of(numbers[0])[1]
    for n in range(count):
        yield f"%m{n} = extractelement {mask[0]} {mask[1]}, i64 {n}"
        yield f"%i{n} = extractelement {numbers[0]} {numbers[1]}, i64 {n}"
        yield f"%w{n} = sext {t} %i{n} to i64" if t != "i64" else f"%w{n} = add i64 %i{n}, 0"
        yield f"%o{n} = mul i64 %w{n}, %scale"
        yield f"%p{n} = getelementptr i8, ptr {base}, i64 %o{n}"
        yield f"%q{n} = select i1 %m{n}, ptr %p{n}, ptr %cell"


def _halved(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """vcvtps2ph(v, rounding mode, otherwise, mask): as half floats, with zeros behind."""
    count, made = lanes_of(parameters[0])[0], lanes_of(result)[0]
    halves = f"<{count} x i16>"
    yield from _mask(parameters[3], "%a3", count)
    yield f"%h = fptrunc {parameters[0]} %a0 to <{count} x half>"
    yield f"%b = bitcast <{count} x half> %h to {halves}"
    yield f"%o = shufflevector {result} %a2, {result} poison, {listed(range(count))}"
    yield f"%c = select <{count} x i1> %on, {halves} %b, {halves} %o"
    yield f"%r = shufflevector {halves} %c, {halves} zeroinitializer, {listed([min(n, count) for n in range(made)])}"
    yield f"ret {result} %r"


Maker = Callable[[str, Sequence[str], str], Iterator[str]]
_WHOLE: tuple[tuple[re.Pattern[str], Maker], ...] = tuple((lazy_pattern(pattern), make) for pattern, make in (
    (r"vfmadd\.f(?:32|64)", _fused),
    (r"(?:compress|expand)\.v\d+[fi]\d+", _compressed),
    (r"gather[\w.]*", _gathered),
    (r"scatter[\w.]*", _scattered),
    (r"vcvtps2ph\.\d+", _halved),
))  # fmt: skip
_FLOATS = r"(?:p[sd]\.(?:128|256|512)|s[sd](?:\.round)?)"
_MASKED: tuple[tuple[re.Pattern[str], Computed], ...] = tuple((lazy_pattern(pattern), make) for pattern, make in (
    (r"(?:add|sub|mul|div)\.s[sd]\.round", _arithmetic),
    (r"(?:min|max)\.s[sd]\.round", _extremum),
    (rf"(?:sqrt|rcp14|rsqrt14)\.{_FLOATS}", _root),
    (r"cvt(?:pd2ps(?:\.512)?|ps2pd\.512|sd2ss\.round|ss2sd\.round)", _converted),
    (rf"scalef\.{_FLOATS}", _scaled),
    (rf"getexp\.{_FLOATS}", _exponent),
    (rf"getmant\.{_FLOATS}", _mantissa),
    (r"rndscale\.s[sd]", _rounded),
))  # fmt: skip
