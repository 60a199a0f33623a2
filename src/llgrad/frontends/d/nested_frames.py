"""Frames of D's nested functions, with arrays beside them.

ldc keeps the variables of a function that nested ones use in one struct on the stack. LLVM lets the index of an array
in a struct go beyond the array, so that an element at an index that only the program knows may be the number that lies
behind (`std.algorithm.sum` has such a frame); in D it never is. Arrays become memory of their own here, which the frame
points to.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msgspec import Struct

_TYPE = re.compile(r"^(%(?:nest\.[\w.$]+|\"nest\.[^\"\n]+\")) = type \{ ([^\n]*) \}$", re.MULTILINE)
_MEMBER = re.compile(r"(?:[^,{}\[\]<>()]|\{[^{}]*\}|\[[^\[\]]*(?:\[[^\[\]]*\][^\[\]]*)*\]|<[^<>]*>|\([^()]*\))+")
_MADE = re.compile(r"^  (%[-\w.$]*\.frame[\w.$]*) = (\w+) (?:[^\n]*? to )?([^\n,*]+)[^\n]*$", re.MULTILINE)
_PLACE = re.compile(
    r"^  (%[-\w.$]+) = getelementptr inbounds (%(?:nest\.[\w.$]+|\"nest\.[^\"\n]+\")), ([^\n,]+) (%[-\w.$]+), i32 0, "
    r"i32 (\d+)([^\n;]*)", re.MULTILINE,
)  # fmt: skip
_TOLD = re.compile(r"^  call void @llvm\.dbg\.declare\(metadata (?:i8\*|ptr) %\.nest_arg, [^\n]*\n", re.MULTILINE)


class _Frame(Struct, frozen=True):
    """The type of a frame, its members, and which of them are arrays."""

    name: str
    members: tuple[str, ...]

    @property
    def arrays(self) -> dict[int, str]:
        return {n: t for n, t in enumerate(self.members) if t.startswith("[")}


def with_arrays_apart(text: str) -> str:
    """The module, where arrays of frames on the stack are apart from the other variables."""
    frames = _frames(text)
    if not frames:
        return text
    byte = "ptr" if any(m[3] == "ptr" for m in _PLACE.finditer(text)) else "i8*"
    text = _TYPE.sub(lambda m: _declared(frames[m[1]], byte) if m[1] in frames else m[0], text)
    text = _PLACE.sub(lambda m: _found(m, frames, byte), text)
    text = _MADE.sub(lambda m: _made(m, frames[m[3]], byte) if m[3] in frames else m[0], text)
    return _TOLD.sub("", text)  # what nested functions say of a frame is true no more


def _frames(text: str) -> Mapping[str, _Frame]:
    """Those that are always on the stack (a closure's is on the heap), and have an array among others."""
    found = {m[1]: _Frame(m[1], tuple(p.strip() for p in _MEMBER.findall(m[2]))) for m in _TYPE.finditer(text)}
    made = [(m[2] == "alloca", m[3]) for m in _MADE.finditer(text)]
    stack = {t for on_stack, t in made if on_stack} - {t for on_stack, t in made if not on_stack}
    return {n: f for n, f in found.items() if f.arrays and len(f.members) > 1 and n in stack}


def _to(t: str, byte: str) -> str:
    """The type of a pointer to `t`, as the module writes pointers."""
    return "ptr" if byte == "ptr" else f"{t}*"


def _declared(frame: _Frame, byte: str) -> str:
    members = (byte if n in frame.arrays else t for n, t in enumerate(frame.members))
    return f"{frame.name} = type {{ {', '.join(members)} }}"


def _found(m: re.Match[str], frames: Mapping[str, _Frame], byte: str) -> str:
    """Where a member is; where the frame says that an array is."""
    name, frame, pointer, base, n, told = m.groups()
    if frame not in frames or int(n) not in frames[frame].arrays:
        return m[0]
    at, array, told = f"%llgrad.at.{name[1:]}", frames[frame].arrays[int(n)], told.rstrip()
    return (
        f"  {at} = getelementptr inbounds {frame}, {pointer} {base}, i32 0, i32 {n}{told}\n"
        f"  {at}.raw = load {byte}, {_to(byte, byte)} {at}, align 8{told}\n"
        f"  {name} = bitcast {byte} {at}.raw to {_to(array, byte)}{told} "
    )


def _made(m: re.Match[str], frame: _Frame, byte: str) -> str:
    """The frame, and its arrays beside it."""
    lines = [m[0]]
    for n, array in frame.arrays.items():
        own, at = f"{m[1]}.array.{n}", f"{m[1]}.at.{n}"
        lines += [
            f"  {own} = alloca {array}, align 16",
            f"  {own}.raw = bitcast {_to(array, byte)} {own} to {byte}",
            f"  {at} = getelementptr inbounds {frame.name}, {_to(frame.name, byte)} {m[1]}, i32 0, i32 {n}",
            f"  store {byte} {own}.raw, {_to(byte, byte)} {at}, align 8",
        ]
    return "\n".join(lines)
