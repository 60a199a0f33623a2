"""The machine code is made for: CPU, features, target machines, and the string that names them in cache keys.

Contract: only the host's triple is served. `cpu="native"` means the host's CPU with exactly the host's
features; any other name means that CPU with its own default features; more may follow ("x86-64,+avx2,-fma").
A CPU that LLVM does not know would end the process, so names outside a small built-in set are tried in a child
process first, once.
"""

from __future__ import annotations

import functools
import platform
import re

import llvmlite
import llvmlite.binding as llvm

from llgrad.errors import ArgumentError, UnsupportedError

GENERIC_CPUS = frozenset({"x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4"})
X86_64_LAYOUT_DEFAULTS = {
    "i1": "8", "i8": "8", "i16": "16", "i32": "32", "i64": "64", "i128": "128", "f16": "16", "f32": "32",
    "f64": "64", "f80": "128", "f128": "128", "v64": "64", "v128": "128", "p": "64", "a": "0", "s": "0",
}  # fmt: skip


@functools.cache
def initialise() -> None:
    """Set up LLVM's native target, printer and assembly parser; runs once.

    The option: LLVM's readers verify any module that has debug info and end the process if it is broken.
    `LLVMModule` verifies by itself.
    """
    llvm.set_option("llgrad", "-disable-auto-upgrade-debug-info")
    # Hoisted out of an outer loop that runs backwards, as reverse sweeps do, the vectoriser's checks always fail.
    llvm.set_option("llgrad", "-hoist-runtime-checks=false")
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    llvm.initialize_native_asmparser()


@functools.cache
def host_triple() -> str:
    """The triple of the running process, such as `x86_64-unknown-linux-gnu`."""
    return str(llvm.get_process_triple())


@functools.cache
def host_cpu() -> str:
    """LLVM's name of the host's CPU."""
    initialise()
    return str(llvm.get_host_cpu_name())


@functools.cache
def host_features() -> str:
    """The host's features as LLVM writes them: `+avx2,-avx512f,…`, sorted."""
    initialise()
    return str(llvm.get_host_cpu_features().flatten(sort=True))


@functools.cache
def host_layout() -> str:
    """The data layout string of the host."""
    return str(target_machine("native").target_data)


def resolve_cpu(cpu: str) -> tuple[str, str]:
    """CPU name and feature string for `cpu`; `ArgumentError` if LLVM does not know the CPU."""
    name, _, features = cpu.partition(",")
    if name == "native":
        return host_cpu(), ",".join(filter(None, (host_features(), features)))
    if name not in GENERIC_CPUS and not _cpu_is_known(name):
        raise ArgumentError(
            f"unknown CPU {name!r}",
            cause="LLVM does not recognise this processor name for the host's architecture",
            fix='use "native", "x86-64", "x86-64-v3" or a name that `clang --print-supported-cpus` lists',
        )
    return name, features


@functools.cache
def _cpu_is_known(cpu: str) -> bool:
    from llgrad.llvm.isolate import cpu_is_known

    return bool(re.fullmatch(r"[A-Za-z0-9_.+-]+", cpu)) and cpu_is_known(cpu)


def target_machine(cpu: str = "native", opt: int = 3, reloc: str = "pic") -> llvm.TargetMachine:
    """A new target machine of the host's triple; `opt` 0–3 is the effort of code generation."""
    initialise()
    if opt not in range(4):
        raise ArgumentError(f"optimisation level {opt!r} is not 0, 1, 2 or 3")
    if reloc not in ("pic", "static", "default"):
        raise ArgumentError(f"relocation model {reloc!r} is not one of pic, static, default")
    name, features = resolve_cpu(cpu)
    return machine_of(name, features, opt, reloc)


def machine_of(name: str, features: str, opt: int, reloc: str) -> llvm.TargetMachine:
    """A target machine for a CPU name that is taken on trust (an unknown one ends the process)."""
    initialise()
    target = llvm.Target.from_triple(host_triple())
    return target.create_target_machine(cpu=name, features=features, opt=opt, reloc=reloc, codemodel="default")


def features_of(cpu: str) -> frozenset[str]:
    """The vector features of x86 among sse2, avx, avx2 and avx512f that `cpu` surely has."""
    if cpu == "native":
        on = {item[1:] for item in host_features().split(",") if item.startswith("+")}
        return frozenset(on & {"sse2", "avx", "avx2", "avx512f"})
    levels = {"x86-64-v3": {"sse2", "avx", "avx2"}, "x86-64-v4": {"sse2", "avx", "avx2", "avx512f"}}
    return frozenset(levels.get(cpu, {"sse2"} if platform.machine() in ("x86_64", "AMD64") else set()))


@functools.cache
def fingerprint() -> str:
    """What decides the machine code apart from the IR: versions of llvmlite and LLVM, triple, CPU, features."""
    version = ".".join(str(n) for n in llvm.llvm_version_info)
    return f"llvmlite {llvmlite.__version__}; LLVM {version}; {host_triple()}; {host_cpu()}; {host_features()}"


def require_host_target(triple: str, layout: str) -> None:
    """Raise `UnsupportedError` unless code of this triple and data layout means the same on the host.

    An empty string says nothing and is always accepted.
    """
    initialise()
    arch = triple.split("-")[0]
    host_arch = host_triple().split("-")[0]
    if arch and arch.replace("amd64", "x86_64") != host_arch:
        raise _foreign_target(f"the target triple {triple}")
    if layout and (clash := _layout_clash(layout, host_layout())):
        raise _foreign_target(f"{clash} in the data layout {layout}")


def _foreign_target(what: str) -> UnsupportedError:
    return UnsupportedError(
        "the module was compiled for another machine",
        cause=f"{what} does not fit the host, {host_triple()}",
        fix=f"compile the source for {host_triple()}",
    )


def _layout_clash(layout: str, host: str) -> str:
    """The first item of `layout` that differs from the host's, or an empty string."""
    ours = _layout_items(host)
    for key, value in _layout_items(layout).items():
        expected = ours.get(key, X86_64_LAYOUT_DEFAULTS.get(key))
        if key != "n" and expected is not None and value != expected:
            return f"{key}:{value} instead of {key}:{expected}"
        if key == "E":
            return "big-endian"
    return ""


def _layout_items(layout: str) -> dict[str, str]:
    """`i64:64-f80:128-n8:16` as {"i64": "64", …}: key to ABI alignment (size for pointers)."""
    items: dict[str, str] = {}
    for item in filter(None, layout.split("-")):
        key, _, rest = item.partition(":")
        if match := re.fullmatch(r"([nS])(\d+)", key):
            key, rest = match[1], match[2] if match[1] == "S" else ""
        key = {"p0": "p", "a0": "a", "s0": "s"}.get(key, key)
        items[key] = rest.split(":")[0]
    return items
