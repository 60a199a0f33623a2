"""The normal form that analyses want: one exit, simple loops, LCSSA, names, no cycle that is entered twice."""

from __future__ import annotations

from llgrad.analysis.cfg.flow import may_go_round
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.llvm import verified
from llgrad.transforms.contexts import Preparation
from llgrad.transforms.loops.fix_irreducible import make_reducible
from llgrad.transforms.pass_manager import LLVM, Unit

NORMAL_FORM = ("unify_function_exit_nodes", "loop_simplify", "lcssa", "instruction_namer")


def form(unit: Unit, c: Preparation | None) -> bool:
    """Normal form, unless the optimised text has it: its loops have their form, and each function has one exit."""
    work, formed = unit.llvm(), c.formed if c is not None else ""
    if formed and work.is_printed and work.text() == formed and _leaves_once(formed):
        return False
    work.run([*NORMAL_FORM, "global_dce"])
    unit.changed(LLVM)
    return True


def form_again(unit: Unit, _: object) -> bool:
    """Normal form of what passes have changed since LLVM has seen it."""
    if unit.has(LLVM):
        return False
    unit.llvm().run([*NORMAL_FORM, "dce"])
    unit.changed(LLVM)
    return True


def _leaves_once(text: str) -> bool:
    """Has each function one exit at most?"""
    return all(body.count("\n  ret ") < 2 and body.count("\n  unreachable") < 2 for body in text.split("\n}\n"))


def reducible(module: Module) -> Module:
    """The module, in which every cycle is a loop that is entered at one block, as the reverse sweep wants it."""
    while any([make_reducible(f) for f in module.functions if may_go_round(f)]):
        work = verified(write(module))
        work.run(NORMAL_FORM)
        module = parse(work.text())
    return module
