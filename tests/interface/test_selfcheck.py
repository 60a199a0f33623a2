"""The self-checking programs of `tests/programs`, each at O0 and O2, by `llgrad cc` (or `c++`) and by `llgrad opt`.

A program compares derivatives with finite differences itself, prints what is wrong, and ends with a status not 0.
O0 means: unoptimised code, differentiated before any optimisation, and not optimised afterwards. Every day each program
goes through the driver at one of the two and through opt at the other; the other two ways are in the slow set.
What `llgrad opt` made runs under a sanitizer where there is one (see `sanitizers`), another one at each level.
"""

from __future__ import annotations

import functools
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from zlib import crc32

import pytest
import sanitizers
from click.testing import CliRunner

from llgrad.cli import main
from llgrad.drivers import drive
from llgrad.drivers.compiling import include_flags
from llgrad.frontends import find_compiler

PROGRAMS = Path(__file__).parents[1] / "programs"
NAMES = sorted(p.name for p in PROGRAMS.glob("*.c*"))
EIGEN = Path("/usr/include/eigen3")
SECONDS = 20

# What is refused today: the codes of the errors, the ways in which it is, and why. What works must not stand here.
REFUSED: dict[str, tuple[str, str, str]] = {
    "block_for_two_types.c": ("unsupported", "opt0", "without TBAA nothing says that a block holds numbers at first"),
}  # fmt: skip

# What through `llgrad opt` is understood with debug info only: text beside numbers, padding of pairs that are copied,
# members of a struct that are set through an array of their addresses, blocks moved by realloc that outlive a call,
# numbers that are handed on where structs of pointers are, a float in a union that is copied.
DEBUG = (
    "array_behind_integer.c", "context_or_parameters.c", "cpp_records_in_map.cpp", "cpp_sorted_and_queued.cpp",
    "cpp_string_inactive.cpp", "cpp_string_keys.cpp", "cpp_string_member.cpp", "event_queue.c", "model_of_buffers.c",
    "polytope.c", "rules_of_structs.cpp", "words_of_structs_asked.c",
)  # fmt: skip

# Programs in C++20.
NEWER = ("cpp_atomics_of_ones_own.cpp", "cpp_coroutine.cpp", "cpp_ranges.cpp", "cpp_span_views.cpp")


# What else a program is compiled and linked with, by words in its name.
NEEDED = {"openmp": ["-fopenmp"], "large_atomics": ["-latomic"]}


def needed(path: Path) -> list[str]:
    return [word for part, words in NEEDED.items() if part in path.name for word in words]


@functools.cache
def links(words: tuple[str, ...]) -> bool:
    """Does a program that is compiled and linked with these words run?"""
    compiler = find_compiler()
    with tempfile.TemporaryDirectory() as folder:
        source, program = Path(folder, "empty.c"), Path(folder, "empty")
        source.write_text("#ifdef _OPENMP\n#include <omp.h>\n#endif\nint main(void) { return 0; }\n")
        done = subprocess.run([*compiler.c, *compiler.flags, *words, str(source), "-o", str(program)], check=False,
                              capture_output=True)  # fmt: skip
        return done.returncode == 0 and subprocess.run([program], check=False).returncode == 0


def require_words(path: Path) -> None:
    """Skip a test of a program for which the compiler lacks a library."""
    if (words := tuple(needed(path))) and not links(words):
        pytest.skip(f"no program can be built with {' '.join(words)}")


def flags(path: Path) -> list[str]:
    return [*_language_flags(path), *needed(path)]


def _language_flags(path: Path) -> list[str]:
    standard = "c++20" if path.name in NEWER else "c++17"
    return [f"-std={standard}", "-isystem", str(EIGEN)] if path.suffix == ".cpp" else []


def through_driver(path: Path, level: int, program: Path) -> str:
    """Built by `llgrad cc` or `c++`: an empty string, or what it said."""
    levels = ["-O0", "--level", "0"] if level == 0 else [f"-O{level}"]
    status = drive([*levels, *flags(path), "-w", str(path), "-o", str(program), "-lm"], cxx=path.suffix == ".cpp")
    return "" if status == 0 else "error"


def through_opt(path: Path, level: int, program: Path, sanitizer: str = "") -> str:
    """Built by clang, `llgrad opt` and clang again."""
    compiler, cxx = find_compiler(), path.suffix == ".cpp"
    raw = ["-O0"] if level == 0 else [f"-O{level}", "-Xclang", "-disable-llvm-passes"]
    raw += ["-g"] if path.name in DEBUG else []
    before, after = program.with_suffix(".ll"), program.with_suffix(".derived.ll")
    words = [*(compiler.cxx if cxx else compiler.c), *compiler.flags, "-w", *raw, *flags(path)]
    subprocess.run([*words, *include_flags(), "-S", "-emit-llvm", str(path), "-o", str(before)], check=True)
    command = ["opt", str(before), "-o", str(after), f"-O{level}", "--level", str(level), "--cpu", "x86-64"]
    done = CliRunner().invoke(main, command, env={"LLGRAD_ARENA": "malloc"}, catch_exceptions=False)
    if done.exit_code:
        return str(done.stderr)
    kind = sanitizer or SANITIZER[level]
    kind = "address" if "-fopenmp" in needed(path) else kind  # what libomp hands on counts as undefined
    sanitizers.link(after, program, kind, cxx=cxx, words=needed(path))
    return ""


SANITIZER = {0: "address", 2: "memory"}
WAYS: dict[str, Callable[[Path, int, Path], str]] = {"driver": through_driver, "opt": through_opt}


ALL = tuple((way, level) for way in WAYS for level in (0, 2))
PAIRS = ((("driver", 2), ("opt", 0)), (("driver", 0), ("opt", 2)))
HEAVY = tuple(name for name in NAMES if name.startswith("eigen") and name != "eigen_fixed.cpp")


def cases() -> Iterator[object]:
    """Programs with the ways they go: two of them each day, of programs in C now these, now those."""
    for name in NAMES:
        daily = () if name in HEAVY else PAIRS[name.endswith(".c") and crc32(name.encode()) % 2]
        rest = tuple(way for way in ALL if way not in daily)
        if daily:
            yield pytest.param(name, daily, id=name)
        if rest:
            yield pytest.param(name, rest, id=f"{name}-rest", marks=pytest.mark.full)


@pytest.mark.parametrize(("name", "ways"), list(cases()))
def test_program(name: str, ways: Sequence[tuple[str, int]], tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = PROGRAMS / name
    if name.startswith("eigen") and not EIGEN.is_dir():
        pytest.skip("Eigen is not installed")
    require_words(path)
    wrong = []
    for way, level in ways:
        program = tmp_path / f"{way}{level}"
        said = WAYS[way](path, level, program)
        said += capfd.readouterr().err if said else ""
        said = said or outcome(program)
        codes, refusing, _ = REFUSED.get(name, ("", "", ""))
        if f"{way}{level}" in refusing.split():
            if not any(f"[{code}]" in said for code in codes.split()):
                wrong.append(f"{way} at O{level} is not refused as it was: {said or 'it works'}")
        elif said:
            wrong.append(f"{way} at O{level}: {said}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", ["tail_calls.c", "unprototyped_calls.c", "variable_arguments.c"])
def test_fast_math(name: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Calls with flags and attributes of their results: `call fast nofpclass(nan inf) double (i32, ...) @total(`."""
    status = drive(["-Ofast", "-w", str(PROGRAMS / name), "-o", str(tmp_path / "program"), "-lm"], cxx=False)
    assert status == 0, capfd.readouterr().err
    assert not outcome(tmp_path / "program")


def outcome(program: Path) -> str:
    """Run a program: an empty string, or what was wrong with it."""
    done = subprocess.run([program], capture_output=True, text=True, timeout=SECONDS, check=False)
    return "" if done.returncode == 0 else f"status {done.returncode}\n{done.stdout}{done.stderr}"


def test_refusals_are_programs() -> None:
    assert set(REFUSED) <= set(NAMES)


@pytest.mark.parametrize(
    "mistake, kind, told",
    [
        ("shadow not cleared", "memory", "use-of-uninitialized-value"),
        ("shadow too short", "address", "heap-buffer-overflow"),
        ("shadow leaked", "address", "LeakSanitizer"),
    ],
)
def test_sanitizers_see(mistake: str, kind: str, told: str, tmp_path: Path) -> None:
    """What a caller does wrong is found in derivatives, so that what llgrad would do wrong is."""
    if not sanitizers.available(kind):
        pytest.skip(f"the compiler has no {kind} sanitizer")
    source, program = tmp_path / "bad.c", tmp_path / "program"
    source.write_text(sanitizers.with_mistake(mistake))
    assert not through_opt(source, 2, program, kind)
    assert told in outcome(program)
