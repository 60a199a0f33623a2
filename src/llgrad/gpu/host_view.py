"""A module for a GPU as one of the host, which all stages of llgrad read; `device_view` is the way back.

    target triple = "nvptx64-nvidia-cuda"                   target triple = (the host's)
    @s = internal addrspace(3) global float undef           @s = internal global float undef, section "llgrad.space.3"
    define ptx_kernel void @k(ptr %x) {                ->   define void @k(ptr %x) "llgrad.device" "llgrad.kernel" {
      %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()          %t = call i32 @llgrad.gpu.read.ptx.sreg.tid.x()

Sizes and alignments of types are the same on both, for all types that NVPTX has; pointers of all address spaces but
tensor memory have 64 bits. A pointer of any space has an address of the one space that is left, as all of them have a
generic one; LLVM's code generator infers the spaces again. `convergent` stays; barriers are opaque to LLVM.
"""

from __future__ import annotations

from llgrad.errors import UnsupportedError
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.symbols import rename
from llgrad.ir.types import DataLayout, PointerType
from llgrad.ir.values import Attribute, Function
from llgrad.ir.write import write
from llgrad.llvm import host_layout, host_triple
from llgrad.llvm.gpu import printed
from llgrad.llvm.text import without_address_spaces
from llgrad.models.gpu import DEVICE, INTRINSIC, KERNEL, NVVM, SHARED, SPACE

KERNELS = "ptx_kernel"
OTHERS = "externally_initialized"
"""Who else writes a block's variable: without the word, LLVM takes one that only a kernel uses for the kernel's own."""
_TARGETS = ("target-cpu", "target-features", "tune-cpu")


def host_view(data: bytes | str) -> str:
    """The assembly of a module for the GPU, as that of a module of the host."""
    text = printed(data)
    spaces = _spaces(parse(text))
    module = parse(without_address_spaces(text))
    module.triple, module.layout = host_triple(), DataLayout(host_layout())
    for v in module.variables:
        if space := spaces.get(v.name):
            v.suffix += f', section "{SPACE}{space}"'
            v.prefix = (*v.prefix, OTHERS) if space == SHARED and OTHERS not in v.prefix else v.prefix
    for f in module.functions:
        _describe(f)
    rename(module, {f.name: INTRINSIC + f.name.removeprefix(NVVM) for f in module.functions if f.name.startswith(NVVM)})
    return write(module)


def _spaces(module: Module) -> dict[str, int]:
    """The address spaces of variables, but for the generic one and the global one, which need no word."""
    spaces = {v.name: v.type.addrspace for v in module.variables if isinstance(v.type, PointerType)}
    return {name: space for name, space in spaces.items() if space > 1}


def _describe(f: Function) -> None:
    if f.calling_convention == KERNELS:
        f.calling_convention = ""
        f.attributes += (Attribute(KERNEL, "", string=True),)
    elif f.calling_convention == "ptx_device":
        f.calling_convention = ""
    if f.calling_convention not in ("", "fastcc", "ccc"):
        raise UnsupportedError(f"{f.name} has the calling convention {f.calling_convention}, which is not the GPU's")
    f.attributes = tuple(a for a in f.attributes if a.name not in _TARGETS)
    if not f.is_declaration:
        f.attributes += (Attribute(DEVICE, "", string=True),)
