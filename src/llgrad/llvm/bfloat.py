"""Conversions to bfloat that machine code calls: `__truncsfbf2`, `__truncdfbf2` and their kin for longer formats.

LLVM calls them for `fptrunc … to bfloat`, and after each operation on bfloats, where the CPU has no instruction for it.
compiler-rt and libgcc 13 have them, older libgccs do not; so modules that know the type bring them along, as weak
definitions: the calls are made while machine code is generated, and no optimiser before may drop them.

A float is rounded to nearest, ties to even, by a sum of integers, which carries into the exponent and up to infinity as
it should; a NaN keeps its sign and its first bits, and is quiet. What is longer is first rounded to *odd* as a float
(towards zero, with the last bit set where that was not exact): then the second rounding never sees a tie that was none.
"""

from __future__ import annotations

from llgrad.llvm.module import LLVMModule

_FROM = {"double": "__truncdfbf2", "x86_fp80": "__truncxfbf2", "fp128": "__trunctfbf2"}

_FLOAT = """
define weak_odr hidden bfloat @__truncsfbf2(float %x) nounwind {
  %bits = bitcast float %x to i32
  %upper = lshr i32 %bits, 16
  %odd = and i32 %upper, 1
  %half = add i32 %odd, 32767
  %sum = add i32 %bits, %half
  %rounded = lshr i32 %sum, 16
  %quiet = or i32 %upper, 64
  %nan = fcmp uno float %x, 0.0
  %chosen = select i1 %nan, i32 %quiet, i32 %rounded
  %short = trunc i32 %chosen to i16
  %result = bitcast i16 %short to bfloat
  ret bfloat %result
}
"""

_LONGER = """
define weak_odr hidden bfloat @{name}({type} %x) nounwind {{
  %near = fptrunc {type} %x to float
  %back = fpext float %near to {type}
  %bits = bitcast float %near to i32
  %inexact = fcmp one {type} %back, %x
  %positive = fcmp ogt {type} %x, {zero}
  %above = fcmp ogt {type} %back, %x
  %below = fcmp olt {type} %back, %x
  %beyond = select i1 %positive, i1 %above, i1 %below
  %one = zext i1 %beyond to i32
  %inner = sub i32 %bits, %one
  %last = zext i1 %inexact to i32
  %odd = or i32 %inner, %last
  %float = bitcast i32 %odd to float
  %result = call bfloat @__truncsfbf2(float %float)
  ret bfloat %result
}}
"""


def brain_floats(text: str) -> str:
    """Definitions of what a module of this text may call; nothing where it has no bfloats."""
    if "bfloat" not in text:
        return ""
    longer = [t for t in _FROM if t == "double" or t in text]
    made = [_LONGER.format(name=_FROM[t], type=t, zero="0.0" if t == "double" else _zero(t)) for t in longer]
    return "".join([_FLOAT, *made])


def with_brain_floats(module: LLVMModule) -> LLVMModule:
    """The module, or one that has them; those that it defines itself are its own."""
    text = module.text()
    if not (more := brain_floats(text)) or "@__truncsfbf2(" in text:
        return module
    return LLVMModule.linked([module, LLVMModule.from_text(more)])


def _zero(type: str) -> str:
    return "0xK" + "0" * 20 if type == "x86_fp80" else "0xL" + "0" * 32
