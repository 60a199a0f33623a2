"""`make remarks`: what LLVM says of vectorising the sweeps of GMM and LSTM.

The derivative alone is optimised (the primal is dropped), so every vectorised loop is one of its sweeps: loops of the
forward sweep, of the reverse sweep, and of the adjoint copies that both call.
"""

from __future__ import annotations

from collections import Counter

from rich.console import Console

from examples.adbench.instances import HERE
from llgrad.autodiff.requests.request import Act, Mode, Request
from llgrad.frontends import compile_sources
from llgrad.llvm import LLVMModule, vectorisation_remarks
from llgrad.programs import derivatives, stages

C, D = Act.CONST, Act.DUP
PROBLEMS = {"gmm": (C, C, C, D, D, D, C, C, C, D), "lstm": (C, C, C, D, D, C, C, D)}


def remarks(name: str, acts: tuple[Act, ...], console: Console) -> None:
    """Prints the loops of one derivative that LLVM vectorised, and why it left the others."""
    whole = stages.program(compile_sources([HERE / f"{name}.c"]).modules)
    function = f"{name}_objective"
    request = Request(function, Mode.COMBINED, acts, C, disjoint=True)
    derived = derivatives.derivative(stages.prepare(whole, [function]), request)
    alone = LLVMModule.from_text(derived.text)
    alone.internalize([derived.symbol])
    alone.run(["global_dce"])
    found = vectorisation_remarks(alone.text(), "native")
    loops = Counter(r.message for r in found if r.vectorised and r.message.startswith("vectorized loop"))
    total = sum(loops.values())
    console.print(f"[bold]{name}[/]: {total} loops of the derivative's sweeps are vectorised", highlight=False)
    for message, count in loops.most_common():
        console.print(f"  {count:3} × {message}", highlight=False)
    refused = Counter(r.message for r in found if r.message.startswith("loop not vectorized: "))
    for message, count in refused.most_common():
        console.print(f"  {count:3} × {message}", style="dim", highlight=False)


if __name__ == "__main__":
    for problem, active in PROBLEMS.items():
        remarks(problem, active, Console())
