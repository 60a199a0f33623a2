"""StableHLO's operations that jaxlib does not lower: sorting, scattering, Fourier transforms, and LAPACK's calls.

Each becomes a call of a function of tensors, which is written here in upstream dialects: it copies, loops, and calls
`runtime/lapack/lapack.c` and `spectra.c` where that is C. A sort moves all its operands by the permutation that sorts
the first ones. What is not of a form that JAX writes (sorting, scattering by other functions) is left as it is, and so
refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

_ELEMENTS = {"f64": "f64", "f32": "f32", "i64": "i64", "i32": "i32"}
_UPDATES = {
    "stablehlo.add": ("arith.addf", "arith.addi"), "stablehlo.multiply": ("arith.mulf", "arith.muli"),
    "stablehlo.maximum": ("arith.maximumf", "arith.maxsi"), "stablehlo.minimum": ("arith.minimumf", "arith.minsi"),
}  # fmt: skip
_SORTING = {f"stablehlo.{name}" for name in ("compare", "select", "constant", "return", "and", "or")}
_HERE = ("stablehlo.sort", "stablehlo.scatter", "stablehlo.fft", "stablehlo.custom_call")


@dataclass(frozen=True, slots=True)
class _Array:
    """A tensor's shape and element."""

    shape: tuple[int, ...]
    element: str

    @property
    def dims(self) -> str:
        return "".join(f"{n}x" for n in self.shape)

    @property
    def tensor(self) -> str:
        return f"tensor<{self.dims}{self.element}>"

    @property
    def memref(self) -> str:
        return f"memref<{self.dims}{self.element}>"


def called(module: Any, ir: Any, stablehlo: Any) -> dict[str, str]:
    """Replaces such operations by calls of functions that the module declares; those functions' text, by name."""
    written: dict[str, str] = {}
    for op in list(_operations(module.operation)):
        name = f"llgrad_call_{len(written)}"
        made = _written(op, name, ir, stablehlo)
        if made is None:
            continue
        written[name] = made
        operands, results = list(op.operands), [r.type for r in op.results]
        with ir.InsertionPoint(op):
            call = ir.Operation.create(
                "func.call", results=results, operands=operands, attributes={"callee": ir.FlatSymbolRefAttr.get(name)}
            )
        for old, new in zip(op.results, call.results, strict=True):
            old.replace_all_uses_with(new)
        op.erase()
        with ir.InsertionPoint(module.body):
            t = ir.TypeAttr.get(ir.FunctionType.get([o.type for o in operands], results))
            visible = ir.StringAttr.get("private")
            attributes = {"sym_name": ir.StringAttr.get(name), "function_type": t, "sym_visibility": visible}
            ir.Operation.create("func.func", attributes=attributes, regions=1)
    return written


def _operations(operation: Any) -> Iterator[Any]:
    for region in operation.regions:
        for block in region.blocks:
            for op in [op.operation for op in block.operations]:
                yield from _operations(op)
                if op.name in _HERE:
                    yield op


def _arrays(values: Any, ir: Any) -> list[_Array] | None:
    found = []
    for value in values:
        t = ir.RankedTensorType(value.type)
        if not t.has_static_shape or str(t.element_type).startswith("ui"):
            return None
        found.append(_Array(tuple(t.shape), str(t.element_type)))
    return found


def _written(op: Any, name: str, ir: Any, stablehlo: Any) -> str | None:
    """The text of the function that does what an operation does; None for what is not known."""
    given, results = _arrays(op.operands, ir), _arrays(op.results, ir)
    if given is None or results is None:
        return None
    lines = None
    if op.name == "stablehlo.sort":
        lines = _sort(op, given)
    elif op.name == "stablehlo.scatter":
        lines = _scatter(op, given, stablehlo.ScatterDimensionNumbers(op.attributes["scatter_dimension_numbers"]))
    elif op.name == "stablehlo.fft":
        kind = stablehlo.FftTypeAttr(op.attributes["fft_type"]).value
        lines = _fourier(kind, list(op.attributes["fft_length"]), given[0], results[0])
    else:
        lines = _lapack(op, given, results)
    if lines is None:
        return None
    formal = ", ".join(f"%t{n}: {a.tensor}" for n, a in enumerate(given))
    used = [n for n in range(len(given)) if any(re.search(rf"%m{n}\b", line) for line in lines)]
    head = [f"%m{n} = memref.alloc() : {given[n].memref}" for n in used]
    head += [_copied(given[n], f"%t{n}", f"%m{n}") for n in used]
    out = [f"%r{n} = memref.alloc() : {a.memref}" for n, a in enumerate(results)]
    end = [
        f"%o{n} = bufferization.to_tensor %r{n} restrict writable : {a.memref} to {a.tensor}"
        for n, a in enumerate(results)
    ]
    types = ", ".join(a.tensor for a in results)
    back = f"return {', '.join(f'%o{n}' for n in range(len(results)))} : {types}"
    body = "\n    ".join([*head, *out, *lines, *end, back])
    return f"  func.func private @{name}({formal}) -> ({types}) {{\n    {body}\n  }}\n"


class _Loops:
    """Lines of nested loops, which are closed at the end."""

    def __init__(self) -> None:
        self.lines = ["%c0 = arith.constant 0 : index", "%c1 = arith.constant 1 : index"]
        self._open = 0

    def over(self, extents: Sequence[int], prefix: str) -> list[str]:
        """Loops over all indices of a shape."""
        names = [f"%{prefix}{n}" for n in range(len(extents))]
        for name, extent in zip(names, extents, strict=True):
            self.lines.append(f"{name}_n = arith.constant {extent} : index")
            self.lines.append(f"scf.for {name} = %c0 to {name}_n step %c1 {{")
        self._open += len(names)
        return names

    def close(self) -> list[str]:
        self.lines += ["}"] * self._open
        self._open = 0
        return self.lines


def _offset(indices: Sequence[str]) -> str:
    """Where a part of a memref begins, if that varies."""
    return ", offset: ?" if indices else ""


def _copied(a: _Array, source: str, target: str) -> str:
    """A tensor's own copy: its buffer would be written to as soon as no tensor needs it."""
    put = f"bufferization.materialize_in_destination {source} in restrict writable {target}"
    return f"{put} : ({a.tensor}, {a.memref}) -> ()"


# --- sorting ----------------------------------------------------------------------------------------------------------


def _sort(op: Any, given: list[_Array]) -> list[str] | None:
    """Along one dimension, by the first operands, as JAX compares: what is not a number counts as the largest."""
    block, key = op.regions[0].blocks[0], given[0]
    inner = [o.operation for o in block.operations]
    keys, down = _keys(inner[-1].operands[0], list(block.arguments))
    if {o.name for o in inner} - _SORTING or any(list(a.uses) for a in list(block.arguments)[2 * keys :]):
        return None
    if not keys or any(a.element not in _ELEMENTS for a in given[:keys]):
        return None
    along = int(op.attributes["dimension"].value)
    n, rank = key.shape[along], len(key.shape)
    loops = _Loops()
    loops.lines += [f"%down = arith.constant {int(down)} : i64", f"%perm = memref.alloc() : memref<{n}xi64>"]
    loops.lines.append(f"%order = memref.cast %perm : memref<{n}xi64> to memref<?xi64>")
    others = loops.over([e for d, e in enumerate(key.shape) if d != along], "i")
    at = [*others[:along], "0", *others[along:]]
    sizes, ones = ["1"] * rank, ", ".join(["1"] * rank)
    sizes[along] = str(n)
    stride = prod(key.shape[along + 1 :])
    loops.lines += [
        f"%n = arith.constant {n} : index", "scf.for %i = %c0 to %n step %c1 {",
        "%first = arith.index_cast %i : index to i64", f"memref.store %first, %perm[%i] : memref<{n}xi64>", "}",
    ]  # fmt: skip
    for m, a in reversed(list(enumerate(given[:keys]))):  # what is equal by one key keeps the order of those after it
        row = f"memref<{n}x{a.element}, strided<[{stride}]{_offset(others)}>>"
        passed = f"memref<?x{a.element}, strided<[?], offset: ?>>"
        loops.lines += [
            f"%row{m} = memref.subview %m{m}[{', '.join(at)}] [{', '.join(sizes)}] [{ones}] : {a.memref} to {row}",
            f"%key{m} = memref.cast %row{m} : {row} to {passed}",
            f"func.call @llgrad_sort_{a.element}(%key{m}, %order, %down) : ({passed}, memref<?xi64>, i64) -> ()",
        ]
    loops.lines += [
        "scf.for %k = %c0 to %n step %c1 {",
        f"%from = memref.load %perm[%k] : memref<{n}xi64>", "%p = arith.index_cast %from : i64 to index",
    ]  # fmt: skip
    for m, a in enumerate(given):
        here, there = (", ".join([*others[:along], x, *others[along:]]) for x in ("%k", "%p"))
        loops.lines.append(f"%v{m} = memref.load %m{m}[{there}] : {a.memref}")
        loops.lines.append(f"memref.store %v{m}, %r{m}[{here}] : {a.memref}")
    loops.lines.append("}")
    return loops.close()


def _keys(value: Any, arguments: list[Any], first: int = 0) -> tuple[int, bool]:
    """By how many operands is compared, of which the first is this one; is it downwards? None of them: 0."""
    op = value.owner
    if op.name == "stablehlo.compare":
        direction = str(op.attributes["comparison_direction"])
        ordered = any(f" {d}>" in direction for d in ("LT", "GT")) and _of(op, arguments, first)
        return (1 if ordered else 0), "GT" in direction
    if op.name != "stablehlo.or":
        return 0, False
    less, equal = (o.owner for o in op.operands)
    if less.name != "stablehlo.compare" or equal.name != "stablehlo.and":
        return 0, False
    same, rest = equal.operands
    if same.owner.name != "stablehlo.compare" or " EQ>" not in str(same.owner.attributes["comparison_direction"]):
        return 0, False
    mine, down = _keys(op.operands[0], arguments, first)
    others, down_too = _keys(rest, arguments, first + 1)
    good = mine and others and down == down_too and _of(same.owner, arguments, first)
    return (1 + others if good else 0), down


def _of(compare: Any, arguments: list[Any], key: int) -> bool:
    """Does a comparison compare the two elements of a key, in their order?"""
    if len(arguments) < 2 * key + 2:
        return False
    first, second = arguments[2 * key : 2 * key + 2]
    rest = [a for a in arguments if a not in (first, second)]
    left, right = compare.operands
    return _leads(left, first, [second, *rest]) and _leads(right, second, [first, *rest])


def _leads(value: Any, wanted: Any, others: list[Any]) -> bool:
    """Is a side of a comparison made of one argument alone?"""
    work, seen = [value], False
    while work:
        v = work.pop()
        if v in others:
            return False
        seen = seen or v == wanted
        owner = v.owner
        if hasattr(owner, "operands"):
            work += list(owner.operands)
    return seen


# --- scattering -------------------------------------------------------------------------------------------------------


def _scatter(op: Any, given: list[_Array], numbers: Any) -> list[str] | None:
    """Updates are added to, or put in place of, elements of a copy; those of a window that does not fit are dropped."""
    inner = [o.operation for o in op.regions[0].blocks[0].operations]
    if len(given) != 3:
        return None
    operand, indices, updates = given
    change = next((_UPDATES[o.name] for o in inner[:-1] if o.name in _UPDATES), None)
    replaced = len(inner) == 1 and inner[0].operands[0] == op.regions[0].blocks[0].arguments[1]
    if not replaced and (len(inner) != 2 or change is None or operand.element not in _ELEMENTS):
        return None
    loops = _Loops()
    lines = loops.lines
    lines.append(_copied(operand, "%t0", "%r0"))
    u = loops.over(updates.shape, "u")
    window = list(numbers.update_window_dims)
    scattered = [name for d, name in enumerate(u) if d not in window]
    left_out = [*numbers.inserted_window_dims, *numbers.input_batching_dims]
    free = [d for d in range(len(operand.shape)) if d not in left_out]
    extent = {d: updates.shape[w] for d, w in zip(free, window, strict=True)}
    within = {d: u[w] for d, w in zip(free, window, strict=True)}
    vector = int(numbers.index_vector_dim)
    batches = [d for d in range(len(indices.shape)) if d != vector]
    place = dict(zip(batches, scattered, strict=True))
    start: dict[int, str] = {}
    for k, d in enumerate(numbers.scattered_dims_to_operand_dims):
        lines.append(f"%k{k} = arith.constant {k} : index")
        at = ", ".join(f"%k{k}" if i == vector else place[i] for i in range(len(indices.shape)))
        lines.append(f"%s{k}_raw = memref.load %m1[{at}] : {indices.memref}")
        lines.append(f"%s{k} = arith.index_cast %s{k}_raw : {indices.element} to index")
        start[d] = f"%s{k}"
    lines.append("%all0 = arith.constant true")
    checks, target = 0, []
    batch = dict(zip(numbers.input_batching_dims, numbers.scatter_indices_batching_dims, strict=True))
    for d in range(len(operand.shape)):
        at = place[batch[d]] if d in batch else within.get(d, "%c0")
        if d in start:
            most = operand.shape[d] - extent.get(d, 1)
            lines += [
                f"%last{d} = arith.constant {most} : index",
                f"%low{d} = arith.cmpi sge, {start[d]}, %c0 : index",
                f"%high{d} = arith.cmpi sle, {start[d]}, %last{d} : index",
                f"%in{d} = arith.andi %low{d}, %high{d} : i1",
                f"%all{checks + 1} = arith.andi %all{checks}, %in{d} : i1",
                f"%at{d} = arith.addi {start[d]}, {at} : index",
            ]
            checks += 1
            at = f"%at{d}"
        target.append(at)
    to, of = ", ".join(target), ", ".join(u)
    lines += [f"scf.if %all{checks} {{", f"%new = memref.load %m2[{of}] : {updates.memref}"]
    if change is not None:
        lines.append(f"%old = memref.load %r0[{to}] : {operand.memref}")
        does = change[operand.element[0] == "i"]
        lines += [f"%sum = {does} %old, %new : {operand.element}", f"memref.store %sum, %r0[{to}] : {operand.memref}"]
    else:
        lines.append(f"memref.store %new, %r0[{to}] : {operand.memref}")
    lines.append("}")
    return loops.close()


# --- Fourier ----------------------------------------------------------------------------------------------------------


def _fourier(kind: str, lengths: list[int], given: _Array, result: _Array) -> list[str] | None:
    """Along the last axes: one after another, in a copy."""
    lines: list[str] = []
    halved, last = kind in ("RFFT", "IRFFT"), len(result.shape) - 1
    real = {"RFFT": given, "IRFFT": result}.get(kind)
    spectrum = given if kind == "IRFFT" else result
    element = spectrum.element.removeprefix("complex<").removesuffix(">")
    if kind not in ("FFT", "IFFT", "RFFT", "IRFFT") or (real is not None and real.element != element):
        return None

    def flat(name: str, source: str, its: _Array) -> str:
        vector, passed = f"memref<{prod(its.shape)}x{its.element}>", f"memref<?x{its.element}, strided<[?], offset: ?>>"
        if len(its.shape) > 1:
            axes = ", ".join(map(str, range(len(its.shape))))
            lines.append(f"%{name}_1 = memref.collapse_shape {source} [[{axes}]] : {its.memref} into {vector}")
            source = f"%{name}_1"
        lines.append(f"%{name} = memref.cast {source} : {vector} to {passed}")
        return passed

    def called(name: str, arguments: Sequence[tuple[str, str]], *numbers: int) -> None:
        """A call of C, with arrays and then numbers."""
        values = [f"%{name}_{n}_n" for n in range(len(numbers))]
        lines.extend(f"{v} = arith.constant {number} : i64" for v, number in zip(values, numbers, strict=True))
        types = ", ".join([*(t for _, t in arguments), *("i64" for _ in numbers)])
        formal = ", ".join([*(v for v, _ in arguments), *values])
        routine = name.partition(".")[0]
        lines.append(f"func.call @llgrad_{routine}_{element}({formal}) : ({types}) -> ()")

    if kind in ("FFT", "IFFT"):
        lines.append(_copied(given, "%t0", "%r0"))
    complexes = flat("z", "%m0" if kind == "IRFFT" else "%r0", spectrum)
    reals = flat("x", "%r0" if kind == "IRFFT" else "%m0", real) if real is not None else ""
    rows, n = (prod(real.shape[:-1]), real.shape[-1]) if real is not None else (0, 0)
    if kind == "RFFT":
        called("rfft", [("%x", reals), ("%z", complexes)], rows, n)
    for axis in range(len(result.shape) - len(lengths), last if halved else last + 1):
        shape, inverse = spectrum.shape, int(kind.startswith("I"))
        called(f"fft.{axis}", [("%z", complexes)], prod(shape[:axis]), shape[axis], prod(shape[axis + 1 :]), inverse)
    if kind == "IRFFT":
        called("irfft", [("%z", complexes), ("%x", reals)], rows, n)
    return lines


# --- LAPACK -----------------------------------------------------------------------------------------------------------

_ROUTINES = ("potrf", "getrf", "trsm", "geqrf", "orgqr", "syevd", "gesdd")
_LETTERS = {"s": "f32", "d": "f64"}


def _lapack(op: Any, given: list[_Array], results: list[_Array]) -> list[str] | None:
    """Factors, eigenvalues, singular values and triangular solves for each matrix of a batch, in copies."""
    target = op.attributes["call_target_name"].value
    letter, routine = target.removeprefix("lapack_")[:1], target.removeprefix("lapack_")[1:].removesuffix("_ffi")
    if letter not in _LETTERS or routine not in _ROUTINES:
        return None
    options = op.attributes["mhlo.backend_config"]
    chosen = {k: int(options[k].value) for k in ("uplo", "side", "trans_x", "diag", "mode") if k in options}
    element, a = _LETTERS[letter], given[0]
    batch, (rows, columns) = a.shape[:-2], a.shape[-2:]
    if routine == "gesdd" and chosen["mode"] == 65 and rows != columns:
        return None  # all vectors, those of no singular value too
    loops = _Loops()
    lines = loops.lines
    overwritten = given[1] if routine == "trsm" else a
    lines.append(_copied(overwritten, "%t1" if routine == "trsm" else "%t0", "%r0"))
    at = loops.over(batch, "b")

    def matrix(name: str, source: str, its: _Array) -> str:
        """The matrix of one of the batch, as a vector."""
        flat = prod(its.shape[-2:])
        sizes = ", ".join([*(["1"] * len(batch)), *map(str, its.shape[-2:])])
        zeros, ones = ", ".join([*at, "0", "0"]), ", ".join(["1"] * len(its.shape))
        row = f"memref<{its.shape[-2]}x{its.shape[-1]}x{element}, strided<[{its.shape[-1]}, 1]{_offset(at)}>>"
        one = f"memref<{flat}x{element}, strided<[1]{_offset(at)}>>"
        passed = f"memref<?x{element}, strided<[?], offset: ?>>"
        lines.extend([
            f"%{name}_2 = memref.subview {source}[{zeros}] [{sizes}] [{ones}] : {its.memref} to {row}",
            f"%{name}_1 = memref.collapse_shape %{name}_2 [[0, 1]] : {row} into {one}",
            f"%{name} = memref.cast %{name}_1 : {one} to {passed}",
        ])  # fmt: skip
        return passed

    def vector(source: str, its: _Array, name: str = "p") -> str:
        """What goes with the matrix: pivots, factors, values."""
        row = f"memref<{its.shape[-1]}x{its.element}, strided<[1]{_offset(at)}>>"
        passed = f"memref<?x{its.element}, strided<[?], offset: ?>>"
        sizes, ones = ", ".join([*(["1"] * len(batch)), str(its.shape[-1])]), ", ".join(["1"] * len(its.shape))
        begin = ", ".join([*at, "0"])
        lines.append(f"%{name}_1 = memref.subview {source}[{begin}] [{sizes}] [{ones}] : {its.memref} to {row}")
        lines.append(f"%{name} = memref.cast %{name}_1 : {row} to {passed}")
        return passed

    def number(name: str, value: int) -> None:
        lines.append(f"%{name} = arith.constant {value} : i64")

    its = matrix("a", "%m0" if routine == "trsm" else "%r0", a)
    if routine == "trsm":
        b = given[1]
        matrix("x", "%r0", b)
        number("m", b.shape[-2])
        number("n", b.shape[-1])
        flags = {"left": 76, "upper": 85, "plain": 78, "unit": 85}
        keys = dict(zip(flags, ("side", "uplo", "trans_x", "diag"), strict=True))
        for flag, letter_of in flags.items():
            number(flag, int(chosen[keys[flag]] == letter_of))
        lines.append(
            f"func.call @llgrad_trsm_{element}(%a, %x, %m, %n, %left, %upper, %plain, %unit) : "
            f"({its}, {its}, i64, i64, i64, i64, i64, i64) -> ()"
        )
        return loops.close()
    if routine in ("geqrf", "orgqr"):
        source, factors = ("%r1", results[1]) if routine == "geqrf" else ("%m1", given[1])
        vector(source, factors)
        number("m", rows)
        number("n", columns)
        lines.append(f"func.call @llgrad_{routine}_{element}(%a, %p, %m, %n) : ({its}, {its}, i64, i64) -> ()")
        return loops.close()
    info = results[-1]
    if routine == "potrf":
        number("n", rows)
        number("upper", int(chosen["uplo"] == 85))
        lines.append(f"%info = func.call @llgrad_potrf_{element}(%a, %n, %upper) : ({its}, i64, i64) -> i32")
    elif routine == "syevd":
        vector("%r1", results[1])
        number("n", rows)
        number("upper", int(chosen["uplo"] == 85))
        lines.append(f"%info = func.call @llgrad_syevd_{element}(%a, %p, %n, %upper) : ({its}, {its}, i64, i64) -> i32")
    elif routine == "gesdd":
        vector("%r1", results[1])
        matrix("u", "%r2", results[2])
        matrix("vt", "%r3", results[3])
        number("m", rows)
        number("n", columns)
        number("vectors", int(chosen["mode"] != 78))
        types = ", ".join([its] * 4 + ["i64"] * 3)
        lines.append(f"%info = func.call @llgrad_gesdd_{element}(%a, %p, %u, %vt, %m, %n, %vectors) : ({types}) -> i32")
    else:
        pivots = vector("%r1", results[1])
        number("m", rows)
        number("n", columns)
        call = f"func.call @llgrad_getrf_{element}(%a, %p, %m, %n)"
        lines.append(f"%info = {call} : ({its}, {pivots}, i64, i64) -> i32")
    lines.append(f"memref.store %info, %r{len(results) - 1}[{', '.join(at)}] : {info.memref}")
    return loops.close()


# --- what is written in C ---------------------------------------------------------------------------------------------


def declared_in_c(text: str) -> str:
    """Declarations of the functions of `runtime/` that a text calls."""
    made = ""
    for t in _ELEMENTS:
        vector = f"memref<?x{t}, strided<[?], offset: ?>>"
        pairs = f"memref<?xcomplex<{t}>, strided<[?], offset: ?>>"
        kinds = {
            f"llgrad_sort_{t}": f"({vector}, memref<?xi64>, i64)",
            f"llgrad_potrf_{t}": f"({vector}, i64, i64) -> i32",
            f"llgrad_getrf_{t}": f"({vector}, memref<?xi32, strided<[?], offset: ?>>, i64, i64) -> i32",
            f"llgrad_geqrf_{t}": f"({vector}, {vector}, i64, i64)",
            f"llgrad_orgqr_{t}": f"({vector}, {vector}, i64, i64)",
            f"llgrad_trsm_{t}": f"({vector}, {vector}, i64, i64, i64, i64, i64, i64)",
            f"llgrad_syevd_{t}": f"({vector}, {vector}, i64, i64) -> i32",
            f"llgrad_gesdd_{t}": f"({', '.join([vector] * 4)}, i64, i64, i64) -> i32",
            f"llgrad_fft_{t}": f"({pairs}, i64, i64, i64, i64)",
            f"llgrad_rfft_{t}": f"({vector}, {pairs}, i64, i64)",
            f"llgrad_irfft_{t}": f"({pairs}, {vector}, i64, i64)",
        }
        made += "".join(f"  func.func private @{n}{its}\n" for n, its in kinds.items() if f"@{n}(" in text)
    return made
