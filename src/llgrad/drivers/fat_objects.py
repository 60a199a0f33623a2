"""Objects that carry their bitcode, and static archives of them.

An object of `llgrad cc -c` is the one that clang makes, with one section more, `.llgrad`: records of

    8 bytes magic · 4 bytes length of the options · 8 bytes length of the bitcode · options (JSON) · bitcode

Linkers leave the section out of programs, and `ld -r` puts the sections of its inputs one after another, so that a
section may hold several records. `ar`, `nm`, `ranlib` and other linkers see an ordinary object. Objects that *are*
bitcode (of `clang -flto`) are read too.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from llgrad.errors import SourceError
from llgrad.llvm.module import BITCODE_MAGIC
from llgrad.support.elf import section, with_section

SECTION = ".llgrad"
_MAGIC = b"LLGRAD\0\1"
_HEAD = struct.Struct("<8sIQ")
_ARCHIVE, _THIN = b"!<arch>\n", b"!<thin>\n"
_MEMBER = struct.Struct("<16s12s6s6s8s10s2s")


class Options(Struct, frozen=True, forbid_unknown_fields=True):
    """How a unit wants to be compiled: the level of its -O, its CPU, whether it wants debug info, libmvec, and sums
    that stay as they are.

    `apart`: the object has the code, and derivatives; the bitcode only says so (`--derivative`).
    """

    level: int | None = None
    cpu: str | None = None
    debug: bool = False
    apart: bool = False
    vector_math: bool = False
    strict: bool = False


class Unit(Struct, frozen=True):
    """Bitcode of one source; `name` is for messages."""

    name: str
    bitcode: bytes
    options: Options = Options()

    @property
    def asks(self) -> bool:
        """Whether it asks for a derivative or says something about one."""
        return b"__enzyme_" in self.bitcode and not self.options.apart


class Member(Struct, frozen=True):
    """One file of an archive."""

    name: str
    data: bytes


def embed(data: bytes, unit: Unit) -> bytes:
    """The object `data` with the unit's bitcode in it."""
    options = msgspec.json.encode(unit.options)
    record = _HEAD.pack(_MAGIC, len(options), len(unit.bitcode)) + options + unit.bitcode
    return with_section(data, SECTION, record)


def is_bitcode(data: bytes) -> bool:
    return data.startswith(BITCODE_MAGIC)


def is_archive(data: bytes) -> bool:
    return data.startswith((_ARCHIVE, _THIN))


def is_object(data: bytes) -> bool:
    """Whether it is a relocatable ELF object."""
    return data.startswith(b"\x7fELF\x02\x01") and data[16:18] == b"\1\0"


def units(name: str, data: bytes) -> list[Unit]:
    """The bitcode that an object carries or is; empty for one of another compiler."""
    if is_bitcode(data):
        return [Unit(name, data)]
    found = section(data, SECTION) if is_object(data) else None
    return list(_records(name, found)) if found else []


def _records(name: str, data: bytes) -> Iterator[Unit]:
    at = 0
    while at < len(data):
        try:
            magic, head, body = _HEAD.unpack_from(data, at)
            start = at + _HEAD.size
            options = msgspec.json.decode(data[start : start + head], type=Options)
        except (struct.error, msgspec.DecodeError) as error:
            raise _damaged(name, str(error)) from error
        at = start + head + body
        if magic != _MAGIC or at > len(data):
            raise _damaged(name, "a record is cut short or of another version")
        yield Unit(name, data[at - body : at], options)


def members(path: Path, data: bytes) -> list[Member]:
    """The files of an archive (System V, GNU or BSD names; thin ones too), without its index."""
    thin, names, found = data.startswith(_THIN), b"", []
    at = len(_ARCHIVE)
    while at + _MEMBER.size <= len(data):
        raw, *_, digits, end = _MEMBER.unpack_from(data, at)
        at += _MEMBER.size
        if end != b"`\n" or not digits.strip().isdigit():
            raise _damaged(str(path), "it is no archive")
        label, size = raw.rstrip().decode(errors="replace"), int(digits)
        special = label in ("/", "//", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED")
        contents = data[at : at + size] if special or not thin else b""
        at += 0 if thin and not special else size + size % 2
        if label == "//":
            names = contents
        elif not special:
            found.append(_member(path, label, contents, names, thin))
    return found


def _member(path: Path, label: str, contents: bytes, names: bytes, thin: bool) -> Member:
    if label.startswith("/") and label[1:].isdigit():
        label = names[int(label[1:]) :].partition(b"\n")[0].decode(errors="replace")
    elif label.startswith("#1/"):
        size = int(label[3:])
        label, contents = contents[:size].rstrip(b"\0").decode(errors="replace"), contents[size:]
    label = label.removesuffix("/")
    try:
        return Member(f"{path}({label})", (path.parent / label).read_bytes() if thin else contents)
    except OSError as error:
        raise SourceError(f"{path} names {label}, which cannot be read", cause=str(error)) from error


def _damaged(name: str, cause: str) -> SourceError:
    return SourceError(f"{name} is damaged", cause=cause, fix="compile it anew")
