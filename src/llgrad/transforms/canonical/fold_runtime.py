"""Flang's runtime where nothing is optimised: its bodies inlined, and what they ask of types and ranks folded.

    br i1 (type == REAL(8)), label %loop, label %other      ->  br label %loop
    other:  call void @_FortranAAssignTemporary(…)

What a body cannot do goes to a function without one. That call is refused where active data reaches it, unless its
branch is folded. Functions that call nothing of the runtime stay as they are.
"""

from __future__ import annotations

from llgrad.ir.parse import parse
from llgrad.ir.rewrite import bodies, word
from llgrad.llvm import LLVMModule

_PREFIX = "_FortranA"
_FOLDED = ("sroa", "instruction_combine", "sccp", "dce", "sroa", "sccp", "dce")


def fold_runtime(work: LLVMModule) -> bool:
    """Inline and fold; False where no body of the runtime is there."""
    if f"@{_PREFIX}" not in work.text():
        return False
    module = parse(work.text())
    found = [f.name for f in module.functions if f.name.startswith(_PREFIX) and not f.is_declaration]
    if not found:
        return False
    callers = {f.name for f in bodies(module, *map(word, found))}
    work.run(["always_inliner", "global_dce"])
    for name in sorted(callers.intersection(work.definitions())):
        work.run(_FOLDED, function=name)
    return True
