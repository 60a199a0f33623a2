"""Shuffles of floats within a warp, as exchanges in shared memory, which have derivatives.

    %y = call float @llgrad.gpu.shfl.sync.down.f32(i32 -1, float %x, i32 %by, i32 31)

gets a body: each thread stores %x in a place of its own, the warp waits, and each loads what the lane that it reads
from has stored. The adjoint of a gather is then a sum in the shadow of that memory, whichever lanes are read. The lane
is that of PTX (ISA 9.7.9.6): `c` has the clamp in bits 0 to 4 and the mask of segments in bits 8 to 12.
"""

from __future__ import annotations

from llgrad.ir.module import Module
from llgrad.models.gpu import DEVICE, INTRINSIC, SHARED, SPACE

MOST_THREADS = 1024
_SHUFFLE = f"{INTRINSIC}shfl.sync."
_PLACES = (
    f"@llgrad.exchange = internal externally_initialized global [{MOST_THREADS} x float] undef, "
    f'section "{SPACE}{SHARED}", align 4'
)
_REGISTERS = [f"{INTRINSIC}read.ptx.sreg.{r}" for r in ("tid.x", "tid.y", "tid.z", "ntid.x", "ntid.y")]
_WAITS = f"{INTRINSIC}bar.warp.sync"
_LANES = {
    "down": ("%lane = add i32 %own, %b", "ule"),
    "up": ("%lane = sub i32 %own, %b", "sge"),
    "bfly": ("%lane = xor i32 %own, %b", "ule"),
    "idx": ("%inner = and i32 %b, %free\n  %lane = or i32 %low, %inner", "ule"),
}


def exchanges(module: Module) -> str:
    """Bodies of the shuffles that a host's view declares, as text; their declarations go."""
    found = [kind for kind in _LANES if f"{_SHUFFLE}{kind}.f32" in module.globals]
    if not found:
        return ""
    for kind in found:
        del module.globals[f"{_SHUFFLE}{kind}.f32"]
    lines = [f"declare i32 @{r}() nounwind willreturn memory(none)" for r in _REGISTERS if r not in module.globals]
    lines += [f"declare void @{_WAITS}(i32) convergent nounwind"] * (_WAITS not in module.globals)
    return "\n".join([_PLACES, *lines, *map(_body, found)])


def _body(kind: str) -> str:
    lane, inside = _LANES[kind]
    read = "\n".join(f"  %r{n} = call i32 @{r}()" for n, r in enumerate(_REGISTERS))
    return f"""
define internal float @{_SHUFFLE}{kind}.f32(i32 %mask, float %x, i32 %b, i32 %c)
    alwaysinline convergent nounwind "{DEVICE}" {{
{read}
  %rows = mul i32 %r2, %r4
  %row = add i32 %rows, %r1
  %before = mul i32 %row, %r3
  %rank = add i32 %before, %r0
  %own = and i32 %rank, 31
  %start = and i32 %rank, -32
  %bits = lshr i32 %c, 8
  %segment = and i32 %bits, 31
  %free = xor i32 %segment, 31
  %low = and i32 %own, %segment
  %clamp = and i32 %c, %free
  %last = or i32 %low, %clamp
  {lane}
  %inside = icmp {inside} i32 %lane, %last
  %from = select i1 %inside, i32 %lane, i32 %own
  %other = add i32 %start, %from
  %to = getelementptr float, ptr @llgrad.exchange, i32 %rank
  store float %x, ptr %to, align 4
  call void @{_WAITS}(i32 %mask)
  %at = getelementptr float, ptr @llgrad.exchange, i32 %other
  %y = load float, ptr %at, align 4
  call void @{_WAITS}(i32 %mask)
  ret float %y
}}
"""
