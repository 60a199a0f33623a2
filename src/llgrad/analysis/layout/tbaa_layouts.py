"""TBAA tags as byte layouts: what the types of accesses declare (LangRef: 'tbaa' Metadata, struct-path form).

Scalar names are clang's; what they say is taken, what they leave open (`omnipotent char`, Fortran's storage classes,
"any pointer") is unknown. A struct type lists an array by its element and without a count: bytes between listed fields
are unknown, not padding. (`analysis.memory.tbaa` answers which accesses may alias.)
"""

from __future__ import annotations

from llgrad.analysis.layout.byte_layouts import Basic, ByteType, Member, Pointer, Record, Unknown
from llgrad.ir.module import Module
from llgrad.ir.values import ConstInt, MDNode, MDRef, MDString

_FLOATS = {
    "double": ("double", 8), "float": ("float", 4), "half": ("half", 2), "_Float16": ("half", 2), "__fp16": ("half", 2),
    "__bf16": ("bfloat", 2), "__float128": ("fp128", 16), "_Float128": ("fp128", 16),
}  # fmt: skip
_INTS = {"int": 4, "short": 2, "long": 8, "long long": 8, "bool": 1, "_Bool": 1, "__int128": 16, "wchar_t": 4}
_POINTER_NAMES = {"any pointer", "vtable pointer"}


class TagTypes:
    """The TBAA types of one module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._types: dict[int, ByteType] = {}
        self._x86 = module.triple.startswith(("x86_64", "i386", "i486", "i586", "i686"))

    def tag(self, ref: MDRef) -> tuple[ByteType, ByteType, int]:
        """An access tag: (base type, access type, offset of the access in the base)."""
        ops = self.module.node(ref).operands
        if len(ops) < 3 or not isinstance(ops[0], MDRef) or not isinstance(ops[1], MDRef):
            return Unknown("", 0), Unknown("", 0), 0
        offset = ops[2].value if isinstance(ops[2], ConstInt) else 0
        return self.type(ops[0]), self.type(ops[1]), offset

    def fields(self, ref: MDRef) -> list[tuple[int, int, ByteType]]:
        """A `tbaa.struct`: (offset, size, access type) of each field copied."""
        ops = self.module.node(ref).operands
        found = []
        for at, size, tag in zip(ops[::3], ops[1::3], ops[2::3], strict=False):
            if isinstance(at, ConstInt) and isinstance(size, ConstInt) and isinstance(tag, MDRef):
                found.append((at.value, size.value, self.tag(tag)[1]))
        return found

    def type(self, ref: MDRef) -> ByteType:
        """The layout of a type node."""
        if ref.id not in self._types:
            self._types[ref.id] = Unknown("", 0)
            self._types[ref.id] = self._make(self.module.node(ref))
        return self._types[ref.id]

    def _make(self, node: MDNode) -> ByteType:
        ops = node.operands
        name = ops[0].text if ops and isinstance(ops[0], MDString) else ""
        if (known := self._named(name)) is not None:
            return known
        members = [
            Member("", at.value, self.type(t))
            for t, at in zip(ops[1::2], ops[2::2], strict=False)
            if isinstance(t, MDRef) and isinstance(at, ConstInt)
        ]
        known_members = [m for m in members if m.type.size]
        if not known_members:
            return Unknown(name, 0)
        size = max(m.offset + m.type.size for m in known_members)
        return Record(name, size, tuple(_with_gaps(known_members)))

    def _named(self, name: str) -> ByteType | None:
        if name == "long double" and self._x86:
            return Basic(name, 16, "float", "x86_fp80")
        if name in _FLOATS:
            format, size = _FLOATS[name]
            return Basic(name, size, "float", format)
        if name in _INTS:
            return Basic(name, _INTS[name], "int")
        if name in _POINTER_NAMES:
            return Pointer(name, 8, lambda: None)
        level, _, pointee = name.partition(" ")
        if level[:1] == "p" and level[1:].isdigit() and pointee:
            return self._pointer(int(level[1:]), pointee)
        return Unknown(name, 0) if name == "omnipotent char" else None

    def _pointer(self, level: int, pointee: str) -> ByteType:
        if level > 1:
            inner = self._pointer(level - 1, pointee)
            return Pointer("", 8, lambda: inner)
        target = self._named(pointee) if pointee in _FLOATS or pointee in _INTS or pointee == "long double" else None
        return Pointer("", 8, lambda: target)


def _with_gaps(members: list[Member]) -> list[Member]:
    covered, filled = 0, list(members)
    for m in sorted(members, key=lambda m: m.offset):
        if m.offset > covered:
            filled.append(Member("", covered, Unknown("", m.offset - covered)))
        covered = max(covered, m.offset + m.type.size)
    return filled
