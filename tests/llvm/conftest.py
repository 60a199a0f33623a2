"""Sources that the tests of the backend share."""

from __future__ import annotations

import pytest

from llgrad.llvm import LLVMModule

SQUARE = """
define double @square(double %x) {
entry:
  %y = fmul double %x, %x
  ret double %y
}
"""

@pytest.fixture
def square() -> LLVMModule:
    return LLVMModule.from_text(SQUARE)
