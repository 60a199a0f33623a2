"""What clang consults besides the files that it lists as dependencies: where it looks for headers, configuration.

All of it is what the driver tells with -v. A header's name is what its path has after a directory of the search list,
as clang puts the two together. Nonexistent directories of the list count as its first.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from llgrad.frontends.common.consulted import Consulted, ahead, looked_for

_IGNORED = re.compile(r'^ignoring nonexistent directory "([^"\n]*)"$', re.MULTILINE)
_SEARCHED = re.compile(r'^#include "\.\.\." search starts here:\n(.*?)^End of search list', re.MULTILINE | re.DOTALL)
_CONFIGURED = re.compile(r"^Configuration file: (.*)$", re.MULTILINE)
_INSTALLED = re.compile(r"^InstalledDir: (.*)$", re.MULTILINE)
_LIBRARIES = re.compile(r"^Selected GCC installation: (.*)/[^/\n]*$", re.MULTILINE)
_RUN = re.compile(r'^ "([^"\n]+)" "?-cc1\b', re.MULTILINE)  # the compiler itself, whatever wrappers stand before it
_TARGET = re.compile(r"^Target: (.*)$", re.MULTILINE)
# Files that a source asks for and does without
_ASKED = re.compile(r'\b__has_(?:include|include_next|embed)\s*\(\s*(?:["<]([^">\n]+)[">])?')


def consulted(said: str, files: Sequence[Path], folder: Path, cxx: bool) -> tuple[list[Path], Consulted]:
    """Configuration files, and where clang looks before it finds `files` (the source first)."""
    searched = _SEARCHED.search(said)
    if searched is None:
        return [], Consulted(untold="the compiler does not tell which directories it searches")
    listed = [line[1:] for line in searched[1].splitlines() if line.startswith(" ")]
    searched_too = (place.removesuffix(" (framework directory)") for place in listed)
    places = [str(folder / place) for place in (*_IGNORED.findall(said), *searched_too)]
    system = ("/usr/", *(str(Path(place)) for place in _INSTALLED.findall(said)))
    own = [files[0], *(file for file in files[1:] if not str(file).startswith(system))]
    beside = dict.fromkeys(str(file.parent) for file in own)
    asked, untold = _asked_for(files, own)
    read, missing = looked_for(_configurations(said, cxx))
    candidates = (*ahead(files[1:], places, beside), *(f"{p}/{name}" for p in (*beside, *places) for name in asked))
    installed = tuple(f"{place}/*" for place in _LIBRARIES.findall(said))
    programs = tuple(path for path in dict.fromkeys(_RUN.findall(said)) if Path(path).is_file())
    return read, Consulted((*missing, *candidates), installed, programs=programs, untold=untold)


def _asked_for(files: Sequence[Path], own: Sequence[Path]) -> tuple[dict[str, None], str]:
    """Names in `__has_include`, and why not all are known."""
    found: dict[str, None] = {}
    for file in files:
        for m in _ASKED.finditer(file.read_text(errors="replace")):
            if m[1]:
                found[m[1]] = None
            elif file in own:
                return found, f"{file} asks with __has_include for a file whose name is computed"
    return found, ""


def _configurations(said: str, cxx: bool) -> list[Path]:
    """Files from which clang has flags, or would have."""
    target = next(iter(_TARGET.findall(said)), "")
    modes = ("clang++", "clang") if cxx else ("clang",)
    names = (f"{target}.cfg", *(f"{start}{mode}.cfg" for mode in modes for start in ("", f"{target}-")))
    return [Path(place) for place in _CONFIGURED.findall(said)] + [
        Path(place, name) for place in _INSTALLED.findall(said) for name in names
    ]
