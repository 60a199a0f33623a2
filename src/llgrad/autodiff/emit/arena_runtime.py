"""The arena's code, ready to be linked to derivatives."""

from __future__ import annotations

import functools
import os

from llgrad.autodiff.emit import arena
from llgrad.llvm import LLVMModule, Part
from llgrad.transforms.contexts import Finishing


def tape_runtime() -> Part:
    """The arena's functions, to be linked."""
    return _tape_runtime(os.environ.get("LLGRAD_ARENA") == "malloc")


@functools.cache
def _tape_runtime(each_block_its_own: bool) -> Part:
    return LLVMModule.from_text(arena.runtime(each_block_its_own)).as_part()


def link_runtime(whole: LLVMModule, c: Finishing) -> None:
    texts = [LLVMModule.from_text(text).as_part() if text else None for text in (c.others, c.last)]
    whole.absorb(*filter(None, (texts[0], tape_runtime(), texts[1])))
    whole.verify()
