"""The reference interpreter of the IR, with dual numbers: an oracle of the tests. See `machine`."""

from interpreter.floats import Dual, Quad, primal, tangent
from interpreter.machine import Machine
from interpreter.undefined import POISON, PoisonError

__all__ = ["POISON", "Dual", "Machine", "PoisonError", "Quad", "primal", "tangent"]
