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

import re
from collections.abc import Callable, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from llgrad.analysis.layout.byte_layouts import FLOAT_SIZES
from llgrad.autodiff.emit import tape
from llgrad.ir.build import declare
from llgrad.ir.module import Module
from llgrad.ir.parse import parse_function_text
from llgrad.ir.types import I1, I64, PTR, VOID, FloatType
from llgrad.ir.values import Function


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


def pointer_copy(module: Module, layout: Copied) -> Function | None:
    """`(target, source, bytes)`: copy the pointers only. None where there are none. The two may overlap."""
    if not layout.pointers and not layout.words:
        return None
    if layout.aligned:
        return _from_aligned(module, "copy.pointers", ("target", "source"), layout, pointer_copy)
    if layout.head:
        return _in_pieces(module, "copy.pointers", ("target", "source"), layout, pointer_copy)
    places = list(enumerate(layout.pointers))
    words = list(enumerate(layout.words, len(places)))
    body = [line for n, o in places for line in (*_at(n, "s", o), f"%v{n} = load ptr, ptr %s{n}, align 1")]
    for n, o in words:
        body += [
            *_at(n, "s", o), f"%w{n} = load i64, ptr %s{n}, align 1", f"%p{n} = icmp ult i64 %w{n}, {ADDRESSES}",
            f"%v{n} = select i1 %p{n}, i64 %w{n}, i64 0",
        ]  # fmt: skip
    for n, o in places + words:
        t = "ptr" if n < len(places) else "i64"
        body += [*_at(n, "t", o), f"store {t} %v{n}, ptr %t{n}, align 1"]
    parameters = "ptr %target, ptr %source, i64 %bytes"
    return _looped(module, f"llgrad.copy.pointers.{layout.name}", parameters, layout.stride, body, overlap=True)


def float_clear(module: Module, layout: Copied) -> Function | None:
    """`(target, bytes)`: clear the floats only, and words. None where there are none."""
    floats = [*layout.floats, *((o, FloatType("double")) for o in layout.words)]
    if not floats:
        return None
    if layout.aligned:
        return _from_aligned(module, "clear.floats", ("target",), layout, float_clear)
    if layout.head:
        return _in_pieces(module, "clear.floats", ("target",), layout, float_clear)
    body = [
        line
        for n, (offset, t) in enumerate(floats)
        for line in (*_at(n, "t", offset), f"store {t} {_zero(t)}, ptr %t{n}, align 1")
    ]
    return _looped(module, f"llgrad.clear.floats.{layout.name}", "ptr %target, i64 %bytes", layout.stride, body)


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
    if layout.aligned:
        what, piece = "move.adjoint" if overlap else "copy.adjoint", partial(float_copy_adjoint, overlap=overlap)
        return _from_aligned(module, what, ("target", "source"), layout, piece, arena=overlap)
    if layout.head:
        assert not overlap
        piece = partial(float_copy_adjoint, overlap=False)
        return _in_pieces(module, "copy.adjoint", ("target", "source"), layout, piece)
    body: list[str] = []
    for n, offset in enumerate(layout.words, len(layout.floats)):
        body += [
            *_at(n, "t", offset), *_at(n, "s", offset), f"%w{n} = load i64, ptr %t{n}, align 1",
            f"store i64 0, ptr %t{n}, align 1", f"%p{n} = icmp ult i64 %w{n}, {ADDRESSES}",
            f"%a{n} = bitcast i64 %w{n} to double", f"%x{n} = load i64, ptr %s{n}, align 1",
            f"%b{n} = bitcast i64 %x{n} to double", f"%c{n} = fadd nsz double %b{n}, %a{n}",
            f"%y{n} = bitcast double %c{n} to i64", f"%z{n} = select i1 %p{n}, i64 %x{n}, i64 %y{n}",
            f"store i64 %z{n}, ptr %s{n}, align 1",
        ]  # fmt: skip
    for n, (offset, t) in enumerate(layout.floats):
        body += [
            *_at(n, "t", offset), *_at(n, "s", offset), f"%a{n} = load {t}, ptr %t{n}, align 1",
            f"store {t} {_zero(t)}, ptr %t{n}, align 1", f"%b{n} = load {t}, ptr %s{n}, align 1",
            f"%c{n} = fadd nsz {t} %b{n}, %a{n}", f"store {t} %c{n}, ptr %s{n}, align 1",
        ]  # fmt: skip
    name = f"llgrad.copy.adjoint.{layout.name}"
    direct = _looped(module, name, "ptr %target, ptr %source, i64 %bytes", layout.stride, body)
    if not overlap:
        return direct
    float_clear(module, layout)
    text = f"""
define internal void @llgrad.move.adjoint.{layout.name}(ptr %arena, ptr %target, ptr %source, i64 %bytes) nounwind {{
  %aside = call ptr @llgrad.tape.reserve(ptr %arena, i64 %bytes)
  call void @llvm.memcpy.p0.p0.i64(ptr %aside, ptr %target, i64 %bytes, i1 false)
  call void @llgrad.clear.floats.{layout.name}(ptr %target, i64 %bytes)
  call void @{name}(ptr %aside, ptr %source, i64 %bytes)
  call void @llgrad.tape.release(ptr %arena, ptr %aside)
  ret void
}}
"""
    declare(module, "llvm.memcpy.p0.p0.i64", VOID, [PTR, PTR, I64, I1])
    return define(module, f"llgrad.move.adjoint.{layout.name}", text)


def _at(n: int, which: str, offset: int) -> tuple[str, str]:
    base = "target" if which == "t" else "source"
    return f"%o{which}{n} = add i64 %at, {offset}", f"%{which}{n} = getelementptr i8, ptr %{base}, i64 %o{which}{n}"


def _zero(t: FloatType) -> str:
    return (
        "0.0"
        if t.name in ("half", "bfloat", "float", "double")
        else "0xK00000000000000000000"
        if t.name == "x86_fp80"
        else "0xL" + "0" * 32
    )


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
    lines = []
    for n, (start, end, piece) in enumerate(_pieces(layout)):
        if (f := make(module, piece)) is None:
            continue
        lines += [f"%{p}{n} = getelementptr i8, ptr %{p}, i64 {start}" for p in pointers]
        lines += [f"%rest{n} = sub i64 %bytes, {start}", f"%long{n} = icmp uge i64 %bytes, {end or start}"]
        lines += [f"%b{n} = select i1 %long{n}, i64 {end or f'%rest{n}'}, i64 0"]
        lines += [f"call void @{f.name}({', '.join(f'ptr %{p}{n}' for p in pointers)}, i64 %b{n})"]
    formal = ", ".join([*(f"ptr %{p}" for p in pointers), "i64 %bytes"])
    name, body = f"llgrad.{what}.{layout.name}", "\n  ".join([*lines, "ret void"])
    return define(module, name, f"define internal void @{name}({formal}) nounwind {{\n  {body}\n}}\n")


def _from_aligned(
    module: Module, what: str, pointers: Sequence[str], layout: Copied, make: _Make, arena: bool = False
) -> Function:
    """The function for a layout that counts from multiples of the stride, between addresses as far from such as each
    other; what is before and behind is no whole word."""
    inner = make(module, replace(layout, aligned=False))
    assert inner is not None
    first, last = pointers[0], pointers[-1]
    moved = ["ptr %arena"] if arena else []
    formal = ", ".join([*moved, *(f"ptr %{p}" for p in pointers), "i64 %bytes"])
    lines = [f"%a.{p} = ptrtoint ptr %{p} to i64" for p in (first, last)][: len(pointers)]
    lines += [f"%back = sub i64 0, %a.{first}", f"%skip = and i64 %back, {layout.stride - 1}"]
    lines += [f"%differ = xor i64 %a.{first}, %a.{last}", f"%apart = and i64 %differ, {layout.stride - 1}"]
    lines += ["%rest = sub i64 %bytes, %skip", "%short = icmp ult i64 %bytes, %skip", "%odd = icmp ne i64 %apart, 0"]
    lines += [f"%whole = and i64 %rest, {-layout.stride}", "%none = or i1 %short, %odd"]
    lines += ["%n = select i1 %none, i64 0, i64 %whole"]
    lines += [f"%at.{p} = getelementptr i8, ptr %{p}, i64 %skip" for p in pointers]
    given = ", ".join([*moved, *(f"ptr %at.{p}" for p in pointers), "i64 %n"])
    body = "\n  ".join([*lines, f"call void @{inner.name}({given})", "ret void"])
    name = f"llgrad.{what}.{layout.name}"
    return define(module, name, f"define internal void @{name}({formal}) nounwind {{\n  {body}\n}}\n")


def _looped(
    module: Module, name: str, parameters: str, stride: int, body: list[str], overlap: bool = False
) -> Function:
    """A loop over the elements in `bytes`; with `overlap`, from the last to the first if the target is behind.

    Where the last is not whole, another loop does what of each element lies in `bytes`.
    """
    if not name.endswith(".part") and (guarded := _guarded(body, stride)):
        part = _looped(module, f"{name}.part", parameters, stride, guarded, overlap)
        rest = f"""%rest = urem i64 %bytes, {stride}
  %whole = icmp eq i64 %rest, 0
  br i1 %whole, label %start, label %part
part:
  call void @{part.name}({parameters})
  ret void
start:
  %count = udiv i64 %bytes, {stride}"""
    elif name.endswith(".part"):
        rest = f"%up = add i64 %bytes, {stride - 1}\n  %count = udiv i64 %up, {stride}\n  br label %start\nstart:"
        rest = "\n  ".join([*(f"%{n} = alloca [16 x i8]" for n in _spare(body)), rest])
    else:
        rest = f"%count = udiv i64 %bytes, {stride}\n  br label %start\nstart:"
    lines = "\n  ".join(body)
    before, index = "", "%element = add i64 %k, 0"
    if overlap:
        before = "%behind = icmp ugt ptr %target, %source\n  %last = sub i64 %count, 1"
        index = "%mirrored = sub i64 %last, %k\n  %element = select i1 %behind, i64 %mirrored, i64 %k"
    text = f"""
define internal void @{name}({parameters}) nounwind {{
entry:
  {rest}
  %none = icmp eq i64 %count, 0
  {before}
  br i1 %none, label %done, label %loop
loop:
  %k = phi i64 [ 0, %start ], [ %next, %loop ]
  {index}
  %at = mul i64 %element, {stride}
  {lines}
  %next = add i64 %k, 1
  %more = icmp ult i64 %next, %count
  br i1 %more, label %loop, label %done
done:
  ret void
}}
"""
    return define(module, name, text)


_ADDRESS = re.compile(r"%([ts])(\d+) = (getelementptr i8, ptr %(?:target|source), i64 (%o[ts]\d+))")
_ACCESS = re.compile(r"(?:= load|store) (\w+)[ ,].*ptr %[ts](\d+), align")


def _guarded(body: list[str], stride: int) -> list[str]:
    """The same, done in spare memory with what is not inside of `bytes`; nothing where no part of an element counts."""
    sizes = {m[2]: FLOAT_SIZES.get(m[1], 8) for line in body if (m := _ACCESS.search(line))}
    starts = {m[1]: int(m[2]) for line in body if (m := re.match(r"%o[ts](\d+) = add i64 %at, (\d+)", line))}
    if all(starts[n] + size >= stride for n, size in sizes.items()):
        return []
    made: list[str] = []
    for line in body:
        if (m := _ADDRESS.match(line)) is None:
            made.append(line)
            continue
        which, n, address, offset = m.groups()
        end, inside, there = (f"%{word}{which}{n}" for word in ("end", "inside", "there"))
        made += [
            f"{end} = add i64 {offset}, {sizes[n]}", f"{inside} = icmp ule i64 {end}, %bytes",
            f"{there} = {address}", f"%{which}{n} = select i1 {inside}, ptr {there}, ptr %spare{n}",
        ]  # fmt: skip
    return made


def _spare(body: list[str]) -> list[str]:
    return list(dict.fromkeys(m[1] for line in body if (m := re.search(r"ptr %(spare\d+)$", line))))
