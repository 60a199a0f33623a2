"""Intrinsics that are written out in simpler ones before differentiation, as LLVM assembly.

Reductions of vectors, masked accesses, operations on some lanes (`transforms.intrinsics.vector_predication`) and
matrices need no derivative rules: `expansion(symbol, parameters, result)` is the body of a function that does the same
lane by lane (LangRef). It is linked in under `name_of(symbol)`, and inlined. Only what can carry floats is expanded;
without a mask bit a lane is read from and written to memory of its own. Matrices are vectors by columns, and their
sizes are constants of each call: they are part of the function's name.

`unstrict` writes constrained floating-point operations (`-ffp-model=strict`) as ordinary ones, in the same order: what
is lost is that LLVM may now compute constants assuming round-to-nearest, and move operations across changes of the
floating-point environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from llgrad.ir.build import Builder, declare
from llgrad.ir.module import Module
from llgrad.ir.rewrite import before, bodies, calls, local_names, replaced
from llgrad.ir.types import FunctionType, VectorType
from llgrad.ir.values import (
    AnyValue,
    Attribute,
    Binary,
    Call,
    Cast,
    Compare,
    ConstAggregate,
    GetElementPtr,
    Instruction,
    MetadataValue,
    Undef,
    put_instead,
)
from llgrad.support.brackets import lanes_of, listed

from . import avx512, vector_predication, x86

PREFIX = "llgrad.expanded."
_FLOAT = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "x86_fp80": "f80", "fp128": "f128"}
_REDUCED = {"fmax": "maxnum", "fmin": "minnum", "fmaximum": "maximum", "fminimum": "minimum"}
_BYTES = {"half": 2, "bfloat": 2, "float": 4, "double": 8, "x86_fp80": 16, "fp128": 16, "ptr": 8}
_BYTES |= {"i8": 1, "i16": 2, "i32": 4, "i64": 8}  # they may carry floats, and lie beside them


def name_of(symbol: str, sizes: Sequence[int] = ()) -> str:
    """The function that stands for an intrinsic, with the sizes of its matrices."""
    return ".".join([PREFIX + symbol.removeprefix("llvm."), *map(str, sizes)])


def expansion(symbol: str, parameters: list[str], result: str, sizes: Sequence[int] = ()) -> str | None:
    """The definition that does what the intrinsic does, as text; None for those that are left alone."""
    for prefix, make in _MAKERS.items():
        if symbol.startswith(prefix):
            lines = list(make(symbol, parameters, result, sizes))
            names = ", ".join(f"{t} %a{n}" for n, t in enumerate(parameters))
            head = f"define internal {result} @{name_of(symbol, sizes)}({names}) alwaysinline nounwind {{"
            return "\n".join([*_declared(lines), head, *(f"  {line}" for line in lines), "}"]) if lines else None
    return None


def _declared(lines: list[str]) -> list[str]:
    """Declarations of the functions that a body calls."""
    called = dict[str, str]()
    for line in lines:
        head, _, given = line.partition("call ")[2].partition("(")
        result, found, name = head.partition(" @")
        if found:
            called[name] = f"declare {result} @{name}({', '.join(map(_type_of, listed(given)[0]))})"
    return list(called.values())


def _type_of(operand: str) -> str:
    return operand[: operand.index(">") + 1] if operand[0] == "<" else operand.partition(" ")[0]


def _reduce(symbol: str, parameters: list[str], result: str, _: Sequence[int]) -> Iterator[str]:
    """`llvm.vector.reduce.fadd(start, v)`, `fmul`, `fmax(v)`, …: one lane after the other, as the LangRef says."""
    operation = symbol.split(".")[3]
    vector = len(parameters) - 1
    count, element = lanes_of(parameters[vector])
    if element not in _FLOAT or operation not in {*_REDUCED, "fadd", "fmul"}:
        return
    for n in range(count):
        yield f"%e{n} = extractelement {parameters[vector]} %a{vector}, i64 {n}"
    last, rest = ("%a0", range(count)) if vector else ("%e0", range(1, count))
    for n in rest:
        if operation in ("fadd", "fmul"):
            yield f"%r{n} = {operation} {element} {last}, %e{n}"
        else:
            call = f"@llvm.{_REDUCED[operation]}.{_FLOAT[element]}"
            yield f"%r{n} = call {element} {call}({element} {last}, {element} %e{n})"
        last = f"%r{n}"
    yield f"ret {element} {last}"


def _masked(symbol: str, parameters: list[str], result: str, _: Sequence[int]) -> Iterator[str]:
    """Masked load, store, expandload, compressstore: a lane that is off uses a cell of its own."""
    operation = symbol.split(".")[2]
    stores = operation in ("store", "compressstore")
    data = parameters[0] if stores else result
    count, element = lanes_of(data)
    if element not in _BYTES:
        return
    alignment = 1 if "i32" in parameters else 0
    where = int(stores)
    mask = where + 1 + alignment
    pointer = parameters[where]
    yield from _cell(element, pointer)
    for n in range(count):
        yield f"%m{n} = extractelement <{count} x i1> %a{mask}, i64 {n}"
    place = "0"
    for n in range(count):
        if operation in ("expandload", "compressstore"):
            yield f"%p{n} = getelementptr {element}, {pointer} %a{where}, i64 {place}"
            yield f"%o{n} = zext i1 %m{n} to i64"
            yield f"%n{n} = add i64 {place}, %o{n}"
            place = f"%n{n}"
        else:
            yield f"%p{n} = getelementptr i8, {pointer} %a{where}, i64 {n * _BYTES[element]}"
        yield f"%q{n} = select i1 %m{n}, {pointer} %p{n}, {pointer} %cell"
    yield from (_stores if stores else _loads)(count, element, data, f"%a{len(parameters) - 1}", pointer)


def _cell(element: str, pointer: str) -> Iterator[str]:
    """%cell: memory for lanes that are off, in the address space of the others."""
    if pointer == "ptr":
        yield f"%cell = alloca {element}"
    else:
        yield f"%own = alloca {element}"
        yield f"%cell = addrspacecast ptr %own to {pointer}"


def _gathered(symbol: str, parameters: list[str], result: str, _: Sequence[int]) -> Iterator[str]:
    """Masked gather and scatter: each lane has a pointer."""
    scatters = ".scatter." in symbol
    data = parameters[0] if scatters else result
    count, element = lanes_of(data)
    if element not in _BYTES:
        return
    where = int(scatters)
    mask = where + 1 + ("i32" in parameters)
    pointer = lanes_of(parameters[where])[1]
    yield from _cell(element, pointer)
    for n in range(count):
        yield f"%m{n} = extractelement <{count} x i1> %a{mask}, i64 {n}"
        yield f"%p{n} = extractelement {parameters[where]} %a{where}, i64 {n}"
        yield f"%q{n} = select i1 %m{n}, {pointer} %p{n}, {pointer} %cell"
    yield from (_stores if scatters else _loads)(count, element, data, f"%a{len(parameters) - 1}", pointer)


def _stores(count: int, element: str, data: str, _: str, pointer: str) -> Iterator[str]:
    for n in range(count):
        yield f"%e{n} = extractelement {data} %a0, i64 {n}"
        yield f"store {element} %e{n}, {pointer} %q{n}, align 1"
    yield "ret void"


def _loads(count: int, element: str, data: str, otherwise: str, pointer: str) -> Iterator[str]:
    yield f"store {element} {'null' if element == 'ptr' else 'zeroinitializer'}, {pointer} %cell"
    last = otherwise
    for n in range(count):
        yield f"%v{n} = load {element}, {pointer} %q{n}, align 1"
        yield f"%x{n} = extractelement {data} {otherwise}, i64 {n}"
        yield f"%s{n} = select i1 %m{n}, {element} %v{n}, {element} %x{n}"
        yield f"%r{n} = insertelement {data} {last}, {element} %s{n}, i64 {n}"
        last = f"%r{n}"
    yield f"ret {data} {last}"


def _compressed(symbol: str, parameters: list[str], result: str, _: Sequence[int]) -> Iterator[str]:
    """(vector, mask, what the lanes behind the chosen ones are)"""
    count, element = lanes_of(result)
    if element not in _BYTES:
        return
    yield f"%kept = alloca [{count} x {element}]"
    for n in range(count):
        yield f"%k{n} = getelementptr {element}, ptr %kept, i64 {n}"
        yield f"%x{n} = extractelement {result} %a2, i64 {n}"
        yield f"store {element} %x{n}, ptr %k{n}, align 1"
    yield f"%cell = alloca {element}"
    place = "0"
    for n in range(count):
        yield f"%m{n} = extractelement <{count} x i1> %a1, i64 {n}"
        yield f"%p{n} = getelementptr {element}, ptr %kept, i64 {place}"
        yield f"%o{n} = zext i1 %m{n} to i64"
        yield f"%n{n} = add i64 {place}, %o{n}"
        place = f"%n{n}"
        yield f"%q{n} = select i1 %m{n}, ptr %p{n}, ptr %cell"
        yield f"%e{n} = extractelement {result} %a0, i64 {n}"
        yield f"store {element} %e{n}, ptr %q{n}, align 1"
    last = "poison"
    for n in range(count):
        yield f"%l{n} = load {element}, ptr %k{n}, align 1"
        yield f"%r{n} = insertelement {result} {last}, {element} %l{n}, i64 {n}"
        last = f"%r{n}"
    yield f"ret {result} {last}"


def _paired(symbol: str, parameters: list[str], result: str, _: Sequence[int]) -> Iterator[str]:
    """`llvm.sincos`, `llvm.modf` of numbers or vectors: what they return, one by one."""
    of, suffix = parameters[0], symbol.split(".", 2)[2]
    if symbol.startswith("llvm.sincos."):
        yield f"%first = call {of} @llvm.sin.{suffix}({of} %a0)"
        yield f"%second = call {of} @llvm.cos.{suffix}({of} %a0)"
    else:
        count = lanes_of(of)[0]
        bits = f"<{count} x i1>" if count else "i1"
        yield f"%second = call {of} @llvm.trunc.{suffix}({of} %a0)"
        yield f"%rest = fsub {of} %a0, %second"
        yield f"%whole = fcmp oeq {of} %a0, %second"  # of an infinite number nothing is left
        yield f"%left = select {bits} %whole, {of} zeroinitializer, {of} %rest"
        yield f"%first = call {of} @llvm.copysign.{suffix}({of} %left, {of} %a0)"
    yield f"%r0 = insertvalue {result} poison, {of} %first, 0"
    yield f"%r1 = insertvalue {result} %r0, {of} %second, 1"
    yield f"ret {result} %r1"


def _mantissa(symbol: str, parameters: list[str], result: str, _: Sequence[int]) -> Iterator[str]:
    """`llvm.frexp` by the library's, number by number: the struct of a float and an integer is taken apart."""
    count, element = lanes_of(parameters[0])
    element, exponents = element or parameters[0], result.split(", ", 1)[1].rstrip("} ")
    integer = lanes_of(exponents)[1] or exponents
    name = {"float": "frexpf", "double": "frexp", "x86_fp80": "frexpl", "fp128": "frexpf128"}.get(element)
    if name is None:
        return
    resize = "" if integer == "i32" else "trunc" if int(integer[1:]) < 32 else "sext"
    yield "%cell = alloca i32"
    fractions, powers = "%a0", "poison"
    for n in range(count or 1):
        x = f"%x{n}" if count else "%a0"
        if count:
            yield f"{x} = extractelement {parameters[0]} %a0, i64 {n}"
        yield f"%f{n} = call {element} @{name}({element} {x}, ptr %cell)"
        yield f"%{'n' if resize else 'e'}{n} = load i32, ptr %cell, align 4"
        if resize:
            yield f"%e{n} = {resize} i32 %n{n} to {integer}"
        if count:
            yield f"%v{n} = insertelement {parameters[0]} {fractions}, {element} %f{n}, i64 {n}"
            yield f"%w{n} = insertelement {exponents} {powers}, {integer} %e{n}, i64 {n}"
        fractions, powers = (f"%v{n}", f"%w{n}") if count else (f"%f{n}", f"%e{n}")
    yield f"%r0 = insertvalue {result} poison, {parameters[0]} {fractions}, 0"
    yield f"%r1 = insertvalue {result} %r0, {exponents} {powers}, 1"
    yield f"ret {result} %r1"


def _of_x86(symbol: str, parameters: list[str], result: str, _: Sequence[int]) -> Iterator[str]:
    lines = list(x86.lines(symbol, parameters, result))
    yield from lines or avx512.lines(symbol, parameters, result)


def _predicated(symbol: str, parameters: list[str], result: str, _: Sequence[int]) -> Iterator[str]:
    return vector_predication.lines(symbol, parameters, result)


def _partial(symbol: str, parameters: list[str], result: str, _: Sequence[int]) -> Iterator[str]:
    """`llvm.vector.partial.reduce.fadd(sums, v)`: which lanes of `v` are in which sum is not said."""
    (sums, t), (count, element) = lanes_of(parameters[0]), lanes_of(parameters[1])
    if t != element or t not in _FLOAT or not sums or count % sums:
        return
    last = "%a0"
    for n in range(count // sums):
        lanes = ", ".join(f"i32 {n * sums + lane}" for lane in range(sums))
        yield f"%v{n} = shufflevector {parameters[1]} %a1, {parameters[1]} poison, <{sums} x i32> <{lanes}>"
        yield f"%s{n} = fadd reassoc {result} {last}, %v{n}"
        last = f"%s{n}"
    yield f"ret {result} {last}"


def _in_elements(symbol: str, parameters: list[str], _: str, __: Sequence[int]) -> Iterator[str]:
    """`llvm.memcpy.element.unordered.atomic` and its like, as the plain ones."""
    if any("(" in t for t in parameters):  # another address space
        return
    operation = symbol.split(".")[1]
    pointers = ".".join("p0" for t in parameters if t == "ptr")
    given = ", ".join(f"{t} %a{n}" for n, t in enumerate(parameters[:3]))
    yield f"call void @llvm.{operation}.{pointers}.{parameters[2]}({given}, i1 false)"
    yield "ret void"


def _pattern(_: str, parameters: list[str], __: str, ___: Sequence[int]) -> Iterator[str]:
    """`llvm.experimental.memset.pattern(pointer, element, count, volatile)`"""
    pointer, element, count = parameters[:3]
    if element not in _BYTES:
        return
    yield from ("br label %test", "test:", f"%n = phi {count} [ 0, %0 ], [ %next, %fill ]")
    yield from (f"%more = icmp ult {count} %n, %a2", "br i1 %more, label %fill, label %end", "fill:")
    yield f"%p = getelementptr {element}, {pointer} %a0, {count} %n"
    yield f"store {element} %a1, {pointer} %p, align 1"
    yield from (f"%next = add nuw {count} %n, 1", "br label %test", "end:", "ret void")


def _halves(symbol: str, parameters: list[str], result: str, _: Sequence[int]) -> Iterator[str]:
    """`llvm.convert.to.fp16`, `from.fp16`: a `half` as an integer."""
    if ".to." in symbol:
        yield f"%h = fptrunc {parameters[0]} %a0 to half"
        yield "%r = bitcast half %h to i16"
    else:
        yield "%h = bitcast i16 %a0 to half"
        yield f"%r = fpext half %h to {result}"
    yield f"ret {result} %r"


def _multiply(_: str, parameters: list[str], result: str, sizes: Sequence[int]) -> Iterator[str]:
    """(A, B, rows of A, columns of A, columns of B)"""
    (a, b), (m, k, n) = parameters[:2], sizes
    element = lanes_of(a)[1]
    if element not in _FLOAT:
        return
    for i in range(m * k):
        yield f"%x{i} = extractelement {a} %a0, i64 {i}"
    for i in range(k * n):
        yield f"%y{i} = extractelement {b} %a1, i64 {i}"
    last = "poison"
    for at in range(m * n):
        i, j = at % m, at // m
        for p in range(k):
            yield f"%t{at}.{p} = fmul contract {element} %x{i + p * m}, %y{p + j * k}"
            if p:
                yield f"%s{at}.{p} = fadd contract {element} %{'s' if p > 1 else 't'}{at}.{p - 1}, %t{at}.{p}"
        total = f"%{'s' if k > 1 else 't'}{at}.{k - 1}"
        yield f"%r{at} = insertelement {result} {last}, {element} {total}, i64 {at}"
        last = f"%r{at}"
    yield f"ret {result} {last}"


def _transpose(_: str, parameters: list[str], result: str, sizes: Sequence[int]) -> Iterator[str]:
    m, n = sizes
    lanes = ", ".join(f"i32 {i + j * m}" for i in range(m) for j in range(n))
    yield f"%r = shufflevector {parameters[0]} %a0, {parameters[0]} poison, <{m * n} x i32> <{lanes}>"
    yield f"ret {parameters[0]} %r"


def _column_load(_: str, parameters: list[str], result: str, sizes: Sequence[int]
) -> Iterator[str]:
    """(pointer, stride, volatile, rows, columns)"""
    m, n = sizes
    element, last = lanes_of(result)[1], "poison"
    for i, at in enumerate(_places("%a0", "%a1", parameters[1], element, m, n)):
        yield from at
        yield f"%e{i} = load {element}, ptr %p{i}, align 1"
        yield f"%r{i} = insertelement {result} {last}, {element} %e{i}, i64 {i}"
        last = f"%r{i}"
    yield f"ret {result} {last}"


def _column_store(_: str, parameters: list[str], result: str, sizes: Sequence[int]) -> Iterator[str]:
    """(matrix, pointer, stride, volatile, rows, columns)"""
    m, n = sizes
    element = lanes_of(parameters[0])[1]
    for i, at in enumerate(_places("%a1", "%a2", parameters[2], element, m, n)):
        yield from at
        yield f"%e{i} = extractelement {parameters[0]} %a0, i64 {i}"
        yield f"store {element} %e{i}, ptr %p{i}, align 1"
    yield "ret void"


def _places(pointer: str, stride: str, t: str, element: str, m: int, n: int) -> Iterator[list[str]]:
    """The lines that compute the address %p0, %p1, … of each entry, by columns."""
    for at in range(m * n):
        i, j = at % m, at // m
        lines = [f"%c{j} = mul {t} {stride}, {j}", f"%b{j} = getelementptr {element}, ptr {pointer}, {t} %c{j}"]
        yield [*(lines if not i else []), f"%p{at} = getelementptr {element}, ptr %b{j}, i64 {i}"]


_MAKERS: dict[str, Callable[[str, list[str], str, Sequence[int]], Iterator[str]]] = {
    "llvm.vector.reduce.f": _reduce,
    **{f"llvm.masked.{o}.": _masked for o in ("load", "store", "expandload", "compressstore")},
    **{f"llvm.masked.{o}.": _gathered for o in ("gather", "scatter")},
    "llvm.experimental.vector.compress.": _compressed, "llvm.sincos.": _paired, "llvm.modf.": _paired,
    "llvm.frexp.": _mantissa, "llvm.vector.partial.reduce.fadd.": _partial, "llvm.convert.": _halves,
    "llvm.experimental.memset.pattern.": _pattern,
    **{f"llvm.{o}.element.unordered.atomic.": _in_elements for o in ("memcpy", "memmove", "memset")},
    **dict.fromkeys(vector_predication.PREFIXES, _predicated),
    "llvm.x86.": _of_x86, "llvm.matrix.multiply.": _multiply, "llvm.matrix.transpose.": _transpose,
    "llvm.matrix.column.major.load.": _column_load, "llvm.matrix.column.major.store.": _column_store,
}

# --- vectors of pointers ---------------------------------------------------------------------------------------------


def pointer_lanes(module: Module) -> bool:
    """Compute the addresses in vectors one by one.

    %q = getelementptr double, <2 x ptr> %p, i64 1    →    a getelementptr of each lane, put together to %q
    """
    changed = False
    for f in bodies(module, " x ptr"):
        names = local_names(f)
        for i in list(f.instructions()):
            if isinstance(i, GetElementPtr) and isinstance(i.type, VectorType) and not i.type.scalable:
                replaced(i, _one_by_one(i, i.type, before(i, names)))
                changed = True
    return changed


def _one_by_one(i: GetElementPtr, t: VectorType, b: Builder) -> AnyValue:
    made: AnyValue = Undef(t, poison=True)
    for n in range(t.count):
        base, *indices = (_lane(b, v, n) for v in i.operands)
        made = b.insert_element(made, b.gep(i.source_type, base, indices, flags=i.flags), n, "llgrad.lanes")
    return made


def _lane(b: Builder, v: AnyValue, n: int) -> AnyValue:
    if not isinstance(v.type, VectorType):
        return v
    return v.elements[n] if isinstance(v, ConstAggregate) else b.extract_element(v, n)


# --- strict floating point -------------------------------------------------------------------------------------------

_STRICT = ("llvm.experimental.constrained.", "llvm.fptrunc.round.")
_CASTS = {"fptosi", "fptoui", "sitofp", "uitofp", "fptrunc", "fpext"}
_BINARY = {"fadd", "fsub", "fmul", "fdiv", "frem"}


def is_strict(text: str) -> bool:
    """Has a program constrained operations?"""
    return "strictfp" in text or any(f"@{name}" in text for name in _STRICT)


def unstrict(module: Module) -> bool:
    """Leave no constrained operations, as far as `library` knows what they are without.

    %r = call double @llvm.experimental.constrained.fadd.f64(double %x, double %y, metadata …)
                                                                                  →    %r = fadd double %x, double %y
    """
    changed = _are_ordinary(module)
    for c in calls(module, *_STRICT):
        put_instead(c, _ordinary(module, c))
        changed = True
    return changed


def _are_ordinary(module: Module) -> bool:
    """Let no function say that it is strict, or what LLVM inlines gets strict."""
    changed = False
    for n, group in module.attribute_groups.items():
        module.attribute_groups[n] = _not_strict(group)
        changed |= module.attribute_groups[n] != group
    for f in module.functions:
        old, f.attributes = f.attributes, _not_strict(f.attributes)
        changed |= old != f.attributes
    return changed


def _not_strict(attributes: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
    return tuple(Attribute("was-strictfp", string=True) if a.name == "strictfp" else a for a in attributes)


def _ordinary(module: Module, c: Call) -> Instruction:
    f = c.called_function
    assert f is not None
    operation, _, suffix = f.name.removeprefix(_STRICT[0]).partition(".")
    if f.name.startswith(_STRICT[1]):
        operation = "fptrunc"
    said = [v.text for v in c.arguments if isinstance(v, MetadataValue)]
    given = [v for v in c.arguments if not isinstance(v, MetadataValue)]
    new: Instruction
    if operation in _BINARY:
        new = Binary(operation, c.type, given)
    elif operation in _CASTS:
        new = Cast(operation, c.type, given)
    elif operation in ("fcmp", "fcmps"):
        new = Compare("fcmp", said[0].strip('!"'), given[0], given[1], c.type)
    else:
        types = [v.type for v in given]
        name = f"llvm.{'fma' if operation == 'fmuladd' else operation}.{suffix}"
        new = Call(FunctionType(c.type, tuple(types)), declare(module, name, c.type, types), given)
    new.name, new.metadata = c.name, c.metadata
    new.flags = c.flags if operation not in _CASTS or operation in ("fptrunc", "fpext") else frozenset()
    return new


__all__ = ["PREFIX", "expansion", "is_strict", "name_of", "pointer_lanes", "unstrict"]
