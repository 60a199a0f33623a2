"""The only place that imports llvmlite: read, link, optimise, compile, load.

`LLVMModule` is a verified module; `Engine` is its machine code in this process; `emit_object` and
`emit_assembly` are its machine code for others. Text edits are in `text`,
conversions to bfloat in `bfloat`.
"""

from llgrad.llvm.bfloat import with_brain_floats
from llgrad.llvm.codegen import emit_assembly, emit_object
from llgrad.llvm.isolate import check_bitcode, checked_in_child
from llgrad.llvm.jit import Engine
from llgrad.llvm.module import FunctionInfo, LLVMModule, Part, pass_names, verified
from llgrad.llvm.remarks import Remark, vectorisation_remarks
from llgrad.llvm.target import fingerprint, host_cpu, host_features, host_layout, host_triple, target_machine
from llgrad.llvm.text import hazards, strip_attributes, unblock

__all__ = [
    "Engine",
    "FunctionInfo",
    "LLVMModule",
    "Part",
    "Remark",
    "check_bitcode",
    "checked_in_child",
    "emit_assembly",
    "emit_object",
    "fingerprint",
    "hazards",
    "host_cpu",
    "host_features",
    "host_layout",
    "host_triple",
    "pass_names",
    "strip_attributes",
    "target_machine",
    "unblock",
    "vectorisation_remarks",
    "verified",
    "with_brain_floats",
]
