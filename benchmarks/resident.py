"""`python benchmarks/resident.py PROGRAM.so SIZE`: a gradient's bytes in a fresh process, beyond the primal's.

Prints by how much more the gradient's memory grows than the primal's, each from a heap without free pages: what the
interpreter has freed would otherwise serve one tool and not another. Freed memory stays with the process, so that the
pages it holds afterwards are the most it has held; they are counted in the page tables (the kernel's own counters of
peaks are off by up to 64 pages for each core). Imports next to nothing.
"""

import ctypes
import os
import sys

M_TRIM_THRESHOLD, M_MMAP_MAX = -1, -4
PAGES = os.open("/proc/self/smaps_rollup", os.O_RDONLY)
libc = ctypes.CDLL(None)


def resident() -> int:
    """Bytes of memory that is no file's."""
    lines = os.pread(PAGES, 4096, 0).splitlines()
    return int(next(line for line in lines if line.startswith(b"Anonymous:")).split()[1]) * 1024


def grown(call: "ctypes._NamedFuncPointer") -> int:
    """How much memory a call touches that was not there before."""
    libc.malloc_trim(0)
    before = resident()
    call()
    return resident() - before


def main() -> None:
    """Runs the primal, then the gradient once."""
    libc.mallopt(M_TRIM_THRESHOLD, 1 << 30)
    libc.mallopt(M_MMAP_MAX, 0)
    library = ctypes.CDLL(sys.argv[1])
    library.primal.restype = ctypes.c_double
    library.setup(int(sys.argv[2]))
    library.primal()
    resident()
    needed = grown(library.primal)
    print(max(0, grown(library.gradient) - needed))


main()
