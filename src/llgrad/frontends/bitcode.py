"""What is LLVM IR already: assembly, bitcode, object files and static archives that hold bitcode
(`clang -flto`; beside machine code with `-ffat-lto-objects` or `-fembed-bitcode`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from llgrad.errors import SourceError
from llgrad.frontends.common.tools import Compiled, Language, Source
from llgrad.frontends.julia import julia
from llgrad.frontends.swift import swiftc
from llgrad.support import elf

_MACHINE = b"\x7fELF"
_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
_EMBEDDED = (".llvm.lto", ".llvmbc")  # `-ffat-lto-objects`, `-fembed-bitcode`
_ARCHIVE, _THIN = b"!<arch>\n", b"!<thin>\n"
_INDEXES = ("/", "//", "/SYM64/", "__.SYMDEF", "__.SYMDEF SORTED", "__.SYMDEF_64")


def _compile(sources: Sequence[Source], raw: bool) -> list[Compiled]:
    """Assembly that Julia or Swift printed is made plain, all of one language together."""
    found = [compiled for source in sources for compiled in _modules(source.path)]
    for theirs, finish in ((julia.is_julia, julia.finished), (swiftc.is_swift, swiftc.finished)):
        places = [n for n, c in enumerate(found) if _is_text(c) and theirs(c.module.decode())]
        for n, module in zip(places, finish([found[n].module.decode() for n in places]), strict=True):
            found[n] = replace(found[n], module=module)
        if places and finish is swiftc.finished:
            found.append(Compiled(swiftc.runtime(raw), found[places[0]].dependencies, is_runtime=True))
    return found


def _is_text(compiled: Compiled) -> bool:
    return compiled.dependencies[0].suffix.lower() == ".ll" and not compiled.module.startswith(_BITCODE)


def _modules(path: Path) -> Iterator[Compiled]:
    data = path.read_bytes()
    if data.startswith((_ARCHIVE, _THIN)):
        for name, member, files in members(path, data):
            yield Compiled(_bitcode(f"{path}({name})", member), (path, *files))
    elif path.suffix.lower() == ".o":
        yield Compiled(_bitcode(str(path), data), (path,))
    else:
        yield Compiled(data, (path,))


def _bitcode(name: str, data: bytes) -> bytes:
    if data.startswith(_BITCODE):
        return data
    for section in _EMBEDDED if data.startswith(_MACHINE) else ():
        found = elf.section(data, section) or b""
        if found.startswith(_BITCODE):
            return found
    raise SourceError(
        f"{name} holds no LLVM bitcode",
        cause="it is machine code" if data.startswith(_MACHINE) else "its first bytes are not those of bitcode",
        fix="compile it with `clang -flto -c`, or name its source; code that is only called can stay a shared library",
    )


def members(path: Path, data: bytes) -> Iterator[tuple[str, bytes, tuple[Path, ...]]]:
    """Name, contents and further files read of each member of an `ar` archive (System V and BSD names, thin ones)."""
    at, names, thin = 8, b"", data.startswith(_THIN)
    while at + 60 <= len(data):
        header = data[at : at + 60]
        if header[58:60] != b"`\n":
            raise SourceError(f"{path} is damaged", cause=f"there is no archive header at byte {at}")
        name, size = header[:16].decode(errors="replace").rstrip(), int(header[48:58])
        at += 60
        body = data[at : at + size]
        index = name in _INDEXES
        at += size + size % 2 if index or not thin else 0
        if name == "//":
            names = body
        if index:
            continue
        if name.startswith("#1/"):
            length = int(name[3:])
            name, body = body[:length].rstrip(b"\0").decode(errors="replace"), body[length:]
        elif name.startswith("/"):
            name = names[int(name[1:]) :].partition(b"\n")[0].rstrip(b"/").decode(errors="replace")
        name = name.rstrip("/")
        if name in _INDEXES:
            continue
        if thin:
            yield name, (path.parent / name).read_bytes(), (path.parent / name,)
        else:
            yield name, body, ()


IR = Language("llvm", (".ll", ".bc", ".o", ".a"), _compile)
