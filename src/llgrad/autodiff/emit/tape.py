"""The tape: a LIFO arena of segments, handed to every reverse-mode function as its explicit first parameter.

`reserve(arena, bytes)` returns a block on top of the stack, aligned to 64 bytes; `release(arena, block)` drops the
block and everything above it. Blocks stay where they are for as long as they are reserved: the arena grows by
segments, and keeps them for the next call. Both stay opaque calls until `runtime` is linked in, after synthesis
(decision 1 of the design); `release` is a free to LLVM too (decision 2).

What a throw through a derivative must release is *held* (`analysis_results.unwinds`): `hold(arena, block, free)` pushes
the block of an allocation, and what the primal has released but the reverse sweep reads again is *armed* (`arm`; a null
`free` is not called). `drop(arena, block)`, the mirror, pops and releases down to that block; `free` all that is left.

The arena is a struct `{ ptr top, ptr limit, ptr segment, i64 used, i64 peak, ptr deferred, ptr (a wrapper's), ptr
held }`; a segment begins with
`{ ptr previous, ptr next, i64 bytes, ptr top when left }` (64 bytes). All of it zero is an empty arena. `used`
counts the bytes in the segments below the current one. `deferred` is a list of freed-by-the-primal blocks, released by
`finish`, and of blocks that are *watched* (`watch`): at the end they must hold no adjoints.

`column(block, offset, number)` is `block + offset`, said so that kinds tell the columns of one block apart when the
derivative is differentiated again: the same number is the same column. `SHADOW` is the number of the second half of a
block that holds memory and its shadow. Numbers from `EVERYWHERE` on (`number`) are the same column in all blocks: LLVM
merges ways on which blocks of several functions are kept, and what is kept there stays apart, and one where it is read.
Numbers from `INTEGERS` on (times the size in bytes) are columns of integers.
"""

from __future__ import annotations

import zlib

from llgrad.ir.build import Builder, declare, i64
from llgrad.ir.module import Module
from llgrad.ir.types import I1, I64, PTR, VOID
from llgrad.ir.values import AnyValue, Attribute, Call, Function

ARENA_BYTES = 64
HEADER_BYTES = 64
ASKED_FROM = 1 << 20  # bytes of a tape from which it is asked whether they may be kept (`ASKED_FROM` of arena.c)
RESERVE, RELEASE, DEFER, WATCH, FINISH, FAIL = (
    "llgrad.tape.reserve", "llgrad.tape.release", "llgrad.tape.defer", "llgrad.tape.watch", "llgrad.tape.finish",
    "llgrad_fail",
)  # fmt: skip
COLUMN, TAKE, GIVE = "llgrad.tape.column", "llgrad.tape.take", "llgrad.tape.give"
USED = "llgrad.tape.used"  # `i64 used(arena)`: how many bytes are reserved
HOLD, ARM, DROP, HOLDS = "llgrad.tape.hold", "llgrad.tape.arm", "llgrad.tape.drop", "llgrad.tape.holds"
SHADOW, EVERYWHERE, INTEGERS = 1 << 16, 1 << 31, 1 << 32
FAIL_MEMORY, FAIL_ORDER, FAIL_TARGET, FAIL_BITS, FAIL_LOST, FAIL_BEFORE = 1, 2, 3, 10, 11, 15  # codes of llgrad_fail

_PUSHES = (
    Attribute("nounwind"), Attribute("willreturn"),
    Attribute("memory", "argmem: readwrite, inaccessiblemem: readwrite"),
)  # fmt: skip


def reserve(module: Module) -> Function:
    f = declare(module, RESERVE, PTR, [PTR, I64])
    f.result_attributes = (Attribute("noalias"), Attribute("nonnull"), Attribute("align", 64))
    f.attributes = (
        Attribute("nounwind"), Attribute("willreturn"),
        Attribute("allockind", '"alloc,uninitialized"'), Attribute("allocsize", "1"),
        Attribute("memory", "argmem: readwrite, inaccessiblemem: readwrite"),
        Attribute("alloc-family", "llgrad.tape", string=True),
    )  # fmt: skip
    return f


def release(module: Module) -> Function:
    f = declare(module, RELEASE, VOID, [PTR, PTR])
    f.arguments[1].attributes = (Attribute("allocptr"),)
    f.attributes = (
        Attribute("nounwind"), Attribute("willreturn"), Attribute("allockind", '"free"'),
        Attribute("memory", "argmem: readwrite, inaccessiblemem: readwrite"),
        Attribute("alloc-family", "llgrad.tape", string=True),
    )  # fmt: skip
    return f


def own(call: Call) -> Call:
    """A `reserve` of memory that is its own to LLVM, as what `malloc` gives is; or the `release` of such a block.

    Both stay calls after the arena is linked in: inlined, a block is an address that is loaded, which may be any. LLVM
    must believe that the release accesses the block, or else it moves accesses past it: the release hands its address
    on, to memory or to assembly.
    """
    call.attributes = (Attribute("noinline"),)
    if call.type == PTR:
        call.result_attributes = (Attribute("noalias"), Attribute("nonnull"), Attribute("align", 64))
    return call


def defer(module: Module) -> Function:
    """`defer(arena, block, free)`: the primal freed `block`; keep it until `finish`, which calls `free(block)`."""
    f = declare(module, DEFER, VOID, [PTR, PTR, PTR])
    f.attributes = (Attribute("nounwind"),)
    return f


def watch(module: Module) -> Function:
    """`watch(arena, block, shadow, floats, i1 later)`: have `finish` fail where a finite float in `shadow` is not zero.

    `block` is what `malloc` gave, and is released after this. `later`: not if there is one now; the caller may put
    adjoints elsewhere before the reverse sweep. `floats` points to the stride in bytes, a count, and for so many floats
    the offset of the two bytes that their exponent is in, and its bits there. The last word may not be looked at.
    """
    f = declare(module, WATCH, VOID, [PTR, PTR, PTR, PTR, I1])
    f.attributes = (Attribute("nounwind"),)
    return f


def finish(module: Module) -> Function:
    """`finish(arena)`: free what was deferred, test what is watched. Called once, after the root's reverse sweep."""
    f = declare(module, FINISH, VOID, [PTR])
    f.attributes = (Attribute("nounwind"),)
    return f


def hold(module: Module) -> Function:
    """`i64 hold(arena, block, free)`: a throw releases `block` by `free`, or does not where that is null."""
    f = declare(module, HOLD, I64, [PTR, PTR, PTR])
    f.attributes = _PUSHES
    return f


def arm(module: Module) -> Function:
    """`arm(arena, held, block, free)`: the primal has freed what was held; it waits for its mirror, or a throw."""
    f = declare(module, ARM, VOID, [PTR, I64, PTR, PTR])
    f.attributes = _PUSHES
    return f


def drop(module: Module) -> Function:
    """`drop(arena, block)`: release all that is held, down to `block` and with it."""
    f = declare(module, DROP, VOID, [PTR, PTR])
    f.attributes = (Attribute("nounwind"),)
    return f


def holds(module: Module) -> Function:
    """`i1 holds(arena, block)`: would a throw release the block?"""
    f = declare(module, HOLDS, I1, [PTR, PTR])
    f.attributes = (Attribute("nounwind"), Attribute("willreturn"))
    return f


def number(sweeps: str, n: int) -> int:
    """Of the `n`-th thing that certain sweeps of a function keep: another one than all others have."""
    return EVERYWHERE + zlib.crc32(f"{sweeps} {n}".encode()) % EVERYWHERE


def column(b: Builder, module: Module, block: AnyValue, offset: AnyValue, number: int, name: str = "") -> AnyValue:
    """The address `offset` bytes into a block, as column `number`."""
    f = declare(module, COLUMN, PTR, [PTR, I64, I64])
    f.attributes = (
        Attribute("nounwind"), Attribute("willreturn"), Attribute("nofree"), Attribute("nosync"),
        Attribute("speculatable"), Attribute("memory", "none"), Attribute("nomerge"),  # each has a number of its own
    )  # fmt: skip
    return b.call(f, [block, offset, i64(number)], name)
