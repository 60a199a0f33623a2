"""`llgrad cc`, `c++` and `run` beside what build systems ask of a compiler: a test is one way of building a program."""

from __future__ import annotations

import math
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sanitizers

from llgrad.drivers import drive
from llgrad.drivers.command_line import Role, read
from llgrad.drivers.fat_objects import Options, Unit, embed, members, units
from llgrad.errors import ArgumentError, SourceError
from llgrad.frontends import find_compiler

Source = Callable[..., Path]
ROOT = Path(__file__).parents[2]
ASKS = """
#include <stdio.h>
double __enzyme_autodiff(void *, ...);
double model(double x);
int main(int n, char **words) { printf("%g\\n", __enzyme_autodiff((void *)model, 3.0)); return n - 1; }
"""
MODEL = "double power(double x, int n);\ndouble model(double x) { return power(x, 2); }\n"
POWER = "double power(double x, int n) { return n ? x * power(x, n - 1) : 1; }\n"
ALONE = ASKS.replace("double model(double x);", "static double model(double x) { return x * x; }")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a program in three files, which is the current one."""
    for name, text in (("main.c", ASKS), ("model.c", MODEL), ("power.c", POWER), ("alone.c", ALONE)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    yield tmp_path


def cc(*words: str, cxx: bool = False) -> int:
    return drive(words, cxx=cxx)


def llgrad(*words: str, **more: Any) -> subprocess.CompletedProcess[str]:
    """The command itself, in a process of its own."""
    command = [sys.executable, "-m", "llgrad", *words]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False, **more)


def said(program: str) -> str:
    return subprocess.run([f"./{program}"], capture_output=True, text=True, check=True).stdout


def test_one_step(here: Path) -> None:
    assert cc("-O2", "-Wall", "-Werror", "main.c", "model.c", "power.c", "-o", "prog") == 0
    assert said("prog") == "6\n"


@pytest.mark.parametrize("level", ["0", "1", "2", "3"])
def test_levels_before_differentiation(here: Path, level: str) -> None:
    assert cc("--level", level, f"-O{level}", "alone.c", "-o", "prog") == 0
    assert said("prog") == "6\n"


@pytest.mark.parametrize("flag", ["-Og", "-flto", "-flto=thin"])
def test_flags_that_change_what_clang_writes(flag: str, here: Path) -> None:
    assert cc("-c", flag, "main.c", "model.c", "power.c") == 0
    assert cc(flag, "main.o", "model.o", "power.o", "-o", "prog") == 0
    assert said("prog") == "6\n"


def test_undefined_behaviour_is_looked_for(here: Path) -> None:
    Path("copies.c").write_text("""
        #include <string.h>
        double copied(const double *x, int n) {
            double a[4], s = 0;
            memcpy(a, x, n * sizeof *x);
            for (int i = 0; i < n; i++) s += a[i] * a[i];
            return s * (double)(int)x[0];
        }
        void __enzyme_autodiff(void *, ...);
        int main(void) {
            double x[2] = {3, 4}, d[2] = {0};
            __enzyme_autodiff((void *)copied, x, d, 2);
            return d[0] != 18 || d[1] != 24;
        }
    """)
    if not sanitizers.available("undefined"):
        pytest.skip("the compiler has no undefined-behaviour sanitizer")
    assert cc("-O1", "-fsanitize=undefined", "-w", "copies.c", "-o", "prog") == 0
    assert subprocess.run(["./prog"], check=False).returncode == 0


def test_objects_and_archives(here: Path) -> None:
    """Calls are resolved over the whole program: the function's body comes from an archive, at the last step."""
    assert [cc("-c", "-O1", name) for name in ("main.c", "model.c", "power.c")] == [0, 0, 0]
    (here / "unused.c").write_text("double nowhere(double);\ndouble unused(double x) { return nowhere(x); }\n")
    assert cc("-c", "unused.c", "-o", "unused.o") == 0
    subprocess.run(["ar", "rcs", "libparts.a", "power.o", "unused.o", "model.o"], check=True)
    assert cc("main.o", "-L.", "-lparts", "-o", "prog") == 0
    assert said("prog") == "6\n"
    assert cc("main.o", "libparts.a", "-o", "again") == 0
    assert said("again") == "6\n"
    subprocess.run(["ar", "rcsT", "libthin.a", "power.o", "model.o"], check=True)
    assert cc("main.o", "-Wl,--whole-archive", "libthin.a", "-Wl,--no-whole-archive", "-o", "whole") == 0
    assert said("whole") == "6\n"


def test_an_object_is_an_ordinary_one(here: Path) -> None:
    """Without derivatives in it, any linker takes it; `ld -r` joins two, and keeps the bitcode of both."""
    assert cc("-c", "model.c") == cc("-c", "power.c") == cc("-c", "main.c") == 0
    (here / "plain.c").write_text("double model(double);\nint main(void) { return model(3) != 9; }\n")
    subprocess.run([*find_compiler().c, "plain.c", "model.o", "power.o", "-o", "plain"], check=True)
    assert said("plain") == ""
    subprocess.run(["ld", "-r", "model.o", "power.o", "-o", "both.o"], check=True)
    assert len(units("both.o", (here / "both.o").read_bytes())) == 2
    assert cc("main.o", "both.o", "-o", "prog") == 0
    assert said("prog") == "6\n"


LIKE = """
#include <stdio.h>
double outside(double), called_outside(double);
double inside(double x) { return x; }
void *__enzyme_function_like_a[] = {(void *)outside, "exp"}, *__enzyme_function_like_b[] = {(void *)inside, "sin"};
double __enzyme_autodiff(void *, ...);
double f(double x) { return outside(x) + inside(x); }
int main(void) { printf("%.4f %g\\n", __enzyme_autodiff((void *)f, 0.0), called_outside(7)); }
"""


def test_likeness_of_functions_that_other_objects_define_and_call(here: Path) -> None:
    (here / "like.c").write_text(LIKE)
    (here / "plain.c").write_text(
        "double inside(double); double outside(double x) { return 1; }\n"
        "double called_outside(double x) { return inside(x); }\n"
    )
    subprocess.run([*find_compiler().c, "-c", "plain.c", "-o", "plain.o"], check=True)
    assert cc("like.c", "plain.o", "-lm", "-o", "prog") == 0
    assert said("prog") == "2.0000 7\n"


WEAK = {
    "weak": "__attribute__((weak)) double model(double x) { return 2 * x; }\n",
    "alias": "static double own(double x) { return 2 * x; }\n"
    'double model(double x) __attribute__((weak, alias("own")));\n',
}


@pytest.mark.parametrize("name", WEAK)
def test_what_other_objects_define_for_weak_names_is_not_known(
    name: str, here: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (here / "weak.c").write_text(WEAK[name])
    (here / "plain.c").write_text("double model(double x) { return x * x; }\n")
    subprocess.run([*find_compiler().c, "-c", "plain.c", "-o", "plain.o"], check=True)
    assert cc("main.c", "weak.c", "-o", "prog") == 0
    assert said("prog") == "2\n"
    assert cc("main.c", "weak.c", "plain.c", "-o", "prog") == 0
    assert said("prog") == "6\n"
    assert cc("main.c", "weak.c", "plain.o", "-o", "prog") == 1
    assert "model" in capfd.readouterr().err


def test_bitcode_is_linked(here: Path) -> None:
    """Objects and archive members that are bitcode, files of IR, and a library's source."""
    compiler = find_compiler().c
    for name, suffix in (("model", ".o"), ("power", ".ll")):
        words = ["-c", "-emit-llvm"] if suffix == ".o" else ["-S", "-emit-llvm"]
        subprocess.run([*compiler, *words, f"{name}.c", "-o", f"{name}{suffix}"], check=True)
    subprocess.run(["ar", "rcS", "libmodel.a", "model.o"], check=True)
    assert cc("main.c", "libmodel.a", "power.ll", "-o", "prog") == 0
    assert said("prog") == "6\n"


def test_shared_library(here: Path) -> None:
    (here / "part.c").write_text("""
        double __enzyme_autodiff(void *, ...);
        static double cube(double x) { return x * x * x; }
        double slope(double x) { return __enzyme_autodiff((void *)cube, x); }
    """)
    assert cc("-shared", "-fPIC", "-O2", "part.c", "-o", "libpart.so") == 0
    (here / "user.c").write_text("double slope(double);\nint main(void) { return slope(2) != 12; }\n")
    subprocess.run([*find_compiler().c, "user.c", "./libpart.so", "-o", "user"], check=True)
    assert said("user") == ""


def test_what_is_clangs_alone(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cc("-E", "power.c") == 0
    assert "double power" in capfd.readouterr().out
    assert cc("-MM", "main.c") == 0
    assert capfd.readouterr().out.startswith("main.o: main.c")
    assert cc("--version") == 0
    assert "clang version" in capfd.readouterr().out
    assert cc("-S", "main.c", "-o", "main.s") == 0
    assert "__enzyme_autodiff" in (here / "main.s").read_text()
    assert cc() == 1
    assert "no input files" in capfd.readouterr().err


def test_dependencies(here: Path) -> None:
    (here / "value.h").write_text("#define VALUE 3.0\n")
    (here / "alone.c").write_text('#include "value.h"\n' + ALONE)
    assert cc("-MMD", "-MP", "-c", "alone.c", "-o", "alone.o") == 0
    assert "alone.o: alone.c value.h" in (here / "alone.d").read_text().replace("\\\n", "").replace("  ", " ")
    assert cc("-MD", "-MF", "rule", "-MT", "prog", "alone.c", "-o", "prog") == 0
    assert (here / "rule").read_text().startswith("prog: alone.c")


def test_response_file(here: Path) -> None:
    (here / "words").write_text('-O2 main.c "model.c"\npower.c -o "my prog"')
    assert cc("@words") == 0
    assert said("my prog") == "6\n"


def test_standard_input(here: Path) -> None:
    done = llgrad("cc", "-x", "c", "-O2", "-", "-o", "prog", input=ALONE)
    assert done.returncode == 0, done.stderr
    assert said("prog") == "6\n"


def test_debug_info_only_where_it_is_wanted(here: Path) -> None:
    sizes = []
    for words in ([], ["-g"]):
        assert cc(*words, "alone.c", "-o", "prog") == 0
        sizes.append(b"DW_" in (here / "prog").read_bytes() or b".debug_info" in (here / "prog").read_bytes())
    assert sizes == [False, True]


def test_errors_are_a_compilers(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (here / "bad.c").write_text("int main(void) { return nothing; }\n")
    assert cc("bad.c", "-o", "prog") == 1
    assert "bad.c:1:25: error: use of undeclared" in capfd.readouterr().err
    assert cc("-c", "bad.c") == 1
    assert cc("main.c", "-o", "prog") == 1
    assert "main.c:5:" in (text := capfd.readouterr().err) and "error: __enzyme_autodiff differentiates model" in text
    assert cc("-c", "main.c", "model.c", "-o", "x.o") == 1
    assert "cannot specify -o" in capfd.readouterr().err
    assert cc("--level", "7", "main.c") == cc("main.c", "-o") == 1
    (here / "broken.a").write_bytes(b"!<arch>\n" + b"x" * 70)
    assert cc("alone.c", "broken.a", "-o", "prog") == 1
    assert "broken.a is damaged" in capfd.readouterr().err


def test_warnings_are_said_once(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (here / "warned.c").write_text(ALONE.replace("return n - 1", "int unused; return n - 1"))
    for words in (("-c", "warned.c"), ("warned.c", "-o", "prog")):
        assert cc("-Wall", *words) == 0
        assert capfd.readouterr().err.count("unused variable") == 1


def test_run(here: Path) -> None:
    (here / "reads.c").write_text(ALONE.replace("return n - 1;", "return 10 * n + (getchar() - 48);"))
    done = llgrad("run", "reads.c", "--", "a", "b", input="7")
    assert (done.stdout, done.returncode) == ("6\n", 37), done.stderr
    assert llgrad("run", "main.c", "model.c", "power.c", "-O0").stdout == "6\n"
    (here / "power.cpp").write_text('extern "C" ' + POWER)
    assert llgrad("run", "main.c", "model.c", "power.cpp").stdout == "6\n"  # each in its own language
    failed = llgrad("run", "main.c")
    assert failed.returncode == 1 and "has no body here" in failed.stderr


def test_make(here: Path) -> None:
    if shutil.which("make") is None:
        pytest.skip("make is not installed")
    (here / "Makefile").write_text(
        "CFLAGS = -O1 -MMD\nprog: main.o libparts.a\n\t$(CC) $(LDFLAGS) $^ -o $@\n"
        "libparts.a: libparts.a(model.o power.o)\n"
    )
    command = f"{sys.executable} -m llgrad cc"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(["make", f"CC={command}"], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stderr
    assert said("prog") == "6\n"


def test_cmake(here: Path) -> None:
    if shutil.which("cmake") is None or shutil.which("make") is None:
        pytest.skip("cmake or make is not installed")
    (here / "CMakeLists.txt").write_text("""
        cmake_minimum_required(VERSION 3.16)
        project(demo C)
        include(CheckCCompilerFlag)
        check_c_compiler_flag(-Wall HAVE_WALL)
        add_library(parts STATIC model.c power.c)
        add_executable(prog main.c)
        target_link_libraries(prog parts m)
    """)
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "CC": f"{sys.executable} -m llgrad cc"}
    for words in (["-S", ".", "-B", "."], ["--build", "."]):
        done = subprocess.run(["cmake", *words], capture_output=True, text=True, env=environment, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    assert said("prog") == "6\n"


def test_vector_instructions(here: Path) -> None:
    """The code is for the CPU that -m… names: intrinsics that need it compile."""
    (here / "wide.c").write_text(
        ALONE.replace("#include", "#include <immintrin.h>\n#include", 1)
        + """
        void twice(double *x) { _mm256_storeu_pd(x, _mm256_add_pd(_mm256_loadu_pd(x), _mm256_loadu_pd(x))); }
    """
    )
    assert cc("-mavx2", "-O2", "wide.c", "-o", "prog") == 0
    assert said("prog") == "6\n"


def test_languages_named_with_warnings_as_errors(here: Path) -> None:
    for name in ("main", "model", "power"):
        shutil.copy(f"{name}.c", f"{name}.txt")
    assert cc("-c", "power.c") == 0
    assert cc("-Werror", "-x", "c", "main.txt", "model.txt", "power.txt", "-o", "prog") == 0
    assert said("prog") == "6\n"
    assert cc("-Werror", "-x", "c", "main.txt", "model.txt", "-x", "none", "power.o", "-o", "prog") == 0
    assert said("prog") == "6\n"
    (here / "nothing.txt").write_text(".globl nothing\nnothing: ret\n")
    assert cc("-x", "assembler", "nothing.txt", "-x", "c", "main.txt", "model.txt", "power.txt", "-o", "prog") == 0
    assert said("prog") == "6\n"


def test_c_plus_plus(here: Path) -> None:
    (here / "part.cpp").write_text(
        '#include <vector>\nextern "C" double model(double x) { return std::vector{x, x}[1] * x; }'
    )
    assert cc("-std=c++17", "-c", "part.cpp", cxx=True) == 0
    assert cc("-x", "c", "main.c", "-x", "none", "part.o", "-o", "prog", cxx=True) == 0
    assert said("prog") == "6\n"


def test_sort_of_libcxx(here: Path) -> None:
    """libc++ has std::sort of numbers compiled in its library."""
    (here / "sorted.cpp").write_text("""
        #include <algorithm>
        #include <vector>
        extern "C" double model(double x) {
            std::vector<double> v;
            std::vector<long> n;
            for (int i = 0; i < 50; i++) v.push_back((i * 17 % 50) * x), n.push_back(i * 7 % 50);
            std::sort(v.begin(), v.end());
            std::sort(n.begin(), n.end());
            return v[0] + v[n[2]] * v[1] / 2;
        }
    """)
    if cc("-stdlib=libc++", "-fsyntax-only", "sorted.cpp", cxx=True) != 0:
        pytest.skip("the compiler has no libc++")
    assert cc("-stdlib=libc++", "-x", "c", "main.c", "-x", "c++", "sorted.cpp", "-o", "prog", cxx=True) == 0
    assert said("prog") == "6\n"


UNIT = """
#include <math.h>
static double k = 2;
static double helper(double x) { return k * x * x; }
double model(const double *w, const double *x, int n, double s)
{
    double t = 0;
    for (int i = 0; i < n; i++)
        t += helper(w[i]) * sin(x[i]);
    return t * s;
}
void fill(double *y, const double *x, float a) { y[0] = x[0] * x[1] * a; }
"""
USER = """
#include <math.h>
double model(const double *w, const double *x, int n, double s);
void fill(double *y, const double *x, float a);
extern int enzyme_dup, enzyme_const, enzyme_out;
double __enzyme_autodiff(void *, ...), __enzyme_fwddiff(void *, ...);
float __enzyme_autodiff_f(void *, ...);
static double outer(const double *w, const double *x, double s) { return 3 * model(w, x, 2, s * s); }
static int differ(double a, double b) { return fabs(a - b) > 1e-6; }
int main(void)
{
    double w[2] = {1, 2}, x[2] = {.5, .7}, dw[2] = {0}, dx[2] = {0}, t[2] = {0, 1}, y[1], dy[1] = {1}, dz[2] = {0};
    double ds = __enzyme_autodiff((void *)model, w, dw, enzyme_dup, x, dx, enzyme_const, 2, enzyme_out, 3.0);
    int bad = differ(ds, 2 * sin(.5) + 8 * sin(.7)) + differ(dw[1], 24 * sin(.7)) + differ(dx[0], 6 * cos(.5));
    dw[1] = 0;
    __enzyme_autodiff((void *)outer, enzyme_dup, w, dw, enzyme_const, x, enzyme_const, 2.0);
    bad += differ(dw[1], 96 * sin(.7));
    bad += differ(__enzyme_fwddiff((void *)outer, enzyme_dup, w, t, enzyme_const, x, enzyme_const, 2.0), 96 * sin(.7));
    float da = __enzyme_autodiff_f((void *)fill, enzyme_dup, y, dy, enzyme_dup, x, dz, enzyme_out, 4.0f);
    return bad + differ(da, .35) + differ(dz[0], 2.8);
}
"""


@pytest.mark.parametrize("level", ["0", "2"])
def test_derivatives_in_their_own_object(level: str, here: Path) -> None:
    """Another unit differentiates the function, and what calls it, though it sees no body."""
    (here / "unit.c").write_text(UNIT)
    (here / "user.c").write_text(USER)
    assert cc(f"-O{level}", "-c", "--derivative", "model", "--derivative=fill", "unit.c", "-o", "unit.o") == 0
    assert [u.options.apart for u in units("unit.o", (here / "unit.o").read_bytes())] == [True]
    subprocess.run(["ar", "rcs", "libunit.a", "unit.o"], check=True)
    for object in ("unit.o", "libunit.a"):
        assert cc(f"-O{level}", "user.c", object, "-o", "prog", "-lm") == 0
        assert said("prog") == ""


def test_parameters_that_have_no_derivative_in_another_object(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Where one is active after all, the call is refused; a name that there is not makes no derivative without one."""
    (here / "unit.c").write_text(UNIT)
    (here / "user.c").write_text("""#include <stdio.h>
    extern int enzyme_dup, enzyme_const;
    double __enzyme_autodiff(void *, ...), model(const double *w, const double *x, int n, double s);
    static double outer(const double *w, const double *x) { return 3 * model(w, x, 2, 1); }
    int main(void) {
        double w[2] = {1, 2}, x[2] = {.5, .7}, d[2] = {0};
        __enzyme_autodiff((void *)outer, WHICH);
        printf("%.4f", d[1]);
    }""")
    assert cc("-O2", "-c", "--derivative", "model", "--wrt", "w", "unit.c", "-o", "unit.o") == 0
    assert cc("-O2", "-DWHICH=enzyme_dup,w,d,enzyme_const,x", "user.c", "unit.o", "-o", "prog", "-lm") == 0
    assert said("prog") == f"{24 * math.sin(0.7):.4f}"
    for which in ("enzyme_const,w,enzyme_dup,x,d", "enzyme_dup,w,d,enzyme_dup,x,d"):
        assert cc("-O2", f"-DWHICH={which}", "user.c", "unit.o", "-o", "prog", "-lm") == 1
        assert "argument 2 is active in a call, but not among those of --wrt" in capfd.readouterr().err
    assert cc("-O2", "-c", "--derivative", "model", "--wrt", "w,y", "unit.c", "-o", "unit.o") == 1
    assert "--wrt y names no parameter of model" in capfd.readouterr().err
    assert not (here / "unit.o").exists()  # what clang has made there by then has no derivatives


@pytest.mark.parametrize("words", [("alone.c",), ("-c", "alone.c"), ("-c", "--derivative", "power", "model.c")])
def test_derivatives_that_have_no_place(words: tuple[str, ...], here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert cc(*words, *([] if "--derivative" in words else ["--derivative", "model"])) == 1
    assert "--derivative" in capfd.readouterr().err


def test_what_calls_other_units_names_the_function(here: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Whether the other function makes text of what it gets is the lesser question."""
    (here / "loss.c").write_text("""double model(const double *p, double x);
    double loss(const double *p, const double *x, int n) {
        double s = 0;
        for (int i = 0; i < n; i++)
            s += model(p, x[i]);
        return s;
    }""")
    assert cc("-O2", "-c", "--derivative", "loss", "loss.c") == 1
    assert "no derivative for the call of model, in the derivative of loss [no-rule]" in capfd.readouterr().err


def test_include_dir() -> None:
    folder = Path(llgrad("--include-dir").stdout.strip())
    assert (folder / "enzyme" / "enzyme").is_file()


def test_headers_are_packaged() -> None:
    package = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["package-data"]["llgrad"]
    source = ROOT / "src" / "llgrad"
    wanted = {p for p in (source / "include").rglob("*") if p.is_file()}
    assert wanted and wanted <= {p for pattern in package for p in source.glob(pattern)}


@pytest.mark.full
def test_installed(here: Path) -> None:
    """From a wheel, in a folder of its own: console scripts and headers are there."""
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", "site", str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    (here / "h.cpp").write_text("""
        #include <enzyme/enzyme>
        static double f(double x) { return x * x; }
        int main() { return enzyme::get<0>(enzyme::autodiff<enzyme::Forward>(f, enzyme::Duplicated{3.0, 1.0})) != 6; }
    """)
    environment = {**os.environ, "PYTHONPATH": str(here / "site")}
    for words in ([str(here / "site/bin/llgrad-c++"), "-std=c++17", "h.cpp", "-o", "h"], ["./h"]):
        subprocess.run(words, check=True, env=environment)


# --- the pieces -------------------------------------------------------------------------------------------------------


def test_words() -> None:
    words = "-c -O2 -xc++ a.h -x none b.c -Iinc -D X=1 -L lib -lm -Wl,-z,now -o out --level=0 -march=native"
    line = read(words.split(" "))
    assert [i.value for i in line.inputs] == ["a.h", "b.c"] and line.inputs[0].language == "c++"
    assert line.words(Role.COMPILE) == ["-Iinc", "-D", "X=1"]
    assert line.words(Role.LINK, Role.LIBRARY) == ["-L", "lib", "-lm", "-Wl,-z,now"]
    assert (line.output, line.level, line.before, line.cpu, line.debug) == ("out", 2, 0, "native", False)
    assert read(["-g", "-Ofast"]).debug and read(["-Ofast"]).level == 3 and not read(["-g", "-g0"]).debug
    assert read(["-mavx2", "-mno-fma"]).cpu == "x86-64,+avx2,-fma" and read(["-O"]).level == 1
    with pytest.raises(ArgumentError, match="argument to '-o' is missing"):
        read(["a.c", "-o"])


def test_records(here: Path) -> None:
    unit = Unit("u", b"BC\xc0\xde1234", Options(2, "native", True))
    subprocess.run([*find_compiler().c, "-c", "power.c", "-o", "bare.o"], check=True)
    bare = (here / "bare.o").read_bytes()
    assert units("x.o", bare) == []
    data = embed(bare, unit)
    assert units("x.o", data) == [Unit("x.o", unit.bitcode, unit.options)]
    with pytest.raises(SourceError, match="damaged"):
        units("x.o", data.replace(b"LLGRAD\0\1", b"LLGRAD\0\2"))


def test_archive_names(here: Path) -> None:
    names = ["short.o", "a_name_longer_than_fifteen.o"]
    for name in names:
        (here / name).write_bytes(name.encode())
    subprocess.run(["ar", "rcs", "lib.a", *names], check=True)
    found = members(Path("lib.a"), (here / "lib.a").read_bytes())
    assert [(m.name, m.data.decode()) for m in found] == [(f"lib.a({n})", n) for n in names]


@pytest.mark.parametrize("cxx", [False, True])
def test_help_begins_with_own_options(capfd: pytest.CaptureFixture[str], cxx: bool) -> None:
    assert drive(["--help"], cxx=cxx) == 0
    own, _, clangs = capfd.readouterr().out.partition("OVERVIEW")
    names = {"--level", "--derivative", "--wrt", "--checkpoint", "--denormals", "--serial"}
    assert names <= set(own.split()) and "USAGE" in clangs
    assert names == set(re.findall(r"^  (--\w+)", own, re.MULTILINE))
