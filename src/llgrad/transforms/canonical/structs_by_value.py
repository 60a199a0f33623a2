"""Structs that are passed `byval`, which callers own, become memory of the function that is passed them.

    define internal double @f(ptr byval(%s) align 8 %p)      define internal double @f(ptr %p.byval)
                                                         ->    %p = alloca %s, align 8
                                                               memcpy(ptr %p, ptr %p.byval, …)

`long double complex`, which functions of the library take in memory, is handed on in parts.
"""

from __future__ import annotations

from llgrad.ir.build import i64
from llgrad.ir.module import Module
from llgrad.ir.parse import parse_function_text
from llgrad.ir.rewrite import at_start, bodies, calling, direct_calls, local_names, word
from llgrad.ir.symbols import pointed_to
from llgrad.ir.types import Type
from llgrad.ir.values import (
    Attribute,
    Call,
    Compare,
    Function,
    GetElementPtr,
    Load,
    Value,
    replace_uses,
)
from llgrad.rules import library
from llgrad.transforms.canonical.atomics import copy_bytes

_OWN = ("internal", "private", "linkonce_odr", "linkonce")


def own_structs(module: Module) -> bool:
    """Make functions with bodies copy the structs that they are passed `byval`; their callers pass the address.

    Others may call some, and a call through a pointer may be of the program's own code: such functions go on to be
    passed structs `byval`, and copy what they may write. The shadow of such a struct is what the caller has: it is
    neither a result of the function, nor to be written.
    """
    passing = [f for f in module.functions if any(a.attribute("byval") for a in f.arguments)]
    calls = [i for f in bodies(module, "byval(") for i in f.instructions() if isinstance(i, Call) and _passes(i)]
    if not passing and not calls:
        return False
    pointed = pointed_to(module)
    foreign = {f for f in passing if f.is_declaration or f.linkage not in _OWN or f.name in pointed}
    own = {f for f in passing if f not in foreign}
    words = [w for f in own for w in calling(f.name)]
    own -= {f for c, f in direct_calls(bodies(module, *words) if own else ()) if not _passes(c)}  # as of another type
    for f in passing:
        if not f.is_declaration:
            _copy(module, f, f in own)
    for c in calls:
        if c.called_function in own:
            _pass_address(c, ("align",))
    return True


def _passes(c: Call) -> bool:
    return any(_is_by_value(found) for found in c.argument_attributes)


def _is_by_value(found: tuple[Attribute, ...]) -> bool:
    return any(a.name == "byval" for a in found)


def _pass_address(c: Call, kept: tuple[str, ...] = ()) -> None:
    """Pass the addresses of structs; a tail call would not let the function look at its caller's stack."""
    c.tail = "" if c.tail == "tail" else c.tail
    c.argument_attributes = [
        tuple(a for a in found if a.name != "byval" and (a.name in kept or a.name != "align"))
        if _is_by_value(found) else found
        for found in c.argument_attributes
    ]  # fmt: skip


def _copy(module: Module, f: Function, is_own: bool) -> None:
    """Have a function copy those structs that it is passed; it still is, or is passed addresses."""
    assert f.blocks is not None  # reads the body, and so its uses
    names = local_names(f)
    start = at_start(f, names)
    for a in f.arguments:
        by_value = a.attribute("byval")
        if by_value is None or not isinstance(t := by_value.value, Type) or not (is_own or not _only_read(a)):
            continue
        aligned = a.attribute("align")
        align = aligned.value if aligned is not None and isinstance(aligned.value, int) else 1
        wish, a.name = a.name, names.fresh(f"{a.name}.byval")
        copy = start.alloca(t, "llgrad.byval" if wish.isdigit() else f"{wish}.own", align)
        replace_uses(a, copy)
        copy_bytes(start, copy, a, i64(module.layout.alloc_size(t)))
        if isinstance(copy, Value) and not wish.isdigit():
            copy.name = wish
        if is_own:
            a.attributes = ()


def _only_read(pointer: Value) -> bool:
    """Is memory read through a pointer, and nothing else?"""
    for user in pointer.users:
        match user:
            case Load() | Compare():
                continue
            case GetElementPtr() if user.pointer is pointer and _only_read(user):
                continue
            case Call() if _is_copied_from(user, pointer):
                continue
        return False
    return True


def _is_copied_from(call: Call, pointer: Value) -> bool:
    name = call.called_function.name if call.called_function is not None else ""
    return name.startswith("llvm.memcpy.") and [n for n, v in enumerate(call.operands) if v is pointer] == [1]


# --- complex numbers -------------------------------------------------------------------------------------------------


def in_parts(module: Module) -> bool:
    """Functions of `long double complex`, which pass it in memory: calls are of those that have its parts."""
    changed = False
    for f in [f for f in module.functions if f.is_declaration]:
        entry = library.lookup(f.name)
        if entry is None or entry.shape != "byval" or f.name.startswith(library.LIKE):
            continue
        operands = [a for a in f.arguments if a.attribute("byval")]
        if 2 * len(operands) != len(entry.rule.operands) or len(operands) != len(f.arguments):
            continue  # declared in another way
        new = f"{library.PARTS}of.{f.name}"
        if new not in module.globals:
            text = _parts_of(new, f"{library.PARTS}{f.name}", f.function_type.result, len(operands))
            parse_function_text(module, text)
        for c, called in direct_calls(bodies(module, word(f.name))):
            if called is f and c.callee is f:
                _pass_address(c)
                c.set_operand(c.arity, module.function(new))
                changed = True
    return changed


def _parts_of(name: str, callee: str, result: Type, operands: int) -> str:
    """A function that takes addresses of complex numbers, and hands their parts on."""
    lines, parts = [], []
    for n in range(operands):
        lines += [
            f"  %re.{n} = load x86_fp80, ptr %z.{n}, align 16",
            f"  %at.{n} = getelementptr i8, ptr %z.{n}, i64 16",
            f"  %im.{n} = load x86_fp80, ptr %at.{n}, align 16",
        ]
        parts += [f"x86_fp80 %re.{n}", f"x86_fp80 %im.{n}"]
    given = ", ".join(f"ptr %z.{n}" for n in range(operands))
    types = ", ".join(["x86_fp80"] * len(parts))
    body = "\n".join([*lines, f"  %r = call {result} @{callee}({', '.join(parts)})", f"  ret {result} %r"])
    return f"""define internal {result} @{name}({given}) alwaysinline nounwind {{
{body}
}}
declare {result} @{callee}({types}) nounwind willreturn memory(none)
"""
