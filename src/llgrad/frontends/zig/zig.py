"""Zig: `export fn`s of a file, compiled by zig (the program on PATH, else the `ziglang` wheel's).

Exported names, which are aliases in zig's IR, become the functions' own; `f80`s are passed as C passes them. What Zig's
standard library computes by looking at bits becomes calls of libm's (`libm_calls`).
"""

from __future__ import annotations

import importlib.util
import itertools
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from llgrad.errors import CompilerError
from llgrad.frontends.common.consulted import Consulted
from llgrad.frontends.common.tools import NEWEST, UNOPTIMISED, Compiled, Language, Source, answer, known_answer, run
from llgrad.frontends.zig.libm_calls import by_libm
from llgrad.frontends.zig.panics import failing

_FIX = "correct the source, or pass the flags it needs (-I…, --dep …, -M…)"
_FLAGS = (
    "-O", "ReleaseFast", "-mcpu=baseline", "-fllvm", "-lc", "-fno-emit-bin", "-fno-strip", "-fno-error-tracing",
    "-fno-unwind-tables", "-fno-stack-check", "-fno-sanitize-c", "-fno-valgrind",
)  # fmt: skip
_RAW = (f"-f{UNOPTIMISED[1:]}",)


def zig() -> tuple[str, ...]:
    """The words that start zig; CompilerError that says how to get it."""
    wanted = os.environ.get("LLGRAD_ZIG", "")
    program = shutil.which(wanted or "zig")
    wheel = importlib.util.find_spec("ziglang") is not None and not wanted
    tries: list[tuple[str, ...]] = [(program,)] if program else []
    tries += [(sys.executable, "-m", "ziglang")] if wheel else []
    seen = []
    for words in tries:
        found = re.search(r"clang version (\d+)", known_answer((*words, "cc", "--version")))
        if found and 17 <= int(found[1]) <= NEWEST:
            return words
        seen.append(f"{' '.join(words)} is built on LLVM {found[1] if found else 'of an unknown version'}")
    raise CompilerError(
        "there is no Zig compiler that llgrad can use",
        cause="; ".join(seen) or "PATH has no zig, and the ziglang package is not installed",
        fix="pip install ziglang, or set LLGRAD_ZIG to a zig",
    )


def _identity() -> str:
    return f"zig {answer((*zig(), 'version')).strip()}"


def _compile(sources: Sequence[Source], raw: bool) -> list[Compiled]:
    return [_file(source, raw) for source in sources]


def _file(source: Source, raw: bool) -> Compiled:
    with tempfile.TemporaryDirectory(prefix="llgrad-") as folder:
        made = Path(folder, "module.ll")
        command = [*zig(), "build-obj", *_FLAGS, *(_RAW if raw else ()), f"-femit-llvm-ir={made}", *source.flags]
        run([*command, str(source.path.absolute())], source.path, _FIX, cwd=Path(folder), noise="^BISECT:")
        read, consulted = _inputs(source, Path(folder))
        return Compiled(finished(made.read_text()), (source.path, *read), consulted=consulted)


_UPDATE, _INPUTS = 1, 6  # messages to zig's server, and from it
_GIVEN = b"\x01"  # before a file's name: it is relative to the folder that zig runs in, and not of Zig's own


def _inputs(source: Source, folder: Path) -> tuple[list[Path], Consulted]:
    """Files that a source imports and embeds, as zig's server tells that compiles it once more, up to the IR."""
    if "ZIG_LIB_DIR" in os.environ or "--zig-lib-dir" in source.flags:
        return [], Consulted(untold="another standard library may change without its compiler")
    command = [*zig(), "build-obj", *_FLAGS, "--listen=-", *source.flags, str(source.path.absolute())]
    update = struct.pack("<IIII", _UPDATE, 0, 0, 0)  # and what ends the server
    told = subprocess.run(command, input=update, capture_output=True, check=False, cwd=folder).stdout
    names = [name for kind, body in _messages(told) if kind == _INPUTS for name in body.split(b"\0") if name]
    given = [folder / os.fsdecode(name[1:]) for name in names if name.startswith(_GIVEN)]
    if source.path.absolute() not in given:
        return [], Consulted(untold="zig does not tell which files it reads")
    return [path for path in given if path != source.path.absolute()], Consulted()


def _messages(told: bytes) -> Iterator[tuple[int, bytes]]:
    """Kind and body of the messages that zig's server sends."""
    at = 0
    while at + 8 <= len(told):
        kind, size = struct.unpack_from("<II", told, at)
        yield kind, told[at + 8 : at + 8 + size]
        at += 8 + size


# --- the module -------------------------------------------------------------------------------------------------------

_ALIAS = re.compile(r"^@([-\w.$]+) = (?:[a-z_]+ )*alias [^\n]*, ptr @([-\w.$]+)\n", re.MULTILINE)

# `std.mem.swap` goes from byte to byte, which all sorting is made of
_SWAP = re.compile(
    r"^(define internal (?:fastcc )?void @mem\.swap__\w+\(ptr [^\n]*%0, ptr [^\n]*%1\)[^\n]*\{\n)(.*?)^\}\n",
    re.MULTILINE | re.DOTALL,
)
_LENGTH = re.compile(r"insertvalue \{ ptr, i64 \} %\d+, i64 (\d+), 1")
# Pages are memory like any other, and each allocation from an arena is a node of the arena's list: what lies where is
# then known (in the library, one node holds many allocations, at places that only the program knows)
_ALLOCATORS = re.compile(
    r"^(define internal [^\n]*@heap\.(PageAllocator\.(?:map|unmap|realloc)|ArenaAllocator\.(?:alloc|free|resize|remap))"
    r"\([^\n]*\{\n).*?^\}\n", re.MULTILINE | re.DOTALL,
)  # fmt: skip
_BODIES = {
    "ArenaAllocator.alloc": """entry:
  %child = load ptr, ptr %0, align 8
  %at.table = getelementptr inbounds i8, ptr %0, i64 8
  %table = load ptr, ptr %at.table, align 8
  %allocate = load ptr, ptr %table, align 8
  %usual = icmp ule i6 %2, 3
  br i1 %usual, label %small, label %large
small:
  %s.end = add i64 %1, 25
  %s.bytes = and i64 %s.end, -2
  %s.node = call fastcc ptr %allocate(ptr %child, i64 %s.bytes, i6 3, i64 %3)
  %s.data = getelementptr inbounds i8, ptr %s.node, i64 24
  br label %made
large:
  %exponent = zext i6 %2 to i64
  %alignment = shl i64 1, %exponent
  %header = call i64 @llvm.umax.i64(i64 %alignment, i64 32)
  %l.end = add i64 %1, %header
  %l.even = add i64 %l.end, 1
  %l.bytes = and i64 %l.even, -2
  %l.node = call fastcc ptr %allocate(ptr %child, i64 %l.bytes, i6 %2, i64 %3)
  %l.data = getelementptr inbounds i8, ptr %l.node, i64 %header
  br label %made
made:
  %bytes = phi i64 [ %s.bytes, %small ], [ %l.bytes, %large ]
  %node = phi ptr [ %s.node, %small ], [ %l.node, %large ]
  %data = phi ptr [ %s.data, %small ], [ %l.data, %large ]
  %none = icmp eq ptr %node, null
  br i1 %none, label %failed, label %linked
linked:
  %list = getelementptr inbounds i8, ptr %0, i64 16
  %next = load ptr, ptr %list, align 8
  store i64 %bytes, ptr %node, align 8
  %at.end = getelementptr inbounds i8, ptr %node, i64 8
  store i64 %1, ptr %at.end, align 8
  %at.next = getelementptr inbounds i8, ptr %node, i64 16
  store ptr %next, ptr %at.next, align 8
  store ptr %node, ptr %list, align 8
  ret ptr %data
failed:
  ret ptr null
""",
    "ArenaAllocator.free": "  ret void\n",
    "ArenaAllocator.resize": "  %shrinks = icmp ule i64 %4, %2\n  ret i1 %shrinks\n",
    "ArenaAllocator.remap": """  %shrinks = icmp ule i64 %4, %2
  %same = select i1 %shrinks, ptr %1, ptr null
  ret ptr %same
""",
    "PageAllocator.map": """  %exponent = zext i6 %1 to i64
  %wanted = shl i64 1, %exponent
  %large = icmp ugt i64 %wanted, 4096
  %alignment = select i1 %large, i64 %wanted, i64 4096
  %made = call ptr @aligned_alloc(i64 %alignment, i64 %0)
  ret ptr %made
""",
    "PageAllocator.unmap": "  call void @free(ptr %0)\n  ret void\n",
    "PageAllocator.realloc": "  ret ptr null\n",  # which says that it has to be moved
}
_NEEDED = {
    "llvm.memcpy.p0.p0.i64": "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
    "aligned_alloc": "declare noalias ptr @aligned_alloc(i64, i64)",
    "free": "declare void @free(ptr)",
    "llvm.umax.i64": "declare i64 @llvm.umax.i64(i64, i64)",
}


_FILE = re.compile(r'^(!\d+) = !DIFile\(filename: "([^"\n]*)", directory: "([^"\n]*)"', re.MULTILINE)
_PLACE = re.compile(r"^(!\d+) = distinct !DISubprogram\([^\n]*? file: (!\d+),", re.MULTILINE)
_LIKE_THE_LIBRARY = r'@(?:"((?:math|mem|heap|debug)\.[^"\n]+)"|((?:math|mem|heap|debug)\.[-\w.$]+))'
_SUCH = re.compile(rf"^define internal [^\n@]*{_LIKE_THE_LIBRARY}\([^\n]* !dbg (!\d+) \{{$", re.MULTILINE)


def _renamed(text: str) -> str:
    """A program's own functions that are called as the library's are (those of a `math.zig`) get names of their own."""
    library = {n for n, name, folder in _FILE.findall(text) if re.search("/lib/([^/]+/){0,2}std/", f"{folder}/{name}")}
    places = dict(_PLACE.findall(text))
    own = {quoted or plain for quoted, plain, n in _SUCH.findall(text) if n in places and places[n] not in library}

    def name(m: re.Match[str]) -> str:
        return m[0].replace("@", "@own.").replace('own."', '"own.') if (m[1] or m[2]) in own else m[0]

    return re.sub(_LIKE_THE_LIBRARY, name, text) if own else text


def _allocating(m: re.Match[str]) -> str:
    """One of these bodies, in a function without debug info: calls would need a place in the source."""
    head = re.sub(r" !dbg !\d+", "", m[1])
    return f"{head}{_BODIES[m[2]]}}}\n"


def _swapped(m: re.Match[str]) -> str:
    """Two pieces of memory exchanged whole."""
    lengths = set(_LENGTH.findall(m[2]))
    if len(lengths) != 1:
        return m[0]
    pairs = (("%kept", "%0"), ("%0", "%1"), ("%1", "%kept"))
    size = lengths.pop()
    copies = (f"  call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {of}, i64 {size}, i1 false)\n" for to, of in pairs)
    return f"{m[1]}  %kept = alloca [{size} x i8], align 16\n{''.join(copies)}  ret void\n}}\n"


_LONG = r"ptr (?:[a-z]+ )*byval\(x86_fp80\) align 16(?: [a-z]+(?:\([^()]*\))?)*"
_TAKES_LONG = re.compile(rf"^(define [^\n]*{_LONG}[^\n]*\n[^\n]*:[^\n]*\n)(.*?^\}}\n)", re.MULTILINE | re.DOTALL)
_GIVES_LONG = re.compile(rf"^ [^\n]*\bcall [^\n]*{_LONG}[^\n]*\n", re.MULTILINE)


def _taking_long(m: re.Match[str]) -> str:
    """A function that is passed the values of `f80`s, and puts them where zig has their addresses."""
    names = re.findall(rf"{_LONG} %(\d+)", m[1])
    whole = re.sub(rf"{_LONG} %(\d+)", r"x86_fp80 %long.value.\1", m[1])
    made = "  %{0} = alloca x86_fp80, align 16\n  store x86_fp80 %long.value.{0}, ptr %{0}, align 16\n"
    kept = map(made.format, names)
    return re.sub(rf"%({'|'.join(names)})(?![\w.])", r"%long.\1", "".join((whole, *kept, m[2])))


def _long_doubles(text: str) -> str:
    """`f80`s are passed as values, as other compilers do: zig has them `byval`, which is the same to the machine."""
    text, loaded = _TAKES_LONG.sub(_taking_long, text), itertools.count()

    def given(m: re.Match[str]) -> str:
        loads: list[str] = []

        def load(of: re.Match[str]) -> str:
            loads.append(f"  %long.given.{(n := next(loaded))} = load x86_fp80, ptr {of[1]}, align 16\n")
            return f"x86_fp80 %long.given.{n}"

        call = re.sub(rf"{_LONG} ([%@][-\w.$]+)", load, m[0])
        return "".join((*loads, call))

    return re.sub(_LONG, "x86_fp80", _GIVES_LONG.sub(given, text))


def finished(text: str) -> bytes:
    """The module with functions under their exported names, and libm in place of zig's own mathematics."""
    text = _long_doubles(_renamed(text))
    text = failing(_ALLOCATORS.sub(_allocating, _SWAP.sub(_swapped, text)))
    for name, declaration in _NEEDED.items():
        known = re.search(rf"^(?:declare|define) [^\n]*@{re.escape(name)}\(", text, re.MULTILINE)
        if f"@{name}(" in text and not known:
            text += f"\n{declaration}\n"
    text = by_libm(text)
    for exported, inner in _ALIAS.findall(text):
        if re.search(rf"^define internal [^\n]*@{re.escape(inner)}\(", text, re.MULTILINE):
            text = re.sub(rf"^@{re.escape(exported)} = [^\n]*\n", "", text, flags=re.MULTILINE)
            text = re.sub(rf"^define internal ([^\n]*@{re.escape(inner)}\()", r"define \1", text, flags=re.MULTILINE)
            text = re.sub(rf"@{re.escape(inner)}(?![-\w.$])", f"@{exported}", text)
    return text.encode()


ZIG = Language("zig", (".zig",), _compile, _identity, ("zig",), ("LLGRAD_ZIG",))
