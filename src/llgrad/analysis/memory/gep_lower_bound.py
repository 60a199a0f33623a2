"""Writes that leave what lies before them alone: the header in front of a flexible array.

An index that only the program knows may lead to any element, and by its stride alone to the header, too. But where all
of an address is added without wrapping around (`getelementptr nuw`), it is no less than its base and what is constant.
"""

from __future__ import annotations

from llgrad.analysis.memory.cells import gep_bytes
from llgrad.analysis.memory.mod_ref import Access, Memory, MemoryObject
from llgrad.ir.values import AnyValue, GetElementPtr, Instruction, Store


def is_behind(write: Instruction, read: Access, memory: Memory) -> bool:
    """Does a store write only behind all the bytes that are read?"""
    if not isinstance(write, Store) or not isinstance(write.pointer, GetElementPtr) or read.size is None:
        return False
    first = _first_bytes(write.pointer, memory)
    if not first or memory.coincide(frozenset(first), read.objects):
        return False
    return all(isinstance(at, int) and at + read.size <= first[o] for o, at in read.places if o in first)


def _first_bytes(pointer: AnyValue, memory: Memory) -> dict[MemoryObject, int]:
    """No byte before these is written through a pointer; empty where that is not known."""
    least = 0
    while isinstance(pointer, GetElementPtr) and "nuw" in pointer.flags:
        by = gep_bytes(pointer.source_type, pointer.indices, memory.module.layout)
        if by is None or not by[0] and by[1] < 0:
            return {}
        least += 0 if by[0] else by[1]
        pointer = pointer.pointer
    found: dict[MemoryObject, int] = {}
    for o, at in memory.places(pointer):
        if not isinstance(at, int):
            return {}
        found[o] = min(found.get(o, at + least), at + least)
    return found


__all__ = ["is_behind"]
