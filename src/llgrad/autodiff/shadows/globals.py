"""Shadows of what is known at compile time: null, functions, global variables and addresses within them.

A global's shadow is a global that is zeroed when a derivative begins. That of a constant that holds pointers holds
theirs; where it may change otherwise (adjoints are added to what a struct has beside its pointers), it is set to that.
"""

from __future__ import annotations

from llgrad.analysis.objects import initial_pointers, leaves
from llgrad.autodiff.emit.block_memory import clear_together
from llgrad.autodiff.facts.analysis_results import Facts
from llgrad.autodiff.requests.registrations import SHADOW
from llgrad.errors import UnsupportedError
from llgrad.ir.build import Builder, const_int, declare, i64, zero
from llgrad.ir.module import Module
from llgrad.ir.types import I1, I8, I64, PTR, VOID, PointerType
from llgrad.ir.values import (
    AnyConstant,
    AnyValue,
    ConstAggregate,
    ConstExpr,
    ConstInt,
    ConstNull,
    ConstZero,
    Function,
    GlobalValue,
    GlobalVariable,
    Instruction,
    Undef,
)
from llgrad.ir.write_values import reference
from llgrad.llvm.assembly import STATIC
from llgrad.models.gpu import SHARED, SPACE

_INITIAL = ".initial"  # the contents with which the shadow of a constant begins, if it may change


def constant_shadow(facts: Facts, module: Module, v: AnyValue, lane: int = 0) -> AnyConstant:
    """The shadow of a pointer known at compile time: null, a function, a global, an address within one."""
    match v:
        case ConstNull() | Undef() | ConstInt() | ConstZero() | Function():
            return v
        case GlobalVariable() if facts.runtime_activity and not facts.activity.shadowed(v):
            return v
        case GlobalVariable():
            shadow = _global_shadow(facts, module, v, lane)
            return shadow if shadow.type == v.type else ConstExpr(v.type, "addrspacecast", (shadow,))
        case ConstExpr():
            addresses = [isinstance(o, ConstExpr) or isinstance(o.type, PointerType) for o in v.operands]
            moved = [  # numbers that are made of addresses, too: `inttoptr (add (ptrtoint @g, 8))`
                constant_shadow(facts, module, o, lane) if a else o for o, a in zip(v.operands, addresses, strict=True)
            ]
            return ConstExpr(v.type, v.opcode, tuple(moved), v.flags, v.source_type, v.extra)
        case ConstAggregate():
            return _shadow_contents(facts, module, v, lane)
    if isinstance(v.type, PointerType) and not facts.memory.points_to(v):
        return ConstNull(v.type)  # it points nowhere: a null that is found in memory
    where = v if isinstance(v, Instruction) else None
    raise facts.activity_error(
        f"{reference(v)} has no shadow",
        span=facts.span(where) if where is not None else None,
        cause="a pointer to constant memory meets pointers to active memory",
        fix="mark both as active (duplicated) or both as constant",
    )


def shadow_name(g: GlobalVariable, lane: int) -> str:
    """The name of the shadow of a global in one lane."""
    return f"{g.name}.shadow.{lane}" if lane else f"{g.name}.shadow"


VIRTUAL_TABLE = "_ZTV"  # Itanium C++ ABI 5.1.4


def _global_shadow(facts: Facts, module: Module, g: GlobalVariable, lane: int) -> GlobalValue:
    """The shadow of a global in one lane: the user's, or a zeroed one that is made on first use.

    Where a constant holds pointers, its shadow holds theirs; adjoints may be added to what else is there.
    """
    if (own := next((a for a in g.attributes if a.name == SHADOW), None)) is not None:
        if lane:
            message, span = f"@{g.name} has one shadow of the user's", module.definition(g.name)
            raise UnsupportedError(message, span=span, fix="ask for width 1")
        return module.globals[str(own.value)]
    name = shadow_name(g, lane)
    if not facts.layout.known_size(g.value_type) and g.initializer is None:
        if g.name.startswith(VIRTUAL_TABLE):  # it holds code and numbers, whose shadows are themselves
            return g
        raise UnsupportedError(
            f"@{g.name} needs a shadow, and its size is not known here", span=module.definition(g.name),
            cause=f"it is declared as {g.value_type}, and defined elsewhere",
            fix="add the source file that defines it, declare it with its size, or mark what uses it as inactive",
        )
    if facts.device.any and not g.constant and not _is_of_block(g):
        raise UnsupportedError(
            f"active values in @{g.name.removeprefix(STATIC)}, a variable of the GPU's",
            cause="all threads would clear its shadow, each when it begins", fix="pass a pointer to the kernel instead",
        )  # fmt: skip
    if name not in module.globals:
        shadow = GlobalVariable(name, g.value_type, zero(g.value_type))
        shadow.linkage, shadow.align = "internal", max(g.align, 16)
        shadow.suffix = g.suffix if _is_of_block(g) else ""
        kept = is_thread_local if not _is_of_block(g) else "externally_initialized".__eq__
        shadow.prefix = tuple(word for word in g.prefix if kept(word))
        module.add(shadow)
        if g.constant and g.initializer is not None:
            _fill_shadow(facts, module, shadow, _shadow_contents(facts, module, g.initializer, lane))
    return module.globals[name]


def _is_of_block(g: GlobalVariable) -> bool:
    """Is it in the shared memory of a block of a GPU's threads?"""
    return f'"{SPACE}{SHARED}"' in g.suffix


def _fill_shadow(facts: Facts, module: Module, shadow: GlobalVariable, contents: AnyConstant) -> None:
    # no adjoint is added where there are pointers alone, those of a virtual table say
    shadow.constant = all(isinstance(leaf.type, PointerType) for leaf in leaves(shadow.value_type, facts.layout))
    if not any(True for _ in initial_pointers(contents, facts.layout)):
        return
    shadow.initializer = contents
    if not shadow.constant:
        first = GlobalVariable(shadow.name + _INITIAL, shadow.value_type, contents)
        first.linkage, first.align, first.constant = "internal", shadow.align, True
        module.add(first)


def _shadow_contents(facts: Facts, module: Module, value: AnyConstant, lane: int) -> AnyConstant:
    """The shadow of what a constant holds."""
    if isinstance(value, ConstAggregate):
        return ConstAggregate(value.type, tuple(_shadow_contents(facts, module, e, lane) for e in value.elements))
    if not isinstance(value.type, PointerType):
        return zero(value.type)
    if not facts.activity.shadowed(value):
        return value if facts.runtime_activity else zero(value.type)
    return constant_shadow(facts, module, value, lane)


def is_thread_local(word: str) -> bool:
    return word.startswith("thread_local")


def clear(b: Builder, module: Module, shadow: GlobalVariable) -> None:
    """Write what the shadow begins with."""
    size = i64(module.layout.alloc_size(shadow.value_type))
    if _is_of_block(shadow):  # the threads of a block clear it together
        clear_together(b, module, shadow, size.value)
        return
    if (first := module.globals.get(shadow.name + _INITIAL)) is not None:
        memcpy = declare(module, "llvm.memcpy.p0.p0.i64", VOID, [PTR, PTR, I64, I1])
        b.call(memcpy, [shadow, first, size, const_int(I1, 0)])
    elif not shadow.constant:
        memset = declare(module, "llvm.memset.p0.i64", VOID, [PTR, I8, I64, I1])
        b.call(memset, [shadow, const_int(I8, 0), size, const_int(I1, 0)])
