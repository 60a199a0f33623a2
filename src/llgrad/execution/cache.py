"""What was compiled before, on disk: libraries by the contents of their sources, derivatives by library and request.

    folder()/ab/abcdef…      one entry a file: a checksum, then named pieces of bytes

The folder is $LLGRAD_CACHE, else the platform's (`$XDG_CACHE_HOME/llgrad`, `~/.cache/llgrad`,
`~/Library/Caches/llgrad`); `LLGRAD_CACHE=off` switches it off. Entries are written to a temporary file and renamed, so
that processes may share the folder; an entry that is cut short, damaged or unreadable counts as missing; an unwritable
folder is no error.

Keys are SHA-256 over everything that matters. A manifest notes what sources were compiled from. Its key are
their names, flags, the directory and `surroundings`: llgrad's own files, LLVM, the CPU and its features, compilers on
PATH, and all environment variables but those of `NOISE`. It holds what the front end reports (`Inputs`):

    files       absolute paths of all files read; their contents count
    absent      paths where other files would have been found first: nothing may be there
    patterns    `folder/*ending`: which names match counts
    variables   variables of `NOISE` that the source names
    programs    compilers behind the one on PATH, by size and date

A file of `files` that is missing, or a path of `absent` that exists, makes the manifest stale: the source is compiled
again. Nothing is kept of a front end that cannot say what it read (`Consulted.untold`). A compiler is known by its
path, size and date. Of a script that stands for one (a wrapper, `ccache clang`) the programs that it names count as
well, and of clang the one that compiled in the end. Limit: other programs that a wrapper runs by computed names.
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
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from llgrad.support.cache_dir import cache_folder, stamp

if TYPE_CHECKING:
    from llgrad.frontends import Flags
    from llgrad.frontends.common.consulted import Consulted

MOST_OF_SCRIPT = 1 << 14
_BETWEEN = str.maketrans(dict.fromkeys("\"'`()[]{},;|&<>=", " "))  # the words of scripts
LIMIT_BYTES = 1 << 30  # once in a while the oldest entries above it are removed
_MAGIC = b"llgrad1\n"
# What the frontends look for on PATH (a test compares).
COMPILERS = (
    *(f"clang-{n}" for n in range(22, 14, -1)), "clang", *(f"flang-{n}" for n in range(22, 18, -1)), "flang",
    "rustc", "cargo", "zig", "ldc2", "nim", "mlir-opt-22", "mlir-opt", "mlir-translate-22", "mlir-translate", "julia",
    "swiftc",
)  # fmt: skip
# Variables that sessions, terminals, jobs, and libraries at run time have, and compilers do not read: any other counts.
NOISE = frozenset((
    "_", "PWD", "OLDPWD", "SHLVL", "TERM", "COLORTERM", "COLUMNS", "LINES", "WINDOWID", "DISPLAY", "XAUTHORITY",
    "WAYLAND_DISPLAY", "STY", "MAIL", "LS_COLORS", "PS1", "PS2", "PAGER", "EDITOR", "VISUAL", "LOGNAME", "HOSTNAME",
    "INVOCATION_ID", "JOURNAL_STREAM", "SESSION_MANAGER", "GLIBC_TUNABLES", "CUDA_VISIBLE_DEVICES", "LLGRAD_CACHE",
    "RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT",
))  # fmt: skip
_NOISY = (
    "PYTEST_", "COV_CORE_", "JPY_", "VSCODE_", "TERM_", "TMUX", "SSH_", "XDG_SESSION_", "DBUS_", "HIST", "LESS",
    "SLURM", "PBS_", "LSB_", "SGE_", "PMI_", "PMIX_", "OMPI_", "I_MPI_", "OMP_", "KMP_", "GOMP_", "MKL_", "OPENBLAS_",
    "BLIS_", "MALLOC_", "NCCL_", "JAX_", "XLA_", "TF_", "TORCH", "NUMBA_",
)  # fmt: skip


class Inputs(NamedTuple):
    """What sources were compiled from: files as absolute paths, and what else their front ends consulted."""

    files: Sequence[Path]
    consulted: Consulted


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


def recalled(name: str) -> str | None:
    """The key of what was `asked` as the sources are now, if it is known what they are compiled from; no compiler is
    run."""
    manifest = get(name)
    return _sources(name, json.loads(manifest["inputs"])) if manifest else None


def content(name: str) -> str | None:
    """A hash of the files that what was `asked` is compiled from, with their names; the same wherever that is asked."""
    manifest = get(name)
    return key("content", [_digest(name) for name in json.loads(manifest["inputs"])["files"]]) if manifest else None


def remember(paths: Sequence[Path], flags: Flags, inputs: Inputs, compiled_at: int) -> str | None:
    """Note what the sources were compiled from, and give their key; None if that may have changed since `compiled_at`
    (in ns), is not there, or is not known."""
    files, consulted = [str(f.absolute()) for f in inputs.files], inputs.consulted
    if consulted.untold:
        return None
    with suppress(OSError):
        read = {*map(os.path.realpath, files)}
        others = [c for c in consulted.candidates if os.path.exists(c) and os.path.realpath(c) not in read]
        matching = (f"{p.rpartition('/*')[0]}/{name}" for p in consulted.patterns for name in _matching(p) or ())
        looked = {*files, *others, *matching}
        if max(map(_changed, looked)) < compiled_at:
            noted = {
                "files": files, "absent": _by_folder(consulted.candidates), "patterns": consulted.patterns,
                "variables": [v for v in consulted.variables if is_noise(v)], "programs": consulted.programs,
            }  # fmt: skip
            name = asked(paths, flags)
            put(name, {"inputs": json.dumps(noted).encode()})
            return _sources(name, noted)
    return None


def _changed(name: str) -> int:
    status = os.stat(name)
    return max(status.st_mtime_ns, status.st_ctime_ns)


def _by_folder(paths: Iterable[str]) -> dict[str, list[str]]:
    """Those that do not exist, by the folders that do: of a path whose folder is missing, what is missing first."""
    there: dict[str, bool] = {}
    found: dict[str, dict[str, None]] = {}

    def exists(path: str) -> bool:
        if path not in there:
            there[path] = os.path.exists(path)
        return there[path]

    for path in paths:
        while path and not exists(path):
            place, _, name = path.rpartition("/")
            if not place or exists(place):
                found.setdefault(f"{place}/", {})[name] = None
                break
            path = place
    return {place: list(names) for place, names in found.items()}


def _are_absent(names: Sequence[str], place: str) -> bool:
    """Is none of these in a folder? It is listed where that is quicker."""
    if len(names) < 8:
        return not any(os.path.exists(place + name) for name in names)
    try:
        return {*names}.isdisjoint(os.listdir(place))
    except OSError:
        return not any(os.path.exists(place + name) for name in names)


def _matching(pattern: str) -> list[str] | None:
    """The names that match `folder/*ending`; None if there is no such folder."""
    folder, _, ending = pattern.rpartition("/*")
    with suppress(OSError):
        return sorted(name for name in os.listdir(folder) if name.endswith(ending))
    return None


def asked(paths: Sequence[Path], flags: Flags) -> str:
    """The key of a manifest: what is asked for, by whom and where."""
    listed = sorted([k, list(v)] for k, v in flags.items()) if isinstance(flags, Mapping) else list(flags)
    return key("manifest", [str(p) for p in paths], listed, *surroundings(), os.getcwd())


def _sources(name: str, noted: Mapping[str, Any]) -> str | None:
    """The key of the sources as they are now; None if something else would be read today."""
    if not all(_are_absent(names, place) for place, names in noted["absent"].items()):
        return None
    try:
        digests = [_digest(name) for name in noted["files"]]
        programs = [stamp(name) for name in noted["programs"]]
    except OSError:
        return None
    matching = [_matching(pattern) for pattern in noted["patterns"]]
    variables = [[name, os.environ.get(name)] for name in noted["variables"]]
    return key("sources", name, digests, programs, matching, variables)


def _digest(name: str) -> str:
    with open(name, "rb") as file:
        return f"{name} {hashlib.file_digest(file, 'sha256').hexdigest()}"


def surroundings() -> tuple[str, ...]:
    """llgrad itself, LLVM, the CPU, compilers and environment: what counts for any entry."""
    return (own_stamp(), _target(), _compiler_stamp(), key(environment()))


def environment() -> list[str]:
    """The variables that compilers may read, with their values."""
    return sorted(f"{name}={value}" for name, value in os.environ.items() if not is_noise(name))


def is_noise(variable: str) -> bool:
    """Is it a variable that no compiler is known to read?"""
    return variable in NOISE or variable.startswith(_NOISY)


@functools.cache
def _target() -> str:
    from llgrad.llvm import fingerprint

    return f"{fingerprint()}; {os.confstr('CS_GNU_LIBC_VERSION') if sys.platform == 'linux' else sys.platform}"


@functools.cache
def own_stamp() -> str:
    """llgrad's own files, those it compiles included: names, sizes, dates."""
    found = []
    for place, folders, names in os.walk(Path(__file__).parents[1]):
        folders[:] = [name for name in folders if name != "__pycache__"]
        for name in names:
            status = os.stat(os.path.join(place, name))
            found.append(f"{os.path.join(place, name)} {status.st_size} {status.st_mtime_ns}")
    return key(sorted(found))


def _compiler_stamp() -> str:
    """The programs among which the frontends choose, without running them: as they are now, in a long process, too.
    All of a name count: the first on PATH may ask the next (ccache does)."""
    wanted = [word for name, value in os.environ.items() if name.startswith("LLGRAD_") for word in value.split()]
    found = [program for word in wanted if (program := shutil.which(word))]
    named = dict.fromkeys(folder or "." for folder in os.environ.get("PATH", os.defpath).split(os.pathsep))
    folders = [f"{folder}/" for folder in named if os.path.isdir(folder)]
    for name in COMPILERS:
        found += (path for folder in folders if os.access(path := folder + name, os.X_OK) and os.path.isfile(path))
    return "\n".join([*map(stamp, _with_named(found)), *_wheel()])


def _with_named(programs: Iterable[str]) -> Iterator[str]:
    """These programs, and those that scripts among them name, in turn: by name, by path, or beside the script."""
    waiting = list(dict.fromkeys(programs))
    for program in waiting:
        yield program
        for word in _words(program, stamp(program)):
            name = os.path.expandvars(word)
            places = (shutil.which(name), shutil.which(os.path.join(os.path.dirname(program), os.path.basename(name))))
            waiting += [path for path in dict.fromkeys(places) if path and path not in waiting]


@functools.lru_cache(256)
def _words(program: str, _stamp: str) -> tuple[str, ...]:
    """The words of a script; none of any other program."""
    with suppress(OSError), open(program, "rb") as file:
        if file.read(2) == b"#!":
            text = file.read(MOST_OF_SCRIPT).decode(errors="replace")
            return tuple(dict.fromkeys(word for word in text.translate(_BETWEEN).split() if word.strip("/.$")))
    return ()


@functools.cache
def _wheel() -> list[str]:
    """The zig of the `ziglang` package, which nobody replaces while a process uses it."""
    zig = importlib.util.find_spec("ziglang")
    folder = os.path.dirname(zig.origin) if zig and zig.origin else ""
    return [stamp(f"{folder}/{name}") for name in os.listdir(folder) if name.startswith("zig")] if folder else []
