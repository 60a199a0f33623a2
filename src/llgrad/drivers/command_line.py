"""A compiler's command line, read: `read(words)` gives its items in order, each with the role that it plays.

Follows clang's driver, which follows gcc's. Contract: nothing is lost (the words of all items, in order, are the words
that were given, less llgrad's own), and what is not known is an option for compiler and linker alike. Limits: options
that clang itself takes in two words and that are not in `_SEPARATE` are read as an option and an input.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum, auto
from pathlib import Path

from msgspec import Struct

from llgrad.autodiff.requests.checkpoint_schedule import said
from llgrad.errors import ArgumentError, SourceError


class Role(Enum):
    """What a word is for."""

    INPUT = auto()  # a file, or `-` for standard input
    LIBRARY = auto()  # -lname
    BOTH = auto()  # an option for compiler and linker
    COMPILE = auto()  # an option for preprocessor and compiler alone
    LINK = auto()  # an option for the linker alone
    DEPENDENCY = auto()  # a Makefile rule to be written beside: -MD and its company
    OUTPUT = auto()  # -o
    OBJECT = auto()  # -c
    ELSEWHERE = auto()  # anything that is clang's alone: -E, -S, -M, --version, …


class Item(Struct, frozen=True):
    """One argument with what belongs to it; `language` of an input is what -x said before it."""

    words: tuple[str, ...]
    role: Role
    language: str = ""

    @property
    def value(self) -> str:
        """The last word, for an option in one word without its letter."""
        return self.words[1] if len(self.words) > 1 else self.words[0][2 if self.role is not Role.INPUT else 0 :]


class CommandLine(Struct, frozen=True):
    """All items, and llgrad's own options: `--level N`, `--derivative NAME`, `--wrt NAMES`, `--checkpoint HOW`,
    `--denormals flush`, `--serial`."""

    items: tuple[Item, ...]
    before: int = 2
    derivatives: tuple[str, ...] = ()
    wrt: tuple[str, ...] | None = None
    checkpoint: tuple[tuple[str, str], ...] = ()
    denormals: str | None = None
    serial: bool = False

    def of(self, *roles: Role) -> list[Item]:
        """The items that play one of these roles."""
        return [i for i in self.items if i.role in roles]

    def words(self, *roles: Role) -> list[str]:
        """Their words."""
        return [w for i in self.of(*roles) for w in i.words]

    @property
    def inputs(self) -> list[Item]:
        return self.of(Role.INPUT)

    @property
    def output(self) -> str | None:
        return next((i.value for i in reversed(self.of(Role.OUTPUT))), None)

    @property
    def level(self) -> int | None:
        """The level that -O… asks for, None where it does not occur."""
        found = [m[1] for w in self.words(Role.BOTH) if (m := re.fullmatch(r"-O(\d+|s|z|g|fast|)", w))]
        named = {"": 1, "g": 1, "s": 2, "z": 2, "fast": 3}
        return (named[found[-1]] if found[-1] in named else min(int(found[-1]), 3)) if found else None

    @property
    def debug(self) -> bool:
        """Whether debug info is asked for."""
        found = [w for w in self.words(Role.BOTH) if re.fullmatch(r"-g(?!no-|z|split)[\w=-]*", w)]
        return bool(found) and found[-1] != "-g0"

    @property
    def cpu(self) -> str | None:
        """What -march and the -m… of x86 ask for, as `llvm` names it; None where they do not occur."""
        words = self.words(Role.BOTH)
        named = [w.removeprefix("-march=") for w in words if w.startswith("-march=")]
        features = [f"{'-' if m[1] else '+'}{m[2]}" for w in words if (m := _FEATURE.fullmatch(w))]
        return ",".join([named[-1] if named else "x86-64", *features]) if named or features else None

    @property
    def vector_math(self) -> bool:
        """Whether loops may call libmvec: clang's `-fveclib=libmvec`."""
        found = [w for w in self.words(Role.BOTH) if w.startswith("-fveclib=")]
        return bool(found) and found[-1] == "-fveclib=libmvec"

    @property
    def strict(self) -> bool:
        """Whether sums and products stay as they are written, those of adjoints too: clang's `-ffp-contract=off`."""
        found = [w for w in self.words(Role.BOTH) if w.startswith("-ffp-contract=")]
        return bool(found) and found[-1] == "-ffp-contract=off"

    @property
    def instrumented(self) -> bool:
        """Whether clang must generate the code, because it adds to it."""
        adds = re.compile(r"-f(sanitize|profile|coverage|xray|instrument)|--coverage")
        return any(adds.match(w) for w in self.words(Role.BOTH))


_FEATURE = re.compile(
    r"-m(no-)?((?:avx|sse|ssse|fma|bmi|f16c|lzcnt|popcnt|aes|pclmul|sha|adx|movbe|rdrnd|rdseed|xsave)[\w.]*)"
)
_SEPARATE: dict[Role, str] = {
    Role.OUTPUT: "-o --output",
    Role.COMPILE: "-I -D -U -A -include -imacros -isystem -iquote -idirafter -iprefix -iwithprefix -iwithprefixbefore "
    "-cxx-isystem -include-pch -Xpreprocessor",
    Role.DEPENDENCY: "-MF -MT -MQ -MJ",
    Role.LINK: "-L -T -u -z -e -h -Xlinker -rpath -soname -dynamic-linker",
    Role.LIBRARY: "-l",
    Role.BOTH: "-x -Xclang -Xassembler -mllvm -target -arch --param -B -V -b -G -aux-info -isysroot --sysroot "
    "-gcc-toolchain -working-directory -serialize-diagnostics -resource-dir -dumpbase -dumpdir -ccc-gcc-name "
    "-fmodules-cache-path -ivfsoverlay -iframework -F --config",
}
_TAKES_VALUE = {word: role for role, words in _SEPARATE.items() for word in words.split()}
_WHOLE: dict[Role, str] = {
    Role.OBJECT: "-c --compile",
    Role.DEPENDENCY: "-MD -MMD -MP -MG -MV --write-dependencies --write-user-dependencies",
    Role.LINK: "-shared -static -static-pie -pie -no-pie -nopie -rdynamic -nostdlib -nodefaultlibs -nostartfiles "
    "-nolibc -nostdlib++ -s -r --shared --static -static-libgcc -static-libstdc++ -shared-libgcc",
    Role.ELSEWHERE: "-E -S -M -MM --preprocess --assemble --dependencies --user-dependencies -fsyntax-only -emit-llvm "
    "-emit-ast -### --analyze -dumpmachine -dumpversion --help -help --version -print-targets --precompile "
    "-rewrite-objc -dM -help-hidden --help-hidden",
}
_KNOWN = {word: role for role, words in _WHOLE.items() for word in words.split()}
_JOINED: tuple[tuple[str, Role], ...] = (
    ("-print-", Role.ELSEWHERE), ("--print-", Role.ELSEWHERE), ("-Wl,", Role.LINK), ("-fuse-ld=", Role.LINK),
    ("--ld-path=", Role.LINK), ("-Wp,", Role.COMPILE), ("--output=", Role.OUTPUT), ("-isystem", Role.COMPILE),
    ("-include", Role.COMPILE), ("-iquote", Role.COMPILE), ("-idirafter", Role.COMPILE), ("-rtlib", Role.LINK),
    ("-I", Role.COMPILE), ("-D", Role.COMPILE), ("-U", Role.COMPILE), ("-MF", Role.DEPENDENCY),
    ("-MT", Role.DEPENDENCY), ("-MQ", Role.DEPENDENCY), ("-MJ", Role.DEPENDENCY), ("-L", Role.LINK),
    ("-l", Role.LIBRARY), ("-T", Role.LINK), ("-z", Role.LINK), ("-u", Role.LINK), ("-o", Role.OUTPUT),
)  # fmt: skip


def read(words: Iterable[str]) -> CommandLine:
    """The command line; `ArgumentError` for an option of llgrad's that is wrong."""
    items: list[Item] = []
    own: dict[str, list[str]] = {
        name: [] for name in ("--level", "--derivative", "--wrt", "--checkpoint", "--denormals")
    }
    language, serial = "", False
    rest = iter(expanded(words))
    for word in rest:
        if word == "--serial":
            serial = True
            continue
        name, _, joined = word.partition("=")
        if name in own:
            own[name].append(joined if "=" in word else _next(rest, word))
            continue
        if word == "-x" or (word.startswith("-x") and len(word) > 2 and not word.startswith("-xray")):
            value = word[2:] or _next(rest, word)
            language = "" if value == "none" else value
            continue
        items.append(_item(word, rest, language))
    return CommandLine(
        tuple(items), _level(own["--level"]), tuple(own["--derivative"]),
        tuple(n.strip() for w in own["--wrt"] for n in w.split(",")) if own["--wrt"] else None,
        said(own["--checkpoint"]), own["--denormals"][-1] if own["--denormals"] else None, serial,
    )  # fmt: skip


def _item(word: str, rest: Iterator[str], language: str) -> Item:
    if not word.startswith("-") or word == "-":
        return Item((word,), Role.INPUT, language)
    if word in _KNOWN:
        return Item((word,), _KNOWN[word])
    if word in _TAKES_VALUE:
        return Item((word, _next(rest, word)), _TAKES_VALUE[word])
    role = next((role for prefix, role in _JOINED if word.startswith(prefix)), Role.BOTH)
    return Item(("-o", word.removeprefix("--output=")), role) if word.startswith("--output=") else Item((word,), role)


def _next(rest: Iterator[str], word: str) -> str:
    value = next(rest, None)
    if value is None:
        raise ArgumentError(f"argument to '{word}' is missing")
    return value


def _level(given: Sequence[str]) -> int:
    if given and given[-1] not in ("0", "1", "2", "3"):
        raise ArgumentError(f"--level {given[-1]} is not 0, 1, 2 or 3")
    return int(given[-1]) if given else 2


def expanded(words: Iterable[str]) -> Iterator[str]:
    """The words with those of response files (`@file`) in their places."""
    for word in words:
        path = Path(word[1:])
        if word.startswith("@") and path.is_file():
            try:
                yield from expanded(shlex.split(path.read_text()))
            except (ValueError, UnicodeDecodeError) as error:
                raise SourceError(f"the response file {path} cannot be read", cause=str(error)) from error
        else:
            yield word
