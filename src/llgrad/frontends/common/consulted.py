"""What a compilation consulted apart from the contents of files, so that a cache can tell when it would differ.

Every front end reports the files that it read as absolute paths, and the rest as `Consulted`. What it cannot report it
says in `untold`: such a result is not kept. Environment variables need no report, unless caches leave them out.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec import Struct


class Consulted(Struct, frozen=True):
    """What decides a module besides the files that were read.

    candidates  paths at which another file would have been taken, had there been one;
    patterns    `folder/*ending`: which names match decides;
    variables   environment variables that the source names (`option_env!`);
    programs    compilers behind the one on PATH;
    untold      why the compilation cannot say what it read; empty if it can.
    """

    candidates: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    untold: str = ""


def together(several: Iterable[Consulted]) -> Consulted:
    """The union."""
    found = list(several)
    return Consulted(
        tuple(dict.fromkeys(c for one in found for c in one.candidates)),
        tuple(dict.fromkeys(p for one in found for p in one.patterns)),
        tuple(dict.fromkeys(v for one in found for v in one.variables)),
        tuple(dict.fromkeys(p for one in found for p in one.programs)),
        next((one.untold for one in found if one.untold), ""),
    )


def ahead(files: Iterable[Path], folders: Sequence[str], beside: Iterable[str] = ()) -> Iterator[str]:
    """Paths of a search list that come before those where `files` were found, by the same names.

    `folders` is the list in its order. `beside` are folders of including files, which come before it. A file's name is
    what its path has after a folder of the list, as compilers put the two together.
    """
    heads = [f"{folder.rstrip('/')}/" for folder in folders]
    first = [f"{folder.rstrip('/')}/" for folder in beside]
    for file in map(str, files):
        for n, head in enumerate(heads):
            if file.startswith(head):
                yield from (f"{before}{file[len(head) :]}" for before in (*first, *heads[:n]))


def upwards(folder: Path, *names: str) -> Iterator[Path]:
    """Those names in a folder and in all folders around it."""
    return (place / name for place in (folder, *folder.parents) for name in names)


def looked_for(paths: Iterable[Path]) -> tuple[list[Path], tuple[str, ...]]:
    """Files that are read where they exist, as those that exist and those that do not."""
    found: dict[bool, list[Path]] = {True: [], False: []}
    for path in dict.fromkeys(paths):
        found[path.is_file()].append(path)
    return found[True], tuple(map(str, found[False]))


def named_files(flags: Sequence[str], folder: Path) -> list[Path]:
    """Files that flags name (`file`, `@file`, `name=file`), and those that response files name in turn."""
    found: dict[Path, None] = {}
    pending = list(flags)
    while pending:
        word = pending.pop(0)
        for name in dict.fromkeys((word, word.removeprefix("@"), word.rpartition("=")[2])):
            path = folder / name
            if name and path not in found and path.is_file():
                found[path] = None
                pending += _words(path) if word == f"@{name}" else []
    return list(found)


def _words(response: Path) -> list[str]:
    with suppress(OSError, ValueError):
        return shlex.split(response.read_text(errors="replace"))
    return []


def tree(folder: Path, skipped: Iterable[str] = ()) -> tuple[list[Path], list[str]]:
    """All files of a folder, and patterns that show a new one; hidden ones and `skipped` folders are left out."""
    files: list[Path] = []
    patterns: list[str] = []
    for place, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in skipped]
        files += [Path(place, name) for name in names if not name.startswith(".")]
        patterns.append(within(place))
    return files, patterns


def within(folder: str | Path, ending: str = "") -> str:
    """The pattern of all names in a folder with that ending."""
    return f"{folder}/*{ending}"
