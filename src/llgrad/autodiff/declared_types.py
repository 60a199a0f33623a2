"""Declared types of a derivative's parameters, for when it is differentiated itself.

A derivative gets a `DISubprogram` whose parameters have the types that the source's have: shadows those of what they
are shadows of. So kinds of memory that only debug info tells are known of the derivative's memory, too.
"""

from __future__ import annotations

from llgrad.autodiff.requests.request import Mode, Request
from llgrad.autodiff.sweeps.primal_copy import takes_shadow
from llgrad.ir.module import Module
from llgrad.ir.values import Call, Function, MDRef


def declare_types(module: Module, source: Function, made: Function, request: Request) -> None:
    """Describe `made`, the derivative of `source` that `request` asks for, if `source` is described."""
    known = module.node(source.metadata["dbg"]) if "dbg" in source.metadata else None
    routine = known.fields.get("type") if known is not None else None
    if known is None or not isinstance(routine, MDRef) or not isinstance(known.fields.get("unit"), MDRef):
        return
    types = _types(module, routine)
    if len(types) != len(source.arguments) + 1:
        return
    other = module.add_metadata("!DIDerivedType(tag: DW_TAG_pointer_type, baseType: null, size: 64)")
    given = [other if n is None else types[n + 1] for n in _origins(source, made, request)]
    operands = ["null", *("null" if t is None else f"!{t.id}" for t in given)]
    listed = module.add_metadata("!{" + ", ".join(operands) + "}")
    made_type = module.add_metadata(f"!DISubroutineType(types: !{listed.id})")
    fields = {name: ref for name in ("scope", "file", "unit") if isinstance(ref := known.fields.get(name), MDRef)}
    text = "".join(f", {name}: !{ref.id}" for name, ref in {**fields, "type": made_type}.items())
    node = f'distinct !DISubprogram(name: "{made.name}", spFlags: DISPFlagDefinition{text})'
    made.metadata = {**made.metadata, "dbg": module.add_metadata(node)}
    _locate_calls(module, made)


def _types(module: Module, routine: MDRef) -> list[MDRef | None]:
    listed = module.node(routine).fields.get("types")
    operands = module.node(listed).operands if isinstance(listed, MDRef) else ()
    return [t if isinstance(t, MDRef) and t.id >= 0 else None for t in operands]


def _origins(source: Function, made: Function, request: Request) -> list[int | None]:
    """For each parameter of the derivative, the source's parameter that it is or that it is a shadow of."""
    found: list[int | None] = [] if request.mode is Mode.FORWARD else [None]
    for n, act in enumerate(request.arguments):
        found += [n] * (1 + (request.width if takes_shadow(act) else 0))
    return found + [None] * (len(made.arguments) - len(found))


def _locate_calls(module: Module, made: Function) -> None:
    """LLVM wants to know where calls are, in functions with debug info: lines of what it inlines need a place there."""
    place = module.add_metadata(f"!DILocation(line: 0, scope: !{made.metadata['dbg'].id})")
    for i in made.instructions():
        kept = {k: v for k, v in i.metadata.items() if k != "dbg"}
        i.metadata = {**kept, "dbg": place} if isinstance(i, Call) else kept
