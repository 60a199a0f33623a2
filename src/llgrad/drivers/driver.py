"""`llgrad cc` and `llgrad c++`: which way a command line goes.

    preprocess, assembly, dependencies, version, no input     clang's
    -c                                                         clang's object with the unit's bitcode in it
    -r                                                         the linker's: it keeps the bitcode of its inputs
    link                                                       `linking`

Errors are written as compilers write them, and end with status 1.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from llgrad.drivers import compiling
from llgrad.drivers.command_line import CommandLine, Item, Role, read
from llgrad.drivers.compiling import Driver, compile_unit, given, include_flags, is_ir, is_source
from llgrad.drivers.fat_objects import Unit, embed
from llgrad.drivers.linking import link
from llgrad.errors import ArgumentError, LlgradError, UnsupportedError, as_compilers_warn
from llgrad.ir.internal_errors import shown, told
from llgrad.llvm import LLVMModule, emit_object
from llgrad.llvm.text import strip_debug

HELP = """\
llgrad differentiates what asks for it (__enzyme_autodiff and its kin: docs/c-interface.md) as it links.
Options of its own; all others are clang's and follow:
  --level 0|1|2|3         how far LLVM optimises what is differentiated, before it is (2)
  --derivative NAME       with -c: put derivatives of a function into the object; may be repeated
  --wrt NAMES             with --derivative: by which parameters, with commas between
  --checkpoint HOW        run steps of long loops again: sqrt, revolve, revolve:20, bytes, LINE=HOW, FILE:LINE=HOW
  --denormals flush       numbers below 2^-1022 count as zero while derivatives run
  --serial                derivatives run in one thread, even where the program is parallel
  -ffp-contract=off       sums of adjoints are neither reordered nor contracted with products
  -fveclib=libmvec        loops call the vector versions of exp, tanh, ... (with -fno-math-errno)
Environment: LLGRAD_CLANG (the compiler), LLGRAD_CACHE (a folder), LLGRAD_LOG=info (what is done).
"""


def drive(words: Sequence[str], *, cxx: bool) -> int:
    """Do what a compiler does with these words; the exit status."""
    as_compilers_warn()
    try:
        with told(f"doing llgrad {'c++' if cxx else 'cc'}"):
            return _drive(Driver(cxx), list(words))
    except LlgradError as error:
        print(shown(error), end="", file=sys.stderr)
        print(as_compiler(error, cxx), file=sys.stderr)
        return 1


def as_compiler(error: LlgradError, cxx: bool = False) -> str:
    """An error in the form that editors and build systems know: `file:line:column: error: …`."""
    where = str(error.span) if error.span else f"llgrad {'c++' if cxx else 'cc'}"
    return error.told(f"{where}: error: ")


def _drive(driver: Driver, words: list[str]) -> int:
    line = read(words)
    if (line.derivatives or line.wrt is not None) and not (line.derivatives and line.of(Role.OBJECT)):
        raise ArgumentError(
            "--derivative NAME [--wrt NAMES] puts derivatives into the object that -c makes",
            fix="link without it: calls are resolved over the whole program",
        )
    if not line.inputs:
        if "--help" in words:
            print(HELP, flush=True)
        return compiling.run([*driver.words, *words])
    if line.of(Role.ELSEWHERE) or "-r" in line.words(Role.LINK):
        return compiling.run([*driver.words, *include_flags(), *given(line.items)])
    return _objects(driver, line) if line.of(Role.OBJECT) else link(driver, line)


def _objects(driver: Driver, line: CommandLine) -> int:
    if line.output is not None and len(line.inputs) > 1:
        raise ArgumentError("cannot specify -o when generating multiple output files")
    return max(_object(driver, line, item) for item in line.inputs)


def _object(driver: Driver, line: CommandLine, item: Item) -> int:
    """Compile one input to an object with its bitcode."""
    target = Path(line.output or Path(item.value).with_suffix(".o").name)
    stdin = sys.stdin.buffer.read() if item.value == "-" else None
    flags = include_flags(line.words(Role.BOTH, Role.COMPILE, Role.DEPENDENCY))
    flags = [w for w in flags if not w.startswith("-flto")]  # what links them has the bitcode beside machine code
    status = compiling.run([*driver.words, *flags, "-c", *given([item]), "-o", str(target)], stdin)
    if status or not (is_source(item) or is_ir(item)) or not target.is_file():
        return status
    try:
        return _completed(driver, line, item, target, stdin)
    except LlgradError:
        target.unlink(missing_ok=True)  # which is clang's alone
        raise


def _completed(driver: Driver, line: CommandLine, item: Item, target: Path, stdin: bytes | None) -> int:
    """Give clang's object the unit's bitcode, or make one with derivatives in its place."""
    if line.derivatives and line.instrumented:
        raise UnsupportedError("--derivative with flags by which clang adds to the code", fix="leave one of them out")
    with tempfile.TemporaryDirectory(prefix="llgrad-") as folder:
        compiled = compile_unit(driver, line, item, Path(folder, "unit.bc"), stdin=stdin)
    if compiled.unit is None:
        sys.stderr.write(compiled.said.decode(errors="replace"))
        return compiled.status
    target.write_bytes(_apart(line, compiled.unit) if line.derivatives else embed(target.read_bytes(), compiled.unit))
    return 0


def _apart(line: CommandLine, unit: Unit) -> bytes:
    """The object of a unit with derivatives in it."""
    from llgrad.drivers.per_object import derivatives_of
    from llgrad.programs.program import optimise_program

    text = LLVMModule.read(unit.bitcode).text()
    made = derivatives_of(text, line.derivatives, line.wrt)
    whole = LLVMModule.from_text(f"{text}\n{made.added}")
    level, cpu = line.level or 0, line.cpu or "x86-64"
    program = optimise_program(
        whole, level, cpu, before=line.before, vector_math=line.vector_math, checkpoint=line.checkpoint,
        denormals=line.denormals, strict=line.strict, serial=line.serial,
    )  # fmt: skip
    if not line.debug:
        program.replace_text(strip_debug(program.text()))
    seen = LLVMModule.from_text(made.seen).bitcode()
    return embed(emit_object(program, cpu, level), Unit(unit.name, seen, replace(unit.options, apart=True)))


def cc() -> None:
    """The console script `llgrad-cc`."""
    sys.exit(drive(sys.argv[1:], cxx=False))


def cxx() -> None:
    """The console script `llgrad-c++`."""
    sys.exit(drive(sys.argv[1:], cxx=True))
