"""`python benchmarks/resident.py PROGRAM.so SIZE`: a gradient's bytes in a fresh process, beyond the primal's.

Prints the growth of the peak of resident memory (`VmHWM`, set back after the primal ran). Imports next to nothing.
"""

import ctypes
import sys
from pathlib import Path


def memory(word: str) -> int:
    """A line of this process's status, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(word)).split()[1]) * 1024


def main() -> None:
    """Runs the primal twice, then the gradient once."""
    library = ctypes.CDLL(sys.argv[1])
    library.primal.restype = ctypes.c_double
    library.setup(int(sys.argv[2]))
    library.derivative.restype = ctypes.POINTER(ctypes.c_double)
    library.primal()
    library.primal()
    Path("/proc/self/clear_refs").write_text("5")
    before = memory("VmRSS")
    library.gradient()
    print(max(0, memory("VmHWM") - before))


main()
