"""The arena's code, ready to be linked to derivatives: the bitcode of `runtime/arena/arena.c` (see `arena_build`)."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from llgrad.llvm import LLVMModule, Part
from llgrad.llvm.text import INLINE_ASSEMBLY
from llgrad.transforms.contexts import Finishing

FOLDER = Path(__file__).parents[2] / "runtime" / "arena"


def shipped(each_block_its_own: bool) -> Path:
    """The bitcode; with `each_block_its_own`, every block is a malloc, for sanitizers (decision 11)."""
    return FOLDER / ("blocks.bc" if each_block_its_own else "arena.bc")


def tape_runtime() -> Part:
    """The arena's functions, to be linked."""
    return _tape_runtime(os.environ.get("LLGRAD_ARENA") == "malloc")


@functools.cache
def _tape_runtime(each_block_its_own: bool) -> Part:
    hazards = frozenset({INLINE_ASSEMBLY} if each_block_its_own else ())
    return Part(shipped(each_block_its_own).read_bytes(), hazards)


def link_runtime(whole: LLVMModule, c: Finishing) -> None:
    texts = [LLVMModule.from_text(text).as_part() if text else None for text in (c.others, c.last)]
    whole.absorb(*filter(None, (texts[0], tape_runtime(), texts[1])))
    whole.verify()
