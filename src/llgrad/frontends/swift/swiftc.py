"""Swift: `swiftc -emit-ir`'s IR, from swiftc or from a `.ll` file.

Functions marked `@_cdecl("name")` are callable from elsewhere; they take pointers and numbers. The calling convention
becomes C's (`swiftself` and `swifterror` are plain pointers then). Reference counting, allocation and lazily made
globals have bodies in `runtime/swift/swift.c`; metadata, of which nothing is read, is empty. Elements of arrays of
`Double` and `Float` follow the header of their buffer: each access says what they are. What traps or never returns ends
in an error. Other functions of Swift's standard library that the compiler has not specialised stay undefined, so that
code that needs one is refused. What swiftc compiled is not kept in caches: it is not asked which modules it read.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Sequence
from pathlib import Path

from llgrad.frontends.c import clang
from llgrad.frontends.common.consulted import Consulted
from llgrad.frontends.common.tools import Compiled, Language, Source, Tool, find, run, stopping

_FIX = "correct the source, or pass the flags it needs (-I…, -D…)"
_BODIES = Path(__file__).parents[2] / "runtime" / "swift" / "swift.c"
# -emit-irgen is the IR before LLVM's passes: what Swift's own optimiser leaves
_FLAGS = ("-O", "-parse-as-library", "-wmo", "-enforce-exclusivity=unchecked", "-emit-irgen")


def swiftc() -> Tool:
    """The compiler; CompilerError that says how to get one. Swift 5.9 to 6.2 are built on LLVM 15 to 19."""
    fix = "install Swift from swift.org"
    return find("Swift", ("swiftc",), "LLGRAD_SWIFTC", ("--version",), r"Swift version [56]\.(\d+)", fix, least=0)


def _compile(sources: Sequence[Source], raw: bool) -> list[Compiled]:
    """All files are one module."""
    flags = list(dict.fromkeys(flag for source in sources for flag in source.flags))
    paths = tuple(source.path for source in sources)
    with tempfile.TemporaryDirectory(prefix="llgrad-") as folder:
        made = Path(folder, "module.ll")
        command = [swiftc().path, *_FLAGS, *flags, "-o", str(made), *(str(p.absolute()) for p in paths)]
        run(command, paths[0], _FIX)
        modules = [*finished([made.read_text()]), runtime(raw)]
    unknown = Consulted(untold="swiftc is not asked which modules it reads")
    return [Compiled(module, paths, consulted=unknown) for module in modules]


def runtime(raw: bool) -> bytes:
    """Swift's runtime as derivatives have it; without types, for an object is more than its header."""
    return clang.compile_file(Source(_BODIES, ("-g0", "-fno-strict-aliasing")), raw=raw, cxx=False).module


# --- the modules ------------------------------------------------------------------------------------------------------

_ELEMENT = re.compile(
    r"^(\s*)%\S+ = getelementptr (?:inbounds )?(?:nuw )?%TS([df]), ptr (%\S+), i64 [^\n]*$", re.MULTILINE
)
# generic functions of the library, specialised to elements of one type, and what they copy
_SPECIALISED = re.compile(r'^define [^\n@]*@"\$[^"\n]*S([df])_T\w+"\(.*?^\}', re.MULTILINE | re.DOTALL)
_COPY = re.compile(
    r"^(\s*)(?:tail )?call void @llvm\.mem(?:cpy|move)\.[\w.]+\(ptr (?:align \d+ )?(%\S+), ptr (?:align \d+ )?(%\S+),"
    r"[^\n]*$", re.MULTILINE,
)
_MADE_BY = re.compile(
    r"^define [^\n@]*@(__swift_instantiateConcreteTypeFromMangledName\w*)\(.*?^\}", re.MULTILINE | re.DOTALL
)
_METADATA = re.compile(
    r'^(@(?!_swiftEmpty)(?:"[^"\n]+"|[\w.$]+)) = external [^\n]*?\b(?:global|constant) %swift\.[^\n]*$', re.MULTILINE
)
_USED = re.compile(r"^@llvm\.(?:compiler\.)?used = [^\n]*\n", re.MULTILINE)
_ACCESSES = re.compile(r"^\s+call void @swift_(?:beginAccess|endAccess)\([^\n]*\n", re.MULTILINE)


def is_swift(text: str) -> bool:
    """Is this what swiftc prints?"""
    return "%swift." in text and re.search(r'@"?\$[sS]', text) is not None


def finished(texts: Sequence[str]) -> list[bytes]:
    """The modules in C's conventions, without metadata."""
    return [_plain(text).encode() for text in texts]


def _plain(text: str) -> str:
    text = _ACCESSES.sub("", _USED.sub("", text))
    text = re.sub(r"(?<![%@\w.])(?:swiftcc|swiftself|swifterror|swiftasync) ", "", text)
    text = _MADE_BY.sub(r"define linkonce_odr hidden ptr @\1(ptr %name) alwaysinline {\n  ret ptr %name\n}", text)
    text = _METADATA.sub(r"\1 = internal global [64 x i64] zeroinitializer", text)
    text = re.sub(r"i64 ptrtoint \(ptr @_swiftImmortalRefCount to i64\)", "i64 2147483647", text)
    text = stopping(text.replace("call void @llvm.trap()", "call void @llgrad_fail(i32 4, ptr null)"))
    if "@llgrad_fail(" in text and "declare void @llgrad_fail(" not in text:
        text += "\ndeclare void @llgrad_fail(i32, ptr)\n"
    text = _SPECIALISED.sub(lambda m: _COPY.sub(lambda c: _said(m[1], c[1], c[2], c[3], c[0]), m[0]), text)
    text = _ELEMENT.sub(lambda m: _said(m[2], m[1], m[3], m[3], m[0]), text)
    return text + "".join(f"\ndeclare void @__enzyme_{name}(ptr, i64)" for name in _NAMES.values()) + "\n"


def _said(element: str, indent: str, first: str, second: str, line: str) -> str:
    """A line, and before it that floats are behind the pointers."""
    name = _NAMES[element]
    pointers = dict.fromkeys((first, second))
    said = [f"{indent}call void @__enzyme_{name}(ptr {p}, i64 {_SIZES[element]})\n" for p in pointers]
    return "".join(said) + line


_NAMES, _SIZES = {"d": "double", "f": "float"}, {"d": 8, "f": 4}


SWIFT = Language("swift", (".swift",), _compile, lambda: swiftc().version, ("swiftc",), ("LLGRAD_SWIFTC",))
