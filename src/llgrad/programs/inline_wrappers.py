"""Functions that ask for a derivative of what they are given: `grad(f, x)` in the user's own words, inlined.

The function that `__enzyme_autodiff` differentiates has to be known. Where it is a parameter, or comes from one (a
lambda that became a pointer, a member of an object), the function that asks is inlined into its callers, and so on
until it is known. What is left of such a function, for callers that nobody sees, ends the program when it is run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from llgrad.autodiff.emit import tape
from llgrad.autodiff.enzyme.calls import function_asked, held, naming, origin
from llgrad.autodiff.requests.markers import PREFIX
from llgrad.autodiff.requests.registrations import caller
from llgrad.ir.build import call_instead
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.types import VOID, FunctionType, Type
from llgrad.ir.values import AnyValue, Attribute, Call, Function, GlobalVariable, Load, Phi, Select
from llgrad.ir.write import write
from llgrad.ir.write_values import attributes
from llgrad.llvm import LLVMModule
from llgrad.llvm.assembly import joined, spelt
from llgrad.rules.library import lookup

_DEEPEST = 20  # how many functions may hand the function on


def inline_askers(work: LLVMModule) -> str:
    """Edit the program so that what each call differentiates is known where it can be; functions that are left over.

    The text defines what the edited program calls besides.
    """
    marked: set[str] = set()
    for _ in range(_DEEPEST):
        module = parse(work.text())
        if _spread(work, module):
            continue
        candidates = {f.name: f for f in _in_the_way(module) if f.name not in marked}
        found = {name: f for name, f in candidates.items() if _is_called(module, f)}
        if not found:
            break
        for f in found.values():
            kept = [a for a in f.attributes if a.name not in ("noinline", "optnone", "alwaysinline")]
            f.attributes = (*kept, Attribute("alwaysinline"))
        marked |= found.keys()
        work.replace_text(write(module))
        work.run(["always_inliner", "sroa"])
    _with_library(work)
    return _left_over(work, parse(work.text()), marked) if marked else ""


def _with_library(work: LLVMModule) -> None:
    """Library functions that are asked about themselves, `__enzyme_autodiff(sin, x)`: functions that call them are."""
    module = parse(work.text())
    made: dict[str, Function] = {}
    for i in [i for f in naming(module, PREFIX) for i in f.instructions() if isinstance(i, Call)]:
        f = function_asked(i)
        if isinstance(f, Function) and f.is_declaration and (entry := lookup(f.name)) and entry.shape != "byval":
            name = f"llgrad.asked.{f.name}"
            if name not in made:
                made[name] = caller(f, f, name)
                made[name].linkage = "internal"
                module.add(made[name])
            i.set_operand(next(n for n, v in enumerate(i.operands) if origin(v) is f), made[name])
    if made:
        work.replace_text(write(module))


def _spread(work: LLVMModule, module: Module) -> bool:
    """Calls that LLVM made one of, of several functions, are several again: a function that compares, inlined."""
    texts: list[str] = []
    for i in list(_unknown(module)):
        choices = _choices(function_asked(i))
        if choices:
            chosen = Function(f"llgrad.chosen.{len(texts)}", FunctionType(i.function_type.result, _types(i)))
            texts.append(_chooser(chosen, i, choices))
            module.add(chosen)
            call_instead(i, chosen, list(i.arguments)).argument_attributes = i.argument_attributes
    if texts:
        work.replace_text(joined([write(module), *texts]))
        work.run(["always_inliner", "sroa"])
    return bool(texts)


def _types(call: Call) -> tuple[Type, ...]:
    return tuple(v.type for v in call.arguments)


def _chooser(chosen: Function, call: Call, choices: Sequence[Function]) -> str:
    """A function that asks as `call` does, of the one of `choices` that its first argument (behind `sret`) is."""
    result, callee = call.function_type.result, spelt(call.called_function.name if call.called_function else "")
    given = zip(_types(call), call.argument_attributes, strict=True)
    passed = [f"{t} {attributes(said)}%a{n}" for n, (t, said) in enumerate(given)]
    which = int(any(a.name == "sret" for a in call.argument_attributes[0]))
    lines = [f"define internal {result} {spelt(chosen.name)}({', '.join(passed)}) alwaysinline {{"]
    for n, f in enumerate(choices):
        if n + 1 < len(choices):
            lines.append(f"%is{n} = icmp eq ptr %a{which}, {spelt(f.name)}")
            lines += [f"br i1 %is{n}, label %do{n}, label %else{n}", f"do{n}:"]
        asked = [*passed[:which], f"ptr {spelt(f.name)}", *passed[which + 1 :]]
        made = f"call {call.function_type} {callee}({', '.join(asked)})"
        lines += [made, "ret void"] if result == VOID else [f"%r{n} = {made}", f"ret {result} %r{n}"]
        lines += [f"else{n}:"] if n + 1 < len(choices) else ["}"]
    return "\n".join(lines) + "\n"


def _choices(v: AnyValue | None, depth: int = 4) -> list[Function]:
    """The functions that a value is one of; none where there may be others."""
    match v:
        case Function():
            return [v]
        case Select(_, a, b) if depth:
            found = [_choices(origin(x), depth - 1) for x in (a, b)]
        case Phi() if depth:
            found = [_choices(origin(x), depth - 1) for x in v.operands]
        case Load() if depth and (inside := held(v)) is not None:
            code = [x for x in map(origin, inside) if not isinstance(x, GlobalVariable)]  # (names stand beside it)
            found = [_choices(x, depth - 1) for x in code]
        case _:
            return []
    return list(dict.fromkeys(f for fs in found for f in fs)) if found and all(found) else []


def _unknown(module: Module) -> Iterator[Call]:
    """Calls whose function is not known."""
    for f in naming(module, PREFIX):
        for i in f.instructions():
            if isinstance(i, Call) and (v := function_asked(i)) is not None and not isinstance(v, Function):
                yield i


def _in_the_way(module: Module) -> Iterator[Function]:
    """What to inline, so that the function of a call becomes known: what computes it, or what is given it."""
    for i in _unknown(module):
        v = function_asked(i)
        callee = v.called_function if isinstance(v, Call) else i.block.function
        if isinstance(callee, Function) and not callee.is_declaration:
            yield callee


def _is_called(module: Module, f: Function) -> bool:
    for g in naming(module, f.name):
        assert g.blocks is not None  # reads the body, and so its calls
    return any(isinstance(u, Call) and origin(u.callee) is f for u in f.users)


def _left_over(work: LLVMModule, module: Module, marked: set[str]) -> str:
    """Calls that stay unknown in functions that were inlined elsewhere end the program."""
    texts = []
    left = [i for i in _unknown(module) if i.block.function is not None and i.block.function.name in marked]
    for n, i in enumerate(left):
        name, result = f"llgrad.unknown.{n}", i.function_type.result
        callee = Function(name, FunctionType(result, ()))
        module.add(callee)
        call_instead(i, callee, [])
        end = f"  call void @{tape.FAIL}(i32 {tape.FAIL_TARGET}, ptr null)\n  unreachable\n"
        texts.append(f"declare void @{tape.FAIL}(i32, ptr)\ndefine {result} @{name}() {{\n{end}}}\n")
    if texts:
        work.replace_text(write(module))
    return "\n".join(texts)
