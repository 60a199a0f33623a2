"""Nim: to C by nim, from there by clang.

Procedures need `{.exportc.}`; types and names are those of the C that nim writes. Memory is counted (`--mm:arc`) and
comes from malloc. The C reads memory as several types, as nim's own flags for C compilers allow. Code at the top level
of modules (`NimMain`) runs when the program is loaded. What nim's C says of types when it starts is constant here, so
that LLVM sees which method is called.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from llgrad.errors import CompilerError, UnsupportedError
from llgrad.frontends.c import clang
from llgrad.frontends.common.consulted import Consulted, ahead, looked_for, together, upwards
from llgrad.frontends.common.tools import Compiled, Language, Source, answer, run
from llgrad.frontends.nim.exceptions import CURRENT, entered

_FIX = "correct the source, or pass the flags it needs (--path:…, -d:…)"
_FLAGS = (
    "--cc:clang", "--noMain", "--noLinking", "--app:staticlib", "--mm:arc", "-d:useMalloc", "-d:noSignalHandler",
    "--compileOnly", "--lineDir:on", "--hints:off", "--exceptions:goto", "--stackTrace:off", "--lineTrace:off",
    "--threads:off", "-d:nimBetterRun",
)  # fmt: skip
_UNCHECKED = "-d:danger"  # unless the flags ask for another build
_BUILD = re.compile(r"--?(?:d|define|u|undef):(?:release|debug|danger)")
_MEMORY = re.compile(r"--(?:mm|gc):(?!arc$|orc$)(\w+)")
_JUMPS = re.compile(r"--exceptions[:=]setjmp", re.IGNORECASE)


def nim() -> str:
    """The compiler; CompilerError that says how to get one."""
    wanted = os.environ.get("LLGRAD_NIM", "nim")
    program = shutil.which(wanted)
    if program is None:
        raise CompilerError(
            "there is no Nim compiler", cause=f"PATH has no {wanted}",
            fix="install nim (Debian: apt install nim), or set LLGRAD_NIM to one",
        )  # fmt: skip
    return program


def _identity() -> str:
    return f"{answer((nim(), '--version')).partition(chr(10))[0]} {clang.find_compiler().identity}"


def _compile(sources: Sequence[Source], raw: bool) -> list[Compiled]:
    return [compiled for source in sources for compiled in _file(source, raw)]


def _file(source: Source, raw: bool) -> list[Compiled]:
    with tempfile.TemporaryDirectory(prefix="llgrad-") as folder:
        command = [nim(), "c", *_flags(source.flags), f"--nimcache:{folder}", str(source.path.absolute())]
        run(command, source.path, _FIX)
        plan = json.loads(next(Path(folder).glob("*.json")).read_text())
        includes = [word for word in shlex.split(plan["compile"][0][1]) if word.startswith("-I")]
        library = includes[0][2:]
        texts = {Path(name): Path(name).read_text() for name, _ in plan["compile"] if name.startswith(folder)}
        beside = Path(folder, "llgrad_beside.c")
        own = [path for path in texts if not _place(path, source.path).is_relative_to(library)]
        written = {**entered(_finished(texts), own), beside: _beside(tuple(texts.values()))}
        for path, text in written.items():
            path.write_text(text)
        units = [*written, *(Path(name) for name, _ in plan["compile"] if not name.startswith(folder))]
        flags = (*includes, "-w", "-fno-strict-aliasing")
        made = [clang.compile_file(Source(path, flags), raw=raw, cxx=False) for path in units]
        told, consulted = _inputs(plan, source, library)
        read = (p for p in (*told, *(p for c in made for p in c.dependencies)) if not p.is_relative_to(folder))
        files = (source.path, *(p for p in dict.fromkeys(read) if p != source.path.absolute()))
        both = together((consulted, *(c.consulted for c in made)))
        return [replace(c, dependencies=files, consulted=both) for c in made]


_RUNS = ("staticexec", "gorge")  # what runs programs while nim compiles


def _inputs(plan: Mapping[str, Any], source: Source, library: str) -> tuple[list[Path], Consulted]:
    """Files that nim read, and where it looks for modules and configuration before it finds them."""
    main = source.path.absolute()
    read = [source.folder / name for name in (*(name for name, _ in plan.get("depfiles", ())), *plan["configFiles"])]
    if main not in read:
        return [], Consulted(untold="nim does not tell which files it reads")
    own = [path for path in read if not path.is_relative_to(library) and path.suffix in (".nim", ".nims")]
    if any(word in _plain(path) for path in own for word in _RUNS):
        return [], Consulted(untold="what the program runs while it is compiled may read anything")
    given = (str(source.folder / m[1]) for m in map(_SEARCHED.fullmatch, source.flags) if m)
    places = tuple(dict.fromkeys((*(str(path.parent) for path in (main, *own)), *given)))
    everywhere = (*places, *dict.fromkeys(str(path.parent) for path in read))
    home = Path.home() / ".config" / "nim"
    names = [main.with_name(f"{main.name}.cfg"), main.with_suffix(".nims"), main.with_suffix(".nimcfg")]
    around = upwards(main.parent, "nim.cfg", "config.nims")
    files, missing = looked_for([*names, *around, home / "nim.cfg", home / "config.nims"])
    return [*read, *files], Consulted((*missing, *ahead(read, everywhere, places)))


_SEARCHED = re.compile(r"(?:-p|--path)[:=](.*)")


def _plain(path: Path) -> str:
    """The text of a file, with names as nim compares them."""
    return path.read_text(errors="replace").replace("_", "").lower()


def _flags(given: Sequence[str]) -> tuple[str, ...]:
    """nim's flags; UnsupportedError where memory is to be managed by what cannot see a derivative's memory, or where
    exceptions are jumps."""
    for manager in (m[1] for m in map(_MEMORY.fullmatch, given) if m):
        raise UnsupportedError(
            f"--mm:{manager} is not supported",
            cause="it would not know what a derivative keeps of the program's memory",
            fix="leave it out: with --mm:arc and --mm:orc the values of a program are the same",
        )  # fmt: skip
    if any(map(_JUMPS.fullmatch, given)):
        raise UnsupportedError(
            "--exceptions:setjmp is not supported", cause="what jumps back is not seen in the code that is reversed",
            fix="leave it out: with nim's own --exceptions:goto a program does the same",
        )  # fmt: skip
    build = () if any(map(_BUILD.fullmatch, given)) else (_UNCHECKED,)
    return (*_FLAGS, *build, *given)


def _place(unit: Path, source: Path) -> Path:
    """The file of which nim has made a unit, whose name says where that is, seen from the program's."""
    name = unit.name.removeprefix("@m").removesuffix(".c").replace("@s", "/").replace("@c", ":")
    return Path(os.path.normpath(source.absolute().parent / name))


# A sequence that grows: nim copies its header and its elements as one piece; here only elements are copied, and where
# it is known whose they are
_GROWS = re.compile(
    r"^N_LIB_PRIVATE (N_NIMCALL\(void\*, prepareSeqAdd(?:__\w+)?\)"
    r"\(NI len, void\* p, NI addlen, NI elemSize, NI elemAlign\) \{)", re.MULTILINE,
)  # fmt: skip
_GROWN = r"""
N_LIB_PRIVATE __attribute__((always_inline)) \1
  if (elemAlign <= 16) {
    const NI shared = (NI)1 << 62, header = elemAlign > 8 ? elemAlign : 8;
    NI had = p ? *(NI*)p & ~shared : 0, room = had <= 0 ? 4 : had < 32768 ? had * 2 : had * 3 / 2;
    char* made;
    if (addlen <= 0) return p;
    room = room < len + addlen ? len + addlen : room;
    made = __builtin_malloc(header + room * elemSize);
    if (p) __builtin_memcpy(made + header, (char*)p + header, len * elemSize);
    __builtin_memset(made + header + len * elemSize, 0, (room - len) * elemSize);
    if (p && !(*(NI*)p & shared)) __builtin_free(p);
    *(NI*)made = room;
    return made;
  }
"""
# A method of no object: an error, not an exception that the program builds
_NO_OBJECT = re.compile(r"^(N_LIB_PRIVATE N_NIMCALL\(void, chckNilDisp\w*\)\(void\* p\) \{)", re.MULTILINE)
_FAILS = r"""
extern void llgrad_fail(int, void*) __attribute__((noreturn));
\1 if (p == NIM_NIL) llgrad_fail(4, 0); return;
"""
# What is asked before an exception is raised: nobody, unless the program says so
_HOOK = re.compile(r"^N_LIB_PRIVATE (?=\w+ (\w*RaiseHook\w*);$)", re.MULTILINE)


# Types: what the start of the program writes into them, and what destroys an object of any type
_TYPE = re.compile(r"^(?:extern|N_LIB_PRIVATE) (?=TNimTypeV2 NTIv2__\w+;$)", re.MULTILINE)
_FIELD = re.compile(r'\b(NTIv2__\w+)\.(\w+) = ((?:"(?:[^"\\]|\\.)*"|[^;"])*);')
# orc is arc and a list of what cycles may begin with: without the list, cycles are not collected, as with arc
_REMEMBERS = re.compile(r"^(N_LIB_PRIVATE N_NOINLINE\(void, rememberCycle__\w+\)\([^\n{]*\) \{)", re.MULTILINE)
_START = re.compile(r"^N_LIB_PRIVATE N_NIMCALL\(void, \w+_DatInit000\)\(void\) \{", re.MULTILINE)
_DESTROYED = re.compile(r"\(\(\w+\) \(\(\*\(\*rti\)\)\.destructor\)\)\(p\);")


# Addresses that nim's runtime computes as numbers: headers lie before objects, 8 or 16 bytes before, as almost
# all objects are aligned to no more
_ADDRESS = re.compile(r"\b(plus|minus)percent___system_\d+\(\(\(NI\) \(ptrdiff_t\) \((\w+)\)\), ")
_DISPOSED = re.compile(
    r"^N_LIB_PRIVATE N_NIMCALL\(void, nimRawDispose\)\(void\* p, NI alignment\) \{"
    r"(?=[^}]*?\balign__system_\d+\(\(\(NI\) (\d+)\), alignment\))", re.MULTILINE,
)  # fmt: skip
_OFFSETS = """#define llgrad_plus(p, n) ((NI) (ptrdiff_t) ((char*) p + (n)))
#define llgrad_minus(p, n) ((NI) (ptrdiff_t) ((char*) p - (n)))
"""
_DISPOSES = r"""\g<0>
  if (alignment <= \1) { __builtin_free((char*) p - \1); return; }
  if (alignment <= 16) { __builtin_free((char*) p - 16); return; }
"""
# An element of a sequence lies behind the header: an index without a sign says so, and a store there leaves the header
# alone. Not where a field of the same name is a pointer, which goes both ways.
_ELEMENT = re.compile(r"\.p(?:->|\)\.)data\[")
_POINTER = re.compile(r"\* ?data;")


def _unsigned(text: str) -> str:
    """The C with indices of elements of sequences as numbers without a sign."""
    if _POINTER.search(text):
        return text
    ends = [m.end() for m in _ELEMENT.finditer(text)]
    put = sorted([*((at, "(NU)(") for at in ends), *((_closed(text, at), ")") for at in ends)])
    pieces, at = [], 0
    for place, what in put:
        pieces += [text[at:place], what]
        at = place
    return "".join([*pieces, text[at:]])


def _closed(text: str, start: int) -> int:
    """Where the bracket is closed that was opened before `start`."""
    depth, at = 1, start
    while depth:
        depth += (text[at] == "[") - (text[at] == "]")
        at += 1
    return at - 1


def _finished(texts: Mapping[Path, str]) -> dict[Path, str]:
    """The C that nim wrote, with sequences that grow element by element, constant types, and a start."""

    def hook(m: re.Match[str]) -> str:
        return "static " if sum(m[1] in text for text in texts.values()) == 1 else m[0]

    def edited(text: str) -> str:
        text = _HOOK.sub(hook, _NO_OBJECT.sub(_FAILS, _GROWS.sub(_GROWN, text)))
        text = _DESTROYED.sub("{ extern void llgrad_destroy(void*, void*); llgrad_destroy(*rti, p); }", text)
        text = _REMEMBERS.sub(r"\1 return;", text)
        text = _OFFSETS + _DISPOSED.sub(_DISPOSES, _ADDRESS.sub(r"llgrad_\1(\2, ", text))
        return _with_types(_unsigned(text))

    return {path: edited(text) for path, text in texts.items()}


def _with_types(text: str) -> str:
    start = _START.search(text)
    fields: dict[str, list[str]] = {}
    for name, field, value in _FIELD.findall(text[start.end() :] if start else ""):
        fields.setdefault(name, []).append(f".{field} = {value}")
    if start is not None:
        types = "".join(f"const TNimTypeV2 {name} = {{{', '.join(values)}}};\n" for name, values in fields.items())
        text = text[: start.start()] + types + start[0] + _FIELD.sub("", text[start.end() :])
    return _TYPE.sub("extern const ", text)


def _beside(texts: Collection[str]) -> str:
    """A unit that starts the program, and destroys objects of the types that have something to destroy."""
    cases = []
    for name, field, value in (found for text in texts for found in _FIELD.findall(text)):
        if field == "destructor" and not value.endswith("NIM_NIL"):
            function = value.rpartition(")")[2]
            cases.append(f"extern const char {name}[]; extern void {function}(void*); if (t == {name}) {function}(p);")
    destroy = f"void llgrad_destroy(const void* t, void* p) {{ {' '.join(cases)} }}\n"
    caught = "".join(f"{{ extern void* {m[1]}; {m[1]} = 0; }} " for text in texts for m in CURRENT.finditer(text))
    start = f"__attribute__((constructor)) static void start(void) {{ NimMain(); {caught}}}\n"
    return f"{destroy}void NimMain(void);\n{start}"


NIM = Language("nim", (".nim",), _compile, _identity, ("nim", *clang.C.programs), ("LLGRAD_NIM", *clang.C.environment))
