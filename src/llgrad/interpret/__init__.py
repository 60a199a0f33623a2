"""The reference interpreter of the IR, with dual numbers: an oracle of the tests. See `machine`."""

from llgrad.interpret.floats import Dual, Quad, primal, tangent
from llgrad.interpret.machine import Machine
from llgrad.interpret.undefined import POISON, PoisonError

__all__ = ["POISON", "Dual", "Machine", "PoisonError", "Quad", "primal", "tangent"]
