"""A program of the corpus: its source, its signature, and memory to call it with.

A source holds one function named like the file. Lines `// name: …` before it say what to pass; what is not said follows
from the prototype. `n` is 6 and `m` is 4, `x` has n elements, `y` has m, other pointers n; floats lie in 0.3 … 1.3.

    // n: 9                      an integer argument
    // x: 9 -1 1                 elements, and the range of their values
    // k: 6 values 3 0 5 1 1 4   exact values
    // s: [("k", "i4"), ("w", "f8")] 3 k=2,0,1     structs, laid out as C does: a numpy dtype, how many, integer members
    // rows: pointers 3 4        an array of 3 pointers to rows of 4
    // alias: y = x + 2          y is the address of x[2]
    // tolerance: 1e-5           of the comparison with finite differences
    // no finite differences     at the point where it is called, the function has a jump

All floats in memory are inputs and outputs, and so are float arguments and the result.
"""

from __future__ import annotations

import ast
import ctypes
import functools
import re
import zlib
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct, field
from numpy.typing import NDArray

FOLDER = Path(__file__).parent / "corpus"
GUARD = 64  # bytes around each buffer that nothing may touch
GUARD_BYTE, FILLER = 0xC7, 0xA5
_FLOATS = {"double": "f8", "float": "f4", "long double": "f16", "double complex": "c16", "float complex": "c8"}
_INTEGERS = {"int": 4, "unsigned": 4, "long": 8, "short": 2, "char": 1, "size_t": 8}
_PROTOTYPE = r"^(?:extern \"C\" )?([a-z][\w ]*?\*?) ?\b{name}\(([^)]*)\) *\{{"


class Parameter(Struct, frozen=True):
    """`kind`: buffer, float or integer. `type`: LLVM type. `value`: of an integer. `active`: floats may be in there."""

    name: str
    kind: str
    type: str
    value: float = 0
    active: bool = True


class Buffer(Struct, frozen=True):
    """Memory an argument points to: first contents, where its floats are, where its pointers point."""

    name: str
    initial: bytes
    leaves: tuple[tuple[int, str], ...]
    pointers: tuple[tuple[int, str, int], ...] = ()


class Precision(NamedTuple):
    """How far derivatives of the same program may be apart: its coarsest floats round.

    `step`: of finite differences. `differences`: from them, at least. `kink`: what they may change by with their step
    before they say nothing. `unit`: by how much of a result rounding changes it, and so differences. `rounding`: primal
    results. `levels`: derivatives of one text and another. `duals`: dual numbers, of the same text. `others`: other
    tools.
    """

    step: float
    differences: float
    kink: float
    unit: float
    rounding: float
    levels: float
    duals: float
    others: float


DOUBLE = Precision(2e-4, 0.0, 1e-7, 2.0**-53, 1e-12, 1e-9, 1e-11, 1e-7)
SINGLE = Precision(1e-2, 2e-3, 1e-3, 2.0**-24, 2e-4, 2e-4, 2e-4, 2e-3)
HALF = Precision(1e-2, 0.1, 1e-2, 2.0**-9, 2e-2, 2e-2, 2e-2, 2e-2)


class Program(Struct, frozen=True, dict=True):
    """A function and what to call it with. `result`: LLVM type, or void. `alias`: name → (name of a buffer, bytes)."""

    name: str
    path: Path
    parameters: tuple[Parameter, ...]
    result: str
    buffers: tuple[Buffer, ...]
    alias: dict[str, tuple[str, int]] = field(default_factory=dict)
    tolerance: float = 1e-7
    differentiable: bool = True  # by finite differences
    precision: Precision = DOUBLE

    @functools.cached_property
    def leaves(self) -> list[tuple[str, int, str]]:
        """Every float in memory: buffer, offset, dtype."""
        return [(b.name, offset, kind) for b in self.buffers for offset, kind in b.leaves]

    @property
    def scalars(self) -> list[Parameter]:
        return [p for p in self.parameters if p.kind == "float"]

    @property
    def inputs(self) -> int:
        return len(self.leaves) + len(self.scalars)

    @property
    def outputs(self) -> int:
        return len(self.leaves) + (self.result != "void")

    @functools.cached_property
    def point(self) -> NDArray[np.float64]:
        """The inputs that the corpus is tried at."""
        memory = Memory(self)
        return np.concatenate([memory.floats(), [p.value for p in self.scalars]])


class Memory:
    """Buffers for one call, guarded on both sides; a shadow has filler where the primal has integers."""

    def __init__(self, program: Program, shadow: bool = False) -> None:
        self.program, self.shadow = program, shadow
        self._arrays: dict[str, NDArray[np.uint8]] = {}
        for b in program.buffers:
            self._arrays[b.name] = self._allocate(b)
        for b in program.buffers:
            for offset, target, at in b.pointers:
                self._view(b.name, offset, "u8")[0] = self.address(target) + at

    def _allocate(self, b: Buffer) -> NDArray[np.uint8]:
        raw = np.full(len(b.initial) + 2 * GUARD + 16, GUARD_BYTE, np.uint8)
        array = raw[-raw.ctypes.data % 16 :]
        inside = array[GUARD : GUARD + len(b.initial)]
        inside[:] = FILLER if self.shadow else np.frombuffer(b.initial, np.uint8)
        return array[: len(b.initial) + 2 * GUARD]

    def _view(self, name: str, offset: int, dtype: str) -> NDArray[Any]:
        start = GUARD + offset
        view: NDArray[Any] = self._arrays[name][start : start + np.dtype(dtype).itemsize].view(dtype)
        return view

    def address(self, name: str) -> int:
        """What the argument `name` is: the address of its buffer, or of a place in another one."""
        name, offset = self.program.alias.get(name, (name, 0))
        return int(self._arrays[name].ctypes.data) + GUARD + offset

    def floats(self) -> NDArray[np.float64]:
        """All floats, in the order of `Program.leaves`."""
        return np.array([float(self._view(*leaf)[0]) for leaf in self.program.leaves])

    def set_floats(self, values: NDArray[np.float64]) -> None:
        for leaf, v in zip(self.program.leaves, values, strict=True):
            self._view(*leaf)[0] = v

    def bytes(self, name: str) -> bytes:
        return self._arrays[name][GUARD:-GUARD].tobytes()

    def intact(self) -> bool:
        """Has nothing been written outside the buffers?"""
        return all((a[:GUARD] == GUARD_BYTE).all() and (a[-GUARD:] == GUARD_BYTE).all() for a in self._arrays.values())


# --- reading sources --------------------------------------------------------------------------------------


def all_programs() -> list[Program]:
    """The corpus, by name."""
    return [read_program(p) for p in sorted(FOLDER.iterdir()) if p.suffix in (".c", ".cpp")]


def read_program(path: Path, name: str = "") -> Program:
    """The program in a file, or the function `name` of a file that has several, each after a line `// ==`."""
    name = name or path.stem
    text = path.read_text()
    m = re.search(_PROTOTYPE.format(name=name), text, re.MULTILINE)
    if m is None:
        raise ValueError(f"{path.name} has no function {name}")
    before = text[: m.start()].rpartition("\n// ==")[2]
    marks = dict(re.findall(r"^// (\w+): (.*)$", before, re.MULTILINE))
    body = before + text[m.start() :].partition("\n// ==")[0]
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    parameters, buffers, alias = [], [], _alias(marks.pop("alias", ""))
    for word in filter(None, (w.strip() for w in m[2].split(","))):
        parameter, made = _parameter(word, marks, rng)
        parameters.append(parameter)
        buffers += [] if parameter.name in alias else made
    return Program(
        name, path, tuple(parameters), _llvm_type(m[1].strip()), tuple(buffers), _resolved(alias, buffers),
        float(marks.get("tolerance", 1e-7)), "no finite differences" not in before,
        _precision(re.sub(r"//.*", "", body)),
    )  # fmt: skip


def _precision(text: str) -> Precision:
    if re.search(r"\b(_Float16|__bf16)\b", text):
        return HALF
    return SINGLE if re.search(r"\bfloat\b|\bstruct T\b", text) else DOUBLE


def _alias(text: str) -> dict[str, tuple[str, int]]:
    m = re.fullmatch(r"(\w+) = (\w+)(?: \+ (\d+))?", text)
    return {m[1]: (m[2], int(m[3] or 0))} if m else {}


def _resolved(alias: dict[str, tuple[str, int]], buffers: list[Buffer]) -> dict[str, tuple[str, int]]:
    """Offsets in bytes instead of elements."""
    sizes = {b.name: np.dtype(b.leaves[0][1]).itemsize for b in buffers if b.leaves}
    return {name: (target, at * sizes[target]) for name, (target, at) in alias.items()}


def _parameter(word: str, marks: dict[str, str], rng: np.random.Generator) -> tuple[Parameter, list[Buffer]]:
    m = re.fullmatch(r"(?:const )?(.*?)((?: ?\*+(?:restrict)?)*) ?\b(\w+)((?:\[\d*\])*)", word)
    assert m is not None, word
    base, stars, name = m[1].strip(), m[2].count("*") + m[4].count("[") // (2 if m[4].count("[") > 1 else 1), m[3]
    mark = marks.get(name, "")
    if not stars and base in _FLOATS:
        return Parameter(name, "float", _llvm_type(base), float(rng.uniform(0.3, 1.3))), []
    if not stars:
        value = int(mark or {"n": 6, "m": 4}.get(name, 3))
        return Parameter(name, "integer", f"i{8 * _INTEGERS[base]}", value), []
    if mark.startswith("["):
        return Parameter(name, "buffer", "ptr"), [_structs(name, mark, rng)]
    if mark.startswith("pointers"):
        return Parameter(name, "buffer", "ptr"), _rows(name, mark, base, rng)
    count = int(mark.split()[0]) if mark else int(marks.get("m" if name == "y" else "n", 4 if name == "y" else 6))
    return Parameter(name, "buffer", "ptr", active=base in _FLOATS), [_array(name, base, count, mark, rng)]


def _array(name: str, base: str, count: int, mark: str, rng: np.random.Generator) -> Buffer:
    words = mark.split()[1:]
    if base in _INTEGERS:
        integers = [int(w) for w in words[1:]] if words else list(range(count))
        return Buffer(name, np.array(integers, f"i{_INTEGERS[base]}").tobytes(), ())
    dtype = np.dtype(_FLOATS[base])
    low, high = (float(words[0]), float(words[1])) if len(words) == 2 else (0.3, 1.3)
    real = dtype.type(0).real.dtype if dtype.kind == "c" else dtype
    values = rng.uniform(low, high, count * dtype.itemsize // real.itemsize).astype(real)
    leaves = tuple((i * real.itemsize, real.str[1:]) for i in range(len(values)))
    return Buffer(name, values.tobytes(), leaves)


def _structs(name: str, mark: str, rng: np.random.Generator) -> Buffer:
    close = mark.rindex("]") + 1
    members = ast.literal_eval(mark[:close])
    count, *given = mark[close:].split()
    dtype = np.dtype(_aligned(members), align=True)
    integers = {key: [int(v) for v in values.split(",")] for key, values in (g.split("=") for g in given)}
    data = np.zeros(int(count), dtype)
    raw, leaves = data.view(np.uint8), []
    for i in range(int(count)):
        for offset, kind, key in _flat(dtype, i * dtype.itemsize, ""):
            place = raw[offset : offset + np.dtype(kind).itemsize].view(kind)
            if np.dtype(kind).kind == "f":
                place[0] = rng.uniform(0.3, 1.3)
                leaves.append((offset, kind))
            else:
                place[0] = integers[key].pop(0)
    return Buffer(name, data.tobytes(), tuple(leaves))


def _aligned(members: list[Any]) -> list[Any]:
    """Nested lists of members become dtypes aligned as C does."""
    return [(n, np.dtype(_aligned(t), align=True) if isinstance(t, list) else t, *shape) for n, t, *shape in members]


def _flat(dtype: np.dtype[Any], offset: int, key: str) -> list[tuple[int, str, str]]:
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return [x for i in range(int(np.prod(shape))) for x in _flat(base, offset + i * base.itemsize, key)]
    if dtype.fields is not None:
        return [x for n in dtype.names or () for x in _flat(dtype.fields[n][0], offset + dtype.fields[n][1], n)]
    return [(offset, dtype.str[1:], key)]


def _rows(name: str, mark: str, base: str, rng: np.random.Generator) -> list[Buffer]:
    rows, width = (int(w) for w in mark.split()[1:])
    data = _array(f"{name}.data", base, rows * width, "", rng)
    stride = len(data.initial) // rows
    pointers = tuple((8 * i, data.name, i * stride) for i in range(rows))
    return [Buffer(name, bytes(8 * rows), (), pointers), data]


def _llvm_type(c: str) -> str:
    return {"double": "double", "float": "float", "long double": "x86_fp80", "void": "void"}[c]


CTYPES: dict[str, Any] = {
    "ptr": ctypes.c_void_p, "double": ctypes.c_double, "float": ctypes.c_float, "x86_fp80": ctypes.c_longdouble,
    "i32": ctypes.c_int32, "i64": ctypes.c_int64, "void": None,
}  # fmt: skip
