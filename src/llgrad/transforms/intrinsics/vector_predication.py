"""`llvm.vp.*`: operations on the first lanes of a vector, of those that a mask does not switch off, as plain ones.

A lane that is off has no value, hence no derivative: operands there are 1, at which all operations have one, so that
what the operands of such a lane hold adds nothing, not a number times zero either. Reductions have what changes
nothing there. Accesses become masked ones, which are written out in their turn (`transforms.intrinsics.expansions`).
"""

from __future__ import annotations

from collections.abc import Iterator

from llgrad.support.brackets import lanes_of

PREFIXES = ("llvm.vp.", "llvm.experimental.vp.")
_ONE = {
    "half": "0xH3C00", "bfloat": "0xR3F80", "float": "1.0", "double": "1.0", "x86_fp80": "0xK3FFF8000000000000000",
    "fp128": "0xL00000000000000003FFF000000000000",
}  # fmt: skip
_ZERO = {
    "half": "0xH8000", "bfloat": "0xR8000", "float": "-0.0", "double": "-0.0", "x86_fp80": "0xK80000000000000000000",
    "fp128": "0xL00000000000000008000000000000000",
}  # fmt: skip
_SUFFIX = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "x86_fp80": "f80", "fp128": "f128"}
_OPCODES = frozenset(["fadd", "fsub", "fmul", "fdiv", "frem", "fneg"])
_CASTS = frozenset(["fptrunc", "fpext", "fptosi", "fptoui", "sitofp", "uitofp"])
_CALLED = frozenset([
    "fabs", "sqrt", "fma", "fmuladd", "copysign", "minnum", "maxnum", "minimum", "maximum", "ceil", "floor", "round",
    "roundeven", "rint", "nearbyint", "roundtozero",
])  # fmt: skip
_NAMED = {"roundtozero": "trunc"}
_REDUCED = {"fmax": "maxnum", "fmin": "minnum", "fmaximum": "maximum", "fminimum": "minimum"}


def lines(symbol: str, parameters: list[str], result: str) -> Iterator[str]:
    """The body of a function that does the same; nothing for operations on integers, and those that are unknown."""
    operation = symbol.split(".vp.")[1].split(".")
    mask = len(parameters) - 2
    choice = operation[0] in ("select", "merge")
    count, element = lanes_of(parameters[0 if choice else mask])
    if element != "i1":
        return
    body = list(_choice(parameters, result) if choice else _operation(operation, parameters, result, count))
    if body:
        yield from _enabled(count, f"%a{0 if choice else mask}", f"%a{len(parameters) - 1}")
        yield from body
        yield "ret void" if result == "void" else f"ret {result} %r"


def _enabled(count: int, mask: str, length: str) -> Iterator[str]:
    """%on: the lanes that are neither behind the end nor switched off."""
    lanes = ", ".join(f"i32 {n}" for n in range(count))
    yield f"%l = insertelement <{count} x i32> poison, i32 {length}, i64 0"
    yield f"%n = shufflevector <{count} x i32> %l, <{count} x i32> poison, <{count} x i32> zeroinitializer"
    yield f"%in = icmp ult <{count} x i32> <{lanes}>, %n"
    yield f"%on = and <{count} x i1> %in, {mask}"


def _choice(parameters: list[str], result: str) -> Iterator[str]:
    """`select` and `merge` (mask, a, b, length): what is behind the end of a `select` is anything."""
    yield f"%r = select {parameters[0]} %on, {result} %a1, {result} %a2"


def _operation(operation: list[str], parameters: list[str], result: str, count: int) -> Iterator[str]:
    name, *rest = operation
    bits = f"<{count} x i1>"
    if name == "reduce":
        yield from _reduced(rest[0], parameters, count)
    elif name in ("load", "gather") and "(" not in parameters[0]:
        where = parameters[0]
        call = f"@llvm.masked.{name}.{_kind(result)}.{_kind(where)}"
        yield f"%r = call {result} {call}({where} %a0, {bits} %on, {result} poison)"
    elif name in ("store", "scatter") and "(" not in parameters[1]:
        data, where = parameters[:2]
        yield f"call void @llvm.masked.{name}.{_kind(data)}.{_kind(where)}({data} %a0, {where} %a1, {bits} %on)"
    elif name == "strided":
        yield from _strided(rest[0], parameters, result, count)
    elif name in _OPCODES | _CASTS | _CALLED:
        given = len(parameters) - 2
        elements = {lanes_of(t)[1] for t in (result, *parameters[:given])} - {""}
        if not elements <= _SUFFIX.keys() and name not in _CASTS:
            return  # LLVM's verifier lets integers pass
        for n, t in enumerate(parameters[:given]):
            yield from _safe(f"%s{n}", t, f"%a{n}", _ONE, bits)
        operands = [f"%s{n}" for n in range(given)]
        if name in _CASTS:
            yield f"%r = {name} {parameters[0]} %s0 to {result}"
        elif name in _OPCODES:
            yield f"%r = {name} {parameters[0]} {', '.join(operands)}"
        else:
            typed = ", ".join(f"{t} {v}" for t, v in zip(parameters, operands, strict=False))
            yield f"%r = call {result} @llvm.{_NAMED.get(name, name)}.{_kind(result)}({typed})"


def _safe(name: str, t: str, value: str, other: dict[str, str], bits: str) -> Iterator[str]:
    """An operand with a number of `other` in lanes that are off; integers as they are."""
    count, element = lanes_of(t)
    lanes = ", ".join([f"{element} {other.get(element, '0')}"] * count)
    yield f"{name} = select {bits} %on, {t} {value}, {t} <{lanes}>"


def _reduced(operation: str, parameters: list[str], count: int) -> Iterator[str]:
    """(start, vector, mask, length)"""
    start, vector, bits = parameters[0], parameters[1], f"<{count} x i1>"
    call = f"@llvm.vector.reduce.{operation}.{_kind(vector)}"
    if operation in ("fadd", "fmul"):
        yield from _safe("%s", vector, "%a1", _ZERO if operation == "fadd" else _ONE, bits)
        yield f"%r = call {start} {call}({start} %a0, {vector} %s)"
    elif operation in _REDUCED:
        yield f"%f = insertelement {vector} poison, {start} %a0, i64 0"
        yield f"%g = shufflevector {vector} %f, {vector} poison, <{count} x i32> zeroinitializer"
        yield f"%s = select {bits} %on, {vector} %a1, {vector} %g"
        yield f"%t = call {start} {call}({vector} %s)"
        yield f"%r = call {start} @llvm.{_REDUCED[operation]}.{_SUFFIX[start]}({start} %a0, {start} %t)"


def _strided(way: str, parameters: list[str], result: str, count: int) -> Iterator[str]:
    """`strided.load` (address, stride in bytes, mask, length), `strided.store` (vector, address, …)."""
    at = int(way == "store")
    step, bits, pointers = parameters[at + 1], f"<{count} x i1>", f"<{count} x ptr>"
    last = "poison"
    for n in range(count):
        yield f"%o{n} = mul {step} %a{at + 1}, {n}"
        yield f"%p{n} = getelementptr i8, ptr %a{at}, {step} %o{n}"
        yield f"%q{n} = insertelement {pointers} {last}, ptr %p{n}, i64 {n}"
        last = f"%q{n}"
    if at:
        data = parameters[0]
        yield f"call void @llvm.masked.scatter.{_kind(data)}.v{count}p0({data} %a0, {pointers} {last}, {bits} %on)"
    else:
        call = f"@llvm.masked.gather.{_kind(result)}.v{count}p0"
        yield f"%r = call {result} {call}({pointers} {last}, {bits} %on, {result} poison)"


def _kind(vector: str) -> str:
    """`v4f64` for `<4 x double>`, `p0` for a pointer"""
    count, element = lanes_of(vector)
    return f"v{count}{_SUFFIX.get(element, 'p0' if element == 'ptr' else element)}" if count else "p0"


__all__ = ["PREFIXES", "lines"]
