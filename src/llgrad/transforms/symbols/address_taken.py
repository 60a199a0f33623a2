"""Functions that pointers in the program's variables may point to: all whose address its code or its variables use.

A variable may hold, when a derivative begins, what any code of the program has stored there: `set_activation(relu)`, or
a table that is never changed. A derivative finds such a function by its address; one that it does not know ends it
(`tape.FAIL_TARGET`). `with_met` gives each function a variable with its address; derivatives share it with the program.
They have functions of their own beside that: what they compare, store or hand on is the program's (`as_program_has`).

Of a program that its `main` runs that is the code to which a way leads from there, from what runs before and after it,
or from a function that asks for a derivative: what nobody runs of a library that is linked stores nothing.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping

from llgrad.analysis.memory.call_effects import MET, VIRTUAL, met_functions
from llgrad.analysis.memory.mod_ref import analyse
from llgrad.analysis.solver import reach
from llgrad.ir.build import Builder, Names
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.types import PTR
from llgrad.ir.values import AnyValue, Call, ConstAggregate, ConstExpr, Function, GlobalVariable, Instruction, parts
from llgrad.llvm.assembly import DEFINITION, GLOBAL, NAME, STATIC, plain, spelt
from llgrad.rules import library
from llgrad.support.brackets import listed

# Each begins with a word that is quick to find: texts are long.
_POINTER = r'([^@\n]*?)%(?:[-\w.$]+|"[^"\n]*")\(([^\n]*)$'
_INDIRECT = [re.compile(f"{word} {_POINTER}", re.MULTILINE) for word in ("call", "invoke")]
_COMPARED = re.compile(rf"\bicmp (?:eq|ne) ptr [^@\n]*({NAME})")
_TYPE = re.compile(r"(<[^>]*>|\{[^}]*\}|\[[^\]]*\]|[%\w.\"]+)")
_RESULT = re.compile(r"(<[^>]*>|\{.*\}|\[.*\]|%\"[^\"]*\"|[%\w.]+)\s*$")
_DECLARED = re.compile(rf"^declare [^@\n]*({NAME})\(", re.MULTILINE)
_MET = re.compile(rf'^(@"?{re.escape(MET)}[^\n]*?) = [^\n]*?global ptr ({NAME})', re.MULTILINE)
_USED = re.compile(rf'"[^"\n]*"|({NAME})(?![-\w.$(])')
_ENTITY = re.compile(rf"(?:define [^@\n]*)?({NAME})")
_OUTSIDE = re.compile(r"@llvm\.|[^\n]* section \"")  # variables that are read by others than the program's code
ASKS = "__enzyme_"  # what asks for derivatives
DISPATCH = "llgrad.dispatch"
"""What the functions begin with by which a derivative finds the derivative of what a pointer leads to."""
_RECORD = "#dbg_"  # what a debugger is told is no use
_CALLED = re.compile(rf"\b(?:call|invoke) [^@%\n]*(?:\([^\n@]*?\) )?({NAME})\(")


def with_met(text: str, closed: bool = False) -> str:
    """The program's text with a variable for each of these functions, where it calls functions through pointers, or
    compares pointers with addresses.

    `closed`: it is run by its `main`, if it has one, and nobody else calls its functions.
    """
    if not _calls_pointers(text):
        compared = {m[1] for m in _COMPARED.finditer(text)}
        if not compared or compared.isdisjoint(name for _, name, _ in DEFINITION.findall(text)):
            return text
    there = {plain(m[1]) for m in GLOBAL.finditer(text)}
    made = [variable(name) for name in met(text, closed) if f"{MET}{plain(name)}" not in there]
    return "\n".join([text, *made, ""]) if made else text


def met(text: str, closed: bool, beside: Collection[str] = ()) -> list[str]:
    """The functions whose address the text uses, as it spells their names; of functions `beside` only
    what they hand to others that it defines."""
    defined = {name for _, name, _ in DEFINITION.findall(text)}
    ruled = {m[1] for m in _DECLARED.finditer(text) if library.is_differentiated(plain(m[1]))}
    found: dict[str, None] = {}
    runs = closed and "@main" in defined
    for line in _lines(text, runs, beside, defined) if runs or beside else text.split("\n"):
        if "@" in line and _may_store(line, defined):
            found |= dict.fromkeys(m[1] for m in _USED.finditer(line) if m[1] in defined or m[1] in ruled)
    return list(found)


def _lines(text: str, runs: bool, beside: Collection[str], defined: Collection[str]) -> list[str]:
    """The lines of functions and variables: all, or where a program with `main` runs, what may be used then; of those
    `beside` the calls of what is defined."""
    own, roots, at = dict[str, list[str]](), ["@main"], ""
    for line in text.split("\n"):
        if line.startswith(("@", "define ")) and (m := _ENTITY.match(line)):
            at = m[1]
            own[at] = []
            roots += [at] if _OUTSIDE.match(line) else []
        if at and not line.lstrip().startswith(_RECORD):
            own[at].append(line)
            roots += [at] if ASKS in line else []
        at = "" if line == "}" or line.startswith("@") else at
    named = (name for name in roots if name in own)
    found: Iterable[str] = own
    if runs:
        found = reach(named, lambda name: [n for line in own[name] for n in re.findall(NAME, line) if n in own])
    return [line for name in found for line in own[name]
            if name not in beside or ((called := _CALLED.search(line)) and called[1] in defined)]  # fmt: skip


def variable(name: str) -> str:
    """The variable that tells a derivative where such a function is."""
    return f'@"{MET}{plain(name)}" = global ptr {name}'


def function_tables(text: str) -> set[str]:
    """The constants of a program that hold addresses of functions which derivatives have copies of."""
    if " constant " not in text:
        return set()
    known = {name for _, name, _ in DEFINITION.findall(text)}
    known |= {m[1] for m in _DECLARED.finditer(text) if library.is_differentiated(plain(m[1]))}
    found = set()
    for m in GLOBAL.finditer(text):
        if m[3] == "constant" and "available_externally " not in m[2] and _is_programs(name := plain(m[1])):
            line = text[m.end() : text.find("\n", m.end())]
            found |= {name} if "@" in line and not known.isdisjoint(re.findall(NAME, line)) else set()
    return found


def _is_programs(name: str) -> bool:
    """Is it a name of the program's, and none that tells llgrad something?"""
    made = name.startswith(("llgrad.", "llvm.")) and not name.startswith(STATIC)
    return not made and "__enzyme" not in name and not name.isdigit()


def as_program_has(module: Module) -> list[str]:
    """Let a derivative use the addresses of the program's functions in place of those of its own copies; the tables of
    them that it should have from the program, too."""
    pointed, tables, own = met_functions(module), dict[str, set[Function]](), set[Function]()
    for v in module.variables if pointed else ():
        if v.constant and v.initializer is not None and v.linkage != "available_externally":
            start: list[AnyValue] = [v.initializer]
            if held := {g for g in reach(start, parts) if isinstance(g, Function) and not g.is_declaration}:
                if v.linkage == "external" and _is_programs(v.name):
                    tables[v.name] = held
                else:
                    own |= held
    while lost := [name for name, held in tables.items() if held & own or not held <= pointed.keys()]:
        for name in lost:  # it holds functions of the derivative's own, which other tables do then, too
            own |= tables.pop(name)
    pointed = {f: met for f, met in pointed.items() if f not in own}
    _use_addresses(module, pointed)
    return list(tables)


def _use_addresses(module: Module, pointed: Mapping[Function, GlobalVariable]) -> None:
    names = {spelt(f.name) for f in pointed}
    for f in module.functions if pointed else ():
        unused = f.unread is not None and names.isdisjoint(re.findall(NAME, f.unread))
        if f.is_declaration or f.name.startswith(DISPATCH) or unused:
            continue
        found = dict[AnyValue, AnyValue]()
        first = Builder(f.entry, Names(v.name for v in (*f.arguments, *f.blocks, *f.instructions())))
        first.at = 0
        for i in list(f.instructions()):
            for n, v in enumerate(i.operands):
                meant = isinstance(v, Instruction) or (isinstance(i, Call) and _is_meant(i, n))
                if not meant and (there := _of_program(v, pointed, first, found)) is not v:
                    i.operands[n] = there
                    there.users.append(i)


def _of_program(
    v: AnyValue, pointed: Mapping[Function, GlobalVariable], b: Builder, found: dict[AnyValue, AnyValue]
) -> AnyValue:
    """A constant with the program's addresses in it, made by instructions where there are any; they are in `found`."""
    if v not in found:
        of = [_of_program(p, pointed, b, found) for p in parts(v)]
        found[v] = v
        if isinstance(v, Function) and v in pointed:
            found[v] = b.load(PTR, pointed[v], "", 8)
        elif isinstance(v, ConstAggregate | ConstExpr) and of != list(parts(v)):
            found[v] = b.made_of(v, of)
    return found[v]


def _is_meant(call: Call, n: int) -> bool:
    """Must it be a function by name: what is called, or what LLVM makes a trampoline of?"""
    return n == call.arity or getattr(call.callee, "name", "").startswith("llvm.")


def met_types(text: str) -> dict[str, str]:
    """The variables that `with_met` made, and the types of their functions, spelt as `called_types` does."""
    wanted = {m[2]: plain(m[1]) for m in _MET.finditer(text)}
    heads = {name: (head, rest) for head, name, rest in DEFINITION.findall(text) if name in wanted} if wanted else {}
    return {own: _spelt(*heads[name]) if name in heads else "" for name, own in wanted.items()}


def used_in(text: str, program: str) -> set[str]:
    """The variables that `with_met` made in a program for the functions whose addresses a part of it uses."""
    wanted = {m[2]: plain(m[1]) for m in _MET.finditer(program)}
    lines = (line for line in text.split("\n") if _may_use(line))
    return {wanted[m[1]] for line in lines if "@" in line for m in _USED.finditer(line) if m[1] in wanted}


def _may_use(line: str) -> bool:
    """Is it code, or a table?"""
    m = GLOBAL.match(line)
    return (m is not None and _is_programs(plain(m[1]))) or (line.startswith(" ") and _RECORD not in line[:16])


def defined_type(line: str) -> str:
    """The type of the function that a line defines, spelt likewise; "" for other lines."""
    m = DEFINITION.match(line)
    return _spelt(m[1], m[3]) if m else ""


def may_call(called: Collection[str], type: str) -> bool:
    """Whether code that calls these types through pointers may call a function of that type."""
    return type in called or "" in called or bool(called and not type)


def calls_are_known(text: str, roots: Collection[str]) -> bool:
    """Does each call through a pointer reach nothing but functions whose addresses the roots' code has stored?"""
    if not _calls_pointers(text):
        return True
    module = parse(text)
    memories = [analyse(module, module.function(root)) for root in roots]
    return all(
        any(i.block.function in m.functions for m in memories)
        and all(m.is_set_within(i) for m in memories if i.block.function in m.functions)
        for f in module.functions
        for i in f.instructions()
        if isinstance(i, Call) and i.called_function is None
    )


def called_types(text: str) -> set[str]:
    """The types of the functions that the text calls through pointers; "" is in it for one that is not told."""
    return {_spelt(m[1], m[2]) for pattern in _INDIRECT for m in pattern.finditer(text)}


def _calls_pointers(text: str) -> bool:
    return any(pattern.search(text) for pattern in _INDIRECT)


def _spelt(head: str, parameters: str) -> str:
    """A type by what stands before and after a function's name; "" for one that takes any arguments."""
    result = _RESULT.search(head)
    if result is None or "..." in parameters:
        return ""
    types = map(_TYPE.match, listed(parameters)[0])
    return f"{result[1]}({', '.join(t[1] if t else '?' for t in types)})"


def _may_store(line: str, defined: set[str]) -> bool:
    """May this line hand on an address: an initial value, or code that is no call of what is not the program's own?"""
    if line.startswith("@"):
        m = GLOBAL.match(line)
        return m is not None and not plain(m[1]).startswith((VIRTUAL, "__enzyme", "llvm."))
    called = _CALLED.search(line)
    if line.lstrip().startswith(_RECORD):
        return False
    return line.startswith(" ") and "__enzyme" not in line and (called is None or called[1] in defined)
