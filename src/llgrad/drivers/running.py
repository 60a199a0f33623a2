"""`llgrad run`: build a program and become it.

The program lies in memory only (`memfd_create`) and takes the place of this process, so that its input, output, signals
and exit status are its own. Where the system has no such files it is a temporary one, run as a child.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from llgrad.drivers.command_line import Role, read
from llgrad.drivers.compiling import CXX
from llgrad.drivers.driver import drive


def run_program(words: Sequence[str], arguments: Sequence[str]) -> int:
    """Compile and link `words` as `llgrad cc` does (`llgrad c++` for C++) at -O2 unless they say otherwise, and run it.

    Returns only if there is no program to become: the compiler's status, or the child's.
    """
    line = read(words)
    cxx = any(i.language.startswith("c++") or Path(i.value).suffix in CXX for i in line.inputs)
    level = [] if line.level is not None else ["-O2"]
    if cxx and not any(w.startswith(("-std=c++", "-std=gnu++")) for w in words):
        words = _each_its_language(words, {i.value for i in line.inputs if not i.language})
    with tempfile.TemporaryDirectory(prefix="llgrad-") as folder:
        target = Path(folder, "program")
        if status := drive([*level, *words, "-lm", "-o", str(target)], cxx=cxx):
            return status
        name = next((i.value for i in line.of(Role.INPUT)), "program")
        if not hasattr(os, "memfd_create") or os.execve not in os.supports_fd:
            return _run_child(target, [name, *arguments])
        handle = os.memfd_create("program", os.MFD_CLOEXEC)
        with open(handle, "wb", closefd=False) as file:
            file.write(target.read_bytes())
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(handle, [name, *arguments], os.environ)


def _each_its_language(words: Sequence[str], inputs: set[str]) -> list[str]:
    """The words, where files in C stay C: a compiler of C++ would take them for its own."""
    return [w for x in words for w in (("-x", "c", x, "-x", "none") if x in inputs and x.endswith(".c") else (x,))]


def _run_child(target: Path, words: Sequence[str]) -> int:
    """Run it as a child; a signal that ends it ends this process as a shell reports it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        status = subprocess.run([str(target), *words[1:]], check=False).returncode
    finally:
        signal.signal(signal.SIGINT, before)
    return status if status >= 0 else 128 - status
