"""The symbols and sections of an ELF64 little-endian relocatable object, read from its bytes.

Follows the System V ABI, chapter 4. What the engine asks before it links (which names are defined, which are wanted,
and whether thread-local storage is used), and sections put in and taken out again. Damaged objects raise
`ArgumentError`.
"""

from __future__ import annotations

import struct
from collections.abc import Collection

from msgspec import Struct

from llgrad.errors import ArgumentError

_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_SYMTAB, _LOCAL, _WEAK, _TLS = 2, 0, 2, 6
_PROGBITS, _EXCLUDE = 1, 0x80000000  # a section that is left out of programs
_RELOCATABLE, _SHARED = 1, 3  # kinds of files
_RESERVED = 0xFF00  # from here on, numbers of sections are kept elsewhere


class Symbol(Struct, frozen=True):
    """A non-local symbol: defined in the object, or wanted from elsewhere."""

    name: str
    defined: bool
    thread_local: bool
    weak: bool = False


class ObjectFile(Struct, frozen=True):
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
    sections, names = _table(data)
    if any(s[1] != 8 and s[4] + s[5] > len(data) for s in sections):
        raise ValueError("it is cut short")
    strings = _bytes_of(data, sections[names])
    symbols = [symbol for s in sections if s[1] == _SYMTAB for symbol in _symbols(data, s, sections)]
    return ObjectFile(
        tuple(symbol for symbol, local in symbols if not local),
        tuple(_string(strings, s[0]) for s in sections),
        any(symbol.thread_local for symbol, _ in symbols),
    )


def _symbols(data: bytes, table: tuple[int, ...], sections: list[tuple[int, ...]]) -> list[tuple[Symbol, bool]]:
    strings = _bytes_of(data, sections[table[6]])
    entries = list(_SYMBOL.iter_unpack(_bytes_of(data, table)))[1:]
    return [
        (Symbol(_string(strings, name), where != 0, info & 15 == _TLS, info >> 4 == _WEAK), info >> 4 == _LOCAL)
        for name, info, _, where, _, _ in entries
    ]


def _bytes_of(data: bytes, section: tuple[int, ...]) -> bytes:
    return data[section[4] : section[4] + section[5]]


def _string(strings: bytes, start: int) -> str:
    return strings[start : strings.index(b"\0", start)].decode()


def section(data: bytes, name: str) -> bytes | None:
    """The contents of the section `name`, None if there is none; of a shared library, too."""
    try:
        sections, names = _table(data, (_RELOCATABLE, _SHARED))
        strings = _bytes_of(data, sections[names])
        return next((_bytes_of(data, s) for s in sections if _string(strings, s[0]) == name), None)
    except (struct.error, IndexError, UnicodeDecodeError, ValueError) as error:
        raise ArgumentError("this is not an ELF64 object file", cause=str(error), fix="compile it anew") from error


def with_section(data: bytes, name: str, contents: bytes) -> bytes:
    """The object with one section more at its end, which linkers leave out of programs.

    A new table of sections and a new table of their names follow the contents; what was there keeps its place.
    """
    try:
        sections, names = _table(data)
        strings = _bytes_of(data, sections[names])
    except (struct.error, IndexError, ValueError) as error:
        raise ArgumentError("this is not an ELF64 object file", cause=str(error), fix="compile it anew") from error
    if len(sections) + 1 >= _RESERVED:
        raise ArgumentError("an object has too many sections", fix="compile without -ffunction-sections")
    where = len(data)
    new_strings = strings + name.encode() + b"\0"
    sections[names] = (*sections[names][:4], where + len(contents), len(new_strings), *sections[names][6:])
    sections.append((len(strings), _PROGBITS, _EXCLUDE, 0, where, len(contents), 0, 0, 1, 0))
    body = data + contents + new_strings
    body += bytes(-len(body) % 8)
    header = list(_HEADER.unpack_from(data))
    header[6], header[12] = len(body), len(sections)
    return _HEADER.pack(*header) + body[_HEADER.size :] + b"".join(_SECTION.pack(*s) for s in sections)


def _table(data: bytes, kinds: Collection[int] = (_RELOCATABLE,)) -> tuple[list[tuple[int, ...]], int]:
    """The table of sections, and which of them holds their names."""
    ident, kind, *_ = header = _HEADER.unpack_from(data)
    if ident[:6] != b"\x7fELF\x02\x01" or kind not in kinds:
        raise ValueError("its header says something else")
    offset, count, names = header[6], header[12], header[13]
    first = _SECTION.unpack_from(data, offset) if offset else (0,) * 10
    count, names = count or first[5], first[6] if names == 0xFFFF else names
    return [_SECTION.unpack_from(data, offset + i * _SECTION.size) for i in range(count)], names
