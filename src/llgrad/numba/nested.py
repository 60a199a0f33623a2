"""Arguments and results that are made of others (tuples, lists, dictionaries, objects), as the numbers in them.

`opened(name, value)` is a tree: leaves are what compiled code takes, a number or an array of numbers each; what is
fixed (None, strings, functions) goes into the code. A tree writes the expression that makes the value of its leaves,
and gives derivatives by its leaves the shape of the value. A complex number is two floats: its derivative is that by
the real part plus i times that by the imaginary part.
"""

from __future__ import annotations

import sys
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from msgspec import Struct

from llgrad.errors import ArgumentError, UnsupportedError


class Leaf(Struct, frozen=True):
    """A number or an array of numbers, `passed` for the value.

    code  the expression of the value, `{}` for what is passed;
    into  what is passed for a tangent or a seed of the value; back: the other way, for what has been computed;
    kind  plain, list or complex.
    """

    name: str
    passed: Any
    code: str = "{}"
    into: Callable[[Any], Any] = lambda given: given
    back: Callable[[Any], Any] = lambda found: found
    kind: str = "plain"

    @property
    def active(self) -> bool:
        """Is it of floats?"""
        return isinstance(self.passed, float) or np.asarray(self.passed).dtype.kind == "f"

    @property
    def shape(self) -> tuple[int, ...]:
        """Of what is passed."""
        return np.shape(self.passed)


class Fixed(Struct, frozen=True):
    """What is no number: part of the code."""

    name: str
    value: Any


class Branch(Struct, frozen=True):
    """What is made of others; `make` makes one, for the user, of its items.

    constructor  what makes one in compiled code: None for a tuple, the names of two kinds of lists, or a function;
    apart        the items of one, or of a tangent or seed of it;
    item         the expression of an item, of that of the whole and a number: none where results cannot be such.
    """

    name: str
    items: tuple[Tree, ...]
    make: Callable[[Sequence[Any]], Any]
    constructor: Any
    apart: Callable[[Any], Any] = lambda given: given
    item: str | Sequence[str] | None = "{}[{}]"


Tree = Leaf | Fixed | Branch


def opened(name: str, value: Any) -> Tree:
    """The tree of a value; UnsupportedError for what derivatives cannot be given."""
    match value:
        case np.ndarray() if value.dtype.kind == "c":
            return _complexes(name, value)
        case np.ndarray() if value.dtype.names:
            return _records(name, value)
        case np.ndarray() if value.dtype.kind in "fiub" and value.dtype != np.float16:
            return Leaf(name, value)
        case bool() | int() | float() | np.bool_() | np.integer() | np.floating():
            return Leaf(name, value)
        case complex() | np.complexfloating():
            return _complex(name, value)
        case tuple():
            named = getattr(value, "_fields", None)
            names = [f"{name}.{f}" for f in named] if named else [f"{name}[{n}]" for n in range(len(value))]
            items = tuple(opened(n, v) for n, v in zip(names, value, strict=True))
            make: Any = getattr(value, "_make", tuple)
            return Branch(name, items, make, type(value) if named else None)
        case list():
            return _list(name, list(value), "[v for v in {}]", None)
        case None | str() | bytes():
            return Fixed(name, value)
    for module, kind, tree in _OF_NUMBA:
        known = getattr(sys.modules.get(module), kind, None)
        if known is not None and isinstance(value, known):
            return tree(name, value)
    raise UnsupportedError(
        f"argument {name!r} is a {type(value).__name__}, which cannot be passed to a derivative",
        cause="what may be passed is made of numbers, arrays, tuples, lists, None, strings and functions",
        fix=_OTHERS.get(type(value).__name__, "pass the numbers and arrays that it holds"),
    )


_OTHERS = {
    "Generator": "draw in the function by np.random, which np.random.seed seeds there, or pass what was drawn",
    "ndarray": "convert it to floats (astype)",
    "void": "pass an array of one record",
    "dict": "pass a numba.typed.Dict, or its values as a tuple, and make the dictionary within the function",
}


def _list(name: str, values: list[Any], code: str, constructor: Any, element: Any = None) -> Tree:
    """`element`: the name of the type of numbers in it, where it says so."""
    if not values:
        raise ArgumentError(f"argument {name!r} is an empty list", fix="leave out a call that has nothing to do")
    dtype = np.dtype(element) if element in np.sctypeDict else None
    numbers = np.array(values, dtype) if all(isinstance(v, int | float | np.number) for v in values) else None
    if numbers is not None and numbers.dtype.kind in "fiu":
        into = partial(np.asarray, dtype=numbers.dtype)
        return Leaf(name, numbers, code, into, lambda found: np.asarray(found).tolist(), "list")
    items = tuple(opened(f"{name}[{n}]", v) for n, v in enumerate(values))
    return Branch(name, items, list, constructor or "list")


def _dictionary(name: str, value: Any) -> Tree:
    """Keys that are numbers are passed, others are part of the code."""
    from llgrad.frontends.numba import boxing

    typ, keys, values = value._dict_type, tuple(value), list(value.values())
    if not keys:
        return Branch(name, (), lambda found: {}, boxing.empty(typ), lambda given: (), None)
    names = [f"{name}[{key!r}]" for key in keys]
    whole = all(isinstance(k, int) and not isinstance(k, bool) for k in keys)
    numbers = np.array(keys, str(typ.key_type)) if whole else None
    first = Fixed(f"{name}.keys()", keys) if numbers is None else Leaf(f"{name}.keys()", numbers)
    second: Tree = Branch(f"{name}.values()", tuple(map(opened, names, values)), list, "list")
    if all(isinstance(v, int | float | np.number) for v in values):
        passed = np.array(values, str(typ.value_type))
        second = Leaf(f"{name}.values()", passed, into=partial(np.asarray, dtype=passed.dtype), back=np.ndarray.tolist)
    return Branch(
        name, (first, second), lambda found: dict(zip(keys, found[1] or [None] * len(keys), strict=True)),
        boxing.dictionary(typ), lambda given: (None, [given[k] for k in keys]), None,
    )  # fmt: skip


def _instance(name: str, value: Any) -> Tree:
    """An instance of a `@jitclass`; its derivative is a named tuple of its fields."""
    from llgrad.frontends.numba import boxing

    typ = value._numba_type_
    fields = tuple(typ.struct)
    items = tuple(opened(f"{name}.{f}", getattr(value, f)) for f in fields)
    make: Callable[..., Any] = namedtuple
    return Branch(
        name, items, make(typ.classname, fields, rename=True)._make, boxing.instance(typ),
        lambda given: given if isinstance(given, tuple) else [getattr(given, f) for f in fields],
        [f"{{}}.{f}" for f in fields],
    )  # fmt: skip


def _records(name: str, value: np.ndarray[Any, Any]) -> Tree:
    """A structured array; its derivative is another, with zeros in what holds no floats."""
    from llgrad.frontends.numba import boxing

    fields, dtype = value.dtype.names or (), value.dtype
    if any(dtype[f].base.kind not in "fiub" or dtype[f].base == np.float16 for f in fields):
        raise UnsupportedError(
            f"argument {name!r} has fields that are no numbers", fix="pass its fields as arrays of their own"
        )

    def made(found: Sequence[Any]) -> Any:
        whole = np.zeros(value.shape, dtype)
        for field, part in zip(fields, found, strict=True):
            if part is not None:
                whole[field] = part
        return whole

    items = tuple(Leaf(f"{name}.{f}", np.ascontiguousarray(value[f])) for f in fields)
    return Branch(
        name, items, made, boxing.records(dtype), lambda given: [given[f] for f in fields],
        [f"{{}}[{f!r}]" for f in fields],
    )  # fmt: skip


_OF_NUMBA: tuple[tuple[str, str, Callable[[str, Any], Tree]], ...] = (
    ("numba.typed.typedlist", "List", lambda name, value: _list(
        name, list(value), "typed({})", "several", str(value._dtype)
    )),
    ("numba.typed.typeddict", "Dict", _dictionary),
    ("numba.experimental.jitclass._box", "Box", _instance),
    ("numba.core.dispatcher", "Dispatcher", Fixed),
)


def _complex(name: str, value: Any) -> Leaf:
    parts = np.array([value]).view(_part(value.dtype if isinstance(value, np.generic) else np.dtype(complex)))
    code = "single(complex({0}[0], {0}[1]))" if parts.dtype == np.float32 else "complex({0}[0], {0}[1])"
    return Leaf(name, parts, code, lambda g: np.array([g.real, g.imag], parts.dtype), _number, "complex")


def _number(parts: np.ndarray[Any, Any]) -> Any:
    found = np.ascontiguousarray(parts).view(f"c{2 * parts.itemsize}")[..., 0]
    return found if found.ndim else found.item()


def _complexes(name: str, value: np.ndarray[Any, Any]) -> Leaf:
    if not value.flags.c_contiguous or not value.ndim:
        raise ArgumentError(
            f"argument {name!r} is complex and not C-contiguous", fix="pass np.ascontiguousarray(…), a copy"
        )
    part, whole = _part(value.dtype), value.dtype
    code = f"{{}}.view(c{whole.itemsize})"
    return Leaf(
        name, value.view(part), code, lambda g: np.ascontiguousarray(g, whole).view(part),
        lambda found: found.view(whole), "complex",
    )  # fmt: skip


def _part(of: np.dtype[Any]) -> np.dtype[Any]:
    return np.dtype(f"f{of.itemsize // 2}")


def leaves(tree: Tree) -> Iterator[Leaf]:
    """All leaves, in order."""
    match tree:
        case Leaf():
            yield tree
        case Branch(items=items):
            for item in items:
                yield from leaves(item)


def shape(tree: Tree) -> Any:
    """What code depends on, apart from the types of leaves: hashable."""
    match tree:
        case Leaf(code=code):
            return code
        case Fixed(value=value):
            return "fixed", value
        case Branch(items=items, constructor=constructor):
            return constructor, tuple(map(shape, items))


def expression(tree: Tree, names: Iterator[str], values: dict[str, Any]) -> str:
    """The Python expression of the value; `names` are those of its leaves, `values` gets what it speaks of."""
    match tree:
        case Leaf(code=code):
            return code.format(next(names))
        case Fixed(value=value) if callable(value):
            values[called := f"g{len(values)}"] = value
            return called
        case Fixed(value=value):
            return repr(value)
        case Branch(items=items, constructor=constructor):
            inside = ", ".join(expression(item, names, values) for item in items)
            if constructor is None:
                return f"({inside}{',' * (len(items) == 1)})"
            if constructor == "list":
                return f"[{inside}]"
            if constructor == "several":
                return f"several(({inside},))"
            values[called := f"g{len(values)}"] = constructor
            return f"{called}({inside})"


def built(tree: Tree, found: Mapping[str, Any]) -> Any:
    """What was found of each leaf, by name, in the shape of the value; None where nothing was."""
    match tree:
        case Leaf(name=name, back=back):
            return back(found[name]) if name in found else None
        case Branch(items=items, make=make):
            return make([built(item, found) for item in items])
    return None


def spread(tree: Tree, given: Any, what: str) -> Iterator[tuple[Leaf, Any]]:
    """Each leaf of floats with its part of a tangent or seed shaped as the value, as it is passed; None is zero."""
    match tree:
        case Leaf() if tree.active:
            yield tree, np.zeros(tree.shape) if given is None else tree.into(given)
        case Branch(name=name, items=items, apart=apart):
            parts = [None] * len(items) if given is None else apart(given)
            if not hasattr(parts, "__len__") or len(parts) != len(items):
                raise ArgumentError(f"the {what} of {name} must be {len(items)} values", fix="None is zero")
            for item, part in zip(items, parts, strict=True):
                yield from spread(item, part, what)


# --- results, all floats in one vector --------------------------------------------------------------------------------


def stores(tree: Tree, value: str) -> Iterator[tuple[str, str]]:
    """The statements that put the floats of a result into `out` from `k` on, and how many floats each stores."""
    match tree:
        case Leaf(kind="list") if tree.active:
            yield f"for v in {value}:\n        out[k] = v; k += 1", f"len({value})"
        case Leaf(kind=kind, code=code) if tree.active:
            rank = len(tree.shape) - (kind == "complex" and "[" in code)
            indices = [f"i{n}" for n in range(rank)]
            loops = [f"{'    ' * n}for {i} in range(v.shape[{n}]):" for n, i in enumerate(indices)]
            is_array = isinstance(tree.passed, np.ndarray) and "[" not in code
            element = f"v[{', '.join(indices) or '()'}]" if is_array else "v"
            parts = [f"{element}.real", f"{element}.imag"] if kind == "complex" else [element]
            lines = [f"v = {value}", *loops, *(f"{'    ' * rank}out[k] = {p}; k += 1" for p in parts)]
            yield "\n    ".join(lines), f"{len(parts)} * {value}.size" if rank else str(len(parts))
        case Branch(constructor="list" | "several") | Branch(item=None):
            raise UnsupportedError(
                f"{tree.name} is a list of what is no number, or a dictionary", fix="return an array, or a tuple"
            )
        case Branch(items=items, item=str() as form):
            for n, item in enumerate(items):
                yield from stores(item, form.format(value, n))
        case Branch(items=items, item=[*forms]):
            for form, item in zip(forms, items, strict=True):
                yield from stores(item, form.format(value))


def gathered(tree: Tree, flat: np.ndarray[Any, Any], value: Any) -> Any:
    """The result: floats from the vector, which may have another axis in front, the rest from a value like it."""
    return _gathered(tree, iter(_split(tree, flat)), value)


def _split(tree: Tree, flat: np.ndarray[Any, Any]) -> Iterator[np.ndarray[Any, Any]]:
    at = 0
    for leaf in leaves(tree):
        if leaf.active:
            size = int(np.prod(leaf.shape, dtype=int))
            part = flat[..., at : at + size].reshape((*flat.shape[:-1], *leaf.shape))
            yield part.astype(np.asarray(leaf.passed).dtype)
            at += size


def _gathered(tree: Tree, parts: Iterator[np.ndarray[Any, Any]], value: Any) -> Any:
    match tree:
        case Leaf(back=back) if tree.active:
            part = next(parts)
            return back(part) if part.ndim else part.item()
        case Branch(items=items, make=make, apart=apart):
            values = [None] * len(items) if value is None else apart(value)
            return make([_gathered(item, parts, v) for item, v in zip(items, values, strict=True)])
    return value
