"""Types of parameters and results, as the source declares them; what NumPy array stands for each."""

from __future__ import annotations

import functools
import importlib
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import numpy as np


class CType(msgspec.Struct, frozen=True):
    """Base. `str()` is the type's C spelling, `declare(name)` a declaration with it."""

    def declare(self, name: str) -> str:
        """`double x[3]`, `const double *p`"""
        return f"{self} {name}".rstrip()

    @property
    def dtype(self) -> np.dtype[np.generic] | None:
        """NumPy's type of a value (of an element, for pointers and arrays); None where it has none."""
        return None

    @property
    def size(self) -> int:
        """Bytes; 0 where unknown."""
        return 0


class Void(CType, frozen=True):
    def __str__(self) -> str:
        return "void"


class Opaque(CType, frozen=True):
    """A type of which no more than the name is known."""

    name: str = "void"
    bytes: int = 0

    def __str__(self) -> str:
        return self.name

    @property
    def size(self) -> int:
        return self.bytes


class Scalar(CType, frozen=True):
    """`kind` is float, int, uint or bool; `format` is LLVM's name of a float."""

    kind: str
    bits: int
    c_name: str
    format: str = ""

    def __str__(self) -> str:
        return self.c_name

    @property
    def size(self) -> int:
        return (self.bits + 7) // 8

    @property
    def dtype(self) -> np.dtype[np.generic] | None:
        import numpy as np

        if self.kind == "float":
            names = {"half": "float16", "float": "float32", "double": "float64", "x86_fp80": "longdouble"}
            if self.format == "bfloat":
                return _brain_float()
            return np.dtype(names[self.format]) if self.format in names else None
        if self.kind == "bool":
            return np.dtype(np.bool_)
        return np.dtype(f"{self.kind}{self.bits}") if self.bits in (8, 16, 32, 64) else None


class Complex(CType, frozen=True):
    """Two floats, real part first."""

    part: Scalar

    def __str__(self) -> str:
        return f"{self.part} _Complex"

    @property
    def size(self) -> int:
        return 2 * self.part.size

    @property
    def dtype(self) -> np.dtype[np.generic] | None:
        import numpy as np

        names = {"float": "complex64", "double": "complex128", "x86_fp80": "clongdouble"}
        return np.dtype(names[self.part.format]) if self.part.format in names else None


class Pointer(CType, frozen=True):
    to: CType
    const: bool = False
    restrict: bool = False

    def __str__(self) -> str:
        return self.declare("")

    def declare(self, name: str) -> str:
        star = f"*{'restrict ' if self.restrict and name else 'restrict' if self.restrict else ''}{name}"
        const = "const " if self.const else ""
        if isinstance(self.to, Array):
            return const + self.to.declare(f"({star})")
        if isinstance(self.to, Pointer):
            return self.to.declare(f"const {star}" if self.const else star)
        return f"{const}{self.to} {star}"

    @property
    def size(self) -> int:
        return 8

    @property
    def dtype(self) -> np.dtype[np.generic] | None:
        return None if isinstance(self.to, Pointer) else self.to.dtype

    @property
    def innermost(self) -> Pointer:
        """The pointer that is met at the end of pointers to pointers: the one to data."""
        return self.to.innermost if isinstance(self.to, Pointer) else self


class View(Pointer, frozen=True):
    """A pointer to data as a language other than C passes it. `spelling` is the parameter's type in that language.

    parts   what each IR argument holds: "data", the address; "length" in elements; "descriptor", the address of a
            Fortran descriptor; "null"; "items" and "itemsize"; "zero"; and, for each dimension n, "shape.n",
            "stride.n" in elements, "bytes.n" in bytes;
    rank    the number of dimensions an array must have; None: any;
    order   of an array's elements: "C", "F" (first index fastest) or "A" (any strides);
    scalar  it points to one value that is passed by reference: a number does, too;
    least   how many bytes are there at least;
    extents, steps  lengths and strides (in elements) that the type fixes, a dimension each; None: any.
    """

    spelling: str = ""
    parts: tuple[str, ...] = ("data",)
    rank: int | None = None
    order: str = "C"
    scalar: bool = False
    least: int = 0
    extents: tuple[int | None, ...] = ()
    steps: tuple[int | None, ...] = ()

    def __str__(self) -> str:
        return self.spelling

    def declare(self, name: str) -> str:
        return f"{name}: {self.spelling}" if name else self.spelling


class Array(CType, frozen=True):
    """`dims` are counts, outermost first; -1 where unknown."""

    element: CType
    dims: tuple[int, ...]

    def __str__(self) -> str:
        return self.declare("")

    def declare(self, name: str) -> str:
        return self.element.declare(name) + "".join(f"[{d if d >= 0 else ''}]" for d in self.dims)

    @property
    def size(self) -> int:
        total = self.element.size
        for d in self.dims:
            total *= max(d, 0)
        return total

    @property
    def dtype(self) -> np.dtype[np.generic] | None:
        return self.element.dtype


class Field(msgspec.Struct, frozen=True):
    name: str
    type: CType
    offset: int


class Struct(CType, frozen=True):
    name: str
    fields: tuple[Field, ...]
    bytes: int

    def __str__(self) -> str:
        return self.name or "struct"

    @property
    def size(self) -> int:
        return self.bytes

    @property
    def dtype(self) -> np.dtype[np.generic] | None:
        import numpy as np

        formats = [_field_dtype(f.type) for f in self.fields]
        if any(f is None for f in formats) or len({f.name for f in self.fields}) < len(self.fields):
            return None
        names, offsets = [f.name for f in self.fields], [f.offset for f in self.fields]
        spec = {"names": names, "formats": formats, "offsets": offsets, "itemsize": self.bytes}
        return np.dtype(spec)  # type: ignore[call-overload,no-any-return]


@functools.cache
def _brain_float() -> np.dtype[np.generic] | None:
    """NumPy's type of bfloats where ml_dtypes is installed (JAX brings it); it has none itself."""
    import numpy as np

    try:
        found: np.dtype[np.generic] = np.dtype(importlib.import_module("ml_dtypes").bfloat16)
    except ImportError:
        return None
    return found


def _field_dtype(t: CType) -> object | None:
    if isinstance(t, Pointer):
        return "u8"
    if isinstance(t, Array):
        return (t.dtype, t.dims) if t.dtype is not None and min(t.dims) > 0 else None
    return t.dtype
