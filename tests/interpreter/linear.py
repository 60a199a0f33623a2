"""BLAS routines by value (`rules.blas`) on the interpreter's memory: what they mean, entry by entry.

Matrices are read as functions of their indices and written back; nothing is said about the order of sums. Operands
that a factor of zero makes needless are not read, as BLAS has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from interpreter import calculus
from interpreter.floats import Dual, divide, format_of
from interpreter.scalar import to_signed
from llgrad.ir.types import FloatType
from llgrad.rules import blas, library

if TYPE_CHECKING:
    from interpreter.machine import Machine

Entry = Callable[[int, int], Any]
_signed = to_signed(64)


def routine(machine: Machine, own: str) -> Callable[..., Any] | None:
    """The Python function of a routine, or None."""
    return (lambda *operands: _Call(machine, own, operands).run()) if blas.is_own(own) else None


class _Call:
    def __init__(self, machine: Machine, own: str, operands: Iterable[Any]) -> None:
        name, self.routine = blas.parts(own)
        self.format, self.codec = format_of(name), machine.codecs(FloatType(name))
        values = zip(self.routine.names, operands, strict=True)
        self.v: dict[str, Any] = {n: x if isinstance(x, float | Dual) else _signed(int(x)) for n, x in values}
        self.what = blas.routine_of(own)

    def run(self) -> Any:
        return getattr(self, f"_{self.what}")()

    # --- memory

    def load(self, name: str, i: int) -> Any:
        return self.codec.load(self.v[name] + i * self.format.size)

    def store(self, name: str, i: int, x: Any) -> None:
        self.codec.store(self.v[name] + i * self.format.size, x if isinstance(x, Dual) else self.format.round(x))

    def place(self, name: str, i: int, n: int) -> int:
        """Where element i of a vector of n elements lies."""
        step: int = self.v[f"inc{name}"]
        return i * step if step >= 0 else (i - n + 1) * step

    def vector(self, name: str, n: int) -> list[Any]:
        return [self.load(name, self.place(name, i, n)) for i in range(n)]

    def put(self, name: str, values: list[Any]) -> None:
        for i, x in enumerate(values):
            self.store(name, self.place(name, i, len(values)), x)

    def matrix(self, name: str, transposed: bool = False) -> Entry:
        ld = self.v[f"ld{name}"]
        return lambda i, j: self.load(name, j + i * ld if transposed else i + j * ld)

    def triangle(self, name: str, transposed: bool) -> Entry:
        """A triangular matrix."""
        inner, unit, up = self.matrix(name, transposed), self.v["diag"], bool(self.v["uplo"]) != transposed

        def entry(i: int, j: int) -> Any:
            if i == j and unit:
                return 1.0
            return inner(i, j) if (i <= j if up else i >= j) else 0.0

        return entry

    def symmetric(self, name: str) -> Entry:
        """The matrix that a triangle stands for."""
        inner, up = self.matrix(name), self.v["uplo"]
        return lambda i, j: inner(i, j) if (i <= j) == bool(up) or i == j else inner(j, i)

    def update(self, places: Iterable[tuple[int, int]], value: Entry, name: str = "c") -> None:
        """C = alpha value + beta C."""
        ld, alpha, beta = self.v[f"ld{name}"], self.v["alpha"], self.v.get("beta", 1.0)
        new = {}
        for i, j in places:
            old = self.load(name, i + j * ld) * beta if not _is_zero(beta) else 0.0
            new[i, j] = old if _is_zero(alpha) else old + alpha * value(i, j)
        for (i, j), x in new.items():
            self.store(name, i + j * ld, x)

    def half(self, n: int) -> Iterator[tuple[int, int]]:
        up = self.v["uplo"]
        return ((i, j) for j in range(n) for i in (range(j + 1) if up else range(j, n)))

    # --- vectors

    def _dot(self) -> Any:
        return _sum(x * y for x, y in zip(self.vector("x", self.v["n"]), self.vector("y", self.v["n"]), strict=True))

    def _nrm2(self) -> Any:
        total = _sum(x * x for x in self.vector("x", self.v["n"]))
        return calculus.apply(library.FUNCTIONS["sqrt"], self.format, [total])[0] if total else total

    def _asum(self) -> Any:
        return _sum(-x if x < 0 else x for x in self.vector("x", self.v["n"]))

    def _axpy(self) -> None:
        x, y = self.vector("x", self.v["n"]), self.vector("y", self.v["n"])
        self.put("y", [b + self.v["alpha"] * a for a, b in zip(x, y, strict=True)])

    def _scal(self) -> None:
        if self.v["incx"] > 0:
            self.put("x", [self.v["alpha"] * x for x in self.vector("x", self.v["n"])])

    def _copy(self) -> None:
        self.put("y", self.vector("x", self.v["n"]))

    def _swap(self) -> None:
        x, y = self.vector("x", self.v["n"]), self.vector("y", self.v["n"])
        self.put("x", y)
        self.put("y", x)

    def _rot(self) -> None:
        x, y, c, s = self.vector("x", self.v["n"]), self.vector("y", self.v["n"]), self.v["cos"], self.v["sin"]
        self.put("x", [c * a + s * b for a, b in zip(x, y, strict=True)])
        self.put("y", [c * b - s * a for a, b in zip(x, y, strict=True)])

    # --- matrices and vectors

    def _product(self, a: Entry, rows: int, columns: int) -> None:
        """y = alpha A x + beta y"""
        alpha, beta = self.v["alpha"], self.v["beta"]
        if rows <= 0 or columns <= 0:
            return
        x = self.vector("x", columns)
        old = self.vector("y", rows) if not _is_zero(beta) else []
        new = [alpha * _sum(a(i, j) * x[j] for j in range(columns)) for i in range(rows)]
        self.put("y", [y + beta * old[i] for i, y in enumerate(new)] if old else new)

    def _gemv(self) -> None:
        m, n, t = self.v["m"], self.v["n"], bool(self.v["trans"])
        self._product(self.matrix("a", t), n if t else m, m if t else n)

    def _symv(self) -> None:
        self._product(self.symmetric("a"), self.v["n"], self.v["n"])

    def _ger(self) -> None:
        m, n = self.v["m"], self.v["n"]
        x, y = self.vector("x", m), self.vector("y", n)
        self.update(_all(m, n), lambda i, j: x[i] * y[j], "a")

    def _syr(self) -> None:
        x = self.vector("x", self.v["n"])
        self.update(self.half(len(x)), lambda i, j: x[i] * x[j], "a")

    def _syr2(self) -> None:
        x, y = self.vector("x", self.v["n"]), self.vector("y", self.v["n"])
        self.update(self.half(len(x)), lambda i, j: x[i] * y[j] + y[i] * x[j], "a")

    def _trmv(self) -> None:
        x, a = self.vector("x", self.v["n"]), self.triangle("a", bool(self.v["trans"]))
        self.put("x", [_sum(a(i, j) * x[j] for j in range(len(x))) for i in range(len(x))])

    def _trsv(self) -> None:
        t = bool(self.v["trans"])
        self.put("x", _solved(self.triangle("a", t), self.vector("x", self.v["n"]), bool(self.v["uplo"]) != t))

    # --- matrices

    def _gemm(self) -> None:
        a, b = self.matrix("a", bool(self.v["transa"])), self.matrix("b", bool(self.v["transb"]))
        self.update(_all(self.v["m"], self.v["n"]), _times(a, b, self.v["k"]))

    def _symm(self) -> None:
        m, n, a, b = self.v["m"], self.v["n"], self.symmetric("a"), self.matrix("b")
        self.update(_all(m, n), _times(a, b, m) if self.v["side"] else _times(b, a, n))

    def _syrk(self) -> None:
        t = bool(self.v["trans"])
        product = _times(self.matrix("a", t), self.matrix("a", not t), self.v["k"])
        self.update(self.half(self.v["n"]), product)

    def _syr2k(self) -> None:
        t, k = bool(self.v["trans"]), self.v["k"]
        one, other = (_times(self.matrix(p, t), self.matrix(q, not t), k) for p, q in ("ab", "ba"))
        self.update(self.half(self.v["n"]), lambda i, j: one(i, j) + other(i, j))

    def _trmm(self) -> None:
        m, n, a, b = self.v["m"], self.v["n"], self.triangle("a", bool(self.v["transa"])), self.matrix("b")
        self.v["beta"] = 0.0
        self.update(_all(m, n), _times(a, b, m) if self.v["side"] else _times(b, a, n), "b")

    def _trsm(self) -> None:
        m, n, t, left = self.v["m"], self.v["n"], bool(self.v["transa"]), bool(self.v["side"])
        a, b, ld = self.triangle("a", t), self.matrix("b"), self.v["ldb"]
        up = bool(self.v["uplo"]) != t
        for k in range(n if left else m):
            row = [self.v["alpha"] * (b(i, k) if left else b(k, i)) for i in range(m if left else n)]
            solved = _solved(a, row, up) if left else _solved(lambda i, j: a(j, i), row, not up)
            for i, x in enumerate(solved):
                self.store("b", i + k * ld if left else k + i * ld, x)


def _sum(terms: Iterable[Any]) -> Any:
    total: Any = 0.0
    for t in terms:
        total = total + t
    return total


def _is_zero(x: Any) -> bool:
    return not isinstance(x, Dual) and x == 0


def _all(m: int, n: int) -> Iterator[tuple[int, int]]:
    return ((i, j) for j in range(n) for i in range(m))


def _times(a: Entry, b: Entry, k: int) -> Entry:
    return lambda i, j: _sum(a(i, n) * b(n, j) for n in range(k))


def _solved(a: Entry, right: list[Any], up: bool) -> list[Any]:
    """The solution of a triangular system."""
    x = list(right)
    order = range(len(x) - 1, -1, -1) if up else range(len(x))
    for i in order:
        known = range(i + 1, len(x)) if up else range(i)
        x[i] = divide(x[i] - _sum(a(i, j) * x[j] for j in known), a(i, i))
    return x
