"""The normal form that analyses want: one exit, simple loops, LCSSA, names, no cycle that is entered twice."""

from __future__ import annotations

from llgrad.analysis.cfg.flow import may_go_round
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule, verified
from llgrad.transforms.floatbits.merge_split_loads import rejoined
from llgrad.transforms.floatbits.sqrt_sign import rooted
from llgrad.transforms.floatbits.undo_pre import merged
from llgrad.transforms.loops.fix_irreducible import make_reducible

NORMAL_FORM = ("unify_function_exit_nodes", "loop_simplify", "lcssa", "instruction_namer")


def normal(work: LLVMModule, formed: str = "") -> str:
    """The text of what has been optimised, in normal form. `formed`: the text of an optimised module with its loops in
    their form."""
    if not (formed and work.is_printed and work.text() == formed and _leaves_once(formed)):
        work.run([*NORMAL_FORM, "global_dce"])
    text = work.text()
    if (simpler := rejoined(merged(rooted(text)))) == text:
        return text
    work.replace_text(simpler)
    work.run([*NORMAL_FORM, "dce"])
    return work.text()


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
