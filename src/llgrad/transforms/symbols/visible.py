"""What stays visible of a program that is differentiated: its roots, and the variables that it shares."""

from __future__ import annotations

from llgrad.errors import UnknownNameError, UnsupportedError
from llgrad.ir.parse import parse
from llgrad.llvm.assembly import DEFINITION, GLOBAL, STATIC, mutable_globals, names_in, plain
from llgrad.transforms.contexts import Linking, Preparation
from llgrad.transforms.pass_manager import LLVM, Unit
from llgrad.transforms.symbols.address_taken import function_tables

_HIDDEN = ("llgrad.", "llvm.")


def note_visible(unit: Unit, c: Preparation) -> bool:
    """Note the variables and weak functions that stay visible."""
    text = unit.text()
    weak = (plain(name) for head, name, _ in DEFINITION.findall(text) if head.startswith("define weak "))
    c.shown = (*mutable_globals(text), *weak)
    return False


def internalize(unit: Unit, c: Preparation) -> bool:
    """All but the roots and the program's variables become local; what nothing reaches goes."""
    work = unit.llvm()
    defined = {f.name: not f.is_declaration for f in work.functions()}
    if missing := [r for r in c.roots if not defined.get(r)]:
        raise UnknownNameError(
            f"the program does not define {', '.join(missing)}",
            cause="it is only declared: it had no body, or LLVM dropped it (`available_externally`: another has it)"
            if any(r in defined for r in missing) else "there was none, or LLVM dropped it, as nothing used it",
            fix="give llgrad the file that defines it; a C function that is `inline` alone needs `static` or `extern`",
        )  # fmt: skip
    named = function_tables(unit.text())
    work.internalize([*c.roots, *c.shown])
    work.run(["global_dce"])
    work.rename({name: name for name in named})  # they stay the program's
    unit.changed(LLVM)
    return True


def note_shown(unit: Unit, c: Linking) -> bool:
    """Note the variables that others may see of a program with its derivatives, and the wrappers to be inlined."""
    text = unit.text()
    found = [m for m in GLOBAL.finditer(text) if m[3] == "constant" and "external" not in m[2]]
    constants = [plain(m[1]) for m in found if not m[1][1:].isdigit()]
    c.shown = (*c.shown, *mutable_globals(text), *constants)
    c.inlined = (*(f.name for f in unit.llvm().functions() if f.name.startswith("llgrad.call.")), *c.inlined)
    return False


def hide_others(unit: Unit, c: Linking) -> bool:
    """All that is not shown becomes local; llgrad's own names are never shown."""
    defined = {*unit.llvm().definitions()}
    unit.llvm().internalize([n for n in c.shown if n in defined and not n.startswith(_HIDDEN)])
    unit.changed(LLVM)
    return True


def refuse_thread_local(unit: Unit, _: Preparation) -> bool:
    """Thread-local variables cannot be shared with a derivative."""
    text = unit.text()
    for m in GLOBAL.finditer(text):
        if m[3] == "global" and "thread_local" in m[2] and names_in(text).count(m[1]) > 1:
            raise UnsupportedError(
                f"the function uses the thread-local variable {plain(m[1]).removeprefix(STATIC)}",
                span=parse(text).place_of_use(plain(m[1])),
                cause="derivatives are compiled apart from the program and cannot share thread-local memory with it",
                fix="make the variable a parameter, or an ordinary global",
            )
    return False
