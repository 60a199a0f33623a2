"""What a declared type is in its language: slices, references, arrays of Fortran; how a NumPy array stands for each.

    Rust     `&[f64]` and `&mut [f64]` are two IR arguments, address and length; `&f64` one address;
    D        `double[]` is two IR arguments, length and address (the frontend takes slices apart);
    Zig      `[*]f64`, `*f64` are addresses;
    Fortran  everything is passed by reference: scalars, arrays of explicit or assumed size (first index fastest), and
             assumed-shape arrays `x(:)`, which are descriptors with extents and strides.
"""

from __future__ import annotations

import re

from llgrad.analysis.layout import byte_layouts as bl
from llgrad.analysis.layout.debug_info import DESCRIPTOR
from llgrad.signature.types import Array, CType, Pointer, Scalar, Struct, View

_CALLED = {"DW_LANG_Rust": "Rust", "DW_LANG_D": "D", "DW_LANG_Zig": "Zig"}


def language_of(language: str, producer: str) -> str:
    """The language of a compile unit; C for all whose declarations look like C's."""
    if "Fortran" in language:
        return "Fortran"
    return "Zig" if producer.startswith("zig ") else _CALLED.get(language, "C")


def terms(language: str, declared: bl.ByteType | None, t: CType) -> CType:
    """A parameter's type in the terms of its language; `t` is what it is in C's."""
    match language, declared:
        case "Rust", bl.Record(name=name, members=members) if name.startswith("&") and _is_slice(members):
            data = members[0].type
            assert isinstance(data, bl.Pointer) and isinstance(t, Struct)
            to = t.fields[0].type
            assert isinstance(to, Pointer)
            mutable = name.startswith("&mut ")
            return View(to.to, not mutable, False, name, ("data", "length"))
        case "Rust" | "Zig", bl.Pointer(name=name) if name and isinstance(t, Pointer):
            one = name[0] == "&"
            least = t.to.size if one else 0
            return View(t.to, _is_const(name), False, name, scalar=one and isinstance(t.to, Scalar), least=least)
        case "D", bl.Record(name=name, members=members) if [m.name for m in members] == ["length", "ptr"]:
            address = t.fields[1].type if isinstance(t, Struct) else None
            if "[]" in name and isinstance(address, Pointer):
                return View(address.to, name.startswith(("const(", "immutable(")), False, name, ("length", "data"))
        case "D", bl.Pointer(name=name) if name and isinstance(t, Pointer):
            return View(t.to, name.startswith(("const(", "immutable(")), False, name)
    return t


def by_descriptor_alone(declared: bl.ByteType | None, name: str) -> str:
    """Why a Fortran dummy cannot be passed from Python: only a descriptor that flang's code makes can carry it."""
    match declared:
        case bl.Pointer() if not isinstance(declared.to(), bl.Unknown):
            return f"{name} is an allocatable or pointer"
        case bl.Record(name="", members=members) if [m.name for m in members[:2]] == ["base_addr", "elem_len"]:
            return f"{name} is a class, allocatable or pointer"
    return ""


def by_reference(declared: bl.ByteType | None, t: CType) -> CType:
    """What a Fortran dummy argument of this type is passed as."""
    match declared:
        case bl.Record(name=name, members=members) if name == DESCRIPTOR:
            data = members[0].type
            to = data.to() if isinstance(data, bl.Pointer) else None
            if not isinstance(to, bl.Sequence) or not isinstance(t, Struct):
                return Pointer(t)
            first = t.fields[0].type
            assert isinstance(first, Pointer) and isinstance(first.to, Array)
            rank = len(to.counts)
            element = first.to.element
            shape = ",".join(":" * rank)
            return View(element, False, False, f"{_fortran(element)}, dimension({shape})", ("descriptor",), rank, "A")
        case bl.Sequence(counts=counts) if isinstance(t, Array):
            shape = ",".join(str(c) if c >= 0 else "*" for c in reversed(counts))
            return View(t.element, False, False, f"{_fortran(t.element)}, dimension({shape})", order="F")
        case bl.Pointer():
            return t
    return View(t, False, False, str(_fortran(t)), scalar=isinstance(t, Scalar), least=t.size)


def _fortran(t: object) -> str:
    return f"type({t})" if isinstance(t, Struct) else str(t)


def _is_slice(members: tuple[bl.Member, ...]) -> bool:
    return [m.name for m in members] == ["data_ptr", "length"] and isinstance(members[0].type, bl.Pointer)


def _is_const(name: str) -> bool:
    """`&T`, `*const T`, `[*]const T`, `?*const T`: nothing is written through it."""
    return not name.startswith("&mut ") if name[0] == "&" else bool(re.match(r"\??(\*|\[\*[^]]*\])const ", name))
