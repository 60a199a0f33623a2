"""The normal form that analyses want: one exit, simple loops, LCSSA, names, no cycle that is entered twice."""

from __future__ import annotations

from llgrad.analysis.cfg.flow import may_go_round
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.llvm import verified
from llgrad.transforms.loops.fix_irreducible import make_reducible
from llgrad.transforms.pass_manager import LLVM, Unit

NORMAL_FORM = ("unify_function_exit_nodes", "loop_simplify", "lcssa", "instruction_namer")


def form_again(unit: Unit, _: object) -> bool:
    """Normal form of what passes have changed since LLVM has seen it."""
    if unit.has(LLVM):
        return False
    unit.llvm().run([*NORMAL_FORM, "dce"])
    unit.changed(LLVM)
    return True


def reducible(text: str) -> Module:
    """The text parsed; every cycle is a loop in it that is entered at one block, which the reverse sweep wants."""
    module = parse(text)
    while any([make_reducible(f) for f in module.functions if may_go_round(f)]):
        work = verified(write(module))
        work.run(NORMAL_FORM)
        module = parse(work.text())
    return module
