"""A gradient as an object file and a C header, for programs without Python.

`fun_grad(arguments…, shadows…)` runs `fun` and adds to the shadows: for each pointer in `wrt` an array like it, for
each number in `wrt` a pointer to one number; for the output `of` an array that holds the seed and is consumed (its
derivative by what it held before is left in it); for every other array that the function may write, a cleared array
like it. It returns what `fun` returns if `fun`'s result is what is differentiated. The tape is kept for the next call;
when memory runs out the program ends with a message. Functions that `fun` calls are in the object; its global variables
are the program's.
"""

from __future__ import annotations

import re

from msgspec import Struct

from llgrad.api.derivatives import Derivative
from llgrad.autodiff.emit.wide_results import member
from llgrad.autodiff.enzyme.wrappers import THROWN
from llgrad.autodiff.requests.request import Act
from llgrad.errors import UnsupportedError
from llgrad.execution.entry import quoted
from llgrad.execution.passing import parts
from llgrad.llvm import emit_object
from llgrad.llvm.assembly import STATIC
from llgrad.programs import derivatives, noalias_versions, stages
from llgrad.programs.failure_hook import fail_text
from llgrad.signature import Array, Parameter, Pointer
from llgrad.support.elf import read_object
from llgrad.transforms.guard import denormals


class Exported(Struct, frozen=True):
    """An object file, its header, and the prototype of its one function."""

    object: bytes
    header: str
    prototype: str


def export(derivative: Derivative, name: str, *, cpu: str = "native", disjoint: bool = False) -> Exported:
    """The gradient as a C function `name`. `disjoint`: callers promise that no two arrays overlap."""
    _refuse_views(derivative)
    library, symbol = derivative.function.library, derivative.signature.symbol
    derived = noalias_versions.dispatched(library.prepared(symbol), derivative.request_for(disjoint), library.level)
    cleaning = denormals.personality(derived.text)
    wrapper = _wrapper(derivative, derived, name, cleaning)
    if derivative.flags["flush"]:
        denormals.refuse_jumps(derived.text)
        wrapper = denormals.guarded(wrapper, [name], cleaning)
    made = stages.finish(derived.text, [wrapper], [name], last=fail_text(), cpu=cpu, inlined=[derived.symbol])
    data = emit_object(made, cpu=cpu)
    _refuse_statics(data)
    prototype = _prototype(derivative, name)
    return Exported(data, _header(derivative, name, prototype), prototype)


def _refuse_statics(data: bytes) -> None:
    wanted = [s.name for s in read_object(data).symbols if not s.defined]
    names = [name.removeprefix(STATIC) for name in wanted if name.startswith(STATIC)]
    if names:
        raise UnsupportedError(
            f"the function uses the static variable {', '.join(names)}",
            cause="the gradient is an object file of its own and cannot see it",
            fix="make it extern, or pass it as a parameter",
        )


def _refuse_views(derivative: Derivative) -> None:
    for p in derivative.signature.parameters:
        if parts(p.type) != ("data",):
            raise UnsupportedError(
                f"parameter {p.name} of {derivative.signature.name} is {p.type}, which C cannot pass",
                span=derivative.signature.source,
                fix="differentiate a function whose parameters are pointers and scalars",
            )


def _shadowed(derivative: Derivative) -> list[tuple[Parameter, Act]]:
    pairs = zip(derivative.signature.parameters, derivative.acts, strict=True)
    return [(p, act) for p, act in pairs if act is not Act.CONST]


def _wrapper(derivative: Derivative, derived: derivatives.Derived, name: str, personality: str) -> str:
    facts = derivative.function.facts
    parameters = [f"{t} {x} %a{n}" for n, (t, x) in enumerate(zip(facts.arguments, facts.extensions, strict=True))]
    parameters += [f"ptr %d{p.index}" for p, _ in _shadowed(derivative)]
    passed = ["ptr %arena"]
    for n, (t, act) in enumerate(zip(facts.arguments, derivative.acts, strict=True)):
        passed += [f"{t} %a{n}", f"ptr %d{n}"] if act is Act.DUP else [f"{t} %a{n}"]
    passed += [f"{t} {_one(t)}" for t in derived.parameters[len(passed) :]]
    got = derived.returned
    way = ("invoke", " to label %returned unwind label %thrown\nreturned:") if personality else ("call", "")
    call = f"{way[0]} {got} @{quoted(derived.symbol)}({', '.join(passed)}){way[1]}"
    lines = ["%arena = call ptr @llgrad.tape.take()"]
    lines += [call if got == "void" else f"%r = {call}", "call void @llgrad.tape.give(ptr %arena)"]
    values = [f"%x{n}" if derived.aggregate else "%r" for n in range(len(derived.results))]
    if derived.aggregate:
        lines += [f"%x{n} = extractvalue {got} %r, {member(n, derived.wide)}" for n in range(len(derived.results))]
    value = values.pop(0) if derivative.of is None else ""
    types = list(derived.results)[1:] if value else list(derived.results)
    outs = [p.index for p, act in _shadowed(derivative) if act is Act.OUT]
    for n, v, t in zip(outs, values, types, strict=True):
        lines += [f"%o{n} = load {t}, ptr %d{n}", f"%s{n} = fadd {t} %o{n}, {v}", f"store {t} %s{n}, ptr %d{n}"]
    result = derived.results[0] if value else "void"
    body = "\n".join(f"  {line}" for line in [*lines, f"ret {result} {value}"])
    return f"""declare {got} @{quoted(derived.symbol)}({', '.join(derived.parameters)})
declare ptr @llgrad.tape.take()
declare void @llgrad.tape.give(ptr)
declare void @llgrad.tape.abandon(ptr)
{f"declare i32 {personality}(...)" if personality else ""}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
define {result} @{quoted(name)}({', '.join(parameters)}){f" personality ptr {personality}" if personality else ""} {{
{body}
{THROWN if personality else ""}}}
"""


def _one(t: str) -> str:
    return {"half": "0xH3C00", "x86_fp80": "0xK3FFF8000000000000000"}.get(t, "1.0")


def _prototype(derivative: Derivative, name: str) -> str:
    signature = derivative.signature
    given = [p.type.declare(p.name) for p in signature.parameters]
    for p, _ in _shadowed(derivative):
        to = p.type.to if isinstance(p.type, Pointer) else p.type
        shadow = f"d_{p.name}"
        given.append(to.declare(f"(*{shadow})") if isinstance(to, Array) else f"{to} *{shadow}")
    result = signature.result if derivative.of is None else "void"
    return f"{result} {name}({', '.join(given)});"


def _header(derivative: Derivative, name: str, prototype: str) -> str:
    guard = re.sub(r"\W", "_", f"LLGRAD_{name}_H").upper()
    lines = []
    for p, act in _shadowed(derivative):
        if p.index == derivative.of:
            what = "holds the seed, and is consumed"
        elif p.index in derivative.wrt:
            what = f"the derivative by {p.name} is added to it" + (" (one number)" if act is Act.OUT else "")
        else:
            what = f"work space as large as {p.name}, cleared by the caller"
        lines.append(f" *   d_{p.name}: {what}")
    body = "\n".join(lines)
    return f"""/* Gradient of
 *   {derivative.signature};
 * made by llgrad. It runs the function, and then:
{body}
 */
#ifndef {guard}
#define {guard}
#ifdef __cplusplus
extern "C" {{
#else
#include <stdbool.h>
#endif
#include <stdint.h>

{prototype}

#ifdef __cplusplus
}}
#endif
#endif
"""
