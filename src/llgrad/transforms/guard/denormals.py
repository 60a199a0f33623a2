"""Denormal numbers count as zero while a derivative runs, where the user asks for that: `denormals="flush"`.

A number below 2**-1022 costs a processor a hundred cycles wherever it is made or read; soft maxima are full of them.
Processors have a mode in which it is zero. The mode belongs to the thread: it is set where a program, or Python, enters
a derivative, and what was set before comes back on every way out: when it returns, when it throws, and when
`llgrad_fail` leaves it for Python. Nothing else of the control register is touched: rounding and the flags stay.

LLVM knows of no mode when it moves arithmetic about: what runs under it is called through memory, where LLVM cannot
look. Limits: x86-64 (MXCSR; `long double` has no such mode) and AArch64 (FPCR); threads that the function starts have
their own; a function that leaves by `longjmp` is refused.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence

from msgspec import Struct

from llgrad.errors import ArgumentError, UnsupportedError
from llgrad.ir.values import Alias, Function
from llgrad.ir.write import write
from llgrad.ir.write_values import attributes
from llgrad.llvm import host_triple
from llgrad.llvm.assembly import spelt

FLUSH, KEEP = "flush", "keep"
_JUMPS = ("longjmp", "_longjmp", "siglongjmp", "__longjmp_chk")


def flushes(said: str | None) -> bool:
    """What `denormals=` says; ArgumentError for another word, UnsupportedError where the machine has no such mode."""
    if said not in (None, FLUSH, KEEP):
        raise ArgumentError(f'denormals={said!r} is neither "flush" nor "keep"', fix="leave it out: they are kept")
    if said == FLUSH:
        machine()
    return said == FLUSH


class Machine(Struct, frozen=True):
    """A control register: `read` it into `name` and `write` it, by scratch memory `at`; the bits of the mode."""

    word: str
    bits: int
    declared: tuple[str, ...]
    read: tuple[str, ...]
    write: tuple[str, ...]


_MACHINES = {
    "x86_64": Machine(
        "i32", 0x8040,
        ("declare void @llvm.x86.sse.stmxcsr(ptr)", "declare void @llvm.x86.sse.ldmxcsr(ptr)"),
        ("call void @llvm.x86.sse.stmxcsr(ptr {at})", "{name} = load i32, ptr {at}"),
        ("store i32 {name}, ptr {at}", "call void @llvm.x86.sse.ldmxcsr(ptr {at})"),
    ),
    "aarch64": Machine(
        "i64", 1 << 24,
        ("declare i64 @llvm.aarch64.get.fpcr()", "declare void @llvm.aarch64.set.fpcr(i64)"),
        ("{name} = call i64 @llvm.aarch64.get.fpcr()",),
        ("call void @llvm.aarch64.set.fpcr(i64 {name})",),
    ),
}  # fmt: skip


def machine() -> Machine:
    """The host's control register."""
    name = host_triple().partition("-")[0]
    found = _MACHINES.get({"arm64": "aarch64", "amd64": "x86_64"}.get(name, name))
    if found is None:
        raise UnsupportedError(
            f"denormals cannot be flushed on {name}", cause="no mode of this processor is known here",
            fix='leave out denormals="flush"',
        )  # fmt: skip
    return found


def set_mode(kept: str, at: str) -> list[str]:
    """Lines of IR that keep the register at the address `kept` and set the mode; `at` is scratch memory."""
    m = machine()
    return [
        *(line.format(name="%mode.before", at=at) for line in m.read),
        f"store {m.word} %mode.before, ptr {kept}",
        f"%mode.flush = or {m.word} %mode.before, {m.bits}",
        *(line.format(name="%mode.flush", at=at) for line in m.write),
    ]


def put_back(kept: str, at: str, mark: str) -> list[str]:
    """Lines that set the mode to what it was; names in them end in `mark`."""
    m = machine()
    now, was, others, own, then = (f"%mode.{word}.{mark}" for word in ("now", "was", "others", "own", "then"))
    return [
        *(line.format(name=now, at=at) for line in m.read),
        f"{was} = load {m.word}, ptr {kept}",
        f"{others} = and {m.word} {now}, {~m.bits}",
        f"{own} = and {m.word} {was}, {m.bits}",
        f"{then} = or {m.word} {others}, {own}",
        *(line.format(name=then, at=at) for line in m.write),
    ]


def behind_memory(target: str) -> list[str]:
    """Lines after which `%behind` is the address of `target`, which LLVM cannot see."""
    store, load = f"store ptr {target}, ptr %behind.at", "%behind = load volatile ptr, ptr %behind.at"
    return ["%behind.at = alloca ptr", store, load]


def personality(text: str) -> str:
    """The symbol by which the functions of a module clean up when something is thrown; "" where nothing is."""
    if "@__gxx_personality_v0" in text:
        return "@__gxx_personality_v0"
    _, found, rest = text.partition(" personality ptr @")
    return f"@{rest.split(maxsplit=1)[0]}" if found else ""


def refuse_jumps(text: str) -> None:
    """UnsupportedError where the module of a derivative may leave it by `longjmp`."""
    if found := [name for name in _JUMPS if f"@{name}(" in text]:
        raise UnsupportedError(
            f'a derivative with denormals="flush" may leave by {found[0]}',
            cause="denormals would stay zero for the rest of the program",
            fix='return an error code instead of jumping, or leave out denormals="flush"',
        )


def guard(name: str, inner: str, result: str, parameters: Sequence[str], handler: str) -> str:
    """The function `name` in IR: it calls `inner` with the mode set. `parameters` are named; `handler`: personality."""
    given = ", ".join(parameters)
    call = f"{result} %behind({given})"
    got = "" if result == "void" else "%r = "
    way = f"{got}invoke {call} to label %returned unwind label %thrown" if handler else f"{got}call {call}"
    lines = [
        "%kept = alloca i64", "%at = alloca i64", *behind_memory(spelt(inner)), *set_mode("%kept", "%at"), way,
        *(["br label %returned"] if not handler else []), "returned:", *put_back("%kept", "%at", "returned"),
        "ret void" if result == "void" else f"ret {result} %r",
    ]  # fmt: skip
    if handler:
        lines += [
            "thrown:", "%what = landingpad { ptr, i32 } cleanup", *put_back("%kept", "%at", "thrown"),
            "resume { ptr, i32 } %what",
        ]  # fmt: skip
    body = "\n".join(lines)
    head = f"define {result} {spelt(name)}({given}){f' personality ptr {handler}' if handler else ''}"
    return f"{head} {{\n{body}\n}}\n"


def declarations(known: Container[str] = ()) -> list[str]:
    """What the lines call, but for the names that are `known`."""
    return [d for d in machine().declared if d.partition("@")[2].partition("(")[0] not in known]


def guarded(text: str, names: Iterable[str], handler: str = "") -> str:
    """The module with the mode set in the functions `names`, as far as it defines them. `handler`: if not its own."""
    from llgrad.ir.parse import parse  # what is loaded from the cache parses nothing

    module, handler = parse(text), handler or personality(text)
    guards = []
    for name in names:
        f = module.globals.get(name)
        if not isinstance(f, Function) or f.is_declaration:
            continue
        f.name = f"llgrad.flushed.{name}"  # what is not read yet, bodies and initializers, names the guard then
        for alias in (a for a in module.globals.values() if isinstance(a, Alias) and a.aliasee is f):
            alias.aliasee = Function(name, f.function_type)
        parameters = [f"{a.type} {attributes(a.attributes)}%x{n}" for n, a in enumerate(f.arguments)]
        guards.append(guard(name, f.name, str(f.function_type.result), parameters, handler))
    if handler and handler[1:] not in module.globals:
        guards.append(f"declare i32 {handler}(...)\n")
    return "\n".join([write(module), *declarations(module.globals), *guards]) if guards else text
