"""Addresses that are rounded up to a multiple of some alignment are as far ahead of a pointer as they are.

    q = inttoptr ((ptrtoint p + 63) & -64)      →      q = getelementptr i8, p, (((ptrtoint p + 63) & -64) - ptrtoint p)

likewise where the alignment is a variable (`std::align`), so that the shadow of `q` is as far into that of `p`, however
that is aligned: where the alignment is more than allocators give, accesses claim no more than theirs.
`llvm.ptrmask` (`__builtin_align_up`) is written likewise. Addresses that are rounded down, to the head of a page or
past a tag, stay as they are.

Arrays that come from Python lie where their elements may (`x[1:]`): accesses of a library's code claim no more
(`as_elements_are`), else LLVM moves vectors by instructions that end the process.
"""

from __future__ import annotations

from llgrad.analysis.bits.integer_values import ahead, with_constant
from llgrad.ir.build import Names
from llgrad.ir.module import Module
from llgrad.ir.rewrite import before, local_names
from llgrad.ir.types import I8, I64, PTR
from llgrad.ir.values import (
    AnyValue,
    Attribute,
    Binary,
    Call,
    Cast,
    ConstInt,
    Function,
    GetElementPtr,
    Instruction,
    Load,
    Store,
    put_instead,
)

USUAL = 16  # what `malloc` gives
WORD = 8
_MORE = tuple(f"align {1 << n}" for n in range(4, 33))  # the largest that LLVM knows


def as_elements_are(module: Module) -> bool:
    """Let accesses and parameters claim no larger alignment than that of a double."""
    changed = [_head_claims(f) for f in module.functions]
    changed += [_claims(i, WORD) for f in module.concerned(claims_more) for i in f.instructions() if not _is_exact(i)]
    return any(changed)


def claims_more(text: str) -> bool:
    """May a text claim a larger alignment than that of a double? This is quick to say."""
    return any(word in text for word in _MORE)


def _is_exact(i: Instruction) -> bool:
    """Is memory passed as it is said, or does the alignment make an access atomic?"""
    if isinstance(i, Call):
        return any(a.name == "byval" for attributes in i.argument_attributes for a in attributes)
    return "atomic" in i.flags


def _head_claims(f: Function) -> bool:
    if f.is_declaration or any(a.attribute("byval") for a in f.arguments):
        return False
    old = [f.result_attributes, *(a.attributes for a in f.arguments)]
    f.result_attributes, *given = new = [_at_most(attributes, WORD) for attributes in old]
    for a, attributes in zip(f.arguments, given, strict=True):
        a.attributes = attributes
    return new != old


def _claims(i: Instruction, most: int) -> bool:
    """Let an instruction claim no larger alignment than `most`; did it?"""
    if isinstance(i, Load | Store):
        larger, i.align = i.align > most, min(i.align, most)
        return larger
    if not isinstance(i, Call):
        return False
    old = [i.result_attributes, *i.argument_attributes]
    i.result_attributes, *i.argument_attributes = new = [_at_most(attributes, most) for attributes in old]
    return new != old


def _at_most(attributes: tuple[Attribute, ...], most: int) -> tuple[Attribute, ...]:
    return tuple(
        Attribute("align", min(a.value, most)) if a.name == "align" and isinstance(a.value, int) else a
        for a in attributes
    )


def with_alignment(module: Module) -> bool:
    """Rewrite such addresses."""
    if not any([_rewritten(f) for f in module.concerned(may_round_addresses)]):
        return False
    for f in module.concerned(claims_more):
        for i in f.instructions():
            _claims(i, USUAL)
    return True


def may_round_addresses(text: str) -> bool:
    """This is quick to say."""
    return " = inttoptr i64 " in text or "@llvm.ptrmask.p0.i64(" in text


def _rewritten(f: Function) -> bool:
    names = local_names(f)
    made = [i for i in f.instructions() if isinstance(i, Cast | Call) and _is_rounded(i)]
    for i in made:
        _rewrite(i, names)
    return bool(made)


def _is_rounded(i: Cast | Call) -> bool:
    if isinstance(i, Cast):
        value = i.value
        found = ahead(value, _start(value)) if i.opcode == "inttoptr" else None
        return found is not None and found[1] and found[0] >= 0
    if i.called_function is None or not i.called_function.name.startswith("llvm.ptrmask."):
        return False
    pointer, mask = i.arguments
    down = -mask.signed if isinstance(mask, ConstInt) else 0
    return down > 0 and not down & (down - 1) and with_constant(pointer)[1] >= down - 1


def _rewrite(i: Cast | Call, names: Names) -> None:
    b = before(i, names)
    if isinstance(i, Call):
        pointer, mask = i.arguments
        address, start = b.binary("and", b.cast("ptrtoint", pointer, I64), mask), with_constant(pointer)[0]
    else:
        address, start = i.value, _start(i.value)
    by = b.binary("sub", address, b.cast("ptrtoint", start, I64))
    new = GetElementPtr(I8, start, [by], i.type, i.name)
    new.metadata = {k: v for k, v in i.metadata.items() if k == "dbg"}
    put_instead(i, new)


def _start(v: AnyValue, depth: int = 8) -> AnyValue:
    """The pointer that an address is computed from."""
    if isinstance(v, Binary) and depth:
        left = _start(v.lhs, depth - 1)
        return left if left.type == PTR else _start(v.rhs, depth - 1)
    return with_constant(v.value)[0] if isinstance(v, Cast) and v.opcode == "ptrtoint" else v
