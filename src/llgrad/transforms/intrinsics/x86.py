"""Intrinsics of x86 that clang leaves from `immintrin.h`, written out in LLVM's own operations.

What the processor computes from floats, lane by lane or across, is arithmetic like any other; `lines` is the body of a
function that does it (Intel's intrinsics guide; a lane named `.ss` or `.sd` is the first, the others are the first
operand's). Approximate reciprocals are computed exactly, and rounding modes of AVX-512 are the current one. Immediate
operands are constants of each call: LLVM folds what depends on them once the body is inlined.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

from llgrad.support.brackets import lanes_of
from llgrad.support.lazy_pattern import lazy_pattern

SUFFIX = {"float": "f32", "double": "f64"}
BITS = {"float": 32, "double": 64}
_PREDICATES = {
    "olt": 0b1001011010010110, "oeq": 0b1010010110100101, "ogt": 0b1111000011110000, "uno": 0b1000011101111000,
}  # fmt: skip
"""Which of the sixteen comparisons hold where the operands are so."""
Maker = Callable[[str, Sequence[str], str], Iterator[str]]


def lines(symbol: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """The instructions of the body; none for intrinsics that are left alone."""
    name = symbol.removeprefix("llvm.x86.")
    make = next((make for pattern, make in _MAKERS if pattern.fullmatch(name)), None)
    return make(name, parameters, result) if make is not None else iter(())


def listed(numbers: Sequence[int]) -> str:
    return f"<{len(numbers)} x i32> <{', '.join(f'i32 {n}' for n in numbers)}>"


def _ends(name: str, v: str, wanted: str) -> Iterator[str]:
    """Return a vector, or the first operand with its first lane, where the intrinsic is about that."""
    if name.endswith((".ss", ".sd")):
        count, element = lanes_of(v)
        yield f"%first = extractelement {v} {wanted}, i64 0"
        yield f"%whole = insertelement {v} %a0, {element} %first, i64 0"
        wanted = "%whole"
    yield f"ret {v} {wanted}"


def _extremum(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """The second operand, where neither is less."""
    yield f"%is = fcmp {'olt' if 'min' in name else 'ogt'} {result} %a0, %a1"
    yield f"%r = select <{lanes_of(result)[0]} x i1> %is, {result} %a0, {result} %a1"
    yield from _ends(name, result, "%r")


def _arithmetic(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    yield f"%r = f{name.split('.')[1]} {result} %a0, %a1"
    yield f"ret {result} %r"


def _function(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """sqrt(v), fma(a, b, c), with a rounding mode behind."""
    count, element = lanes_of(result)
    own = "sqrt" if ".sqrt." in name else "fma"
    given = ", ".join(f"{result} %a{n}" for n in range(1 if own == "sqrt" else 3))
    yield f"%r = call {result} @llvm.{own}.v{count}{SUFFIX[element]}({given})"
    yield f"ret {result} %r"


def _alternating(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """Even lanes are subtracted, odd ones added."""
    count = lanes_of(result)[0]
    yield f"%s = fsub {result} %a0, %a1"
    yield f"%p = fadd {result} %a0, %a1"
    lanes = listed([n + count * (n % 2) for n in range(count)])
    yield f"%r = shufflevector {result} %s, {result} %p, {lanes}"
    yield f"ret {result} %r"


def _fused(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """a b - c in even lanes, a b + c in odd ones."""
    count, element = lanes_of(result)
    call = f"call {result} @llvm.fma.v{count}{SUFFIX[element]}({result} %a0, {result} %a1, {result}"
    yield f"%n = fneg {result} %a2"
    yield f"%s = {call} %n)"
    yield f"%p = {call} %a2)"
    yield f"%r = shufflevector {result} %s, {result} %p, {listed([n + count * (n % 2) for n in range(count)])}"
    yield f"ret {result} %r"


def _inserted(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """insertps(a, b, immediate): a lane of `b` in a lane of `a`, and zeros in others."""
    for word, shift in (("from", 6), ("to", 4)):
        yield f"%{word}.bits = lshr i8 %a2, {shift}"
        yield f"%{word}.few = and i8 %{word}.bits, 3"
        yield f"%{word} = zext i8 %{word}.few to i64"
    yield f"%e = extractelement {result} %a1, i64 %from"
    yield f"%put = insertelement {result} %a0, float %e, i64 %to"
    yield "%low = trunc i8 %a2 to i4"
    yield "%off = bitcast i4 %low to <4 x i1>"
    yield f"%r = select <4 x i1> %off, {result} zeroinitializer, {result} %put"
    yield f"ret {result} %r"


def _halved(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """vcvtps2ph(v, rounding mode): as half floats, with zeros behind."""
    count = lanes_of(parameters[0])[0]
    yield f"%h = fptrunc {parameters[0]} %a0 to <{count} x half>"
    yield f"%b = bitcast <{count} x half> %h to <{count} x i16>"
    numbers = listed([min(n, count) for n in range(lanes_of(result)[0])])
    yield f"%r = shufflevector <{count} x i16> %b, <{count} x i16> zeroinitializer, {numbers}"
    yield f"ret {result} %r"


def _horizontal(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """Sums or differences of neighbours, in each 128 bits those of the first operand before those of the second."""
    count, element = lanes_of(result)
    group = 128 // BITS[element]
    even = [n + k + j for k in range(0, count, group) for n in (0, count) for j in range(0, group, 2)]
    yield f"%e = shufflevector {result} %a0, {result} %a1, {listed(even)}"
    yield f"%o = shufflevector {result} %a0, {result} %a1, {listed([n + 1 for n in even])}"
    yield f"%r = {'fadd' if 'hadd' in name else 'fsub'} {result} %e, %o"
    yield f"ret {result} %r"


def _product(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """Dot products in each 128 bits: the immediate says of which lanes, and in which lanes the sum goes."""
    count, element = lanes_of(result)
    group, t = 128 // BITS[element], parameters[2]
    yield f"%p = fmul {result} %a0, %a1"
    for bit in range(8):
        yield f"%b{bit} = and {t} %a2, {1 << bit}"
        yield f"%is{bit} = icmp ne {t} %b{bit}, 0"
    last = "zeroinitializer"
    for k in range(0, count, group):
        for n in range(group):
            yield f"%e{k}.{n} = extractelement {result} %p, i64 {k + n}"
            yield f"%t{k}.{n} = select i1 %is{4 + n}, {element} %e{k}.{n}, {element} 0.0"
        terms = [f"%t{k}.{n}" for n in range(group)]
        while len(terms) > 1:
            a, b, *rest = terms
            made = f"%s{k}.{len(terms)}"
            yield f"{made} = fadd {element} {a}, {b}"
            terms = [*rest, made]
        for n in range(group):
            yield f"%o{k}.{n} = select i1 %is{n}, {element} {terms[0]}, {element} 0.0"
            yield f"%r{k}.{n} = insertelement {result} {last}, {element} %o{k}.{n}, i64 {k + n}"
            last = f"%r{k}.{n}"
    yield f"ret {result} {last}"


def _chosen(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """The second operand where the sign of the third is set."""
    count, element = lanes_of(result)
    bits = f"<{count} x i{BITS[element]}>"
    yield f"%bits = bitcast {result} %a2 to {bits}"
    yield f"%is = icmp slt {bits} %bits, zeroinitializer"
    yield f"%r = select <{count} x i1> %is, {result} %a1, {result} %a0"
    yield f"ret {result} %r"


def rounded(t: str, suffix: str, value: str, mode_type: str, mode: str, end: str = "") -> Iterator[str]:
    """%<end>r3: `value` rounded to an integer, as three bits of a mode say."""
    last = f"%{end}f4"
    for n, own in enumerate(("roundeven", "floor", "ceil", "trunc", "rint")):
        yield f"%{end}f{n} = call {t} @llvm.{own}.{suffix}({t} {value})"
    yield f"%{end}mode = and {mode_type} {mode}, 7"
    for n in range(4):
        yield f"%{end}is{n} = icmp eq {mode_type} %{end}mode, {n}"
        yield f"%{end}r{n} = select i1 %{end}is{n}, {t} %{end}f{n}, {t} {last}"
        last = f"%{end}r{n}"


def _rounded(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """round(v, how), and round(a, b, how) of the first lane."""
    count, element = lanes_of(result)
    value, how = (f"%a{n}" for n in (len(parameters) - 2, len(parameters) - 1))
    yield from rounded(result, f"v{count}{SUFFIX[element]}", value, parameters[-1], how)
    yield from _ends(name, result, "%r3")


def _scaled(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """rndscale(v, how and at which binary place, otherwise, mask)"""
    count, element = lanes_of(result)
    yield "%place = lshr i32 %a1, 4"
    yield "%places = and i32 %place, 15"
    yield "%power = shl i32 1, %places"
    yield f"%unit = uitofp i32 %power to {element}"
    yield f"%one = insertelement {result} zeroinitializer, {element} %unit, i64 0"
    yield f"%units = shufflevector {result} %one, {result} poison, <{count} x i32> zeroinitializer"
    yield f"%scaled = fmul {result} %a0, %units"
    body = list(_rounded("", [result, "i32"], result))[:-1]
    yield from (line.replace(f"({result} %a0)", f"({result} %scaled)") for line in body)
    yield f"%back = fdiv {result} %r3, %units"
    yield from _where(parameters[3], count)
    yield f"%whole = select <{count} x i1> %on, {result} %back, {result} %a2"
    yield f"ret {result} %whole"


def _where(t: str, count: int) -> Iterator[str]:
    """%on: the lanes whose bit is set in the mask %a3 of type `t`."""
    mask = "%a3"
    if t != f"i{count}":
        mask = "%few"
        yield f"%few = trunc {t} %a3 to i{count}"
    yield f"%on = bitcast i{count} {mask} to <{count} x i1>"


def _reciprocal(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """1/x and 1/sqrt(x)."""
    count, element = lanes_of(result)
    one = f"<{', '.join([f'{element} 1.0'] * count)}>"
    below = "%a0"
    if "rsqrt" in name:
        below = "%root"
        yield f"%root = call {result} @llvm.sqrt.v{count}{SUFFIX[element]}({result} %a0)"
    yield f"%r = fdiv {result} {one}, {below}"
    yield from _ends(name, result, "%r")


def _compared(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """All bits of a lane are set where a comparison holds."""
    count, element = lanes_of(result)
    t = parameters[2]
    yield f"%low = and {t} %a2, 15"
    yield f"%how = zext {t} %low to i32"
    last = "zeroinitializer"
    for word, table in _PREDICATES.items():
        yield f"%{word} = fcmp {word} {result} %a0, %a1"
        yield f"%{word}.row = lshr i32 {table}, %how"
        yield f"%{word}.in = trunc i32 %{word}.row to i1"
        yield f"%{word}.or = select i1 %{word}.in, <{count} x i1> %{word}, <{count} x i1> zeroinitializer"
        yield f"%{word}.all = or <{count} x i1> {last}, %{word}.or"
        last = f"%{word}.all"
    bits = f"<{count} x i{BITS[element]}>"
    yield f"%bits = sext <{count} x i1> {last} to {bits}"
    yield f"%r = bitcast {bits} %bits to {result}"
    yield from _ends(name, result, "%r")


def _narrowed(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """The first double as the first float of the first operand; four as floats; or two, and two zeros."""
    if name.endswith("cvtsd2ss"):
        yield f"%x = extractelement {parameters[1]} %a1, i64 0"
        yield "%y = fptrunc double %x to float"
        yield f"%r = insertelement {result} %a0, float %y, i64 0"
    elif name.endswith("256"):
        yield f"%r = fptrunc {parameters[0]} %a0 to {result}"
    else:
        yield f"%y = fptrunc {parameters[0]} %a0 to <2 x float>"
        yield "%r = shufflevector <2 x float> %y, <2 x float> zeroinitializer, " + listed([0, 1, 2, 3])
    yield f"ret {result} %r"


def _permuted(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """Lanes by numbers: of their 128 bits (vpermilvar), of the vector (permvar), or of two (vpermi2var)."""
    count, element = lanes_of(result)
    two, within = "vpermi2var" in name, "vpermilvar" in name
    t = f"i{BITS[element]}"
    group = 128 // BITS[element] if within else count * (2 if two else 1)
    for n in range(count):
        yield f"%i{n} = extractelement {parameters[1]} %a1, i64 {n}"
    last = "zeroinitializer"
    for n in range(count):
        number = f"%i{n}"
        if within and element == "double":
            yield f"%h{n} = lshr {t} %i{n}, 1"
            number = f"%h{n}"
        yield f"%k{n} = and {t} {number}, {group - 1}"
        if within:
            yield f"%at{n} = or {t} %k{n}, {n // group * group}"
        else:
            yield f"%at{n} = and {t} %k{n}, {count - 1}"
        yield f"%x{n} = extractelement {result} %a0, {t} %at{n}"
        found = f"%x{n}"
        if two:
            yield f"%y{n} = extractelement {result} %a2, {t} %at{n}"
            yield f"%second{n} = icmp uge {t} %k{n}, {count}"
            yield f"%z{n} = select i1 %second{n}, {element} %y{n}, {element} %x{n}"
            found = f"%z{n}"
        yield f"%r{n} = insertelement {result} {last}, {element} {found}, i64 {n}"
        last = f"%r{n}"
    yield f"ret {result} {last}"


def _signs(t: str, mask: str) -> Iterator[str]:
    """%m0, %m1, …: whether the sign of each lane is set."""
    count, element = lanes_of(t)
    bits = f"<{count} x i{BITS.get(element, element[1:])}>"
    yield f"%bits = bitcast {t} {mask} to {bits}"
    yield f"%is = icmp slt {bits} %bits, zeroinitializer"
    for n in range(count):
        yield f"%m{n} = extractelement <{count} x i1> %is, i64 {n}"


def _masked(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """maskload(pointer, mask), maskstore(pointer, mask, v): a lane that is off uses a cell of its own."""
    v = result if "load" in name else parameters[2]
    count, element = lanes_of(v)
    if element not in BITS:
        return
    yield f"%cell = alloca {element}"
    yield f"store {element} 0.0, ptr %cell"
    yield from _signs(parameters[1], "%a1")
    last = "zeroinitializer"
    for n in range(count):
        yield f"%p{n} = getelementptr {element}, ptr %a0, i64 {n}"
        yield f"%q{n} = select i1 %m{n}, ptr %p{n}, ptr %cell"
        if "load" in name:
            yield f"%v{n} = load {element}, ptr %q{n}, align 1"
            yield f"%r{n} = insertelement {v} {last}, {element} %v{n}, i64 {n}"
            last = f"%r{n}"
        else:
            yield f"%v{n} = extractelement {v} %a2, i64 {n}"
            yield f"store {element} %v{n}, ptr %q{n}, align 1"
    yield f"ret {v} {last}" if "load" in name else "ret void"


def _gathered(name: str, parameters: Sequence[str], result: str) -> Iterator[str]:
    """gather(otherwise, base, numbers, mask, scale)"""
    count, element = lanes_of(result)
    numbers, number = lanes_of(parameters[2])
    if element not in BITS:
        return
    yield f"%cell = alloca {element}"
    yield from _signs(parameters[3], "%a3")
    yield f"%scale = sext {parameters[4]} %a4 to i64"
    last = "zeroinitializer"
    for n in range(min(count, numbers)):
        yield f"%i{n} = extractelement {parameters[2]} %a2, i64 {n}"
        yield f"%w{n} = sext {number} %i{n} to i64" if number != "i64" else f"%w{n} = add i64 %i{n}, 0"
        yield f"%o{n} = mul i64 %w{n}, %scale"
        yield f"%p{n} = getelementptr i8, ptr %a1, i64 %o{n}"
        yield f"%q{n} = select i1 %m{n}, ptr %p{n}, ptr %cell"
        yield f"%e{n} = extractelement {result} %a0, i64 {n}"
        yield f"store {element} %e{n}, ptr %cell"
        yield f"%v{n} = load {element}, ptr %q{n}, align 1"
        yield f"%r{n} = insertelement {result} {last}, {element} %v{n}, i64 {n}"
        last = f"%r{n}"
    yield f"ret {result} {last}"


_FLOATS = r"[ps][sd](?:\.\d+)?"
_MAKERS: tuple[tuple[re.Pattern[str], Maker], ...] = tuple((lazy_pattern(pattern), make) for pattern, make in (
    (rf"\w+\.(?:min|max)\.{_FLOATS}", _extremum),
    (r"avx512\.(?:add|sub|mul|div)\.p[sd]\.512", _arithmetic),
    (r"avx512\.(?:sqrt|vfmadd)\.p[sd]\.512", _function),
    (rf"\w+\.addsub\.{_FLOATS}", _alternating),
    (rf"\w+\.h(?:add|sub)\.{_FLOATS}", _horizontal),
    (r"sse41\.dpp[sd]|avx\.dp\.ps\.256", _product),
    (rf"sse41\.blendvp[sd]|avx\.blendv\.{_FLOATS}", _chosen),
    (rf"(?:sse41|avx)\.round\.{_FLOATS}", _rounded),
    (r"avx512\.mask\.rndscale\.p[sd]\.\d+", _scaled),
    (rf"(?:sse|avx)\.r(?:cp|sqrt)\.{_FLOATS}", _reciprocal),
    (rf"\w+\.cmp\.{_FLOATS}", _compared),
    (r"sse2\.cvt(?:sd2ss|pd2ps)", _narrowed),
    (r"avx\.cvt\.pd2\.ps\.256", _narrowed),
    (r"vcvtps2ph\.\d+", _halved),
    (rf"fma\.vfmaddsub\.{_FLOATS}|avx512\.vfmaddsub\.p[sd]\.512", _fused),
    (r"sse41\.insertps", _inserted),
    (rf"avx(?:512)?\.vpermilvar\.{_FLOATS}|avx2\.permps|avx512\.permvar\.[sd]f\.\d+", _permuted),
    (rf"avx512\.vpermi2var\.{_FLOATS}", _permuted),
    (rf"avx\.mask(?:load|store)\.{_FLOATS}", _masked),
    (rf"avx2\.gather\.[dq]\.{_FLOATS}", _gathered),
))  # fmt: skip
