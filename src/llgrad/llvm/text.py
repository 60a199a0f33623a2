"""Edits and questions on LLVM assembly as text: attributes removed, constructors made callable, hazards found.

Contract: input is what LLVM prints (`LLVMModule.text()`): function attributes stand in `attributes #n = {…}`
groups, one definition a line. Quoted strings are never taken for syntax. No llvmlite in here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

from llgrad.support.brackets import listed
from llgrad.support.lazy_pattern import lazy_pattern

CPU_ATTRIBUTES = frozenset({"target-cpu", "target-features", "tune-cpu"})
CONSTRUCTORS, DESTRUCTORS = "__llgrad_constructors", "__llgrad_destructors"
DSO_HANDLE = "__llgrad_dso_handle"

_GROUP = lazy_pattern(r"^(attributes #\d+ = \{)([^\n]*)\}$", re.MULTILINE)
_ATTRIBUTE = lazy_pattern(r'"[^"]*"(?:="[^"]*")?|[a-z_0-9]+(?:\((?:[^()"]|"[^"]*"|\([^()]*\))*\))?(?:=\d+)?')
_STRING = lazy_pattern(r'"[^"\n]*"')
_METADATA = lazy_pattern(r"\n![^\n]*")
_NOTHING = '"llgrad-stripped"'  # LLVM refuses empty groups; an unknown string means nothing to it
_SPACES = lazy_pattern(r'("[^"\n]*")| addrspace\(\d+\)|\baddrspacecast\b')
_COMMENT = lazy_pattern(r";[^\n]*")

# What can end the process inside LLVM's passes or code generator though it parses and verifies: the words that
# must occur (quick to look for), then a pattern where the words alone say too little. Texts are long and read often, so
# most words are looked for only where they may stand: among names of intrinsics, before what is called or defined.
_CONVENTIONS = (
    "ghccc anyregcc preserve_ swiftcc swifttailcc tailcc cxx_fast_tlscc intel_ocl_bicc hhvmcc x86_stdcall x86_fastcall "
    "x86_thiscall x86_vectorcall x86_regcall x86_intr x86_64_ avr_ arm_ aarch64_ amdgpu_ ptx_ spir_ riscv_ "
    "graalcc cfguard_checkcc m68k_ msp430 webkit_jscc win64cc"
)
INLINE_ASSEMBLY = "inline assembly"  # read when code is generated: passes over IR do not look into it
MODULE_ASSEMBLY = "assembly of a module"
_ARCHITECTURES = "x86 aarch64 arm amdgcn r600 nvvm ppc riscv hexagon mips s390 spv wasm bpf ve xcore loongarch"
_Hazards = dict[str, tuple[tuple[str, ...], str]]
_ANYWHERE: _Hazards = {
    "scalable vectors": (("vscale x",), ""),
    INLINE_ASSEMBLY: ((" asm ",), ""),
    MODULE_ASSEMBLY: (("module asm",), ""),
    "a floating-point format of another machine": (("ppc_fp128",), ""),
    "target types": (("x86_amx", "target("), ""),
    "garbage collection": ((" gc <str>",), ""),
    "coroutines": (("presplitcoroutine",), ""),
    "integers of a thousand bits and more": (("i",), r"i(?<=[ \n(\[<{]i)\d{4,}\b"),
    "vectors of a thousand elements and more": (("<",), r"<\d{4,} x "),
    "huge arrays": (("[",), r"\[\d{11,} x "),
    "appending variables": ((" appending ",), r"\n@(?!llvm\.)[^\n=]* = appending "),
    "indirect functions": ((" ifunc ",), ""),
    "Windows exception handling": (("catchswitch", "cleanuppad"), ""),
}
_INTRINSICS: _Hazards = {
    "register access": (("@llvm.read_", "@llvm.write_"), ""),
    "target intrinsics": (tuple(f"@llvm.{name}." for name in _ARCHITECTURES.split()), ""),
    "experimental intrinsics": (("@llvm.experimental.",), r"@llvm\.experimental\.(?!noalias|constrained)"),
    "coroutines": (("@llvm.coro.",), ""),
    "functions that the machine's libm may lack": (("@llvm.sincospi.",), ""),
}
_CALLS: _Hazards = {
    "unusual calling conventions": (tuple(_CONVENTIONS.split()), rf"(?<![\w.%@])(?:{'|'.join(_CONVENTIONS.split())})"),
    "numbered calling conventions": ((" cc 1", " cc 2", " cc 7", " cc 8", " cc 9", " cc1"), ""),
}
_HEADS = [lazy_pattern(rf"{word}\s([^@%]*)") for word in ("call", "callbr", "invoke", "define", "declare")]
_INTRINSIC = lazy_pattern(r"@llvm\.[\w.]+")


def _compiled(found: _Hazards) -> list[tuple[str, tuple[str, ...], re.Pattern[str] | None]]:
    return [(what, words, lazy_pattern(pattern) if pattern else None) for what, (words, pattern) in found.items()]


_WHERE = [_compiled(found) for found in (_ANYWHERE, _INTRINSICS, _CALLS)]


def without_address_spaces(text: str) -> str:
    """One address space for all pointers; what stands in quotes stays.

        load float, ptr addrspace(3) %p     ->  load float, ptr %p
        addrspacecast (ptr addrspace(1) @a to ptr)  ->  bitcast (ptr @a to ptr)
    """
    return _SPACES.sub(lambda m: m[1] or ("bitcast" if m[0] == "addrspacecast" else ""), text)


def strip_attributes(text: str, names: Iterable[str]) -> str:
    """Remove the function attributes called `names` (enum such as `noinline`, or string such as `target-cpu`)."""
    unwanted = frozenset(names)
    return _edit_groups(text, lambda found: [item for item in found if attribute_name(item) not in unwanted])


def unblock(text: str) -> str:
    """Make unoptimised (-O0) input optimisable: drop `optnone`, and the `noinline` that clang puts beside it.

    A `noinline` without `optnone` is the programmer's own and stays.
    """

    def edit(found: list[str]) -> list[str]:
        return [item for item in found if item not in ("optnone", "noinline")] if "optnone" in found else found

    return _edit_groups(text, edit)


_DEFINED = lazy_pattern(r'^define [^@\n]*@(?:[-\w.$]+|"[^"\n]*")\(', re.MULTILINE)
_ADDRESS = lazy_pattern(r"(?: (?:local_)?unnamed_addr)?(?: addrspace\(\d+\))?")


def without_switch_tables(text: str) -> str:
    """Have LLVM make no table of what the ways of a `switch` choose, until `no-jump-tables` is stripped."""
    pieces, done = list[str](), 0
    for m in _DEFINED.finditer(text):
        found = _ADDRESS.match(text, listed(text, m.end())[1] + 1)
        assert found is not None
        pieces += [text[done : found.end()], ' "no-jump-tables"="true"']
        done = found.end()
    return "".join([*pieces, text[done:]])


def strip_debug(text: str) -> str:
    """Remove all debug info, and what counts for `--coverage` would say of the source."""
    line = r"^ *(?:#dbg_|(?:tail )?call void @llvm\.dbg\.|declare void @llvm\.dbg\.)[^\n]*\n"
    text = re.sub(line, "", text, flags=re.MULTILINE)
    text = re.sub(r"^!llvm\.(?:dbg\.cu|gcov) = [^\n]*\n", "", text, flags=re.MULTILINE)
    places = set(re.findall(r"^(!\d+) = (?:distinct )?!DI", text, re.MULTILINE))

    def without_places(m: re.Match[str]) -> str:  # loops say where they are
        items = (item.strip() for item in re.findall(r'(?:[^",]|"[^"]*")+', m[2]))
        return m[1] + ", ".join(item for item in items if item not in places) + "}"

    node = r'^(!\d+ = (?:distinct )?!\{)((?:[^\n"]|"[^"\n]*")*)\}$'
    text = re.sub(node, without_places, text, flags=re.MULTILINE)
    return re.sub(r",? !(?:dbg|heapallocsite) !\d+", "", text)


def aliases(text: str) -> set[str]:
    """The aliases and indirect functions that the module defines for others."""
    found = re.findall(r'^@("[^"]*"|[-\w.$]+) = ([^\n"]*?)\b(?:alias|ifunc) ', text, re.MULTILINE)
    return {name.strip('"') for name, words in found if not {"internal", "private"} & set(words.split())}


def attribute_name(attribute: str) -> str:
    """`"target-cpu"="znver4"` → `target-cpu`; `memory(none)` → `memory`."""
    if attribute.startswith('"'):
        return attribute[1:].split('"')[0]
    return re.split(r"[(=]", attribute)[0]


def _edit_groups(text: str, edit: Callable[[list[str]], list[str]]) -> str:
    def replace(match: re.Match[str]) -> str:
        return f"{match[1]} {' '.join(edit(_ATTRIBUTE.findall(match[2])) or [_NOTHING])} }}"

    return _GROUP.sub(replace, text)


def hazards(text: str) -> list[str]:
    """What this module holds that LLVM's passes or code generator may abort on, in words; empty if nothing."""
    bare = _COMMENT.sub("", _STRING.sub("<str>", _METADATA.sub("", "\n" + text)))
    intrinsics = "\n".join(set(_INTRINSIC.findall(bare)))
    heads = {head for word in _HEADS for head in word.findall(bare)}  # one pattern has no prefix to look for
    calls = "".join(f" {head}\n" for head in heads)
    return list(dict.fromkeys(
        what
        for place, found in zip((bare, intrinsics, calls), _WHERE, strict=True)
        for what, words, pattern in found
        if any(word in place for word in words) and (pattern is None or pattern.search(place))
    ))  # fmt: skip


def for_jit(text: str) -> str:
    """The module as the in-process linker needs it.

    Constructors and destructors become two functions that the engine calls (object files loaded by the JIT
    do not run `.init_array`), the handle under which C++ registers destructors of globals is the module's own,
    no external symbol is assumed to lie within 2 GiB, and thread-local variables are those of a shared library: with
    the mark of an executable they could not be linked. No call goes through the table of addresses (`-fno-plt`, Rust):
    JITLink makes direct calls of such where the function lies below 4 GiB, as in a Python that is linked to a fixed
    address, however far away that is.
    """
    zeroed = r'^(![0-9]+ = !\{i32 \d+, !"(?:PIE Level|RtLibUseGOT)", i32) \d+\}$'
    text = re.sub(zeroed, r"\1 0}", text, flags=re.MULTILINE)
    if "nonlazybind" in text:
        text = strip_attributes(text, ["nonlazybind"])
        text = re.sub(r"^((?:declare|define)\b[^\n]*?) nonlazybind\b", r"\1", text, flags=re.MULTILINE)
    near = r"(?:dso_local |hidden |protected )+"
    text = re.sub(rf"^(@[^\n=]* = external ){near}", r"\1", text, flags=re.MULTILINE)
    text = re.sub(rf"^(declare ){near}", r"\1", text, flags=re.MULTILINE)
    if re.search(r"^@__dso_handle = external ", text, re.MULTILINE):
        text = re.sub(r"^@__dso_handle = .*$", "@__dso_handle = global i8 0", text, flags=re.MULTILINE)
        text = re.sub(r"@__dso_handle\b", f"@{DSO_HANDLE}", text)
    text = _hooks(text, "llvm.global_ctors", CONSTRUCTORS, last_first=False)
    return _hooks(text, "llvm.global_dtors", DESTRUCTORS, last_first=True)


def _hooks(text: str, variable: str, function: str, *, last_first: bool) -> str:
    """Replace the array `@variable` by a function that calls its entries in order of priority."""
    line = re.search(rf"^@{re.escape(variable)} = .*$", text, re.MULTILINE)
    if not line:
        return text
    entries = re.findall(r"\{ i32 (\d+), ptr (@(?:\"[^\"]*\"|[-\w$.]+))", line[0])
    ordered = sorted(entries, key=lambda entry: int(entry[0]), reverse=last_first)
    calls = "".join(f"  call void {callee}()\n" for _, callee in ordered)
    rest = text[: line.start()] + text[line.end() :]
    return f"{rest}\ndefine void @{function}() {{\n{calls}  ret void\n}}\n"
