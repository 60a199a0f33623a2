"""Rust: one crate a source file, compiled by rustc; `Cargo.toml` by cargo, with path and vendored dependencies.

Functions may be `#[no_mangle] extern "C"` or plain `pub fn`; what is private or generic and not used is not there.
A panic ends in an error (`llgrad_fail`) without unwinding, unless the program catches panics itself. rustc's allocation
functions become C's (which is what they are on Linux), so that memory behind `Vec` and `Box` is heap memory like any
other; what grows is moved (no `realloc`), as a derivative would do in any case. The standard library's own code is
loaded from rustc's `libstd-….so`, or one that is made of its archive once.
"""

from __future__ import annotations

import functools
import os
import re
import tempfile
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from llgrad.frontends.common.tools import (
    Compiled,
    Language,
    Source,
    Tool,
    answer,
    find,
    made_once,
    run,
    stopping,
)
from llgrad.frontends.rust import inputs, libm_calls
from llgrad.support.cache_dir import stamp

_INSTALL = "install Rust from rustup.rs (Debian: apt install rustc-web cargo-web)"
_FIX = "correct the source, or pass the flags it needs (--edition=…, -C …, --cfg …)"
_FLAGS = ("--edition=2021", "-g", "-Cpanic=abort", "-Coverflow-checks=off", "-Ccodegen-units=1", "-Copt-level=2")
_ALWAYS = ("-Ctarget-cpu=x86-64",)
_ALL = ("-Clink-dead-code",)  # what is small or private would be left out
_PROFILE = {
    "PANIC": "abort", "DEBUG": "true", "OVERFLOW_CHECKS": "false", "CODEGEN_UNITS": "1", "OPT_LEVEL": "2", "LTO": "off",
    "STRIP": "none",
}  # fmt: skip
_RAW = ("-Cno-prepopulate-passes",)
_UNVECTORISED = ("-Cno-vectorize-loops", "-Cno-vectorize-slp")


def rustc() -> Tool:
    """The compiler; CompilerError that says how to get one."""
    return find("Rust", ("rustc",), "LLGRAD_RUSTC", ("-vV",), r"LLVM version: (\d+)", _INSTALL)


def _compile(sources: Sequence[Source], raw: bool) -> list[Compiled]:
    made = (_crate(s, raw) if s.path.suffix == ".toml" else [_file(s, raw)] for s in sources)
    return [compiled for crate in made for compiled in crate]


def _file(source: Source, raw: bool) -> Compiled:
    tool, name = rustc(), re.sub(r"\W", "_", source.path.stem)
    with tempfile.TemporaryDirectory(prefix="llgrad-") as folder:
        made, rule = Path(folder, f"{name}.ll"), Path(folder, f"{name}.d")
        command = [tool.path, f"--crate-name={name}", "--crate-type=lib", *_FLAGS, *_ALL, *_always(raw)]
        command += ["--emit=llvm-ir,dep-info", f"--out-dir={folder}", *_levelled(source.flags)]
        command.append(str(source.path.absolute()))
        run(command, source.path, _FIX)
        read, consulted = inputs.of_file(source, rule, tool.path)
        files = (source.path, *read)
        return Compiled(finished(made.read_text()), files, _standard_library(tool.path), consulted)


_LEVEL = re.compile(r"((?:-C|--codegen=)?opt-level=)([01sz])")


def _levelled(flags: Sequence[str]) -> list[str]:
    """Flags with the levels below 2 as 2: at those, rustc calls generic code (of `Vec`) where the standard library has
    it compiled, without its IR. Level 0 keeps its debug assertions."""
    found = [_LEVEL.fullmatch(flag) for flag in flags]  # the second word of `-C opt-level=1`, too
    words = [f"{m[1]}2" if m else flag for m, flag in zip(found, flags, strict=True)]
    asserts = "0" in [m[2] for m in found if m][-1:] and not any("debug-assertions" in flag for flag in flags)
    return [*words, "-Cdebug-assertions=on"] if asserts else words


def _always(raw: bool) -> list[str]:
    """Flags of every rustc, cargo's too, which has others in its profile."""
    return [*_ALWAYS, *(_RAW if raw else _UNVECTORISED)]


def _crate(source: Source, raw: bool) -> list[Compiled]:
    """All crates that the library of a Cargo.toml is built from; flags are cargo's (`--features=…`).

    Of the others what is small or generic is compiled where it is used, and all else stands in them."""
    cargo = find("Rust", ("cargo",), "LLGRAD_CARGO", ("-vV",), r"cargo (\d)", _INSTALL, least=1)
    host = re.search(r"host: (\S+)", rustc().version)
    assert host is not None
    with tempfile.TemporaryDirectory(prefix="llgrad-") as folder:
        command = [cargo.path, "rustc", "--lib", "--release", "--quiet", f"--target={host[1]}"]
        command += [f"--manifest-path={source.path.absolute()}", f"--target-dir={folder}", *source.flags]
        command += ["--message-format=json-render-diagnostics", "--", *_ALL]
        profile = {f"CARGO_PROFILE_RELEASE_{name}": value for name, value in _PROFILE.items()}
        words = [*_given_flags(), "--emit=link,llvm-ir,dep-info", *_always(raw)]
        environment = {**profile, "CARGO_ENCODED_RUSTFLAGS": "\x1f".join(words), "RUSTC": rustc().path}
        there = source.path.absolute().parent  # where cargo looks for its configuration, that of vendored crates too
        said = run(command, source.path, _FIX, cwd=there, environment=environment)
        made = sorted(Path(folder, host[1], "release", "deps").glob("*.ll"))
        read, consulted = inputs.of_package(source, Path(folder), said, cargo.path, rustc().path)
        libraries = _standard_library(rustc().path)
        return [Compiled(finished(m.read_text()), (source.path, *read), libraries, consulted) for m in made]


def _given_flags() -> list[str]:
    """The user's own flags of rustc, as cargo reads them from the environment."""
    encoded = os.environ.get("CARGO_ENCODED_RUSTFLAGS")
    return encoded.split("\x1f") if encoded else os.environ.get("RUSTFLAGS", "").split()


def _standard_library(compiler: str) -> tuple[str, ...]:
    """Its shared library. Debian's rustc has only the archive, and links all of it with a crate of which there is
    nothing."""
    return _linked(compiler, stamp(compiler))


@functools.cache
def _linked(compiler: str, _stamp: str) -> tuple[str, ...]:
    root = Path(answer((compiler, "--print", "target-libdir")).strip())
    if shared := sorted(root.glob("libstd-*.so")):
        return tuple(map(str, shared))
    return tuple(str(made_once(found.stem, found, partial(_link, compiler))) for found in root.glob("libstd-*.rlib"))


def _link(compiler: str, made: Path) -> None:
    source = made.with_name("empty.rs")
    source.touch()
    command = [compiler, "--crate-type=dylib", "--crate-name=llgrad_std", str(source), "-o", str(made)]
    run(command, source, "install a linker (Debian: gcc)", cwd=made.parent)


# --- allocation -------------------------------------------------------------------------------------------------------

_DECLARED = re.compile(r"^declare [^@\n]*@((?:\w*7___rustc\d+_)?(__rust_\w+))\([^\n]*$", re.MULTILINE)
_BODIES = {
    "__rust_alloc": """define internal noalias ptr @{0}(i64 %size, i64 %align) alwaysinline {{
  %large = icmp ugt i64 %align, 16
  br i1 %large, label %aligned, label %plain
plain:
  %p = call ptr @malloc(i64 %size)
  ret ptr %p
aligned:
  %q = call ptr @aligned_alloc(i64 %align, i64 %size)
  ret ptr %q
}}""",
    "__rust_alloc_zeroed": """define internal noalias ptr @{0}(i64 %size, i64 %align) alwaysinline {{
  %large = icmp ugt i64 %align, 16
  br i1 %large, label %aligned, label %plain
plain:
  %p = call ptr @calloc(i64 %size, i64 1)
  ret ptr %p
aligned:
  %q = call ptr @aligned_alloc(i64 %align, i64 %size)
  call void @llvm.memset.p0.i64(ptr %q, i8 0, i64 %size, i1 false)
  ret ptr %q
}}""",
    "__rust_dealloc": """define internal void @{0}(ptr %p, i64 %size, i64 %align) alwaysinline {{
  call void @free(ptr %p)
  ret void
}}""",
    "__rust_realloc": """define internal noalias ptr @{0}(ptr %old, i64 %before, i64 %align, i64 %size) alwaysinline {{
  %large = icmp ugt i64 %align, 16
  br i1 %large, label %aligned, label %plain
plain:
  %p = call ptr @malloc(i64 %size)
  br label %made
aligned:
  %q = call ptr @aligned_alloc(i64 %align, i64 %size)
  br label %made
made:
  %new = phi ptr [ %p, %plain ], [ %q, %aligned ]
  %less = icmp ult i64 %before, %size
  %kept = select i1 %less, i64 %before, i64 %size
  call void @llvm.memcpy.p0.p0.i64(ptr %new, ptr %old, i64 %kept, i1 false)
  call void @free(ptr %old)
  ret ptr %new
}}""",
    "__rust_no_alloc_shim_is_unstable_v2": "define internal void @{0}() alwaysinline {{\n  ret void\n}}",
}
_NEEDED = {
    "malloc": "declare noalias ptr @malloc(i64)",
    "calloc": "declare noalias ptr @calloc(i64, i64)",
    "aligned_alloc": "declare noalias ptr @aligned_alloc(i64, i64)",
    "free": "declare void @free(ptr)",
    "strncpy": "declare ptr @strncpy(ptr, ptr, i64)",
    "strnlen": "declare i64 @strnlen(ptr, i64)",
    "llvm.ctlz.i64": "declare i64 @llvm.ctlz.i64(i64, i1)",
    "llvm.memset.p0.i64": "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
    "llvm.memcpy.p0.p0.i64": "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
}


# A vtable begins with the address of what drops an object, null if there is nothing to do: here that is a function, too
_NO_DROP = "llgrad.rust.no_drop"
_VTABLE = re.compile(
    r'^(@vtable\.\w+ = [^\n]*constant )<\{ \[24 x i8\]([^\n]*?) \}> <\{ \[24 x i8\] c"(?:\\00){8}([^"\n]*)"([^\n]*)$',
    re.MULTILINE,
)


# What vectors of all elements grow by: each kind of vector has its own, so that what they hold is told apart
_GROWS = re.compile(r'^(define [^\n]*@"?[^\n"(]*11finish_grow[^\n]*)( #\d+ [^\n]*\{)$', re.MULTILINE)


# The seeds of hashing, which `HashMap` has one of a thread: here it has one of the program, of numbers, and the same in
# every run, so that what is summed over a map has the same last digits
_SEEDS = re.compile(
    r"^(@\w*4hash6random\w*4KEYS\w* = )(?:external (?=thread_local global %\"std::sys::thread_local::native::lazy"
    r"::Storage<core::cell::Cell<\(u64, u64\)>, !>\"$)|([^\n]*?))thread_local ([^\n]*)",
    re.MULTILINE,
)
_SEEDS_TAKEN = re.compile(r"call [^\n]*@llvm\.threadlocal\.address\.p0\(ptr [^@\n]*(@\w*4hash6random\w*4KEYS\w*)\)")


# What sorting and locks call that the standard library has compiled; a lock that is taken is waited for without sleep
_COMPILED = re.compile(
    r"^declare [^@\n]*@(\w+(?:6stable5drift11(sqrt_approx)|5mutex5futex\w*5Mutex\d+(lock_contended|wake)))\([^\n]*$",
    re.MULTILINE,
)
_COMPILED_BODIES = {
    "sqrt_approx": """define internal i64 @{0}(i64 %n) {{
  %some = or i64 %n, 1
  %zeros = call i64 @llvm.ctlz.i64(i64 %some, i1 true)
  %bits = sub i64 64, %zeros
  %half = lshr i64 %bits, 1
  %power = shl i64 1, %half
  %rest = lshr i64 %n, %half
  %both = add i64 %power, %rest
  %mean = lshr i64 %both, 1
  ret i64 %mean
}}""",
    "lock_contended": """define internal void @{0}(ptr %lock) {{
entry:
  br label %wait
wait:
  %held = atomicrmw xchg ptr %lock, i32 2 acquire, align 4
  %free = icmp eq i32 %held, 0
  br i1 %free, label %taken, label %wait
taken:
  ret void
}}""",
    "wake": "define internal void @{0}(ptr %lock) {{\n  ret void\n}}",
}


# `format!`: what the library has written is copied to memory of the program, so that it is known whose it is
_FORMATTED = re.compile(
    r"^declare [^@\n]*@(\w+5alloc3fmt6format12format_inner)\(ptr [^\n]*sret[^\n]*, ptr [^\n]*, ptr [^\n]*$",
    re.MULTILINE,
)
_FORMAT = """declare void @{0}(ptr sret([24 x i8]) captures(none), ptr captures(none), ptr captures(none)) nounwind
define internal void @llgrad.rust.format(ptr sret([24 x i8]) %out, ptr %pieces, ptr %arguments) {{
  %made = alloca [24 x i8], align 8
  call void @{0}(ptr sret([24 x i8]) %made, ptr %pieces, ptr %arguments)
  %capacity = load i64, ptr %made, align 8
  %at.text = getelementptr inbounds i8, ptr %made, i64 8
  %text = load ptr, ptr %at.text, align 8
  %at.length = getelementptr inbounds i8, ptr %made, i64 16
  %length = load i64, ptr %at.length, align 8
  %none = icmp eq i64 %capacity, 0
  br i1 %none, label %empty, label %some
empty:
  br label %done
some:
  %new = call ptr @malloc(i64 %capacity)
  call void @llgrad.rust.text(ptr %new, ptr %text, i64 %length)
  br label %copy
copy:
  call void @free(ptr %text) "enzyme_inactive"
  br label %done
done:
  %p = phi ptr [ inttoptr (i64 1 to ptr), %empty ], [ %new, %copy ]
  store i64 %capacity, ptr %out, align 8
  %out.text = getelementptr inbounds i8, ptr %out, i64 8
  store ptr %p, ptr %out.text, align 8
  %out.length = getelementptr inbounds i8, ptr %out, i64 16
  store i64 %length, ptr %out.length, align 8
  ret void
}}"""


# Text is copied by what is known to copy characters, up to each zero in it
_TEXT = """declare void @__enzyme_integer(ptr, i64)
define internal void @llgrad.rust.text(ptr %new, ptr %text, i64 %length) {
  call void @__enzyme_integer(ptr %new, i64 1)
  br label %piece
piece:
  %at = phi i64 [ 0, %0 ], [ %next, %piece ]
  %rest = sub i64 %length, %at
  %from = getelementptr i8, ptr %text, i64 %at
  %to = getelementptr i8, ptr %new, i64 %at
  %copied = call ptr @strncpy(ptr %to, ptr %from, i64 %rest)
  %size = call i64 @strnlen(ptr %from, i64 %rest)
  %end = add i64 %at, %size
  %next = add i64 %end, 1
  %more = icmp ult i64 %next, %length
  br i1 %more, label %piece, label %done
done:
  ret void
}
"""
_CLONED = re.compile(r"^declare [^@\n]*@(\w+6stringNt\w+6String\w+5clone5Clone5clone)\([^\n]*$", re.MULTILINE)
_CLONE = """define internal void @{0}(ptr sret([24 x i8]) %out, ptr %from) {{
  %at.text = getelementptr inbounds i8, ptr %from, i64 8
  %text = load ptr, ptr %at.text, align 8
  %at.length = getelementptr inbounds i8, ptr %from, i64 16
  %length = load i64, ptr %at.length, align 8
  %none = icmp eq i64 %length, 0
  br i1 %none, label %done, label %some
some:
  %new = call ptr @malloc(i64 %length)
  call void @llgrad.rust.text(ptr %new, ptr %text, i64 %length)
  br label %done
done:
  %p = phi ptr [ inttoptr (i64 1 to ptr), %0 ], [ %new, %some ]
  store i64 %length, ptr %out, align 8
  %out.text = getelementptr inbounds i8, ptr %out, i64 8
  store ptr %p, ptr %out.text, align 8
  %out.length = getelementptr inbounds i8, ptr %out, i64 16
  store i64 %length, ptr %out.length, align 8
  ret void
}}"""


def _seeds(found: re.Match[str]) -> str:
    if found[2] is None:
        return f"{found[1]}internal global [6 x i32] zeroinitializer, align 8"
    return f"{found[1]}{found[2]}{found[3]}"


_RANDOM = re.compile(r"^declare [^@\n]*(@\w+19hashmap_random_keys)\(\)[^\n]*", re.MULTILINE)
_KEYS = r"""define internal { i64, i64 } \1() {
  ret { i64, i64 } { i64 3141592653589793238, i64 2718281828459045235 }
}"""


def finished(text: str) -> bytes:
    """The module with C's allocation in place of rustc's declarations, and panics that end in an error."""
    text = _COMPILED.sub(lambda m: _COMPILED_BODIES[m[2] or m[3]].format(m[1]), libm_calls.by_libm(text))
    if (found := _FORMATTED.search(text)) is not None:
        text = re.sub(rf"@{found[1]}(?!\w)", "@llgrad.rust.format", text.replace(found[0], ""))
        text += _FORMAT.format(found[1]) + "\n"
    text = _CLONED.sub(lambda m: _CLONE.format(m[1]), _RANDOM.sub(_KEYS, text))
    text += _TEXT if "@llgrad.rust.text(" in text else ""
    text = _GROWS.sub(r"\1 alwaysinline\2", text)
    text = _SEEDS_TAKEN.sub(r"getelementptr i8, ptr \1, i64 0", _SEEDS.sub(_seeds, text))
    text = _VTABLE.sub(rf'\1<{{ ptr, [16 x i8]\2 }}> <{{ ptr @{_NO_DROP}, [16 x i8] c"\3"\4', text)
    if f"@{_NO_DROP}" in text:
        text += f"\ndefine internal void @{_NO_DROP}(ptr %p) {{\n  ret void\n}}\n"
    if "catch ptr null" not in text:  # nobody catches what is thrown
        text = stopping(text, located=r"4core(?:9panicking|6option|6result|5slice|3str|4cell)")
    text = _DECLARED.sub(lambda m: _BODIES[m[2]].format(m[1]) if m[2] in _BODIES else m[0], text)
    for name, declaration in _NEEDED.items():
        known = re.search(rf"^(?:declare|define) [^@\n]*@{re.escape(name)}\(", text, re.MULTILINE)
        if f"@{name}(" in text and not known:
            text += f"\n{declaration}"
    return (text + "\n").encode()


RUST = Language(
    "rust", (".rs", "cargo.toml"), _compile, lambda: rustc().version, ("rustc", "cargo"),
    ("LLGRAD_RUSTC", "LLGRAD_CARGO", "RUSTUP_TOOLCHAIN"),
)  # fmt: skip
