"""The way back from `host_view`: what llgrad made of a program, as a module for the GPU.

    call double @llvm.cos.f64(double %x)            call double @__nv_cos(double %x)
    call i32 @llgrad.gpu.read.ptx.sreg.tid.x()  ->  call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
    load float, ptr @s                              load float, ptr addrspacecast (ptr addrspace(3) @s …)

Functions of the C library that derivatives call are libdevice's then, or have bodies in `runtime`; all else is refused.
"""

from __future__ import annotations

from collections.abc import Collection

from llgrad.errors import UnsupportedError
from llgrad.gpu import runtime
from llgrad.gpu.host_view import KERNELS, OTHERS
from llgrad.gpu.local_atomics import with_own_additions
from llgrad.gpu.local_tape import with_local_tapes
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.rewrite import edit_constants
from llgrad.ir.symbols import rename, use_instead
from llgrad.ir.types import PTR, DataLayout, PointerType
from llgrad.ir.values import AnyConstant, ConstExpr, GlobalVariable, Undef
from llgrad.ir.write import write
from llgrad.llvm.gpu import LAYOUT, NVPTX
from llgrad.models.gpu import DEVICE, INTRINSIC, KERNEL, NVVM, SHARED, SPACE
from llgrad.rules.libdevice import PREFIX
from llgrad.rules.library import lookup, words

_SAME = words(
    """acos acosh asin asinh atan atan2 atanh cbrt copysign cos cosh erf erfc exp exp10 exp2 expm1 fdim fmax fmin fmod
    frexp hypot ilogb j0 j1 jn ldexp lgamma log log10 log1p log2 logb modf nextafter pow powi remainder remquo rint
    round scalbn sin sincos sinh tan tanh tgamma y0 y1 yn nearbyint ceil floor trunc fabs fma sqrt llrint llround"""
)
"""Rules whose function libdevice has under the same name."""
_OTHER = {"lrint": "llrint", "lround": "llround", "scalbln": "scalbn"}
_NATIVE = words("sqrt fabs fma fmuladd copysign floor ceil trunc rint nearbyint maxnum minnum maximum minimum")
"""Intrinsics that the code generator of the GPU has instructions for."""


def device_view(text: str, declared: Collection[str]) -> str:
    """The assembly for the GPU of what was made of a host's view. `declared`: what the program itself leaves open."""
    module = parse(text)
    module.triple, module.layout = NVPTX, DataLayout(LAYOUT)
    for f in module.functions:
        if f.attribute(KERNEL) is not None:
            f.calling_convention = KERNELS
        f.attributes = tuple(a for a in f.attributes if a.name not in (DEVICE, KERNEL))
    _name_intrinsics(module)
    _name_maths(module)
    _place_variables(module)
    with_own_additions(module)
    with_local_tapes(module)
    bodies = runtime.bodies(module)
    for name in bodies.defines:
        module.globals.pop(name, None)
    _refuse_open(module, {*declared, *runtime.HEAP})
    return write(module) + bodies.text


def _name_intrinsics(module: Module) -> None:
    found = [f.name for f in module.functions if f.is_declaration and f.name.startswith(INTRINSIC)]
    rename(module, {name: NVVM + name.removeprefix(INTRINSIC) for name in found if name not in runtime.OWN})


def _name_maths(module: Module) -> None:
    """Functions of libm, and intrinsics that no instruction does, are libdevice's."""
    names = {f.name: new for f in module.functions if f.is_declaration and (new := libdevice_name(f.name))}
    there = {old: module.globals[new] for old, new in names.items() if new in module.globals}
    use_instead(module, there)
    rename(module, {old: new for old, new in names.items() if old not in there})


def libdevice_name(name: str) -> str:
    """The name in libdevice of a function of libm or an intrinsic; nothing where it has none or needs none."""
    if name.startswith(PREFIX) or (entry := lookup(name)) is None or entry.shape != "scalar" or entry.lanes > 1:
        return ""
    if entry.format not in ("double", "float") or (name.startswith("llvm.") and name.split(".")[1] in _NATIVE):
        return ""
    stem = _OTHER.get(entry.rule.name, entry.rule.name)
    return f"{PREFIX}{stem}{'f' if entry.format == 'float' else ''}" if stem in _SAME else ""


def _place_variables(module: Module) -> None:
    """Variables in their address spaces; shared memory has no contents at first."""
    placed: dict[AnyConstant, AnyConstant] = {}
    for old in list(module.variables):
        mark, _, rest = old.suffix.partition(f', section "{SPACE}')
        if not rest:
            continue
        number, _, after = rest.partition('"')
        space = PointerType(int(number))
        value = Undef(old.value_type) if space.addrspace == SHARED and not old.is_declaration else old.initializer
        new = GlobalVariable(old.name, old.value_type, value, old.constant, space)
        new.linkage, new.suffix, new.align = old.linkage, mark + after, old.align
        new.prefix = tuple(w for w in old.prefix if w != OTHERS or space.addrspace != SHARED)
        new.attributes, new.metadata = old.attributes, old.metadata
        placed[old] = ConstExpr(PTR, "addrspacecast", (new,))
        module.globals[old.name] = new
        new.module = module
    if placed:
        edit_constants(module, lambda c: placed.get(c) if isinstance(c, GlobalVariable) else None, "@")


def _refuse_open(module: Module, known: Collection[str]) -> None:
    """Refuse what nothing on the GPU defines."""
    for f in module.functions:
        name = f.name
        if f.is_declaration and not name.startswith(("llvm.", PREFIX)) and name not in known:
            raise UnsupportedError(
                f"the derivative calls {name}, which a GPU does not have",
                cause="it is a function of the host's libraries, or of llgrad's for the host",
                fix="write what needs it in other terms: report this with the kernel",
            )
        vectors = name.startswith("llvm.") and not name.startswith(NVVM) and (e := lookup(name)) and e.lanes > 1
        if f.is_declaration and vectors and name.split(".")[1] not in _NATIVE:
            raise UnsupportedError(f"the derivative calls {name} on vectors, which a GPU does not have")
