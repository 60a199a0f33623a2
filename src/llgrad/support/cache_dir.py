"""Where llgrad keeps files between runs, and how a large file is known again without reading it."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def cache_folder() -> Path | None:
    """$LLGRAD_CACHE, else the platform's folder for caches; None if caching is off (`LLGRAD_CACHE=off`)."""
    named = os.environ.get("LLGRAD_CACHE")
    if named is not None:
        return None if named.lower() in ("", "off", "0", "no") else Path(named)
    try:
        home = Path.home()
    except RuntimeError:
        return None
    if sys.platform == "darwin":
        return home / "Library" / "Caches" / "llgrad"
    return Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "llgrad"


def stamp(path: str | os.PathLike[str]) -> str:
    """A file's path, size and date, those of what a link leads to; OSError where there is none."""
    status = os.stat(path)
    return f"{path} {status.st_size} {status.st_mtime_ns}"
