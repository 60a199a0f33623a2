"""What all frontends share: what they hand on, how a compiler is found on PATH, asked for its version, and run."""

from __future__ import annotations

import atexit
import functools
import hashlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from llgrad.errors import CompilerError
from llgrad.frontends.common.consulted import Consulted
from llgrad.support.cache_dir import cache_folder, stamp

NEWEST = 22  # the newest LLVM whose IR is read
UNOPTIMISED = "-opt-bisect-limit=0"  # of any LLVM compiler: run its own passes, but none of LLVM's that is optional


class Compiled(Struct, frozen=True):
    """One module, bitcode or assembly; every file that was read for it (the source as it was given first, then absolute
    paths); libraries it needs; what else the compilation consulted.

    `is_runtime`: it holds bodies of a language's runtime. It is linked after all sources: the linker drops a body that
    nothing calls yet.
    """

    module: bytes
    dependencies: tuple[Path, ...]
    libraries: tuple[str, ...] = ()
    consulted: Consulted = Consulted()
    is_runtime: bool = False


class Source(Struct, frozen=True):
    """A file to compile, the user's flags for it, and the directory in which they mean what they say."""

    path: Path
    flags: tuple[str, ...] = ()
    directory: Path | None = None

    @property
    def folder(self) -> Path:
        """The directory in which its compiler runs."""
        return (self.directory or Path()).absolute()


class Language(Struct, frozen=True):
    """A frontend: what `load` knows of a language.

    name         as in `flags={"rust": […]}`;
    suffixes     of its files, lower case, or whole file names (`cargo.toml`);
    compile      all its files of one list to modules, as the frontend leaves them (raw) or optimised;
    identity     finds the compiler and says which it is; CompilerError where there is none;
    programs     what is looked for on PATH: the first that exists is used, a change of one makes caches stale;
    environment  variables that the compiler or the frontend reads.
    """

    name: str
    suffixes: tuple[str, ...]
    compile: Callable[[Sequence[Source], bool], list[Compiled]]
    identity: Callable[[], str] = lambda: ""
    programs: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()


class Tool(Struct, frozen=True):
    """A compiler that was found: its path, and what it says of its version."""

    path: str
    version: str


def find(
    language: str, names: Sequence[str], variable: str, question: Sequence[str], llvm: str, fix: str, least: int = 14
) -> Tool:
    """The first of `names` on PATH, or what the environment variable names, whose LLVM is of version `least` to 22.

    `llvm` is a pattern that finds LLVM's major version in the answer to `question`. CompilerError otherwise.
    """
    wanted = os.environ.get(variable, "")
    seen = []
    for name in (wanted,) if wanted else names:
        program = shutil.which(name)
        if program is None:
            continue
        said = known_answer((program, *question))
        found = re.search(llvm, said)
        if found and least <= int(found[1]) <= NEWEST:
            return Tool(program, said.strip())
        what = f"is built on LLVM {found[1]}" if found else "does not say which LLVM it is built on"
        seen.append(f"{program} {what}")
    place = f"{variable} names {wanted}, and " if wanted else ""
    cause = "; ".join(seen) + f"; LLVM {least} to {NEWEST} can be read" if seen else ""
    raise CompilerError(
        f"there is no {language} compiler that llgrad can use",
        cause=place + (cause or f"PATH has no {' or '.join([wanted] if wanted else names)}"),
        fix=f"{fix}, or set {variable} to one",
    )


def known_answer(command: Sequence[str]) -> str:
    """The `answer` of a command, asked again only if its program or the environment has changed."""
    program = shutil.which(command[0])
    return _answered(tuple(command), stamp(program), tuple(sorted(os.environ.items()))) if program else ""


@functools.lru_cache(256)
def _answered(command: tuple[str, ...], _stamp: str, _environment: tuple[tuple[str, str], ...]) -> str:
    return answer(command)


def answer(command: Sequence[str], cwd: Path | None = None) -> str:
    """What a command prints on standard output; empty if it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, errors="surrogateescape", timeout=60, check=False, cwd=cwd
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if not done.returncode else ""


def made_once(name: str, of: Path, make: Callable[[Path], object]) -> Path:
    """The shared library `name` that `make(path)` makes of the file `of`; kept with the cache for as long as that file
    stays the same, or for this process."""
    status = of.stat()
    stamp = hashlib.sha256(f"{of} {status.st_size} {status.st_mtime_ns}".encode()).hexdigest()[:16]
    folder = cache_folder()
    if folder is None:
        folder = Path(tempfile.mkdtemp(prefix="llgrad-"))
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made = folder / f"{name}-{stamp}.so"
    if not made.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".new-", dir=folder) as place:
            fresh = Path(place, made.name)
            make(fresh)
            fresh.replace(made)
    return made


def run(
    command: Sequence[str], source: Path, fix: str, *, cwd: Path | None = None,
    environment: Mapping[str, str] | None = None, noise: str = "", told: Sequence[str] = (),
) -> str:  # fmt: skip
    """Run a compiler and give what it printed; CompilerError with its own words, without lines that match `noise`.

    `told` are flags by which it tells on standard error what it does; that is given, and is in no error.
    """
    if told:
        done = _done([*command, *told], cwd, environment)
        if not done.returncode:
            return done.stderr.decode(errors="surrogateescape")
    done = _done(command, cwd, environment)
    if done.returncode:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()
        if noise:
            said = "\n".join(line for line in said.split("\n") if not re.search(noise, line)).strip()
        raise CompilerError(
            f"{source} does not compile\n{said}",
            cause=f"{_called(command)} ended with status {done.returncode}",
            fix=fix,
        )
    return "" if told else done.stdout.decode(errors="replace")


def _done(
    command: Sequence[str], cwd: Path | None, environment: Mapping[str, str] | None
) -> subprocess.CompletedProcess[bytes]:
    given = {**os.environ, **(environment or {})}
    try:
        return subprocess.run(command, capture_output=True, check=False, cwd=cwd, env=given)
    except OSError as error:
        raise CompilerError(f"{command[0]} cannot be run", cause=str(error), fix="check its installation") from error


def _called(command: Sequence[str]) -> str:
    """The compiler's name, that of a module of Python's (`python -m ziglang`) too."""
    return command[2] if list(command[1:2]) == ["-m"] else Path(command[0]).name


_FIRST = 1 << 20  # metadata numbers that no compiler reaches


def signatures(language: str, declared: Sequence[Sequence[str]]) -> str:
    """Metadata for the end of a module: name, parameter, type, … of functions as declared (see
    `signature.frontend_metadata`)."""
    nodes = ["!{" + ", ".join(f'!"{word}"' for word in words if '"' not in word) + "}" for words in declared]
    if not nodes:
        return "\n"
    numbers = [f"!{_FIRST + n}" for n in range(len(nodes))]
    lines = [f"{number} = {node}" for number, node in zip(numbers, nodes, strict=True)]
    return "\n".join(["", f"!llgrad.signatures.{language} = !{{{', '.join(numbers)}}}", *lines, ""])


_UNDEFINED = re.compile(r'^declare ([^\n@]*)@("[^"\n]+"|[\w.$]+)\((.*)\)[^\n()]*$', re.MULTILINE)


_INVOKED = re.compile(r"to label %(\S+) unwind")


def stopping(text: str, located: str = "$^") -> str:
    """The module with declared functions that never return, by what follows their calls, defined to fail.

    The last argument of those whose names have `located` in them says where the program failed (in Rust's way).
    """
    first = re.findall(r"^([\w.$-]+):[^\n]*\n\s*(\w+)", text, re.MULTILINE)
    ends = {label for label, word in first if word == "unreachable"} - {n for n, word in first if word != "unreachable"}

    def body(m: re.Match[str]) -> str:
        after = re.findall(rf"(?:call|invoke) [^\n]*?@{re.escape(m[2])}\([^\n]*\n\s*([^\n]+)", text)
        found = [w[1] in ends if (w := _INVOKED.match(line)) else line.startswith("unreachable") for line in after]
        if m[2].startswith("llvm.") or not found or not all(found):
            return m[0]
        result = re.sub(r"\b(?:noundef|nonnull|zeroext|signext|dso_local|swiftcc|hidden) ?", "", m[1]).strip()
        parameters = _SEPARATOR.split(m[3]) if m[3] else []
        place = bool(parameters) and parameters[-1].startswith("ptr") and re.search(located, m[2]) is not None
        what = f"i32 5, ptr %{len(parameters) - 1}" if place else "i32 4, ptr null"
        return (
            f"define internal {result} @{m[2]}({m[3]}) noreturn cold {{\n"
            f"  call void @llgrad_fail({what})\n  unreachable\n}}"
        )

    made = _UNDEFINED.sub(body, text)
    known = made == text or "declare void @llgrad_fail(" in made
    return made if known else made + "\ndeclare void @llgrad_fail(i32, ptr)\n"


_SEPARATOR = re.compile(r",\s*(?![^()]*\))")  # commas outside parentheses


def makefile_dependencies(rule: Path, source: Path, folder: Path) -> tuple[Path, ...]:
    """The files in a Makefile's first rule `module.bc: a.c b.h …`, the source first, the others absolute.

    Compilers name files relative to the directory that they ran in, which is `folder`. A missing rule is an OSError.
    """
    text = rule.read_text(errors="surrogateescape").replace("\\\n", " ").partition("\n")[0]
    words = filter(None, re.split(r"(?<!\\)\s+", text.partition(": ")[2]))
    names = (re.sub(r"\\([ #])", r"\1", word).replace("$$", "$") for word in words)
    others = dict.fromkeys(folder / name for name in names)
    others.pop(source.absolute(), None)
    return (source, *others)
