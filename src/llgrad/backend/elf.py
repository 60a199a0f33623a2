"""The symbols and sections of an ELF64 little-endian relocatable object, read from its bytes.

Follows the System V ABI, chapter 4. Only what the engine asks before it links: which names are defined,
which are wanted, and whether thread-local storage is used. Damaged objects raise `ArgumentError`.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from llgrad.errors import ArgumentError

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMTAB, _LOCAL, _TLS = 2, 0, 6


@dataclass(frozen=True, slots=True)
class Symbol:
    """A non-local symbol: defined in the object, or wanted from elsewhere."""

    name: str
    defined: bool
    thread_local: bool


@dataclass(frozen=True, slots=True)
class ObjectFile:
    """What an object file tells its linker."""

    symbols: tuple[Symbol, ...]
    sections: tuple[str, ...]
    thread_local: bool


def read_object(data: bytes) -> ObjectFile:
    """Symbols and section names of the object `data`."""
    try:
        return _read(data)
    except (struct.error, IndexError, UnicodeDecodeError, ValueError) as error:
        raise ArgumentError("this is not an ELF64 object file", cause=str(error), fix="compile it anew") from error


def _read(data: bytes) -> ObjectFile:
    ident, kind, *_ = header = _HEADER.unpack_from(data)
    if ident[:6] != b"\x7fELF\x02\x01" or kind != 1:
        raise ValueError("its header says something else")
    offset, count, names = header[6], header[12], header[13]
    sections = [_SECTION.unpack_from(data, offset + i * _SECTION.size) for i in range(count)]
    for section in sections:
        if section[1] != 8 and section[4] + section[5] > len(data):
            raise ValueError("it is cut short")
    strings = _bytes_of(data, sections[names])
    symbols = [symbol for section in sections if section[1] == _SYMTAB for symbol in _symbols(data, section, sections)]
    return ObjectFile(
        tuple(symbol for symbol, local in symbols if not local),
        tuple(_string(strings, section[0]) for section in sections),
        any(symbol.thread_local for symbol, _ in symbols),
    )


def _symbols(data: bytes, table: tuple[int, ...], sections: list[tuple[int, ...]]) -> list[tuple[Symbol, bool]]:
    strings = _bytes_of(data, sections[table[6]])
    entries = list(_SYMBOL.iter_unpack(_bytes_of(data, table)))[1:]
    return [
        (Symbol(_string(strings, name), where != 0, info & 15 == _TLS), info >> 4 == _LOCAL)
        for name, info, _, where, _, _ in entries
    ]


def _bytes_of(data: bytes, section: tuple[int, ...]) -> bytes:
    return data[section[4] : section[4] + section[5]]


def _string(strings: bytes, start: int) -> str:
    return strings[start : strings.index(b"\0", start)].decode()
