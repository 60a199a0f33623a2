"""What was compiled before, on disk: libraries by the contents of their sources, derivatives by library and request.

    folder()/ab/abcdef…      one entry a file: a checksum, then named pieces of bytes

The folder is $LLGRAD_CACHE, else the platform's (`$XDG_CACHE_HOME/llgrad`, `~/.cache/llgrad`,
`~/Library/Caches/llgrad`); `LLGRAD_CACHE=off` switches it off. Entries are written to a temporary file and renamed, so
that processes may share the folder; an entry that is cut short, damaged or unreadable counts as missing; an unwritable
folder is no error.

Keys are SHA-256 over everything that matters: the contents of all sources and of every file they included (their names
are remembered in a manifest, keyed by sources and flags), flags and the files that these name, the compiler (path,
size, date), environment variables it reads, llgrad's own files, LLVM, CPU and its features. Limit, as with every
compiler cache: a new header that would now be found earlier on the include path is not noticed.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import json
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from llgrad.places import cache_folder

if TYPE_CHECKING:
    from llgrad.frontends import Flags

LIMIT_BYTES = 1 << 30  # once in a while the oldest entries above it are removed
_MAGIC = b"llgrad1\n"
# What the frontends look for on PATH, and the variables they and their compilers read (a test compares).
COMPILERS = (
    *(f"clang-{n}" for n in range(22, 14, -1)), "clang", *(f"flang-{n}" for n in range(22, 18, -1)), "flang",
    "rustc", "cargo", "zig", "ldc2", "nim", "mlir-opt-22", "mlir-opt", "mlir-translate-22", "mlir-translate", "julia",
    "swiftc",
)  # fmt: skip
ENVIRONMENT = (
    "LLGRAD_CLANG", "CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LLGRAD_ARENA", "LLGRAD_FLANG", "LLGRAD_RUSTC",
    "LLGRAD_CARGO", "RUSTUP_TOOLCHAIN", "LLGRAD_ZIG", "LLGRAD_LDC", "LLGRAD_NIM", "LLGRAD_MLIR_OPT",
    "LLGRAD_MLIR_TRANSLATE", "LLGRAD_JULIA", "LLGRAD_SWIFTC",
)  # fmt: skip


def folder() -> Path | None:
    """Where entries live; None if caching is off."""
    return cache_folder()


def key(*parts: str | bytes | Sequence[Any]) -> str:
    """A key from its parts; each counts with its length, so that no two lists of parts meet."""
    digest = hashlib.sha256()
    for part in parts:
        data = part if isinstance(part, bytes) else json.dumps(part).encode(errors="surrogatepass")
        digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()


def get(name: str) -> dict[str, bytes] | None:
    """The pieces of an entry; None if it does not exist or is damaged."""
    root = folder()
    if root is None:
        return None
    try:
        data = (root / name[:2] / name).read_bytes()
    except OSError:
        return None
    head = len(_MAGIC) + 32
    if not data.startswith(_MAGIC) or hashlib.sha256(memoryview(data)[head:]).digest() != data[len(_MAGIC) : head]:
        return None
    size = int.from_bytes(data[head : head + 8], "little")
    pieces, at = {}, head + 8 + size
    for piece, length in json.loads(data[head + 8 : head + 8 + size]):
        pieces[piece] = data[at : at + length]
        at += length
    return pieces


def put(name: str, pieces: Mapping[str, bytes]) -> None:
    """Enter or replace an entry, as a whole; failure to write is ignored."""
    root = folder()
    if root is None:
        return
    index = json.dumps([(piece, len(data)) for piece, data in pieces.items()]).encode()
    body = b"".join([len(index).to_bytes(8, "little"), index, *pieces.values()])
    with suppress(OSError):
        place = root / name[:2]
        place.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(prefix=".new-", dir=place)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(body).digest() + body)
            os.replace(temporary, place / name)
        except OSError:
            with suppress(OSError):
                os.unlink(temporary)
            raise
        if os.urandom(1)[0] == 0:
            prune(LIMIT_BYTES)


def prune(limit: int) -> None:
    """Remove the entries written longest ago until the folder holds at most `limit` bytes."""
    root = folder()
    if root is None:
        return
    entries = []
    for path in root.glob("??/*"):
        with suppress(OSError):
            status = path.stat()
            entries.append((status.st_mtime_ns, status.st_size, path))
    total = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries, key=lambda e: e[0]):
        if total <= limit:
            return
        with suppress(OSError):
            path.unlink()
            total -= size


def dumped(value: Any) -> bytes:
    """A value of llgrad's own classes as a piece. (The folder is as trusted as the machine code in it.)"""
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


def loaded(data: bytes) -> Any:
    """The value of a piece."""
    return pickle.loads(data)


# --- keys of sources -------------------------------------------------------------------------------------------------


def recalled(paths: Sequence[Path], flags: Flags) -> str | None:
    """The key of these sources as they are now, if it is known which files they include; no compiler is run."""
    manifest = get(_manifest(paths, flags))
    if manifest is None:
        return None
    return _sources(paths, flags, json.loads(manifest["files"]))


def remember(paths: Sequence[Path], flags: Flags, files: Iterable[Path], compiled_at: int) -> str | None:
    """Note which files the sources included, and give their key; None if one changed since `compiled_at` (in ns)."""
    names = [str(Path(f).absolute()) for f in files]
    with suppress(OSError):
        if max(os.stat(n).st_mtime_ns for n in names) < compiled_at:
            put(_manifest(paths, flags), {"files": json.dumps(names).encode()})
            return _sources(paths, flags, names)
    return None


def _manifest(paths: Sequence[Path], flags: Flags) -> str:
    return key("manifest", [str(p.absolute()) for p in paths], _listed(flags), *_surroundings(), os.getcwd())


def _sources(paths: Sequence[Path], flags: Flags, files: Sequence[str]) -> str | None:
    digests = []
    for name in files:
        try:
            digests.append(_digest(name))
        except OSError:
            return None
    return key("sources", [str(p) for p in paths], _listed(flags), *_surroundings(), digests)


def _listed(flags: Flags) -> list[Any]:
    """The flags, and the contents of files that they name: `@file`, `--config file`, `name=file`."""
    by_language = sorted((k, list(v)) for k, v in flags.items()) if isinstance(flags, Mapping) else None
    words = list(flags) if by_language is None else [w for _, several in by_language for w in several]
    files = (f for w in words for f in (w, w.removeprefix("@"), w.rpartition("=")[2]))
    files = (f for f in files if os.path.isfile(f) and os.access(f, os.R_OK))
    return [words if by_language is None else by_language, [_digest(f) for f in dict.fromkeys(files)]]


def _digest(name: str) -> str:
    with open(name, "rb") as file:
        return f"{name} {hashlib.file_digest(file, 'sha256').hexdigest()}"


def surroundings() -> tuple[str, ...]:
    """llgrad itself, LLVM, the CPU, compilers and environment: what counts for any entry."""
    return _surroundings()


def _surroundings() -> tuple[str, ...]:
    environment = [f"{name}={os.environ.get(name, '')}" for name in ENVIRONMENT]
    return (own_stamp(), _target(), _compiler_stamp(os.environ.get("PATH", "")), *environment)


@functools.cache
def _target() -> str:
    from llgrad.backend import fingerprint

    return f"{fingerprint()}; {os.confstr('CS_GNU_LIBC_VERSION') if sys.platform == 'linux' else sys.platform}"


@functools.cache
def own_stamp() -> str:
    """llgrad's own files: names, sizes, dates."""
    found = []
    for place, _, names in os.walk(Path(__file__).parent):
        for name in names:
            if name.endswith(".py"):
                status = os.stat(os.path.join(place, name))
                found.append(f"{os.path.join(place, name)} {status.st_size} {status.st_mtime_ns}")
    return key(sorted(found))


@functools.cache
def _compiler_stamp(path: str) -> str:
    """The programs among which the frontends choose, without running them."""
    found = [shutil.which(name, path=path) for name in COMPILERS]
    wanted = [os.environ.get(name, "").split() for name in ENVIRONMENT if name.startswith("LLGRAD_")]
    found += [shutil.which(words[0], path=path) for words in wanted if words]
    zig = importlib.util.find_spec("ziglang")
    found += [zig.origin] if zig else []
    stamps = []
    for name in filter(None, found):
        status = os.stat(name)
        stamps.append(f"{name} {os.path.realpath(name)} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(stamps)
