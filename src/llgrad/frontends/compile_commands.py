"""`compile_commands.json`: the flags with which a project compiles each of its files (Clang's compilation database)."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from itertools import dropwhile
from pathlib import Path

from llgrad.errors import SourceError
from llgrad.frontends.common.tools import Source

NAME = "compile_commands.json"
_DROPPED = (
    "-c", "-S", "-E", "-M", "-MM", "-MD", "-MMD", "-MP", "-MG", "-flto", "-emit-llvm", "-save-temps",
    "-Werror", "-pedantic-errors", "-Winvalid-pch",
)  # fmt: skip
_DROPPED_WITH_VALUE = ("-o", "-MF", "-MT", "-MQ", "-MJ", "--serialize-diagnostics")
_DROPPED_PREFIXES = (
    "-O", "-g", "-flto=", "-fsanitize", "-fprofile", "-fcoverage", "--coverage", "-o", "-MF", "-MT", "-Werror=",
)  # fmt: skip
_PRECOMPILED = ("-include-pch", "-emit-pch")  # of another compilation, whose header `-include` names, too


def read(path: Path) -> dict[Path, Source]:
    """The sources of a database by absolute path, each with its flags; a file compiled twice counts as it is first."""
    try:
        entries = json.loads(path.read_text())
        found: dict[Path, Source] = {}
        for entry in entries:
            directory = path.parent / entry["directory"]
            file = (directory / entry["file"]).resolve()
            words = entry["arguments"] if "arguments" in entry else shlex.split(entry["command"])
            flags = tuple(flags_of(words, directory, file))
            found.setdefault(file, Source(directory / entry["file"], flags, directory))
    except (ValueError, KeyError, TypeError) as error:
        raise SourceError(
            f"{path} is no compilation database", cause=f"{type(error).__name__}: {error}",
            fix="write it with `cmake -DCMAKE_EXPORT_COMPILE_COMMANDS=ON` or `bear -- make`",
        ) from error  # fmt: skip
    return found


def flags_of(words: Sequence[str], directory: Path, file: Path) -> Iterator[str]:
    """The flags of a command that matter to what the code means: no output, no levels, no instrumentation.

    What is a warning to one compiler is not known to another, so none is an error here.
    """
    rest = dropwhile(lambda word: not word.startswith("-"), words)
    for word in rest:
        if word == "-Xclang":
            word = next(rest, "")
            if word not in _PRECOMPILED:
                yield from ("-Xclang", word)
            elif next(rest, "") == "-Xclang":
                next(rest, None)
        elif word in _DROPPED_WITH_VALUE:
            next(rest, None)
        elif word == "--":
            return
        elif word in _DROPPED or word.startswith(_DROPPED_PREFIXES):
            continue
        elif word.startswith("-") or (directory / word).resolve() != file:
            yield word
