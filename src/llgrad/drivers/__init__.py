"""Compiler drivers: `llgrad cc`, `llgrad c++`, `llgrad run`, on top of clang's.

    words      the command line: what is input, what is for the compiler, what for the linker
    objects    objects that carry their own bitcode; static archives of them
    compiling  clang, run on one source
    apart      derivatives in the object of their own unit
    linking    what is linked, as one module: derivatives made, machine code, the system's linker
    driver     which of these an invocation needs
    running    a program that is built to be run at once

What asks for no derivative is clang's own work, word for word. `cc` and `cxx` are the console scripts.
"""

from llgrad.drivers.driver import cc, cxx, drive
from llgrad.drivers.running import run_program

__all__ = ["cc", "cxx", "drive", "run_program"]
