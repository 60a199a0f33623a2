"""Memory that the threads of a GPU's block share, cleared by all of them: each clears its part, between two barriers.

    part = (size / threads of the block, rounded up to 16 bytes);  begin = min(rank * part, size)
    memset(memory + begin, 0, min(part, size - begin))
"""

from __future__ import annotations

from llgrad.autodiff.emit.team_calls import barrier
from llgrad.ir.build import FALSE, Builder, const_int, declare, i64
from llgrad.ir.module import Module
from llgrad.ir.types import I1, I8, I32, I64, PTR, VOID
from llgrad.ir.values import AnyValue, Attribute
from llgrad.models.gpu import BLOCK, INTRINSIC

_PURE = (Attribute("nounwind"), Attribute("willreturn"), Attribute("memory", "none"))
_ALIGNED = 16


def clear_together(b: Builder, module: Module, memory: AnyValue, size: int) -> None:
    """Clear `size` bytes; all threads of the block must come here."""
    x, y, z = (_register(b, module, f"tid.{axis}") for axis in "xyz")
    wide, high, deep = (_register(b, module, f"ntid.{axis}") for axis in "xyz")
    threads = b.binary("mul", b.binary("mul", wide, high), deep)
    rank = b.binary("add", b.binary("mul", b.binary("add", b.binary("mul", z, high), y), wide), x)
    share = b.binary("udiv", b.binary("add", threads, i64(size - 1)), threads)
    part = b.binary("and", b.binary("add", share, i64(_ALIGNED - 1)), i64(-_ALIGNED))
    begin = _smaller(b, b.binary("mul", rank, part), i64(size))
    own = _smaller(b, part, b.binary("sub", i64(size), begin))
    barrier(b, module, BLOCK, [const_int(I32, 0)])
    memset = declare(module, "llvm.memset.p0.i64", VOID, [PTR, I8, I64, I1])
    b.call(memset, [b.offset(memory, begin), const_int(I8, 0), own, FALSE])
    barrier(b, module, BLOCK, [const_int(I32, 0)])


def _register(b: Builder, module: Module, name: str) -> AnyValue:
    reads = declare(module, f"{INTRINSIC}read.ptx.sreg.{name}", I32, [])
    reads.attributes = reads.attributes or _PURE
    return b.cast("zext", b.call(reads, []), I64)


def _smaller(b: Builder, x: AnyValue, y: AnyValue) -> AnyValue:
    return b.select(b.icmp("ult", x, y), x, y)
