"""Small functions that generated code calls, made when first asked for: copies between shadows by layout, tape chunks.

A `Copied` says what a stretch of memory holds: leaves at byte offsets, again and again every `stride` bytes. Leaves
before its `head` are there once: a header.

Of a *word* only its shadow says what it is. An address, as a double, is a positive number below 2^-1022 (addresses have
fewer than 52 bits), and nothing else that may lie there matters: so such a bit pattern is a shadow pointer, or nothing,
and any other is an adjoint. In the forward sweep, shadow pointers are copied and other words cleared (`over_pointers`:
the target is the program's own memory); in the reverse sweep adjoints are moved back, and the target is cleared.
Adjoints below 2^-1022 are lost, as they are on machines that flush them to zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from llgrad.analysis.layout.byte_layouts import FLOAT_SIZES
from llgrad.autodiff.emit import tape
from llgrad.ir.build import FALSE, Builder, Names, declare, i64, zero
from llgrad.ir.module import Module
from llgrad.ir.parse import parse_function_text
from llgrad.ir.types import I1, I8, I64, PTR, VOID, ArrayType, FloatType, FunctionType, Type
from llgrad.ir.values import AnyValue, Attribute, Block, Function, Phi


class Copied(Struct, frozen=True):
    """`floats`: (offset, format), `pointers`: offsets, and `words`: offsets of what is a double at one time and a
    pointer or a number at another; in every `stride` bytes after the `head`. `aligned`: counted from the first address
    that is a multiple of the stride; where the two of a copy are not so together, nothing is copied."""

    stride: int
    floats: tuple[tuple[int, FloatType], ...]
    pointers: tuple[int, ...] = ()
    words: tuple[int, ...] = ()
    head: int = 0
    aligned: bool = False

    @property
    def name(self) -> str:
        leaves = [f"{o}{t.name}" for o, t in self.floats] + [f"{o}p" for o in self.pointers]
        head = [f"{self.head}h"] if self.head else []
        aligned = ["aligned"] if self.aligned else []
        return ".".join([*aligned, *head, str(self.stride), *leaves, *(f"{o}w" for o in self.words)])


WORDS = Copied(8, (), words=(0,), aligned=True)
"""Memory that may hold anything, but doubles and pointers at multiples of eight bytes only: see `mixed_copies`."""


_CHUNK = """
define internal ptr @llgrad.tape.chunk(ptr %arena, ptr %now, i64 %i, i64 %bytes) alwaysinline nounwind {
entry:
  %low = and i64 %i, 63
  %full = icmp eq i64 %low, 0
  br i1 %full, label %fresh, label %same
fresh:
  %new = call ptr @llgrad.tape.reserve(ptr %arena, i64 %bytes)
  store ptr %now, ptr %new, align 8
  ret ptr %new
same:
  ret ptr %now
}
"""
_UNCHUNK = """
define internal ptr @%s(ptr %%arena, ptr %%now, i64 %%i) alwaysinline nounwind {
entry:
  %%low = and i64 %%i, 63
  %%done = icmp eq i64 %%low, 0
  br i1 %%done, label %%drop, label %%same
drop:
  %%older = load ptr, ptr %%now, align 8%s
  ret ptr %%older
same:
  ret ptr %%now
}
"""
_RELEASE = "\n  call void @llgrad.tape.release(ptr %arena, ptr %now)"
_TEXTS = {
    "llgrad.tape.chunk": _CHUNK,
    "llgrad.tape.unchunk": _UNCHUNK % ("llgrad.tape.unchunk", _RELEASE),
    "llgrad.tape.older": _UNCHUNK % ("llgrad.tape.older", ""),  # the tape is read again
}


def function(module: Module, name: str) -> Function:
    """The helper of that name."""
    return define(module, name, _TEXTS[name])


def define(module: Module, name: str, text: str) -> Function:
    """The function of that name; made of the text when it is first asked for."""
    found = module.globals.get(name)
    if isinstance(found, Function):
        return found
    tape.reserve(module), tape.release(module)
    for f in parse_function_text(module, text):
        if f.name not in module.globals:
            module.add(f)
    made = module.globals[name]
    assert isinstance(made, Function)
    return made


def aside(module: Module, t: FloatType) -> Function:
    """`(to, from, count)`: move numbers, leaving zeros."""
    return _over_all(module, f"llgrad.aside.{t.name}", t, f"""
  %v = load {t.name}, ptr %q
  store {t.name} %v, ptr %p
  store {t.name} 0.0, ptr %q""")


def added_back(module: Module, t: FloatType) -> Function:
    """`(from, to, count)`: add numbers."""
    return _over_all(module, f"llgrad.added.{t.name}", t, f"""
  %v = load {t.name}, ptr %q
  %w = load {t.name}, ptr %p
  %s = fadd {t.name} %v, %w
  store {t.name} %s, ptr %q""")


def _over_all(module: Module, name: str, t: FloatType, body: str) -> Function:
    return define(module, name, f"""
define internal void @{name}(ptr noalias %a, ptr noalias %b, i64 %count) nounwind {{
entry:
  %any = icmp sgt i64 %count, 0
  br i1 %any, label %loop, label %end
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %p = getelementptr inbounds {t.name}, ptr %a, i64 %i
  %q = getelementptr inbounds {t.name}, ptr %b, i64 %i{body}
  %next = add nuw nsw i64 %i, 1
  %done = icmp eq i64 %next, %count
  br i1 %done, label %end, label %loop
end:
  ret void
}}
""")


ADDRESSES = 1 << 52
_BYTES = ("bytes", "count")  # of the parameters; others are addresses


def _defined(module: Module, name: str, parameters: Sequence[str], write: Callable[..., None]) -> Function:
    """The function of that name; made by `write(builder, *arguments)` when it is first asked for."""
    found = module.globals.get(name)
    if isinstance(found, Function):
        return found
    types = [I64 if p in _BYTES else PTR for p in parameters]
    made = Function(name, FunctionType(VOID, tuple(types)), parameters)
    made.linkage, made.attributes = "internal", (Attribute("nounwind"),)
    names = Names(parameters)
    made.blocks.append(Block(names.fresh("entry"), made))
    write(Builder(made.entry, names, frozenset({"nsz"})), *made.arguments)
    module.add(made)
    return made


def _block(b: Builder, name: str) -> Block:
    """A new block of the function, its last."""
    function = b.block.function
    assert function is not None
    function.blocks.append(made := Block(b.names.fresh(name), function))
    return made


def pointer_copy(module: Module, layout: Copied) -> Function | None:
    """`(target, source, bytes)`: copy the pointers only. None where there are none. The two may overlap."""
    if not layout.pointers and not layout.words:
        return None
    pointers = ("target", "source")
    if layout.aligned:
        return _from_aligned(module, "copy.pointers", pointers, layout, pointer_copy)
    if layout.head:
        return _in_pieces(module, "copy.pointers", pointers, layout, pointer_copy)
    leaves: list[_Leaf] = [*((o, PTR) for o in layout.pointers), *((o, I64) for o in layout.words)]

    def write(b: Builder, place: _Place, target: AnyValue, source: AnyValue) -> None:
        values = [b.load(t, place(source, leaf)) for leaf, (_, t) in enumerate(leaves)]
        for n in range(len(layout.pointers), len(leaves)):
            values[n] = b.select(b.icmp("ult", values[n], i64(ADDRESSES)), values[n], i64(0))
        for leaf, value in enumerate(values):
            b.store(value, place(target, leaf))

    return _looped(module, f"copy.pointers.{layout.name}", pointers, layout.stride, leaves, write, overlap=True)


def float_clear(module: Module, layout: Copied) -> Function | None:
    """`(target, bytes)`: clear the floats only, and words. None where there are none."""
    floats: list[_Leaf] = [*layout.floats, *((o, FloatType("double")) for o in layout.words)]
    if not floats:
        return None
    if layout.aligned:
        return _from_aligned(module, "clear.floats", ("target",), layout, float_clear)
    if layout.head:
        return _in_pieces(module, "clear.floats", ("target",), layout, float_clear)

    def write(b: Builder, place: _Place, target: AnyValue) -> None:
        for leaf, (_, t) in enumerate(floats):
            b.store(zero(t), place(target, leaf))

    return _looped(module, f"clear.floats.{layout.name}", ("target",), layout.stride, floats, write)


def pointer_clear(module: Module, layout: Copied) -> Function | None:
    """`(target, bytes)`: clear the pointers only. None where there are none."""
    cleared = tuple((o, FloatType("double")) for o in layout.pointers)
    return float_clear(module, Copied(layout.stride, cleared, head=layout.head))


def float_copy_adjoint(module: Module, layout: Copied, overlap: bool) -> Function | None:
    """Adjoint of a copy, `(target, source, bytes)`: source += target; target = 0. None where nothing is a float.

    With `overlap` (memmove), `(arena, target, source, bytes)`: the target's adjoints are set aside first.
    """
    if not layout.floats and not layout.words:
        return None
    pointers = ("target", "source")
    if layout.aligned:
        what, piece = "move.adjoint" if overlap else "copy.adjoint", partial(float_copy_adjoint, overlap=overlap)
        return _from_aligned(module, what, pointers, layout, piece, arena=overlap)
    if layout.head:
        assert not overlap
        return _in_pieces(module, "copy.adjoint", pointers, layout, partial(float_copy_adjoint, overlap=False))
    leaves: list[_Leaf] = [*((o, I64) for o in layout.words), *layout.floats]

    def write(b: Builder, place: _Place, target: AnyValue, source: AnyValue) -> None:
        for leaf, (_, t) in enumerate(leaves):
            to, origin = place(target, leaf), place(source, leaf)
            moved = b.load(t, to)
            b.store(zero(t), to)
            old = b.load(t, origin)
            if t == I64:  # a word: an address, of which nothing is added, or a double
                double = FloatType("double")
                new = b.binary("fadd", b.cast("bitcast", old, double), b.cast("bitcast", moved, double))
                is_address = b.icmp("ult", moved, i64(ADDRESSES))
                b.store(b.select(is_address, old, b.cast("bitcast", new, I64)), origin)
            else:
                b.store(b.binary("fadd", old, moved), origin)

    direct = _looped(module, f"copy.adjoint.{layout.name}", pointers, layout.stride, leaves, write)
    return _with_target_aside(module, layout, direct) if overlap else direct


def _with_target_aside(module: Module, layout: Copied, direct: Function) -> Function:
    """The adjoint of a copy between what may overlap, by that between what does not."""

    def write(b: Builder, arena: AnyValue, target: AnyValue, source: AnyValue, count: AnyValue) -> None:
        clear = float_clear(module, layout)
        assert clear is not None
        aside = b.call(tape.reserve(module), [arena, count], "aside")
        b.call(declare(module, "llvm.memcpy.p0.p0.i64", VOID, [PTR, PTR, I64, I1]), [aside, target, count, FALSE])
        b.call(clear, [target, count])
        b.call(direct, [aside, source, count])
        b.call(tape.release(module), [arena, aside])
        b.ret()

    return _defined(module, f"llgrad.move.adjoint.{layout.name}", ("arena", "target", "source", "bytes"), write)


def _pieces(layout: Copied) -> list[tuple[int, int, Copied]]:
    """A layout with a header as ones without: where each begins and ends (0: nowhere), leaves of the header first."""
    pieces = [(0, o + FLOAT_SIZES[t.name], Copied(o + FLOAT_SIZES[t.name], ((o, t),))) for o, t in layout.floats]
    pieces += [(0, o + 8, Copied(o + 8, (), (o,))) for o in layout.pointers]
    floats = tuple((o - layout.head, t) for o, t in layout.floats if o >= layout.head)
    pointers = tuple(o - layout.head for o in layout.pointers if o >= layout.head)
    elements = (layout.head, 0, Copied(layout.stride, floats, pointers))
    return [piece for piece in pieces if piece[1] <= layout.head] + [elements]


_Make = Callable[[Module, Copied], Function | None]


def _in_pieces(module: Module, what: str, pointers: Sequence[str], layout: Copied, make: _Make) -> Function:
    """The function for a layout with a header: those for its pieces, each if `bytes` reaches so far."""

    def write(b: Builder, *arguments: AnyValue) -> None:
        *starts, count = arguments
        for start, end, piece in _pieces(layout):
            if (f := make(module, piece)) is None:
                continue
            given = [b.offset(p, start) for p in starts]
            rest = b.binary("sub", count, i64(start), "rest")
            is_long = b.icmp("uge", count, i64(end or start), "long")
            b.call(f, [*given, b.select(is_long, i64(end) if end else rest, i64(0))])
        b.ret()

    return _defined(module, f"llgrad.{what}.{layout.name}", (*pointers, "bytes"), write)


def _from_aligned(
    module: Module, what: str, pointers: Sequence[str], layout: Copied, make: _Make, arena: bool = False
) -> Function:
    """The function for a layout that counts from multiples of the stride, between addresses as far from such as each
    other; what is before and behind is no whole word."""

    def write(b: Builder, *arguments: AnyValue) -> None:
        inner = make(module, replace(layout, aligned=False))
        assert inner is not None
        moved, starts, count = arguments[:arena], arguments[arena:-1], arguments[-1]
        first, last = (b.cast("ptrtoint", p, I64) for p in (starts[0], starts[-1]))
        skip = b.binary("and", b.binary("sub", i64(0), first), i64(layout.stride - 1), "skip")
        differ = b.binary("and", b.binary("xor", first, last), i64(layout.stride - 1), "differ")
        whole = b.binary("and", b.binary("sub", count, skip, "rest"), i64(-layout.stride), "whole")
        none = b.binary("or", b.icmp("ult", count, skip, "short"), b.icmp("ne", differ, i64(0), "odd"), "none")
        n = b.select(none, i64(0), whole, "n")
        b.call(inner, [*moved, *(b.offset(p, skip) for p in starts), n])
        b.ret()

    parameters = (*(("arena",) if arena else ()), *pointers, "bytes")
    return _defined(module, f"llgrad.{what}.{layout.name}", parameters, write)


_Leaf = tuple[int, Type]
"""The offset in an element, and the type there."""
_Place = Callable[[AnyValue, int], AnyValue]
"""Where the leaf of that number lies in an element, from the pointer to the first element."""


def _looped(
    module: Module, what: str, pointers: Sequence[str], stride: int, leaves: Sequence[_Leaf],
    write: Callable[..., None], overlap: bool = False, part: bool = False,
) -> Function:  # fmt: skip
    """A loop over the elements in `bytes`; with `overlap`, from the last to the first if the target is behind.

    Where the last is not whole, another loop (`part`) does what of each element lies in `bytes`.
    """
    sizes = [FLOAT_SIZES.get(str(t), 8) for _, t in leaves]
    has_part = not part and any(offset + size < stride for (offset, _), size in zip(leaves, sizes, strict=True))

    def written(b: Builder, *arguments: AnyValue) -> None:
        *starts, size = arguments
        if has_part:
            inner = _looped(module, what, pointers, stride, leaves, write, overlap, part=True)
            is_whole = b.icmp("eq", b.binary("urem", size, i64(stride), "rest"), i64(0), "whole")
            start, other = _block(b, "start"), _block(b, "part")
            b.branch_if(is_whole, start, other)
            b.at_end(other).call(inner, arguments)
            b.ret()
            b.at_end(start)
        up = b.binary("add", size, i64(stride - 1), "up") if part else size
        count = b.binary("udiv", up, i64(stride), "count")
        before, loop, done = b.block, _block(b, "loop"), _block(b, "done")
        spare = [b.alloca(ArrayType(I8, 16), "spare") for _ in leaves] if part else []
        behind = b.icmp("ugt", starts[0], starts[1], "behind") if overlap else None
        b.branch_if(b.icmp("eq", count, i64(0), "none"), done, loop)
        b.at_end(loop)
        k: Phi = b.phi(I64, [(i64(0), before)], "k")
        element: AnyValue = k
        if behind is not None:
            mirrored = b.binary("sub", b.binary("sub", count, i64(1), "last"), k, "mirrored")
            element = b.select(behind, mirrored, k, "element")
        at = b.binary("mul", element, i64(stride), "at")

        def place(pointer: AnyValue, leaf: int) -> AnyValue:
            """In `spare` where the leaf is not inside of `bytes`."""
            offset = b.binary("add", at, i64(leaves[leaf][0]))
            there = b.offset(pointer, offset)
            if not part:
                return there
            is_inside = b.icmp("ule", b.binary("add", offset, i64(sizes[leaf])), size)
            return b.select(is_inside, there, spare[leaf])

        write(b, place, *starts)
        k.add(following := b.binary("add", k, i64(1), "next"), loop)
        b.branch_if(b.icmp("ult", following, count, "more"), loop, done)
        b.at_end(done).ret()

    return _defined(module, f"llgrad.{what}{'.part' if part else ''}", (*pointers, "bytes"), written)
