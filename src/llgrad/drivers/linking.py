"""Linking: where any unit asks for a derivative, all units become one module, and that becomes one object.

The units are those of the sources and objects of the command line, and those members of static archives that they want,
directly or not: a member is taken if it defines a name that is wanted and not defined yet, the first in order. (This is
lld's rule, in which the order of archives matters only between several definitions.) Archives of `-l` are looked for
along `-L`; in a folder a shared library comes first, as for every linker, unless the program is static.

A weak function that an object without bitcode defines, too, is that object's: nothing is known of it.

The object takes the place of the first unit on the linker's command line. An archive all of whose members are in it
leaves the line, and so does one of bitcode alone, which a linker could not read. Everything else is passed as it is.
"""

from __future__ import annotations

import re
import sys
import tempfile
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from llgrad.autodiff.custom_rules.custom_rules import OWN
from llgrad.autodiff.legality.leftover_calls import is_known, may_be_misspelt, misspelt, unknown
from llgrad.drivers import compiling
from llgrad.drivers.command_line import CommandLine, Item, Role
from llgrad.drivers.compiling import Driver, compile_unit, given, include_flags, is_ir, is_source
from llgrad.drivers.fat_objects import Options, Unit, is_archive, is_bitcode, is_object, members, units
from llgrad.errors import ArgumentError, LlgradError, SourceError, UnsupportedError
from llgrad.frontends.c import clang
from llgrad.llvm import LLVMModule, emit_object, with_brain_floats
from llgrad.llvm.assembly import FUNCTION, NAME, plain
from llgrad.llvm.text import strip_debug
from llgrad.support.elf import read_object, section
from llgrad.transforms.symbols.program_text import declared


class Part(Struct):
    """A file that takes part: an input, or a member of an archive. `units` are the bitcode it holds; `strong` of what
    it defines is not weak."""

    name: str
    units: list[Unit]
    defined: frozenset[str] = frozenset()
    strong: frozenset[str] = frozenset()
    wanted: frozenset[str] = frozenset()
    native: bool = True  # a linker can read it
    taken: bool = False


_PLAIN = ("-static", "-static-pie", "-pie", "-no-pie", "-nopie", "-s", "-static-libgcc", "-static-libstdc++")
_HARMLESS = ("-L", "-O", "-rpath", "--rpath", "--as-needed", "--no-as-needed", "--gc-sections", "-fuse-ld=")


_WEAK = re.compile(r" (?:weak|linkonce) ")
_ALIAS = re.compile(rf"^({NAME}) = [^\n]*\balias [^\n]*\n", re.MULTILINE)


class Place(Struct):
    """An item of the command line with its parts; those of an archive are taken as they are wanted."""

    item: Item
    parts: list[Part] = field(default_factory=list)
    archive: bool = False
    whole: bool = False  # --whole-archive

    @property
    def leaves(self) -> bool:
        """Whether the one object stands for all that a linker would take from here."""
        if any(u.options.apart for p in self.parts for u in p.units):
            return False
        if self.archive:
            return bool(self.parts) and all(p.units and (p.taken or not p.native) for p in self.parts)
        return bool(self.parts) and bool(self.parts[0].units)


def link(driver: Driver, line: CommandLine) -> int:
    """Link what the command line names; the exit status."""
    with tempfile.TemporaryDirectory(prefix="llgrad-") as name:
        folder = Path(name)
        compiled = _compiled(driver, line, folder)
        failed = next((c for c in compiled.values() if c.status), None)
        places = [] if failed else _places(line, compiled)
        _refuse_foreign(places)
        if not failed and not _needs_one_module(places):
            words = given(line.items)
            return compiling.run([*driver.words, *(include_flags() if compiled else []), *words])
        for c in compiled.values():
            sys.stderr.write(c.said.decode(errors="replace"))
        sys.stderr.flush()
        if failed:
            return failed.status
        made = _one_object(line, places, folder)
        return compiling.run([*driver.words, *_linker_words(line, places, made)])


def _compiled(driver: Driver, line: CommandLine, folder: Path) -> dict[int, compiling.Compiled]:
    """The sources and IR files among the items, compiled; by the number of the item."""
    jobs = [n for n, i in enumerate(line.items) if i.role is Role.INPUT and (is_source(i) or is_ir(i))]
    stdin = sys.stdin.buffer.read() if any(line.items[n].value == "-" for n in jobs) else None

    def one(n: int) -> compiling.Compiled:
        item = line.items[n]
        rules = bool(line.of(Role.DEPENDENCY))
        return compile_unit(
            driver, _with_rule_file(line, item) if rules else line, item, folder / f"{n}.bc",
            stdin=stdin if item.value == "-" else None, dependencies=rules,
        )  # fmt: skip

    with ThreadPoolExecutor(max_workers=2) as pool:
        return dict(zip(jobs, pool.map(one, jobs), strict=True))


def _with_rule_file(line: CommandLine, item: Item) -> CommandLine:
    """The command line with a name for the Makefile rule that -MD writes: the temporary output has none to offer."""
    if any(i.words[0].startswith("-MF") for i in line.items):
        return line
    rule = Path(line.output or item.value).with_suffix(".d").name
    extra = [Item(("-MF", rule), Role.DEPENDENCY)]
    if not any(i.words[0].startswith(("-MT", "-MQ")) for i in line.items):
        extra.append(Item(("-MT", line.output or "a.out"), Role.DEPENDENCY))
    return replace(line, items=(*line.items, *extra))


# --- what takes part --------------------------------------------------------------------------------------------------


def _places(line: CommandLine, compiled: dict[int, compiling.Compiled]) -> list[Place]:
    places, whole = [], False
    for n, item in enumerate(line.items):
        if item.role is Role.LINK:
            for flag in item.words[-1].removeprefix("-Wl,").split(","):
                whole = {"--whole-archive": True, "--no-whole-archive": False}.get(flag, whole)
        if n in compiled:
            unit = compiled[n].unit
            places.append(Place(item, [Part(item.value, [unit] if unit else [], native=False)]))
        elif item.role in (Role.INPUT, Role.LIBRARY):
            path = Path(item.value) if item.role is Role.INPUT else _archive(line, item.value)
            places.append(_place(item, path, whole))
        else:
            places.append(Place(item))
    return places


def _place(item: Item, path: Path | None, whole: bool) -> Place:
    """A file that is not compiled here: object, archive, or anything else that the linker may know."""
    try:
        data = path.read_bytes() if path and path.is_file() else b""
    except OSError:
        data = b""  # the linker says why
    if path is None or not (is_archive(data) or is_bitcode(data) or is_object(data)):
        return Place(item)
    if not is_archive(data):
        return Place(item, [_part(str(path), data)])
    parts = [_part(m.name, m.data) for m in members(path, data)]
    return Place(item, parts if any(p.units for p in parts) else [], archive=True, whole=whole)


def _part(name: str, data: bytes) -> Part:
    if not is_object(data):
        return Part(name, units(name, data), native=not is_bitcode(data))
    symbols = read_object(data).symbols
    defined = frozenset(s.name for s in symbols if s.defined)
    strong = frozenset(s.name for s in symbols if s.defined and not s.weak)
    wanted = frozenset(s.name for s in symbols if not s.defined and not s.weak)
    return Part(name, units(name, data), defined, strong, wanted)


def _archive(line: CommandLine, name: str) -> Path | None:
    """The static archive that `-lname` means, if it lies in a folder that the user names."""
    static = bool({"-static", "--static"} & set(line.words(Role.LINK)))
    exact = name.removeprefix(":")
    for folder in (Path(i.value) for i in line.of(Role.LINK) if i.words[0].startswith("-L")):
        if exact != name:
            if (folder / exact).is_file():
                return folder / exact
            continue
        if not static and (folder / f"lib{name}.so").exists():
            return None
        if (folder / f"lib{name}.a").exists():
            return folder / f"lib{name}.a"
    return None


def _needs_one_module(places: Sequence[Place]) -> bool:
    """Whether a unit asks for derivatives, or nearly does, or is bitcode that a linker cannot read."""
    return any(
        unit.asks or _is_misspelt(place, p, unit)
        or (is_bitcode(unit.bitcode) and not p.native and not is_source(place.item) and not is_ir(place.item))
        for place in places for p in place.parts for unit in p.units
    )  # fmt: skip


def _is_misspelt(place: Place, part: Part, unit: Unit) -> bool:
    """Does a unit that certainly takes part call a function that nearly has a name of the C interface?"""
    if place.archive or unit.options.apart or not may_be_misspelt(unit.bitcode):
        return False
    return bool(misspelt(part.wanted or LLVMModule.read(unit.bitcode).symbols()[1]))


def _refuse_foreign(places: Sequence[Place]) -> None:
    """Refuse objects without bitcode that ask for derivatives: their calls would be the linker's."""
    for p in (p for place in places if not place.archive for p in place.parts if not p.units):
        wrong = misspelt(p.wanted)
        asked = [n for n in sorted(p.wanted) if n in wrong or (is_known(n) and not n.startswith(OWN))]
        for name in [n for n in asked if n not in _defined(places)]:
            if word := wrong.get(name, ""):
                raise unknown(f"{p.name}: {name}", word, None)
            raise UnsupportedError(
                f"{p.name} calls {name}, and no derivative takes its place", cause="the object carries no bitcode",
                fix="compile its source with llgrad cc -c (or clang -flto -c)",
            )  # fmt: skip


def _defined(places: Sequence[Place]) -> frozenset[str]:
    """What files that take part, or may, define."""
    parts = [p for place in places for p in place.parts]
    return frozenset[str]().union(*(p.defined if p.native else _symbols(p.units)[0] for p in parts))


def _select(places: Sequence[Place]) -> list[Unit]:
    """The units of the program, in order; marks what is taken."""
    archives = [place for place in places if place.archive and place.parts]
    for place in places:
        for part in place.parts:
            part.taken = not place.archive or place.whole
    if archives:
        for part in (p for place in places for p in place.parts if p.units and not p.native):
            part.defined, part.wanted = _symbols(part.units)
        _resolve([p for place in places for p in place.parts], [p for place in archives for p in place.parts])
    return [unit for place in places for p in place.parts if p.taken for unit in p.units]


def _resolve(parts: Iterable[Part], members_: Sequence[Part]) -> None:
    """Take members until nothing that one of them defines is wanted."""
    defined: set[str] = set()
    wanted: set[str] = {"main"}

    def take(part: Part) -> None:
        part.taken = True
        defined.update(part.defined)
        wanted.update(part.wanted)

    for part in parts:
        if part.taken:
            take(part)
    offers: dict[str, Part] = {}
    for part in members_:
        for name in part.defined:
            offers.setdefault(name, part)
    while wants := [offers[n] for n in sorted(wanted - defined) if n in offers and not offers[n].taken]:
        for part in wants:
            if not part.taken:
                take(part)


def _symbols(found: Sequence[Unit]) -> tuple[frozenset[str], frozenset[str]]:
    defined, wanted = frozenset[str](), frozenset[str]()
    for unit in found:
        d, w = LLVMModule.read(unit.bitcode).symbols()
        defined, wanted = defined | d, wanted | w
    return defined, wanted


# --- one object -------------------------------------------------------------------------------------------------------


def _one_object(line: CommandLine, places: Sequence[Place], folder: Path) -> Path:
    """The program's object with its derivatives; bitcode if clang must generate the code."""
    from llgrad.programs.program import optimise_program

    found = _select(places)
    level, cpu = _level(line, found), _cpu(line, found)
    whole = _linked(found)
    strong = [p.strong for place in places for p in place.parts if p.taken and not p.units]
    if strong and (text := _without_overridden(whole.text(), frozenset().union(*strong))) != whole.text():
        whole.replace_text(text)
    vector_math = line.vector_math or any(u.options.vector_math for u in found)
    strict = line.strict or any(u.options.strict for u in found)
    made = optimise_program(
        whole, level, cpu, before=line.before, vector_math=vector_math, checkpoint=line.checkpoint,
        denormals=line.denormals, strict=strict, closed=_is_closed(line, places, whole.symbols()[0]),
        serial=line.serial,
    )  # fmt: skip
    if not (line.debug or any(u.options.debug for u in found)):
        made.replace_text(strip_debug(made.text()))
    if line.instrumented:
        target = folder / "program.bc"
        target.write_bytes(with_brain_floats(made).bitcode())
    else:
        target = folder / "program.o"
        target.write_bytes(emit_object(made, cpu, level))
    return target


def _without_overridden(text: str, strong: frozenset[str]) -> str:
    """The program without the bodies of weak functions, and of weak other names of functions, that are defined for good
    in an object without bitcode."""

    def edit(m: re.Match[str]) -> str:
        return declared(m[0], m[1]) if _WEAK.search(m[0].partition("\n")[0]) and plain(m[1]) in strong else m[0]

    return _ALIAS.sub(edit, FUNCTION.sub(edit, text))


def _is_closed(line: CommandLine, places: Sequence[Place], defined: Collection[str]) -> bool:
    """Is the one object all of an executable, so that only libraries lie beside it, which call nothing by name?

    `defined`: what it defines. Libraries of the system's do not know its names; of others, their bytes tell.
    """
    if not all(map(_adds_nothing, line.of(Role.LINK))):
        return False
    beside = [p for p in places if p.item.role in (Role.INPUT, Role.LIBRARY) and not p.leaves]
    return all(_knows_none_of(line, p, set(defined) - {"main"}) for p in beside)


def _adds_nothing(item: Item) -> bool:
    """Does a word for the linker leave alone what others may call, and what calls are?"""
    word = item.words[0]
    parts = word.split(",")[1:] if word.startswith("-Wl,") else [word]
    return word in _PLAIN or all(part.startswith(_HARMLESS) for part in parts if part.startswith("-"))


def _knows_none_of(line: CommandLine, place: Place, names: Collection[str]) -> bool:
    if place.archive or place.parts:
        return False
    found = Path(place.item.value) if place.item.role is Role.INPUT else _shared(line, place.item.value)
    if found is None:
        return True
    if not re.search(r"\.so(\.\d+)*$", found.name):
        return False
    try:
        data = found.read_bytes()
        wanted = section(data, ".dynstr")  # where a linker keeps a name that ends another one within that
    except (OSError, ArgumentError):
        return False
    strings = set(data.split(b"\0"))
    return wanted is not None and not any(s in strings or s + b"\0" in wanted for s in (n.encode() for n in names))


def _shared(line: CommandLine, name: str) -> Path | None:
    """The shared library that `-lname` means, if it lies in a folder that the user names."""
    wanted = name[1:] if name.startswith(":") else f"lib{name}.so"
    folders = (Path(i.value) for i in line.of(Role.LINK) if i.words[0].startswith("-L"))
    return next((folder / wanted for folder in folders if (folder / wanted).is_file()), None)


def _linked(found: Sequence[Unit]) -> LLVMModule:
    modules = []
    for unit in found:
        try:
            modules.append(LLVMModule.read(unit.bitcode))
        except LlgradError as error:
            raise SourceError(f"the bitcode of {unit.name} cannot be read", cause=str(error)) from error
    modules += [LLVMModule.read(a.module) for a in clang.additions([unit.bitcode for unit in found], raw=True)]
    return LLVMModule.linked(modules)


def _level(line: CommandLine, found: Sequence[Unit]) -> int:
    """The linker's -O, else the highest of the units'."""
    if line.level is not None:
        return line.level
    return max((u.options.level or 0 for u in found), default=0)


def _cpu(line: CommandLine, found: Sequence[Unit]) -> str:
    """The linker's -march, else what all units agree on, else what every machine can run."""
    if line.cpu is not None:
        return line.cpu
    wishes = {u.options.cpu for u in found if u.options != Options()}
    return (wishes.pop() if len(wishes) == 1 else None) or "x86-64"


def _linker_words(line: CommandLine, places: Sequence[Place], made: Path) -> list[str]:
    items, own, placed = list[Item](), Item((str(made),), Role.INPUT), False
    for place in places:
        item = place.item
        if place.leaves:
            items += [] if placed else [own]
            placed = True
        elif item.role in (Role.INPUT, Role.LIBRARY, Role.LINK, Role.BOTH, Role.OUTPUT):
            items.append(item)
    if not placed:
        items.append(own)
    bare = {"-nostdlib", "-nodefaultlibs"} & set(line.words(Role.LINK))
    return [*given(items), *([] if bare else ["-lm"]), "-Wno-unused-command-line-argument", "-Wno-override-module"]
