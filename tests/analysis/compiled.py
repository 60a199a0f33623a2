"""C and assembly to modules for the tests of memory and activity, and ways to name what is in them."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from functools import cache

from llgrad.analysis.memory.mod_ref import Memory, MemoryObject
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.values import Function, Instruction, Load, Store

LAYOUT = 'target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"\n'
FLAGS = (
    *("-fno-vectorize", "-fno-slp-vectorize", "-fno-unroll-loops", "-fno-discard-value-names"),
    *("-S", "-emit-llvm", "-xc", "-", "-o", "-"),
)


@cache
def _assembly(source: str, level: str) -> str:
    clang = shutil.which("clang-22")
    compiler = [clang] if clang else [sys.executable, "-m", "ziglang", "cc", "-fno-sanitize=all"]
    done = subprocess.run([*compiler, f"-O{level}", *FLAGS], input=source, capture_output=True, text=True, check=True)
    return done.stdout


def c(source: str, level: str = "1") -> Module:
    return parse(_assembly(source, level))


def ll(text: str) -> Module:
    return parse(LAYOUT + textwrap.dedent(text))


def named(function: Function, name: str) -> Instruction:
    """The instruction of that name."""
    return next(i for i in function.instructions() if i.name == name)


def loads(function: Function, of: str) -> list[Load]:
    return [i for i in function.instructions() if isinstance(i, Load) and str(i.type) == of]


def stores(function: Function, of: str) -> list[Store]:
    return [i for i in function.instructions() if isinstance(i, Store) and str(i.value.type) == of]


def short(objects: frozenset[MemoryObject]) -> set[str]:
    """Objects as `argument p`, `heap malloc`, `unknown`."""
    return {o.kind + (f" {o.site.name}" if o.site is not None else "") for o in objects}


def pointees(memory: Memory, value: Instruction) -> set[str]:
    return short(memory.points_to(value))
