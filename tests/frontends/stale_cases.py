"""Cases of `test_stale`: inputs of each front end, and an edit of each."""

from __future__ import annotations

from typing import Any, NamedTuple


class Case(NamedTuple):
    """Files, what of them is loaded, and an edit by which f(x) = 2 x x becomes 3 x x (None removes a file)."""

    name: str
    files: dict[str, str]
    paths: tuple[str, ...]
    edit: dict[str, str | None] = {}
    flags: tuple[str, ...] = ()  # {0} is the folder
    variables: dict[str, str] = {}
    edited_variables: dict[str, str] = {}
    edited_flags: tuple[str, ...] = ()


def one(name: str, source: str, text: str, edited: str, more: dict[str, str] | None = None, **options: Any) -> Case:
    """A source and one file that is edited; `more` files stay as they are."""
    paths, (old, new) = options.pop("paths", (source,)), options.pop("swapped", ("2", "3"))
    return Case(name, {**(more or {}), edited: text}, paths, {edited: text.replace(old, new)}, **options)


# --- C and C++ --------------------------------------------------------------------------------------------------------

C = '#include "k.h"\ndouble f(double x) { return K * x * x; }\n'
K, K3 = "#define K 2.0\n", "#define K 3.0\n"
PLAIN = "double f(double x) { return K * x * x; }\n"
MAYBE = '#if __has_include("k.h")\n#include "k.h"\n#else\n#define K 2.0\n#endif\n' + PLAIN
DATABASE = '[{"directory": ".", "file": "s/a.c", "command": "cc -Iinc -DK=2.0 -c s/a.c"}]'
FROM_RESPONSE = DATABASE.replace("-DK=2.0", "@more.rsp")
COMPILER = '#!/bin/sh\nexec "$LLGRAD_TEST_CLANG" -DK=2.0 "$@"\n'
C_CASES = [
    one("c source", "a.c", "double f(double x) { return 2 * x * x; }\n", "a.c"),
    one("c header", "a.c", K, "k.h", {"a.c": C}),
    one("c header of a header", "a.c", K, "in/n.h", {"a.c": C, "k.h": '#include "in/n.h"\n'}),
    one("c header by -I", "a.c", K, "inc/k.h", {"a.c": C}, flags=("-I{0}/inc",)),
    one("c header by -include", "a.c", K, "k.h", {"a.c": PLAIN}, flags=("-include", "{0}/k.h")),
    one("c header in angle brackets", "a.c", K, "inc/k.h", {"a.c": C.replace('"k.h"', "<k.h>")}, flags=("-I{0}/inc",)),
    Case("c header that comes first", {"a.c": C, "i/k.h": K}, ("a.c",), {"j/k.h": K3}, ("-I{0}/j", "-I{0}/i")),
    Case("c header beside the source", {"s/a.c": C, "i/k.h": K}, ("s/a.c",), {"s/k.h": K3}, ("-I{0}/i",)),
    Case(
        "c header beside a header",
        {"a.c": '#include "h.h"\n' + PLAIN, "i/h.h": '#include "k.h"\n', "j/k.h": K},
        ("a.c",),
        {"i/k.h": K3},
        ("-I{0}/i", "-I{0}/j"),
    ),
    Case(
        "c header in a folder that comes first",
        {"a.c": C.replace("k.h", "in/k.h"), "i/in/k.h": K, "j/x": ""},
        ("a.c",),
        {"j/in/k.h": K3},
        ("-I{0}/j", "-I{0}/i"),
    ),
    Case(
        "c header like the system's",
        {"a.c": "#include <math.h>\n#ifndef K\n#define K 2.0\n#endif\n" + PLAIN, "i/x": ""},
        ("a.c",),
        {"i/math.h": K3},
        ("-I{0}/i",),
    ),
    Case("c header that is asked for", {"a.c": MAYBE}, ("a.c",), {"k.h": K3}),
    Case("c header that is asked for by -I", {"a.c": MAYBE, "i/x": ""}, ("a.c",), {"i/k.h": K3}, ("-I{0}/i",)),
    Case("c header that goes", {"a.c": MAYBE.replace("2.0", "3.0"), "k.h": K}, ("a.c",), {"k.h": None}),
    one(
        "c embedded file",
        "a.c",
        "2\n",
        "k.txt",
        {
            "a.c": 'static const double k[] = {\n#embed "k.txt"\n};\n'
            "double f(double x) { return (k[0] - 48) * x * x; }\n"
        },
        flags=("-std=c23",),
    ),
    one("c response file", "a.c", "-DK=2.0\n", "rsp", {"a.c": PLAIN}, flags=("@{0}/rsp",)),
    Case(
        "c response file in another",
        {"a.c": PLAIN, "o": "@{0}/i", "i": "-DK=2.0"},
        ("a.c",),
        {"i": "-DK=3.0"},
        ("@{0}/o",),
    ),
    one("c configuration file", "a.c", "-DK=2.0\n", "my.cfg", {"a.c": PLAIN}, flags=("--config", "{0}/my.cfg")),
    Case("c flag", {"a.c": PLAIN}, ("a.c",), flags=("-DK=2.0",), edited_flags=("-DK=3.0",)),
    one("c database", "s/a.c", DATABASE, "compile_commands.json", {"s/a.c": PLAIN}, paths=("compile_commands.json",)),
    one(
        "c header by a database",
        "s/a.c",
        K,
        "inc/k.h",
        {"s/a.c": C, "compile_commands.json": DATABASE.replace("-DK=2.0", "")},
        paths=("compile_commands.json",),
    ),
    one(
        "c source by a database",
        "s/a.c",
        "double f(double x) { return 2 * x * x; }\n",
        "s/a.c",
        {"compile_commands.json": DATABASE},
        paths=("compile_commands.json",),
    ),
    one(
        "c response file by a database",
        "s/a.c",
        "-DK=2.0\n",
        "more.rsp",
        {"s/a.c": PLAIN, "compile_commands.json": FROM_RESPONSE},
        paths=("compile_commands.json",),
    ),
    *(
        Case(
            f"c {name}",
            {"a.c": C.replace('"k.h"', "<k.h>"), "i/k.h": K, "j/k.h": K3},
            ("a.c",),
            variables={name: "{0}/i"},
            edited_variables={name: "{0}/j"},
        )
        for name in ("CPATH", "C_INCLUDE_PATH")
    ),
    Case(
        "c CCC_OVERRIDE_OPTIONS",
        {"a.c": PLAIN},
        ("a.c",),
        variables={"CCC_OVERRIDE_OPTIONS": "# +-DK=2.0"},
        edited_variables={"CCC_OVERRIDE_OPTIONS": "# +-DK=3.0"},
    ),
    one(
        "c compiler at its path",
        "a.c",
        COMPILER,
        "bin/mycc",
        {"a.c": PLAIN},
        variables={"LLGRAD_CLANG": "{0}/bin/mycc"},
    ),
    one(
        "c compiler behind a script",
        "a.c",
        COMPILER,
        "bin/real",
        {"a.c": PLAIN, "bin/mycc": '#!/bin/sh\nhere=$(dirname "$0")\nexec "$here/real" "$@"\n'},
        variables={"LLGRAD_CLANG": "{0}/bin/mycc"},
    ),
    one(
        "c compiler behind another word",
        "a.c",
        COMPILER,
        "bin/real",
        {"a.c": PLAIN, "bin/ccache": '#!/bin/sh\nexec "$@"\n'},
        variables={"LLGRAD_CLANG": "{0}/bin/ccache {0}/bin/real"},
    ),
    one(
        "c compiler behind its namesake",
        "a.c",
        COMPILER,
        "real/clang-22",
        {"a.c": PLAIN, "bin/clang-22": '#!/bin/sh\nPATH="${PATH#*:}" exec clang-22 "$@"\n'},
        variables={"PATH": "{0}/bin:{0}/real:{PATH}"},
    ),
    Case(
        "c compiler earlier on PATH",
        {"a.c": "#ifndef K\n#define K 2.0\n#endif\n" + PLAIN, "bin/x": ""},
        ("a.c",),
        {"bin/clang-22": COMPILER.replace("2.0", "3.0")},
        variables={"PATH": "{0}/bin:{PATH}"},
    ),
    one(
        "c list",
        "a.c",
        "double g(double x) { return 2 * x * x; }\n",
        "b.c",
        {"a.c": "double g(double);\ndouble f(double x) { return g(x); }\n"},
        paths=("a.c", "b.c"),
    ),
    one("c++ source", "a.cpp", 'extern "C" double f(double x) { return 2 * x * x; }\n', "a.cpp"),
    one("c++ header", "a.cpp", K, "k.hpp", {"a.cpp": '#include <cmath>\n#include "k.hpp"\nextern "C" ' + PLAIN}),
    Case(
        "c++ header that comes first",
        {"a.cpp": 'extern "C" {\n' + C + "}\n", "i/k.h": K},
        ("a.cpp",),
        {"j/k.h": K3},
        ("-I{0}/j", "-I{0}/i"),
    ),
    Case(
        "c++ CPLUS_INCLUDE_PATH",
        {"a.cpp": '#include <k.h>\nextern "C" ' + PLAIN, "i/k.h": K, "j/k.h": K3},
        ("a.cpp",),
        variables={"CPLUS_INCLUDE_PATH": "{0}/i"},
        edited_variables={"CPLUS_INCLUDE_PATH": "{0}/j"},
    ),
]

# --- Fortran ----------------------------------------------------------------------------------------------------------

BODY = "  r = 2 * x * x\n"
FUNCTION = "function f(x) bind(c) result(r)\n{use}  real(8), value :: x\n  real(8) :: r\n{body}end function\n"
MODULE = "module k\n  real(8), parameter :: c = 2\nend module\n"
COMPILED = "!mod$ v1 sum:{0}\nmodule k\nreal(8),parameter::c={1}._8\nend\n"
USES = FUNCTION.format(use="  use k\n", body="  r = c * x * x\n")
FORTRAN_CASES = [
    one("fortran source", "a.f90", FUNCTION.format(use="", body=BODY), "a.f90"),
    one("fortran include", "a.f90", BODY, "b.inc", {"a.f90": FUNCTION.format(use="", body="  include 'b.inc'\n")}),
    one(
        "fortran include by -I",
        "a.f90",
        BODY,
        "i/b.inc",
        {"a.f90": FUNCTION.format(use="", body="  include 'b.inc'\n")},
        flags=("-I{0}/i",),
    ),
    one(
        "fortran include of an include",
        "a.f90",
        BODY,
        "c.inc",
        {"a.f90": FUNCTION.format(use="", body="  include 'b.inc'\n"), "b.inc": "  include 'c.inc'\n"},
    ),
    one(
        "fortran preprocessor's include",
        "a.F90",
        "#define K 2\n",
        "k.h",
        {"a.F90": '#include "k.h"\n' + FUNCTION.format(use="", body="  r = K * x * x\n")},
    ),
    Case(
        "fortran include that comes first",
        {"a.f90": FUNCTION.format(use="", body="  include 'b.inc'\n"), "i/b.inc": BODY, "j/x": ""},
        ("a.f90",),
        {"j/b.inc": BODY.replace("2", "3")},
        ("-I{0}/j", "-I{0}/i"),
    ),
    one("fortran module of the list", "a.f90", MODULE, "k.f90", {"a.f90": USES}, paths=("a.f90", "k.f90")),
    Case(
        "fortran module compiled elsewhere",
        {"a.f90": USES, "i/k.mod": "{module 2}"},
        ("a.f90",),
        {"i/k.mod": "{module 3}"},
        ("-I{0}/i",),
    ),
    Case(
        "fortran module that comes first",
        {"a.f90": USES, "i/k.mod": "{module 2}", "j/x": ""},
        ("a.f90",),
        {"j/k.mod": "{module 3}"},
        ("-I{0}/j", "-I{0}/i"),
    ),
    Case(
        "fortran flag",
        {"a.F90": FUNCTION.format(use="", body="  r = K * x * x\n")},
        ("a.F90",),
        flags=("-DK=2",),
        edited_flags=("-DK=3",),
    ),
    one(
        "fortran response file",
        "a.F90",
        "-DK=2",
        "rsp",
        {"a.F90": FUNCTION.format(use="", body="  r = K * x * x\n")},
        flags=("@{0}/rsp",),
    ),
    one(
        "fortran and c",
        "a.f90",
        "double g(double x) { return 2 * x * x; }\n",
        "g.c",
        {
            "a.f90": "module m\ninterface\nfunction g(x) bind(c)\nreal(8), value :: x\nreal(8) :: g\nend function\n"
            "end interface\ncontains\n" + FUNCTION.format(use="", body="  r = g(x)\n") + "end module\n"
        },
        paths=("a.f90", "g.c"),
    ),
]

# --- Rust -------------------------------------------------------------------------------------------------------------

RUST = "pub fn f(x: f64) -> f64 { 2.0 * x * x }\n"
USES_K = "pub fn f(x: f64) -> f64 { k::K * x * x }\n"
CONSTANT = "pub const K: f64 = 2.0;\n"
DIGIT = "(({0}).as_bytes()[0] - b'0') as f64 * x * x }}\n"
BY_TEXT = "pub fn f(x: f64) -> f64 { " + DIGIT.format('include_str!("k.txt")')
BY_VARIABLE = "pub fn f(x: f64) -> f64 { " + DIGIT.format('option_env!("{name}").unwrap_or("2")')
MANIFEST = '[package]\nname = "{0}"\nversion = "0.1.0"\nedition = "2021"\n'
PACKAGE = MANIFEST.format("model") + "[workspace]\n"
DEPENDENT = PACKAGE + '[dependencies]\nk = {{ path = "../k" }}\n'.replace("{{", "{").replace("}}", "}")
GENERATED = 'include!(concat!(env!("OUT_DIR"), "/g.rs"));\npub fn f(x: f64) -> f64 { K * x * x }\n'
SCRIPT = (
    'fn main() {{ {0} let at = std::env::var("OUT_DIR").unwrap() + "/g.rs";\n'
    'std::fs::write(at, format!("const K: f64 = {{}}.0;", {1})).unwrap(); }}\n'
)
READS = 'std::fs::read_to_string("k.txt").unwrap().trim()'
ASKS = 'std::env::var("MODEL_K").unwrap_or("2".to_string())'
VENDORED = {
    "m/Cargo.toml": PACKAGE + '[dependencies]\nk = "1"\n',
    "m/.cargo/config.toml": '[source.crates-io]\nreplace-with = "here"\n[source.here]\ndirectory = "vendor"\n',
    "m/vendor/k/Cargo.toml": '[package]\nname = "k"\nversion = "1.0.0"\nedition = "2021"\n',
    "m/vendor/k/.cargo-checksum.json": '{"files": {}, "package": null}\n',
    "m/src/lib.rs": USES_K,
}
DECLARES = 'println!("cargo:rerun-if-changed=k.txt");'


def package(name: str, text: str, edited: str, more: dict[str, str], **options: Any) -> Case:
    """A case of a package in `m/`."""
    more = {"m/Cargo.toml": PACKAGE, "m/src/lib.rs": USES_K, **more}
    return one(f"cargo {name}", "m/Cargo.toml", text, edited, more, **options)


RUST_CASES = [
    one("rust source", "a.rs", RUST, "a.rs"),
    one("rust module", "a.rs", CONSTANT, "k.rs", {"a.rs": "mod k;\n" + USES_K}),
    one("rust module by a path", "a.rs", CONSTANT, "in/q.rs", {"a.rs": '#[path = "in/q.rs"]\nmod k;\n' + USES_K}),
    one("rust included source", "a.rs", CONSTANT, "k.in", {"a.rs": 'mod k { include!("k.in"); }\n' + USES_K}),
    one("rust included text", "a.rs", "2\n", "k.txt", {"a.rs": BY_TEXT}),
    one(
        "rust response file",
        "a.rs",
        '--cfg\nk="2"\n',
        "rsp",
        {"a.rs": 'pub fn f(x: f64) -> f64 { (if cfg!(k = "2") { 2.0 } else { 3.0 }) * x * x }\n'},
        flags=("@{0}/rsp",),
    ),
    *(
        Case(
            f"rust variable {name}",
            {"a.rs": BY_VARIABLE.replace("{name}", name)},
            ("a.rs",),
            variables={name: "2"},
            edited_variables={name: "3"},
        )
        for name in ("MODEL_K", "TERM")
    ),
    package("source", RUST, "m/src/lib.rs", {}),
    package("module", CONSTANT, "m/src/k.rs", {"m/src/lib.rs": "mod k;\n" + USES_K}),
    package("included text", "2\n", "m/k.txt", {"m/src/lib.rs": BY_TEXT.replace("k.txt", "../k.txt")}),
    package(
        "manifest",
        PACKAGE + '[features]\ndefault = ["k2"]\nk2 = []\nk3 = []\n',
        "m/Cargo.toml",
        {"m/src/lib.rs": 'pub fn f(x: f64) -> f64 { (if cfg!(feature = "k3") { 3.0 } else { 2.0 }) * x * x }\n'},
        swapped=('["k2"]', '["k3"]'),
    ),
    package(
        "path dependency", CONSTANT, "k/src/lib.rs", {"m/Cargo.toml": DEPENDENT, "k/Cargo.toml": MANIFEST.format("k")}
    ),
    package(
        "text in a path dependency",
        "2\n",
        "k/k.txt",
        {
            "m/Cargo.toml": DEPENDENT,
            "k/Cargo.toml": MANIFEST.format("k"),
            "m/src/lib.rs": "pub fn f(x: f64) -> f64 { k::f(x) }\n",
            "k/src/lib.rs": BY_TEXT.replace("k.txt", "../k.txt"),
        },
    ),
    package(
        "manifest of a path dependency",
        MANIFEST.format("k") + '[features]\ndefault = ["k2"]\nk2 = []\nk3 = []\n',
        "k/Cargo.toml",
        {
            "m/Cargo.toml": DEPENDENT,
            "k/src/lib.rs": '#[cfg(feature = "k3")]\npub const K: f64 = 3.0;\n'
            '#[cfg(not(feature = "k3"))]\npub const K: f64 = 2.0;\n',
        },
        swapped=('["k2"]', '["k3"]'),
    ),
    package(
        "member of a workspace",
        CONSTANT,
        "k/src/lib.rs",
        {
            "Cargo.toml": '[workspace]\nmembers = ["m", "k"]\nresolver = "2"\n',
            "k/Cargo.toml": MANIFEST.format("k"),
            "m/Cargo.toml": DEPENDENT.replace("[workspace]\n", ""),
        },
    ),
    package(
        "own source in a workspace",
        RUST,
        "m/src/lib.rs",
        {"Cargo.toml": '[workspace]\nmembers = ["m"]\nresolver = "2"\n', "m/Cargo.toml": MANIFEST.format("model")},
    ),
    package("vendored crate", CONSTANT, "m/vendor/k/src/lib.rs", VENDORED),
    package("build script", SCRIPT.format("", 2), "m/build.rs", {"m/src/lib.rs": GENERATED}),
    package(
        "file that a build script declares",
        "2\n",
        "m/k.txt",
        {"m/src/lib.rs": GENERATED, "m/build.rs": SCRIPT.format(DECLARES, READS)},
    ),
    package(
        "file in a folder that it declares",
        "2\n",
        "m/in/k.txt",
        {
            "m/src/lib.rs": GENERATED,
            "m/build.rs": SCRIPT.format(DECLARES, READS).replace("k.txt", "in", 1).replace("k.txt", "in/k.txt"),
        },
    ),
    package(
        "file that it does not declare",
        "2\n",
        "m/k.txt",
        {"m/src/lib.rs": GENERATED, "m/build.rs": SCRIPT.format("", READS)},
    ),
    Case(
        "cargo variable of a build script",
        {"m/Cargo.toml": PACKAGE, "m/src/lib.rs": GENERATED, "m/build.rs": SCRIPT.format("", ASKS)},
        ("m/Cargo.toml",),
        variables={"MODEL_K": "2"},
        edited_variables={"MODEL_K": "3"},
    ),
    Case(
        "cargo variable that a build script declares",
        {
            "m/Cargo.toml": PACKAGE,
            "m/src/lib.rs": GENERATED,
            "m/build.rs": SCRIPT.format(
                'println!("cargo:rerun-if-env-changed=TERM");', ASKS.replace("MODEL_K", "TERM")
            ),
        },
        ("m/Cargo.toml",),
        variables={"TERM": "2"},
        edited_variables={"TERM": "3"},
    ),
    Case(
        "cargo build script that appears",
        {"m/Cargo.toml": PACKAGE, "m/src/lib.rs": BY_VARIABLE.replace("{name}", "KK")},
        ("m/Cargo.toml",),
        {"m/build.rs": 'fn main() { println!("cargo:rustc-env=KK=3"); }\n'},
    ),
    Case(
        "cargo configuration that appears",
        {"m/Cargo.toml": PACKAGE, "m/src/lib.rs": BY_VARIABLE.replace("{name}", "KK")},
        ("m/Cargo.toml",),
        {".cargo/config.toml": '[env]\nKK = "3"\n'},
    ),
    Case(
        "cargo RUSTFLAGS",
        {
            "m/Cargo.toml": PACKAGE,
            "m/src/lib.rs": 'pub fn f(x: f64) -> f64 { (if cfg!(k = "3") { 3.0 } else { 2.0 }) * x * x }\n',
        },
        ("m/Cargo.toml",),
        variables={"RUSTFLAGS": '--cfg k="2"'},
        edited_variables={"RUSTFLAGS": '--cfg k="3"'},
    ),
    Case(
        "cargo flag",
        {
            "m/Cargo.toml": PACKAGE + "[features]\nk3 = []\n",
            "m/src/lib.rs": 'pub fn f(x: f64) -> f64 { (if cfg!(feature = "k3") { 3.0 } else { 2.0 }) * x * x }\n',
        },
        ("m/Cargo.toml",),
        edited_flags=("--features=k3",),
    ),
]

# --- the others -------------------------------------------------------------------------------------------------------

ZIG = "export fn f(x: f64) f64 { return 2 * x * x; }\n"
ZIG_USES = 'const k = @import("in/k.zig");\nexport fn f(x: f64) f64 { return k.k * x * x; }\n'
ZIG_EMBEDS = "export fn f(x: f64) f64 { return @as(f64, @floatFromInt(@embedFile(name)[0] - '0')) * x * x; }\n"
D = "extern(C) double f(double x) { return 2 * x * x; }\n"
D_USES = "import k;\nextern(C) double f(double x) { return c * x * x; }\n"
D_MODULE = "module k;\nenum c = 2.0;\n"
NIM = "proc f(x: cdouble): cdouble {.exportc.} = 2.0 * x * x\n"
NIM_USES = "proc f(x: cdouble): cdouble {.exportc.} = k * x * x\n"
NIM_FLAG = (
    "const kk {.strdefine.} = \"2\"\nproc f(x: cdouble): cdouble {.exportc.} = float(ord(kk[0]) - ord('0')) * x * x\n"
)
LLVM = "define double @f(double %x) {\n  %y = fmul double %x, 2.0\n  %z = fmul double %y, %x\n  ret double %z\n}\n"
MLIR = (
    "func.func @f(%x: f64) -> f64 {\n  %c = arith.constant 2.0 : f64\n  %y = arith.mulf %c, %x : f64\n"
    "  %z = arith.mulf %y, %x : f64\n  return %z : f64\n}\n"
)
OTHER_CASES = [
    one("zig source", "a.zig", ZIG, "a.zig"),
    one("zig import", "a.zig", "pub const k: f64 = 2;\n", "in/k.zig", {"a.zig": ZIG_USES}),
    one(
        "zig import of an import",
        "a.zig",
        "pub const k: f64 = 2;\n",
        "in/n.zig",
        {"a.zig": ZIG_USES, "in/k.zig": 'pub const k = @import("n.zig").k;\n'},
    ),
    one("zig embedded file", "a.zig", "2\n", "k.txt", {"a.zig": 'const name = "k" ++ ".txt";\n' + ZIG_EMBEDS}),
    one("d source", "a.d", D, "a.d"),
    one("d import", "a.d", D_MODULE, "k.d", {"a.d": D_USES}, flags=("-I{0}",)),
    one(
        "d imported text",
        "a.d",
        "2\n",
        "k.txt",
        {"a.d": "extern(C) double f(double x) { return (import(\"k.txt\")[0] - '0') * x * x; }\n"},
        flags=("-J{0}",),
    ),
    Case(
        "d import that comes first",
        {"a.d": D_USES, "i/k.d": D_MODULE, "j/x": ""},
        ("a.d",),
        {"j/k.d": D_MODULE.replace("2", "3")},
        ("-I{0}/j", "-I{0}/i"),
    ),
    Case(
        "d interface that comes first",
        {"a.d": D_USES, "k.d": D_MODULE},
        ("a.d",),
        {"k.di": D_MODULE.replace("2", "3")},
        ("-I{0}",),
    ),
    Case(
        "d flag",
        {"a.d": "version (three) enum c = 3.0; else enum c = 2.0;\n" + D_USES.partition("\n")[2]},
        ("a.d",),
        edited_flags=("-d-version=three",),
    ),
    one("nim source", "a.nim", NIM, "a.nim"),
    one("nim import", "a.nim", "const k* = 2.0\n", "in/b.nim", {"a.nim": "import in/b\n" + NIM_USES}),
    one("nim include", "a.nim", "const k = 2.0\n", "b.nim", {"a.nim": "include b\n" + NIM_USES}),
    one(
        "nim text",
        "a.nim",
        "2\n",
        "k.txt",
        {"a.nim": "const k = float(ord(staticRead(\"k.txt\")[0]) - ord('0'))\n" + NIM_USES},
    ),
    one(
        "nim unit in C",
        "a.nim",
        "double g(double x) { return 2 * x * x; }\n",
        "g.c",
        {"a.nim": '{.compile: "g.c".}\nproc g(x: cdouble): cdouble {.importc.}\n' + NIM.replace("2.0 * x * x", "g(x)")},
    ),
    one(
        "nim header of C",
        "a.nim",
        "static double g(double x) { return 2 * x * x; }\n",
        "g.h",
        {"a.nim": 'proc g(x: cdouble): cdouble {.importc, header: "g.h".}\n' + NIM.replace("2.0 * x * x", "g(x)")},
    ),
    one("nim configuration", "a.nim", 'define:"kk=2"\n', "nim.cfg", {"a.nim": NIM_FLAG}),
    Case("nim configuration that appears", {"in/a.nim": NIM_FLAG}, ("in/a.nim",), {"nim.cfg": 'define:"kk=3"\n'}),
    Case(
        "nim import that comes first",
        {"a.nim": "import b\n" + NIM_USES, "i/b.nim": "const k* = 2.0\n"},
        ("a.nim",),
        {"b.nim": "const k* = 3.0\n"},
        ("--path:{0}/i",),
    ),
    Case("nim flag", {"a.nim": NIM_FLAG}, ("a.nim",), edited_flags=("-d:kk=3",)),
    one(
        "nim what runs",
        "a.nim",
        "2\n",
        "k.txt",
        {"a.nim": "const k = float(ord(static_exec(\"cat {0}/k.txt\")[0]) - ord('0'))\n" + NIM_USES},
    ),
    one("mlir source", "a.mlir", MLIR, "a.mlir"),
    one("llvm source", "a.ll", LLVM, "a.ll"),
    one(
        "llvm list",
        "a.ll",
        LLVM.replace("@f", "@g"),
        "b.ll",
        {
            "a.ll": "declare double @g(double)\ndefine double @f(double %x) {\n  %y = call double @g(double %x)\n"
            "  ret double %y\n}\n"
        },
        paths=("a.ll", "b.ll"),
    ),
]
CASES = [*C_CASES, *FORTRAN_CASES, *RUST_CASES, *OTHER_CASES]
NEVER_KEPT = ("nim what runs",)  # nim cannot say what that reads
