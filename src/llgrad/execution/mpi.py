"""MPI from Python: how `mpicc` compiles and links, and mpi4py's communicators as arguments."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from llgrad.errors import CompilerError

Flags = dict[str, tuple[str, ...]] | tuple[str, ...]


def with_mpi(flags: Flags, libraries: Sequence[str]) -> tuple[Flags, list[str]]:
    """Flags, of one compiler or of each language, and libraries with those of MPI."""
    where, linked = _installed()
    if isinstance(flags, dict):
        return {language: (*where, *own) for language, own in flags.items()}, [*libraries, *linked]
    return (*where, *flags), [*libraries, *linked]


def _installed() -> tuple[list[str], list[str]]:
    """The flags by which `mpicc` compiles, and the libraries with which it links."""
    compiler = os.environ.get("MPICC", "mpicc")
    try:
        words = subprocess.run([compiler, "-show"], capture_output=True, text=True, check=True).stdout.split()
    except (OSError, subprocess.CalledProcessError) as error:
        raise CompilerError(
            f"{compiler} cannot be asked for its flags", cause=str(error),
            fix="install an MPI with its compiler, or name that in MPICC; or pass flags and libraries yourself",
        ) from error  # fmt: skip
    folders = [word[2:] for word in words if word.startswith("-L")]
    names = [word[2:] for word in words if word.startswith("-l")]
    return [word for word in words if word.startswith(("-I", "-D"))], [_library(name, folders) for name in names]


def _library(name: str, folders: list[str]) -> str:
    found = (Path(folder, f"lib{name}.so") for folder in folders)
    return next((str(path) for path in found if path.is_file()), name)


def is_handle(value: Any) -> bool:
    """Is it an object of mpi4py's that stands for a handle?"""
    return type(value).__module__.startswith("mpi4py") and isinstance(getattr(value, "handle", None), int)


def handle_of(value: Any) -> int:
    """The handle as C has it: an address, or an integer with a sign (mpi4py gives that without, in 64 bits)."""
    handle = int(value.handle)
    return handle - (1 << 64) if handle >= 1 << 63 else handle
