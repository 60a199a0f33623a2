"""A module as LLVM assembly.

A function whose body was never asked for gets its own text back; else its instructions are printed, with attributes
inline (not in groups). Attribute groups are printed only for bodies that are still text. Use-list orders are not
written: they carry no meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from llgrad.ir.metadata import node_text
from llgrad.ir.module import Module
from llgrad.ir.opcodes import OPCODES
from llgrad.ir.parse_body import LazyBody
from llgrad.ir.parse_globals import LazyInitializer
from llgrad.ir.parse_types import escape
from llgrad.ir.types import I32, VOID, PointerType
from llgrad.ir.values import (
    Alias,
    Alloca,
    Block,
    Branch,
    Call,
    Compare,
    ConstInt,
    ExtractValue,
    Function,
    GetElementPtr,
    GlobalValue,
    GlobalVariable,
    InsertValue,
    Instruction,
    Load,
    MDRef,
    Other,
    Phi,
    ShuffleVector,
    Store,
    Switch,
)
from llgrad.ir.write_values import (
    Names,
    attribute,
    attributes,
    encode_name,
    operand,
    order_flags,
    record,
    reference,
)

__all__ = ["operand", "reference", "write", "write_function", "write_instruction"]


def write(module: Module) -> str:
    """The whole module."""
    return "\n".join(_lines(module)) + "\n"


def _lines(module: Module) -> Iterator[str]:
    if module.source_filename:
        yield f'source_filename = "{escape(module.source_filename)}"'
    if module.layout.text:
        yield f'target datalayout = "{module.layout.text}"'
    if module.triple:
        yield f'target triple = "{module.triple}"'
    yield from (f'module asm "{escape(line)}"' for line in module.asm)
    yield from (f"{name} = type {t.body()}" for name, t in module.types.items())
    yield from module.comdats
    yield from (_variable(v) for v in module.variables)
    yield from (_alias(a) for a in module.globals.values() if isinstance(a, Alias))
    functions = module.functions
    yield from map(write_function, functions)
    if any(_raw_body(f) is not None for f in functions):
        for i, group in module.attribute_groups.items():
            yield f"attributes #{i} = {{ {' '.join(attribute(a, True) for a in group)} }}"
    yield from (f"!{escape_metadata_name(name)} = {text}" for name, text in module.named_metadata.items())
    yield from (f"!{i} = {text}" for i, text in module.raw_metadata.items())
    yield from (f"!{i} = {node_text(n)}" for i, n in module.nodes.items() if i not in module.raw_metadata)


def escape_metadata_name(name: str) -> str:
    """A metadata name: characters that may not stand there as `\\XX`."""
    return "".join(c if c.isascii() and (c.isalnum() or c in "-$._") else f"\\{ord(c):02X}" for c in name)


# --- globals ---------------------------------------------------------------------------------------------------------


def _prefix(value: GlobalValue, linkage: str, leave_out: tuple[str, ...] = ()) -> str:
    words = [linkage, *(w for w in value.prefix if w not in leave_out)]
    return "".join(f"{w} " for w in words if w)


def _attachments(metadata: Mapping[str, MDRef], separator: str) -> str:
    """`!dbg !4`, each behind the separator; the number behind a repeated kind is not part of its name."""
    return "".join(
        f"{separator}!{escape_metadata_name(kind.split(' ')[0])} {ref.text or f'!{ref.id}'}"
        for kind, ref in metadata.items()
    )


def _address_space(value: GlobalValue) -> str:
    space = value.type.addrspace if isinstance(value.type, PointerType) else 0
    return f"addrspace({space}) " if space else ""


def _variable(v: GlobalVariable) -> str:
    keyword = v.linkage if v.linkage != "external" or v.is_declaration else ""
    initialised = "externally_initialized " if "externally_initialized" in v.prefix else ""
    head = f"{_prefix(v, keyword, ('externally_initialized',))}{_address_space(v)}{initialised}"
    value = ""
    if isinstance(v.pending, LazyInitializer):
        value = " " + v.pending.text
    elif v.initializer is not None:
        value = " " + reference(v.initializer)
    align = f", align {v.align}" if v.align else ""
    tail = f"{v.suffix}{align}{_attachments(v.metadata, ', ')}"
    words = "".join(f" {attribute(a)}" for a in v.attributes)
    return f"@{encode_name(v.name)} = {head}{'constant' if v.constant else 'global'} {v.value_type}{value}{tail}{words}"


def _alias(a: Alias) -> str:
    head = _prefix(a, "" if a.linkage == "external" else a.linkage)
    tail = f"{a.suffix}{_attachments(a.metadata, ', ')}"
    return f"@{encode_name(a.name)} = {head}{a.kind} {a.value_type}, {operand(a.aliasee)}{tail}"


def write_function(f: Function) -> str:
    """A `declare` or `define`."""
    raw = _raw_body(f)
    if raw is not None:
        return f"{_header(f, 'define', Names())} {{{raw}}}"
    if f.is_declaration:
        return _header(f, "declare", Names())
    names = Names(f)
    return "\n".join([f"{_header(f, 'define', names)} {{", *_body_lines(f, names), "}"])


def body_text(f: Function) -> tuple[str, tuple[str, ...]]:
    """What stands between the braces of a definition, and what its arguments are called there."""
    if (raw := _raw_body(f)) is not None:
        return raw, tuple(a.name for a in f.arguments)
    names = Names(f)
    return "\n".join(["", *_body_lines(f, names), ""]), tuple(names.renamed.get(a, a.name) for a in f.arguments)


def _body_lines(f: Function, names: Names) -> Iterator[str]:
    known: dict[str, str] | None = None
    for block in f.blocks:
        yield f"{names(block)}:"
        for instruction in block.instructions:
            if instruction.debug_records:
                known = known if known is not None else _known_names(f, names)
                yield from (f"    {record(text, known)}" for text in instruction.debug_records)
            yield f"  {write_instruction(instruction, names)}"


def _raw_body(f: Function) -> str | None:
    """The text of a body that was never asked for and that the header still fits."""
    body = f._body
    if (
        not isinstance(body, LazyBody)
        or body.names != tuple(a.name for a in f.arguments)
        or "uselistorder" in body.text
    ):
        return None
    return body.text


def _known_names(f: Function, names: Names) -> dict[str, str]:
    values = [*f.arguments, *f.instructions()]
    return {encode_name(v.name): names(v) for v in values if v.name}


def _header(f: Function, keyword: str, names: Names) -> str:
    late = tuple(w for w in f.prefix if w in ("unnamed_addr", "local_unnamed_addr"))
    early = _attachments(f.metadata, " ") if keyword == "declare" else ""
    linkage = "" if f.linkage == "external" else f.linkage
    convention = f"{f.calling_convention} " if f.calling_convention else ""
    params = [
        f"{a.type} {attributes(a.attributes)}{'' if keyword == 'declare' else '%' + names(a)}".rstrip()
        for a in f.arguments
    ]
    params += ["..."] if f.function_type.vararg else []
    after = [*late, _address_space(f).rstrip(), attributes(f.attributes).rstrip(), f.suffix, f.tail]
    after += [f"personality {operand(f.personality)}"] if f.personality is not None else []
    tail = "".join(f" {part}" for part in after if part) + (
        _attachments(f.metadata, " ") if keyword == "define" else ""
    )
    return (
        f"{keyword}{early} {_prefix(f, linkage, late)}{convention}{attributes(f.result_attributes)}"
        f"{f.function_type.result} @{encode_name(f.name)}({', '.join(params)}){tail}"
    )


# --- instructions ----------------------------------------------------------------------------------------------------


def write_instruction(i: Instruction, names: Names | None = None) -> str:
    """One instruction without its debug records."""
    names = names or Names()
    text = _WRITERS[OPCODES[i.opcode].shape](i, names)
    if i.metadata:
        text += _attachments(i.metadata, ", ")
    return text if i.type == VOID else f"%{names(i)} = {text}"


def _opcode(i: Instruction) -> str:
    return " ".join([i.opcode, *order_flags(i.flags)]) if i.flags else i.opcode


def _same_type(i: Any, names: Names) -> str:
    """`op T a, b`: all operands of one type."""
    values = ", ".join([reference(v, names) for v in i.operands])
    return f"{_opcode(i)} {i.operands[0].type} {values}"


def _each_typed(i: Any, names: Names) -> str:
    """`op T a, U b`"""
    return f"{_opcode(i)} {', '.join([operand(v, names) for v in i.operands])}"


def _cast(i: Instruction, names: Names) -> str:
    return f"{_opcode(i)} {operand(i.operands[0], names)} to {i.type}"


def _compare(i: Any, names: Names) -> str:
    assert isinstance(i, Compare)
    return f"{_opcode(i)} {i.predicate} {i.lhs.type} {reference(i.lhs, names)}, {reference(i.rhs, names)}"


def _gep(i: Any, names: Names) -> str:
    assert isinstance(i, GetElementPtr)
    return f"{_opcode(i)} {i.source_type}, {', '.join([operand(v, names) for v in i.operands])}"


def _align(n: int) -> str:
    return f", align {n}" if n else ""


def _ordering(syncscope: str, *orderings: str) -> str:
    scope = f' syncscope("{syncscope}")' if syncscope else ""
    return scope + "".join(f" {o}" for o in orderings if o)


def _load(i: Any, names: Names) -> str:
    assert isinstance(i, Load)
    return f"{_opcode(i)} {i.type}, {operand(i.pointer, names)}{_ordering(i.syncscope, i.ordering)}{_align(i.align)}"


def _store(i: Any, names: Names) -> str:
    assert isinstance(i, Store)
    return f"{_each_typed(i, names)}{_ordering(i.syncscope, i.ordering)}{_align(i.align)}"


def _alloca(i: Any, names: Names) -> str:
    assert isinstance(i, Alloca)
    count = "" if i.count == ConstInt(I32, 1) else f", {operand(i.count, names)}"
    space = i.type.addrspace if isinstance(i.type, PointerType) else 0
    return f"{_opcode(i)} {i.allocated_type}{count}{_align(i.align)}{f', addrspace({space})' if space else ''}"


def _phi(i: Any, names: Names) -> str:
    assert isinstance(i, Phi)
    pairs = [f"[ {reference(v, names)}, %{names(b)} ]" for v, b in i.incoming()]
    return f"{_opcode(i)} {i.type} {', '.join(pairs)}"


def _call(i: Any, names: Names) -> str:
    assert isinstance(i, Call)
    space = i.callee.type.addrspace if isinstance(i.callee.type, PointerType) else 0
    words = [i.tail, _opcode(i), i.calling_convention, attributes(i.result_attributes).rstrip()]
    words += [f"addrspace({space})" if space else ""]
    words += [str(i.function_type) if i.function_type.vararg else str(i.function_type.result)]
    arguments = [
        f"{v.type} {attributes(a)}{reference(v, names)}"
        for v, a in zip(i.arguments, i.argument_attributes, strict=True)
    ]
    if i.tail == "musttail" and i.block is not None and i.block.function is not None:
        arguments += ["..."] if i.block.function.function_type.vararg else []
    text = f"{' '.join(w for w in words if w)} {reference(i.callee, names)}({', '.join(arguments)})"
    text += "".join(f" {attribute(a)}" for a in i.attributes)
    return f"{text}{_bundles(i, names)}{_call_targets(i, names)}"


def _bundles(i: Call, names: Names) -> str:
    if not i.bundles:
        return ""
    at, parts = i.arity + 1, []
    for tag, count in i.bundles:
        parts.append(f'"{escape(tag)}"({", ".join(operand(v, names) for v in i.operands[at : at + count])})')
        at += count
    return f" [ {', '.join(parts)} ]"


def _call_targets(i: Call, names: Names) -> str:
    if i.opcode == "call":
        return ""
    first, *others = (f"label %{names(b)}" for b in i.targets)
    return f" to {first} unwind {others[0]}" if i.opcode == "invoke" else f" to {first} [{', '.join(others)}]"


def _labels(blocks: list[Block], names: Names) -> str:
    return ", ".join([f"label %{names(b)}" for b in blocks])


def _br(i: Any, names: Names) -> str:
    assert isinstance(i, Branch)
    condition = f"{operand(i.condition, names)}, " if i.condition is not None else ""
    return f"br {condition}{_labels(i.targets, names)}"


def _switch(i: Any, names: Names) -> str:
    assert isinstance(i, Switch)
    cases = "".join([f"    {operand(v)}, label %{names(b)}\n" for v, b in zip(i.values, i.targets[1:], strict=True)])
    return f"switch {operand(i.condition, names)}, label %{names(i.targets[0])} [\n{cases}  ]"


def _indirectbr(i: Instruction, names: Names) -> str:
    return f"indirectbr {operand(i.operands[0], names)}, [{_labels(i.targets, names)}]"


def _ret(i: Instruction, names: Names) -> str:
    return f"ret {operand(i.operands[0], names)}" if i.operands else "ret void"


def _unreachable(i: Instruction, names: Names) -> str:
    return "unreachable"


def _with_indices(i: Any, names: Names) -> str:
    assert isinstance(i, (ExtractValue, InsertValue))
    return f"{_each_typed(i, names)}, {', '.join(map(str, i.indices))}"


def _shufflevector(i: Any, names: Names) -> str:
    assert isinstance(i, ShuffleVector)
    return f"{_each_typed(i, names)}, {operand(i.mask_constant)}"


def _atomicrmw(i: Any, names: Names) -> str:
    assert isinstance(i, Other)
    pointer, value = (operand(v, names) for v in i.operands)
    order = _ordering(i.detail["syncscope"], i.detail["ordering"])
    return f"{_opcode(i)} {i.detail['operation']} {pointer}, {value}{order}{_align(i.detail['align'])}"


def _cmpxchg(i: Any, names: Names) -> str:
    assert isinstance(i, Other)
    order = _ordering(i.detail["syncscope"], i.detail["success"], i.detail["failure"])
    return f"{_each_typed(i, names)}{order}{_align(i.detail['align'])}"


def _fence(i: Any, names: Names) -> str:
    assert isinstance(i, Other)
    return f"fence{_ordering(i.detail['syncscope'], i.detail['ordering'])}"


def _va_arg(i: Instruction, names: Names) -> str:
    return f"va_arg {operand(i.operands[0], names)}, {i.type}"


def _landingpad(i: Any, names: Names) -> str:
    assert isinstance(i, Other)
    lines = ["\n          cleanup"] if i.detail["cleanup"] else []
    lines += [
        f"\n          {clause} {operand(v, names)}" for clause, v in zip(i.detail["clauses"], i.operands, strict=True)
    ]
    return f"landingpad {i.type}{''.join(lines)}"


def _pad(i: Instruction, names: Names) -> str:
    parent, *arguments = i.operands
    return f"{i.opcode} within {reference(parent, names)} [{', '.join(operand(v, names) for v in arguments)}]"


def _unwind(i: Any, names: Names) -> str:
    assert isinstance(i, Other)
    return f"unwind label %{names(i.targets[-1])}" if i.detail["unwind"] else "unwind to caller"


def _catchswitch(i: Any, names: Names) -> str:
    assert isinstance(i, Other)
    handlers = i.targets[:-1] if i.detail["unwind"] else i.targets
    return f"catchswitch within {reference(i.operands[0], names)} [{_labels(handlers, names)}] {_unwind(i, names)}"


def _cleanupret(i: Instruction, names: Names) -> str:
    return f"cleanupret from {reference(i.operands[0], names)} {_unwind(i, names)}"


def _catchret(i: Instruction, names: Names) -> str:
    return f"catchret from {reference(i.operands[0], names)} to label %{names(i.targets[0])}"


_WRITERS: dict[str, Callable[[Any, Names], str]] = {
    "unary": _same_type, "binary": _same_type, "cast": _cast, "compare": _compare, "select": _each_typed, "gep": _gep,
    "load": _load, "store": _store, "alloca": _alloca, "phi": _phi, "call": _call, "br": _br, "switch": _switch,
    "indirectbr": _indirectbr, "ret": _ret, "unreachable": _unreachable, "extractvalue": _with_indices,
    "insertvalue": _with_indices, "extractelement": _each_typed, "insertelement": _each_typed,
    "shufflevector": _shufflevector, "atomicrmw": _atomicrmw, "cmpxchg": _cmpxchg, "fence": _fence, "va_arg": _va_arg,
    "landingpad": _landingpad, "resume": _each_typed, "cleanuppad": _pad, "catchpad": _pad,
    "catchswitch": _catchswitch, "cleanupret": _cleanupret, "catchret": _catchret,
}  # fmt: skip
