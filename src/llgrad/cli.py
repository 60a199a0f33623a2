"""The command line: `llgrad grad`, `check`, `explain`, `opt`, `cc`, `c++`, `run`.

Errors are printed as text with cause and fix and end with status 2; `check` ends with 1 if derivatives disagree.
"""

from __future__ import annotations

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import llgrad
from llgrad.errors import ArgumentError, LlgradError, as_compilers_warn
from llgrad.ir.internal_errors import shown, told
from llgrad.support.gc_pause import collecting_never_at_exit, collecting_rarely

if TYPE_CHECKING:
    from llgrad.api.check import Comparison
    from llgrad.transforms.pass_manager import Watch


_FAILED = 2  # exit status


def _tell(error: LlgradError) -> None:
    click.echo(f"{shown(error)}llgrad: {error}", err=True)


class _Group(click.Group):
    """A group whose commands report llgrad's errors as text."""

    def invoke(self, ctx: click.Context) -> Any:
        as_compilers_warn()
        try:
            return self._invoked(ctx)
        except LlgradError as error:
            _tell(error)
            ctx.exit(_FAILED)
        except OSError as error:
            click.echo(f"llgrad: {error.filename or ''}: {error.strerror or error}", err=True)
            ctx.exit(_FAILED)

    def _invoked(self, ctx: click.Context) -> Any:
        """The command's work; click's own exceptions are its way to end."""
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            raise
        except Exception as error:
            with told(f"doing llgrad {ctx.invoked_subcommand or ''}".rstrip()):
                raise error


def _show_include_dir(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        click.echo(Path(__file__).parent / "include")
        ctx.exit()


@click.group(cls=_Group, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(llgrad.__version__, prog_name="llgrad")
@click.option("--include-dir", is_flag=True, expose_value=False, is_eager=True, callback=_show_include_dir,
              help="Print where llgrad's headers are, for -I.")  # fmt: skip
@click.pass_context
def main(ctx: click.Context) -> None:
    """Differentiates compiled code: gradients of functions in C, C++, Fortran, Rust and other languages of LLVM."""
    ctx.with_resource(collecting_rarely())
    collecting_never_at_exit()


def _source_options(command: Any) -> Any:
    for option in (
        click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path)),
        click.option("-f", "--function", required=True, metavar="NAME", help="The function to differentiate."),
        click.option("--wrt", metavar="NAMES", help="By which parameters, comma-separated. Default: floats only read."),
        click.option("--of", metavar="NAME", help="The pointer the function writes its result through."),
        click.option("-I", "include", multiple=True, metavar="DIR", help="Where the compiler looks for headers."),
        click.option("-D", "define", multiple=True, metavar="MACRO", help="A macro for the compiler."),
        click.option("--flag", multiple=True, metavar="FLAG", help="A flag for the compiler, such as --flag=-std=c11."),
        click.option("-O", "level", type=click.IntRange(0, 3), default=2, show_default=True,
                     help="How far LLVM optimises before differentiation."),
    ):  # fmt: skip
        command = option(command)
    return command


_checkpoint = click.option(
    "--checkpoint", multiple=True, metavar="[LINE=]HOW",
    help="Run steps of long loops again instead of keeping them: sqrt, revolve, revolve:20 (checkpoints), or bytes.",
)  # fmt: skip

_denormals = click.option(
    "--denormals", type=click.Choice(["keep", "flush"]), default="keep", show_default=True,
    help="flush: numbers below 2**-1022 count as zero while derivatives run.",
)  # fmt: skip

_strict = click.option(
    "--strict", is_flag=True, help="LLVM may neither reorder the sums of adjoints nor contract them with products."
)


def _flags(include: Sequence[str], define: Sequence[str], flag: Sequence[str]) -> list[str]:
    return [*(f"-I{d}" for d in include), *(f"-D{m}" for m in define), *flag]


def _names(wrt: str | None) -> tuple[str, ...] | None:
    return tuple(w.strip() for w in wrt.split(",") if w.strip()) if wrt is not None else None


@main.command()
@_source_options
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path, dir_okay=False), help="The object file.")
@click.option("--header", type=click.Path(path_type=Path, dir_okay=False), help="The C header.")
@click.option("--name", metavar="NAME", help="Name of the gradient. Default: NAME_grad.")
@click.option("--cpu", default="native", show_default=True, help="The CPU to compile for, such as x86-64-v3.")
@_checkpoint
@_denormals
@_strict
@click.option("--disjoint", is_flag=True, help="Callers never pass arrays that overlap: faster code.")
def grad(
    sources: tuple[Path, ...], function: str, wrt: str | None, of: str | None, include: tuple[str, ...],
    define: tuple[str, ...], flag: tuple[str, ...], level: int, output: Path, header: Path | None, name: str | None,
    cpu: str, disjoint: bool, checkpoint: tuple[str, ...], denormals: str, strict: bool,
) -> None:  # fmt: skip
    """Write an object file with the gradient of a function, callable from C; it needs no Python.

    \b
    llgrad grad gmm.c -f gmm_objective --wrt alphas,means,icf --of err -o gmm_grad.o --header gmm_grad.h

    The function is NAME_grad(arguments…, shadows…); the header says what each shadow is.
    """
    from llgrad.api.derivatives import Derivative
    from llgrad.api.export import export
    from llgrad.autodiff.requests.checkpoint_schedule import said
    from llgrad.autodiff.requests.request import Mode

    lib = llgrad.load(sources, flags=_flags(include, define, flag), optimize=level)
    loops: dict[str | int, str | int] | None = {**dict(said(checkpoint))} or None
    derivative = Derivative(
        lib[function], Mode.COMBINED, _names(wrt), of, "grad", compile=False, checkpoint=loops, denormals=denormals,
        strict=strict,
    )
    made = export(derivative, name or f"{derivative.signature.name}_grad", cpu=cpu, disjoint=disjoint)
    output.write_bytes(made.object)
    if header:
        header.write_text(made.header)
    click.echo(made.prototype)


@main.command()
@_source_options
@click.option("--size", "sizes", multiple=True, metavar="NAME=N",
              help="Value of a number, or length of an array. Default: integers are 5, floats random, "
              "arrays ample.")  # fmt: skip
@click.option("--directions", default=3, show_default=True, type=click.IntRange(1), help="How many random directions.")
@click.option("--seed", default=0, show_default=True, help="Of the random numbers.")
def check(
    sources: tuple[Path, ...], function: str, wrt: str | None, of: str | None, include: tuple[str, ...],
    define: tuple[str, ...], flag: tuple[str, ...], level: int, sizes: tuple[str, ...], directions: int, seed: int,
) -> None:  # fmt: skip
    """Compare reverse mode, forward mode and finite differences on random input.

    \b
    llgrad check gmm.c -f gmm_objective --wrt alphas,means,icf --of err --size d=2 --size k=3 --size n=5

    Ends with status 1 if they disagree. The code runs in a child process, unless it takes descriptors of arrays.
    """
    from llgrad.api.check import compare
    from llgrad.execution.passing import addresses_of_other_memory

    flags = _flags(include, define, flag)
    called = llgrad.load(sources, flags=flags, optimize=level, isolate=True)[function]
    if addresses_of_other_memory(called.signature):
        called = llgrad.load(sources, flags=flags, optimize=level)[function]
    found = compare(called, _names(wrt), of, _sizes(sizes), directions, seed)
    _show(found)
    if not found.good:
        raise SystemExit(1)


def _show_passes(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if not wanted or ctx.resilient_parsing:
        return
    from llgrad.pipeline import lists

    for title, passes in lists().items():
        click.echo(f"{title}:")
        for p in passes:
            click.echo(f"  {p.name:22} {p.meaning}")
    ctx.exit()


@main.command()
@_source_options
@click.option("--passes", is_flag=True, expose_value=False, is_eager=True, callback=_show_passes,
              help="Show the passes that prepare and finish a derivative, in order.")  # fmt: skip
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="An HTML page to write instead.")
def explain(
    sources: tuple[Path, ...], function: str, wrt: str | None, of: str | None, include: tuple[str, ...],
    define: tuple[str, ...], flag: tuple[str, ...], level: int, output: Path | None,
) -> None:  # fmt: skip
    """Show what a gradient does: what is active, what is kept on the tape and what is recomputed, by source line.

    \b
    llgrad explain gmm.c -f gmm_objective --wrt alphas,means,icf --of err -o page.html
    """
    from rich.console import Console

    from llgrad.api.derivatives import Derivative
    from llgrad.api.explain import explain, shown
    from llgrad.autodiff.requests.request import Mode

    lib = llgrad.load(sources, flags=_flags(include, define, flag), optimize=level)
    found = shown(explain(Derivative(lib[function], Mode.COMBINED, _names(wrt), of, "grad", compile=False)))
    width = max(Console().width, 140)
    if output is None:
        Console(width=width).print(found)
        return
    page = Console(width=width, record=True, file=io.StringIO())
    page.print(found)
    page.save_html(str(output), clear=False)
    click.echo(f"{output} explains the gradient of {function}")


def _sizes(given: Sequence[str]) -> dict[str, float]:
    sizes: dict[str, float] = {}
    for item in given:
        name, _, number = item.partition("=")
        try:
            sizes[name] = float(number) if set(number) & set(".eEn") else int(number)
        except ValueError:
            raise ArgumentError(f"--size {item} is not NAME=NUMBER", fix="for example --size n=10") from None
    return sizes


_NOT_FINITE = "NOTHING IS KNOWN: the function is not finite here. Give its numbers other values (--size NAME=N)"


def _show(found: Comparison) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(found.title), title_justify="left")  # (`&[f64]` would be a style)
    for column in ("direction", "reverse", "forward", "finite differences", "forward error", "difference error"):
        table.add_column(column, justify="right")
    for n, row in enumerate(found.rows, 1):
        numbers = [f"{x:.9g}" for x in (row.reverse, row.forward, row.differences)]
        table.add_row(str(n), *numbers, f"{row.forward_error:.1e}", f"{row.difference_error:.1e}")
    console = Console()
    console = Console(width=max(console.width, 100))
    console.print(table)
    limits = f"limits: {found.forward_limit:g} and {found.difference_limit:g}, relative"
    verdict = "They agree" if found.good else "THEY DISAGREE" if found.finite else _NOT_FINITE
    console.print(f"{verdict} ({limits}).", style="green" if found.good else "bold red", highlight=False)


@main.command()
@click.argument("sources", metavar="IN...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, metavar="OUT", type=click.Path(path_type=Path, dir_okay=False),
              help="Bitcode, or LLVM assembly if it ends with .ll; - is standard output.")  # fmt: skip
@click.option("-S", "assembly", is_flag=True, help="Write LLVM assembly, whatever the name.")
@click.option("-O", "level", type=click.IntRange(0, 3), default=2, show_default=True, help="The final optimisation.")
@click.option("--level", "before", type=click.IntRange(0, 3), default=2, show_default=True,
              help="How far LLVM optimises before differentiation.")  # fmt: skip
@click.option("--cpu", default="native", show_default=True, help="The CPU to optimise for, such as x86-64-v3.")
@_checkpoint
@_denormals
@_strict
@click.option("--serial", is_flag=True, help="Derivatives run in one thread, even where the program is parallel.")
@click.option("--veclib", type=click.Choice(["none", "libmvec"]), default="none", show_default=True,
              help="Vector versions of exp, sin, tanh, … that loops may call, as clang's -fveclib.")  # fmt: skip
@click.option("--print-after", multiple=True, metavar="PASS", help="Print the IR after a pass to standard error.")
@click.option("--print-before-all", is_flag=True, help="Print the IR before every pass.")
@click.option("--time-passes", is_flag=True, help="Print the time that each pass took (llgrad explain --passes).")
def opt(
    sources: tuple[Path, ...], output: Path, assembly: bool, level: int, before: int, cpu: str, veclib: str,
    checkpoint: tuple[str, ...], denormals: str, strict: bool, serial: bool, print_after: tuple[str, ...],
    print_before_all: bool, time_passes: bool,
) -> None:  # fmt: skip
    """Replace calls of __enzyme_autodiff and its kin in LLVM IR, text or bitcode, by derivatives.

    \b
    clang -O2 -Xclang -disable-llvm-passes -g -S -emit-llvm prog.c -o prog.ll
    llgrad opt prog.ll -o out.ll
    clang out.ll -o prog -lm

    Several inputs are linked; - is standard input. Give it IR that is not optimised yet: constants that an optimiser
    puts in have no derivative.
    """
    from llgrad.autodiff.requests.checkpoint_schedule import said
    from llgrad.autodiff.requests.registrations import ignored
    from llgrad.errors import MissingSourceError, somewhere_in
    from llgrad.llvm import LLVMModule, with_brain_floats
    from llgrad.llvm.gpu import is_for_gpu
    from llgrad.llvm.isolate import end_told
    from llgrad.programs.program import optimise_program, read_ir
    from llgrad.transforms.pass_manager import watching

    for source in sources:
        if not source.is_file() and str(source) != "-":
            raise MissingSourceError(f"there is no file {source}", fix="check the path")
    contents = [sys.stdin.buffer.read() if str(source) == "-" else source.read_bytes() for source in sources]
    if any(map(is_for_gpu, contents)):
        with end_told(f"differentiating {sources[0]}", _tell, _FAILED), somewhere_in(str(sources[0])):
            code = _for_gpu(contents, output, level, cpu, before=before, checkpoint=said(checkpoint), strict=strict)
        output.write_text(code) if str(output) != "-" else sys.stdout.write(code)
        return
    parts = []
    for source, data in zip(sources, contents, strict=True):
        with end_told(f"reading {source}", _tell, _FAILED):
            parts.append(read_ir(data, str(source)))
    whole = parts[0] if len(parts) == 1 else LLVMModule.linked(parts)
    for name in ignored(whole.text()):
        click.echo(
            f"llgrad: warning: what the program registers for {name} has no effect: this IR has no call of it left, the"
            " compiler has inlined it\n  to do: give llgrad IR that is not optimised, or declare it"
            " __attribute__((noinline))", err=True,
        )  # fmt: skip
    files = ", ".join(map(str, sources))
    last = end_told(f"differentiating {files}", _tell, _FAILED)
    with watching(_watch(print_after, print_before_all)) as watch, last, somewhere_in(files):
        made = optimise_program(
            whole, level, cpu, before=before, vector_math=veclib != "none", checkpoint=said(checkpoint),
            denormals=denormals, strict=strict, serial=serial,
        )  # fmt: skip
    if time_passes:
        click.echo(watch.table(), err=True)
    made = with_brain_floats(made)
    text = assembly or output.suffix == ".ll"
    data = made.text().encode() if text else made.bitcode()
    if str(output) == "-":
        sys.stdout.buffer.write(data)
    else:
        output.write_bytes(data)


def _for_gpu(contents: Sequence[bytes], output: Path, level: int, cpu: str, **options: Any) -> str:
    """The program for a GPU with its derivatives: LLVM assembly, or PTX for a file that is called so."""
    from llgrad.gpu.program import differentiate_device
    from llgrad.llvm.gpu import ARCHITECTURE, ptx

    if len(contents) > 1:
        raise ArgumentError("several modules for a GPU", fix="link them first: llvm-link a.bc b.bc -o all.bc")
    cpu = ARCHITECTURE if cpu == "native" else cpu
    made = differentiate_device(contents[0], level, cpu, **options)
    return ptx(made, cpu) if output.suffix == ".ptx" else made


def _watch(print_after: Sequence[str], print_before_all: bool) -> Watch:
    from llgrad.pipeline import lists
    from llgrad.transforms.pass_manager import Watch

    known = {p.name for passes in lists().values() for p in passes}
    if unknown := [name for name in print_after if name not in known]:
        raise ArgumentError(
            f"there is no pass {unknown[0]}", cause=f"the passes are {', '.join(sorted(known))}",
            fix="llgrad explain --passes says what each does",
        )  # fmt: skip
    before = frozenset("*" if print_before_all else ())
    return Watch(before, frozenset(print_after), show=lambda text: click.echo(text, err=True))


class _Words(click.Command):
    """A command all of whose words are its own business."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        ctx.params = {"words": tuple(args)}
        return []


@main.command(cls=_Words, short_help="Compile C and link, as clang does, with derivatives.")
def cc(words: tuple[str, ...]) -> None:
    from llgrad.drivers import drive

    sys.exit(drive(words, cxx=False))


@main.command("c++", cls=_Words, short_help="The same for C++.")
def cxx(words: tuple[str, ...]) -> None:
    from llgrad.drivers import drive

    sys.exit(drive(words, cxx=True))


@main.command(cls=_Words, short_help="Compile a program, differentiate and run it: PROGRAM.c [more] -- arguments.")
def run(words: tuple[str, ...]) -> None:
    from llgrad.drivers import run_program

    at = words.index("--") if "--" in words else len(words)
    if not at or words[0] in ("-h", "--help"):
        click.echo("Usage: llgrad run PROGRAM.c [more files, compiler flags] [-- arguments of the program]")
        sys.exit(0 if at and words[0] != "--" else 2)
    sys.exit(run_program(words[:at], words[at + 1 :]))


if __name__ == "__main__":
    main()
