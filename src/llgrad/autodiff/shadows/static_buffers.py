"""Shadows of the buffers that static variables keep from one call to the next (`analysis.memory.static_buffers`).

When a derivative is entered, such variables hold what an earlier call, of the primal too, has allocated, and nobody
made a shadow of that. The root makes zeroed ones, one for each block, and releases them when it returns, or when it is
left by a throw. What an earlier call left in the buffers is a constant, as the contents of all static variables are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from llgrad.analysis.memory.static_buffers import Kept
from llgrad.autodiff.emit import tape
from llgrad.autodiff.emit.helpers import define
from llgrad.autodiff.enzyme.wrappers import personality
from llgrad.autodiff.shadows.globals import shadow_name
from llgrad.ir.build import Builder, Names, declare
from llgrad.ir.module import Module
from llgrad.ir.types import I1, I8, I32, I64, PTR, VOID, StructType
from llgrad.ir.values import AnyValue, Attribute, Block, Call, ConstNull, Function, GlobalVariable, Other, replace_uses
from llgrad.models.effects import deallocator_of
from llgrad.models.libc import BLOCK_SIZE

_THROWN = StructType((PTR, I32))
_ALLOCATES = {"malloc": "malloc", "new": "_Znwm", "new[]": "_Znam"}
_MAKE = """
define internal void @%(name)s(ptr %%place, ptr %%shadow) nounwind {
entry:
  %%block = load ptr, ptr %%place, align 8
  %%already = load ptr, ptr %%shadow, align 8
  %%none = icmp eq ptr %%block, null
  %%new = icmp eq ptr %%already, null
  %%made.before = xor i1 %%new, true
  %%nothing = or i1 %%none, %%made.before
  br i1 %%nothing, label %%done, label %%some
some:
  %%size = call i64 @malloc_usable_size(ptr %%block)
  %%made = call ptr @%(allocate)s(i64 %%size)
  call void @llvm.memset.p0.i64(ptr %%made, i8 0, i64 %%size, i1 false)
  store ptr %%made, ptr %%shadow, align 8
  br label %%done
done:
  ret void
}
"""
_SAME = """
define internal void @llgrad.kept.same(ptr %place, ptr %shadow, ptr %start, ptr %made) nounwind {
entry:
  %pointer = load ptr, ptr %place, align 8
  %block = load ptr, ptr %start, align 8
  %same = icmp eq ptr %pointer, %block
  br i1 %same, label %found, label %done
found:
  %other = load ptr, ptr %made, align 8
  store ptr %other, ptr %shadow, align 8
  br label %done
done:
  ret void
}
"""
# A pointer into a block that another pointer leads to the start of. The end of one may be the start of the next.
_INNER = """
define internal void @llgrad.kept.inner(ptr %%place, ptr %%shadow, ptr %%start, ptr %%made) nounwind {
entry:
  %%pointer = load ptr, ptr %%place, align 8
  %%block = load ptr, ptr %%start, align 8
  %%none = icmp eq ptr %%block, null
  br i1 %%none, label %%done, label %%some
some:
  %%at = ptrtoint ptr %%pointer to i64
  %%from = ptrtoint ptr %%block to i64
  %%distance = sub i64 %%at, %%from
  %%size = call i64 @malloc_usable_size(ptr %%block)
  %%within = icmp ule i64 %%distance, %%size
  br i1 %%within, label %%found, label %%done
found:
  %%other = load ptr, ptr %%made, align 8
  %%moved = getelementptr i8, ptr %%other, i64 %%distance
  %%before = load ptr, ptr %%shadow, align 8
  %%first = icmp eq ptr %%before, null
  %%again = icmp eq ptr %%before, %%moved
  %%certain = or i1 %%first, %%again
  br i1 %%certain, label %%good, label %%bad
good:
  store ptr %%moved, ptr %%shadow, align 8
  br label %%done
bad:
  call void @llgrad_fail(i32 %(code)d, ptr null)
  unreachable
done:
  ret void
}
"""
_FOUND = """
define internal void @llgrad.kept.found(ptr %%place, ptr %%shadow) nounwind {
entry:
  %%pointer = load ptr, ptr %%place, align 8
  %%other = load ptr, ptr %%shadow, align 8
  %%set = icmp ne ptr %%pointer, null
  %%none = icmp eq ptr %%other, null
  %%lost = and i1 %%set, %%none
  br i1 %%lost, label %%bad, label %%done
bad:
  call void @llgrad_fail(i32 %(code)d, ptr null)
  unreachable
done:
  ret void
}
"""


def make_shadows(b: Builder, module: Module, kept: Kept, lane: int) -> None:
    """At the root's entry, where shadows of variables are null: fill those of these."""
    allocate = _ALLOCATES[kept.family]
    declare(module, BLOCK_SIZE, I64, [PTR]).attributes = (Attribute("nounwind"),)
    declare(module, allocate, PTR, [I64])
    declare(module, tape.FAIL, VOID, [I32, PTR])
    declare(module, "llvm.memset.p0.i64", VOID, [PTR, I8, I64, I1])
    name = f"llgrad.kept.{allocate}"
    make = define(module, name, _MAKE % {"name": name, "allocate": allocate})
    same = define(module, "llgrad.kept.same", _SAME)
    inner = define(module, "llgrad.kept.inner", _INNER % {"code": tape.FAIL_BEFORE})
    found = define(module, "llgrad.kept.found", _FOUND % {"code": tape.FAIL_BEFORE})
    starts = [_addresses(b, v, s, at) for v, s, at, start in _words(module, kept, lane) if start]
    for n, place in enumerate(starts):
        for earlier in starts[:n]:
            b.call(same, [*place, *earlier])
        b.call(make, place)
    for place in [_addresses(b, v, s, at) for v, s, at, start in _words(module, kept, lane) if not start]:
        for start in starts:
            b.call(inner, [*place, *start])
        b.call(found, place)


def release(b: Builder, module: Module, kept: Kept, lane: int, holder: AnyValue | None = None) -> None:
    """Where the root is left: the blocks that are there by then, each once, without those that an arena holds.

    Nothing leads to what is released.
    """
    words = list(_words(module, kept, lane))
    blocks = [b.load(PTR, b.offset(s, at), "kept", 8) for _, s, at, start in words if start]
    free = declare(module, deallocator_of(kept.family), VOID, [PTR])
    for n, block in enumerate(blocks):
        for earlier in blocks[:n]:
            block = b.select(b.icmp("eq", block, earlier), ConstNull(PTR), block)
        if holder is not None:
            block = b.select(b.call(tape.holds(module), [holder, block]), ConstNull(PTR), block)
        b.call(free, [block])
    for _, shadow, at, _ in words:
        b.store(ConstNull(PTR), b.offset(shadow, at), 8)


def release_when_thrown(
    module: Module, root: Function, kept: Sequence[tuple[Kept, int]], holder: AnyValue | None
) -> None:  # fmt: skip
    """Where the root is left by a throw: what its body was is called under a landing pad, which releases.

    `holder`: an arena that may hold (`tape.hold`) some of the blocks, which a throw releases by itself.
    """
    inner = Function(f"{root.name}.entered", root.function_type, [a.name for a in root.arguments])
    inner._blocks, root._blocks = root.blocks, []
    for block in inner._blocks:
        block.function = inner
    for a, own in zip(root.arguments, inner.arguments, strict=True):
        replace_uses(a, own)
        own.attributes = a.attributes
    inner.attributes, inner.linkage, inner.personality = root.attributes, "internal", root.personality
    module.add(inner)
    names = Names(a.name for a in root.arguments)
    entry, returned, left = (Block(names.fresh(name), root) for name in ("entry", "returned", "left"))
    root._blocks += [entry, returned, left]
    root.personality = root.personality or declare(module, personality(module), I32, (), vararg=True)
    b = Builder(entry, names)
    result = b.insert(Call(inner.function_type, inner, root.arguments, "", "invoke", [returned, left]), "result")
    b.at_end(returned)
    b.ret(None if result.type == VOID else result)
    b.at_end(left)
    thrown = b.insert(Other("landingpad", _THROWN, [], detail={"cleanup": True, "clauses": []}), "thrown")
    for one, lane in kept:
        release(b, module, one, lane, holder)
    b.insert(Other("resume", VOID, [thrown]))


def _words(module: Module, kept: Kept, lane: int) -> Iterator[tuple[GlobalVariable, GlobalVariable, int, bool]]:
    """A variable, its shadow, where in it there is a pointer, and whether it leads to the start of a block."""
    for v, owned in kept.variables:
        shadow = module.globals.get(shadow_name(v, lane))
        if isinstance(shadow, GlobalVariable):
            yield from ((v, shadow, at, True) for at in owned.starts)
            yield from ((v, shadow, at, False) for at in owned.others)


def _addresses(b: Builder, v: GlobalVariable, shadow: GlobalVariable, at: int) -> list[AnyValue]:
    return [b.offset(v, at), b.offset(shadow, at)]


__all__ = ["make_shadows", "release", "release_when_thrown"]
