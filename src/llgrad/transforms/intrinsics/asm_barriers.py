"""Empty inline assembly: `asm("" : "+x"(s))` hides a value from the optimiser, `asm volatile("" ::: "memory")` orders.

It does nothing when it runs, so `opened` leaves it out of what is differentiated (LangRef, Inline Assembler
Expressions): an output that is tied to an input (`"=x,0"`) is that input, one in memory that is an input too is left
alone, and an input that is tied to an output in memory is stored there. An output that nothing is tied to has no
value: such assembly stays, and is refused where it carries a float. One line that is a comment is empty, too: all
assemblers take one that begins with `#` for that (Eigen marks its kernels so).

    %y = call double asm "", "=x,0"(double %x)        →      uses of %y are uses of %x
"""

from __future__ import annotations

from llgrad.ir.build import Builder
from llgrad.ir.module import Module
from llgrad.ir.rewrite import before, bodies, erase, local_names, replaced
from llgrad.ir.types import StructType, Type
from llgrad.ir.values import AnyValue, Call, InlineAsm, Undef

ASM = " asm "


def opened(module: Module) -> bool:
    """Leave empty assembly out."""
    changed = False
    for f in bodies(module, ASM):
        names = local_names(f)
        for i in list(f.instructions()):
            if isinstance(i, Call) and isinstance(i.callee, InlineAsm) and i.opcode == "call":
                changed |= _is_left_out(i, i.callee, before(i, names))
    return changed


def parts(code: InlineAsm) -> tuple[str, str, list[str]]:
    """The words before the text of some assembly, its text, and its constraints."""
    words, text, _, constraints, *_ = code.text.split('"')
    return words, text, constraints.split(",")


def _is_left_out(c: Call, code: InlineAsm, b: Builder) -> bool:
    _, text, constraints = parts(code)
    comment = text.startswith("#") and not {";", "\\"}.intersection(text)
    if text and not comment or c.tail == "musttail" or (found := _found(c, constraints)) is None:
        return False
    stores, results = found
    for value, pointer in stores:
        b.store(value, pointer)
    if results and isinstance(c.type, StructType):
        whole: AnyValue = Undef(c.type, poison=True)
        for n, v in enumerate(results):
            whole = b.insert_value(whole, v, n, name="llgrad.opened")
        replaced(c, whole)
    elif results:
        replaced(c, b.cast("bitcast", results[0], c.type, "llgrad.opened"))
    else:
        erase(c)
    return True


def _found(c: Call, constraints: list[str]) -> tuple[list[tuple[AnyValue, AnyValue]], list[AnyValue]] | None:
    """What is stored where, and what the results are; None where an output has no value."""
    constraints = [s for s in constraints if not s.startswith("~")]
    outputs = [s for s in constraints if s.startswith("=")]
    inputs, places = constraints[len(outputs) :], [n for n, s in enumerate(outputs) if s.startswith("=*")]
    if any("!" in s or "*" in s and not s.startswith(("=*", "*")) for s in constraints):
        return None
    if c.arity != len(places) + len(inputs):
        return None
    memory, values = dict(zip(places, c.arguments, strict=False)), c.arguments[len(places) :]
    tied = {int(s): v for s, v in zip(inputs, values, strict=True) if s.isdigit()}
    stores, results = [], []
    for n in range(len(outputs)):
        if n not in memory:
            if n not in tied:
                return None
            results.append(tied[n])
        elif n in tied:
            if not any(isinstance(a.value, Type) for a in c.argument_attributes[places.index(n)]):
                return None
            stores.append((tied[n], memory[n]))
        elif memory[n] not in values:
            return None
    return stores, results


__all__ = ["ASM", "opened", "parts"]
