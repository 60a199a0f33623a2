"""How a program for a GPU says that it is one, while it stands for a program of the host (`llgrad.gpu.host_view`).

    "llgrad.device"        a function attribute: many threads run it at once
    "llgrad.kernel"        the same of a kernel, which the host launches
    llgrad.gpu.NAME        the intrinsic llvm.nvvm.NAME
    section "llgrad.space.3"   a variable of address space 3 (shared memory)
"""

from __future__ import annotations

DEVICE, KERNEL = "llgrad.device", "llgrad.kernel"
INTRINSIC, NVVM = "llgrad.gpu.", "llvm.nvvm."
SPACE = "llgrad.space."
SHARED, CONSTANT = 3, 4
BARRIERS = (f"{INTRINSIC}barrier", f"{INTRINSIC}bar.")
"""What functions are called where threads wait for others."""
BLOCK = f"{INTRINSIC}barrier.cta.sync.aligned.all"
MIRRORED = {
    **{f"{INTRINSIC}{name}": f"{INTRINSIC}{name}" for name in (
        "barrier.cta.sync.aligned.all", "barrier.cta.sync.all", "barrier.cta.sync.aligned.count",
        "barrier.cta.sync.count", "bar.warp.sync",
    )},
    **{f"{INTRINSIC}barrier.cta.red.{what}.aligned.all": BLOCK for what in ("or", "and", "popc")},
}  # fmt: skip
"""Where threads wait in the reverse sweep, too, and how; all parameters that the second one has are the first one's."""

PURE = (
    r"llgrad\.gpu\.(?:read\.ptx\.sreg|is\.sha)\.\w+(?:\.\w+)*|llgrad\.gpu\.activemask|"
    r"llgrad\.gpu\.(?:barrier|bar\.|membar|fence)[\w.]*|llgrad\.gpu\.vote[\w.]*|"
    r"__nv_(?:isnan|isinf|isfinite|finite|signbit)[df]?|__nv_(?:float|double)2u?(?:int|ll)_r[nzud]|"
    r"__nv_u?(?:int|ll)2(?:float|double)_r[nzud]|__nv_(?:l?l?abs|u?(?:ll)?(?:min|max)|clz(?:ll)?|popc(?:ll)?|brev(?:ll)?"
    r"|ffs(?:ll)?|byte_perm|u?mul(?:hi|24|64hi)|u?sad|u?r?hadd)"
)
"""Names of what computes integers from integers, or waits. That other threads write meanwhile is said elsewhere."""

ADD = f"{INTRINSIC}add."
"""`llgrad.gpu.add.float(ptr, float)` adds to memory of any address space: atomically, if other threads may see it."""

TAPE_BEGIN, TAPE_END = f"{INTRINSIC}tape.begin", f"{INTRINSIC}tape.end"
"""An arena in a block of memory of the thread's own, and its end."""
