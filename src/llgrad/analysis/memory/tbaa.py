"""Type-based alias analysis: what `!tbaa` tags of loads and stores say (LangRef: 'tbaa' Metadata).

A tag is `!{base, access, offset[, constant]}`: an access of scalar type `access` at `offset` in a value of type
`base`. A type node is `!{name, member, offset, member, offset, …}`; a scalar's only member, at offset 0, is its parent.
Two tags may alias if, walking from one base type down to the member at the offset, the other's base type is met at the
other's offset; trees with different roots say nothing about each other. Tags of the old scalar format, and of the
size-carrying format, are not read: `tag` is None for them, which may alias anything.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from llgrad.ir.module import Module
from llgrad.ir.values import ConstInt, Instruction, MDNode, MDRef, MDString


class TypeNode(Struct, frozen=True):
    """A node of the type tree; compared by metadata id. `members` are (offset, type id), in order of offset."""

    id: int
    name: str
    members: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        return self.name or f"!{self.id}"


class Tag(Struct, frozen=True):
    """One access tag. `constant`: the memory is never written while it can be read through this tag."""

    base: TypeNode
    access: TypeNode
    offset: int
    constant: bool = False

    def __str__(self) -> str:
        return f"{self.base}+{self.offset}:{self.access}"


class TypeTree:
    """The tags of one module, read on demand."""

    def __init__(self, module: Module) -> None:
        self._module = module
        self._types: dict[int, TypeNode | None] = {}
        self._tags: dict[int, Tag | None] = {}
        self._answers: dict[tuple[Tag, Tag], bool] = {}

    def tag(self, instruction: Instruction) -> Tag | None:
        """The instruction's tag, or None where it has none that can be read."""
        ref = instruction.metadata.get("tbaa")
        if ref is None or ref.id < 0:
            return None
        if ref.id not in self._tags:
            self._tags[ref.id] = self._read_tag(self._module.node(ref))
        return self._tags[ref.id]

    def may_alias(self, a: Tag | None, b: Tag | None) -> bool:
        """May accesses with these tags touch the same byte?"""
        if a is None or b is None or a == b:
            return True
        if (a, b) not in self._answers:
            self._answers[a, b] = self._root(a.access) != self._root(b.access) or self._meet(a, b) or self._meet(b, a)
        return self._answers[a, b]

    def are_members(self, a: Tag | None, b: Tag | None) -> bool:
        """Are these accesses of members of one class, at other offsets?"""
        return a is not None and b is not None and a.base == b.base and a.base != a.access and a.offset != b.offset

    def is_integer(self, tag: Tag | None) -> bool:
        """Does C's or C++'s type of the access hold neither floats nor pointers, nor may it be anything (char)?"""
        if tag is None or not _C_ROOT.fullmatch(self._chain(tag.access)[-1].name):
            return False
        names = [t.name for t in self._chain(tag.access)]
        return not (_OPEN.fullmatch(names[0]) or any(_POINTER.fullmatch(n) for n in names))

    def _meet(self, outer: Tag, inner: Tag) -> bool:
        """Is the access of `inner` one of a member, at any depth, of the base type of `outer` where it accesses?"""
        node: TypeNode | None = outer.base
        offset = outer.offset
        while node is not None:
            if node.id == inner.base.id:
                return offset == inner.offset
            node, offset = self._descend(node, offset)
        return False

    def _descend(self, node: TypeNode, offset: int) -> tuple[TypeNode | None, int]:
        at = [m for m in node.members if m[0] <= offset]
        return (self._type(at[-1][1]), offset - at[-1][0]) if at else (None, 0)

    def _chain(self, node: TypeNode) -> list[TypeNode]:
        """A scalar type and its parents up to the root."""
        chain = [node]
        while chain[-1].members and (parent := self._type(chain[-1].members[0][1])) is not None:
            chain.append(parent)
        return chain

    def _root(self, node: TypeNode) -> int:
        return self._chain(node)[-1].id

    def _read_tag(self, node: MDNode) -> Tag | None:
        match node.operands:
            case (MDRef() as base, MDRef() as access, offset, *rest) if len(rest) <= 1:
                types, at = (self._type(base.id), self._type(access.id)), _number(offset)
                if types[0] is None or types[1] is None or at is None:
                    return None
                return Tag(types[0], types[1], at, bool(rest and _number(rest[0])))
        return None

    def _type(self, id: int) -> TypeNode | None:
        if id not in self._types:
            self._types[id] = _read_type(id, self._module.node(id)) if id >= 0 else None
        return self._types[id]


_C_ROOT = re.compile(r"Simple C(/C)?(\+\+)? TBAA")
_OPEN = re.compile(
    r"omnipotent char|float|double|long double|_?_?Float\d+x?|__fp16|__bf16|__float128|_Complex.*|Simple C.*"
)
_POINTER = re.compile(r".*pointer.*|p\d+ .*")


def _read_type(id: int, node: MDNode) -> TypeNode | None:
    match node.operands:
        case (MDString(name), *rest):
            pass
        case (MDRef(), *_):
            return None  # the size-carrying format
        case (*rest,):
            name = ""
    members = [(_number(at), ref.id) for ref, at in zip(rest[::2], rest[1::2], strict=False) if isinstance(ref, MDRef)]
    if len(rest) == 1 and isinstance(rest[0], MDRef):
        members = [(0, rest[0].id)]
    if any(at is None for at, _ in members):
        return None
    return TypeNode(id, name, tuple(sorted((at or 0, ref) for at, ref in members)))


def _number(operand: Any) -> int | None:
    match operand:
        case ConstInt(_, value):
            return value
        case int():
            return operand
    return None
