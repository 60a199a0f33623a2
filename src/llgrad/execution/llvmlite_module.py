"""IR that Python has built (`llvmlite.ir.Module`, what Numba and others make) as a source: a file of this process."""

from __future__ import annotations

import atexit
import functools
import hashlib
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

_NO_TARGET = re.compile(r'^target (?:triple = "unknown-unknown-unknown"|datalayout = "")\n', re.MULTILINE)


def is_module(source: Any) -> bool:
    """Is it a module of llvmlite's, built by Python or parsed by LLVM?"""
    return hasattr(source, "triple") and hasattr(source, "data_layout") and hasattr(source, "functions")


def written(module: Any) -> Path:
    """A file with a module's assembly, which is there for as long as this process."""
    text = _NO_TARGET.sub("", str(module))
    name = re.sub(r"\W+", "_", str(module.name)) or "module"
    path = _folder() / f"{name}-{hashlib.sha256(text.encode()).hexdigest()[:12]}.ll"
    path.write_text(text)
    return path


@functools.cache
def _folder() -> Path:
    made = Path(tempfile.mkdtemp(prefix="llgrad-"))
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    return made
