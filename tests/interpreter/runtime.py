"""The C and C++ libraries as far as numeric programs need them: memory, strings, output, ends of the program.

Each function takes the machine and then the call's operands. Text that the program prints is collected in
`machine.output`. `abort`, `exit`, `assert` and the throwing helpers of libstdc++ raise ForeignError.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from interpreter import openmp
from interpreter.floats import DOUBLE, primal
from interpreter.memory import Memory
from interpreter.scalar import to_signed
from llgrad.errors import ForeignError

if TYPE_CHECKING:
    from interpreter.machine import Machine

Builtin = Callable[..., Any]
_int = to_signed(32)
_M32, _M64 = (1 << 32) - 1, (1 << 64) - 1


# --- allocation ------------------------------------------------------------------------------------------------------


def _malloc(m: Machine, size: int, *_: Any) -> int:
    return m.memory.allocate(int(size), "heap")


def _calloc(m: Machine, count: int, size: int) -> int:
    return m.memory.allocate(int(count) * int(size), "heap", unwritten=False)


def _aligned(m: Machine, alignment: int, size: int) -> int:
    return m.memory.allocate(int(size), "heap")


def _free(m: Machine, address: int, *_: Any) -> None:
    if address:
        m.memory.free(address, "heap")


def _realloc(m: Machine, address: int, size: int) -> int:
    new = m.memory.allocate(int(size), "heap")
    if address:
        m.memory.copy(new, address, min(len(m.memory.locate(address, 0)[0].data), int(size)))
        m.memory.free(address, "heap")
    return new


def _posix_memalign(m: Machine, place: int, alignment: int, size: int) -> int:
    m.memory.write(place, m.memory.allocate(int(size), "heap").to_bytes(8, "little"))
    return 0


def _usable_size(m: Machine, address: int) -> int:
    return len(m.memory.locate(address, 0)[0].data) if address else 0


_NEW = [f"_Zn{a}m{s}" for a in "wa" for s in ("", "RKSt9nothrow_t", "St11align_val_t", "St11align_val_tRKSt9nothrow_t")]
_DELETE = [
    f"_Zd{a}Pv{s}"
    for a in "la"
    for s in ("", "m", "RKSt9nothrow_t", "St11align_val_t", "mSt11align_val_t", "St11align_val_tRKSt9nothrow_t")
]

ALLOCATION: dict[str, Builtin] = {
    **dict.fromkeys(["malloc", "valloc", *_NEW], _malloc), **dict.fromkeys(["free", "cfree", *_DELETE], _free),
    "calloc": _calloc, "realloc": _realloc, "aligned_alloc": _aligned, "memalign": _aligned,
    "posix_memalign": _posix_memalign, "malloc_usable_size": _usable_size,
}  # fmt: skip


# --- bytes and strings -----------------------------------------------------------------------------------------------


def _copy(m: Machine, target: int, source: int, size: int, *_: Any) -> int:
    m.memory.copy(target, source, int(size))
    return target


def _fill(m: Machine, address: int, value: Any, size: int, *_: Any) -> int:
    m.memory.fill(address, value, int(size))
    return address


def _compare(m: Machine, a: int, b: int, size: int) -> int:
    x, y = m.memory.read(a, int(size)), m.memory.read(b, int(size))
    return ((x > y) - (x < y)) & _M32


def _strcmp(m: Machine, a: int, b: int, size: int | None = None) -> int:
    x, y = m.memory.string(a)[:size], m.memory.string(b)[:size]
    return ((x > y) - (x < y)) & _M32


def _memchr(m: Machine, address: int, byte: int, size: int) -> int:
    found = m.memory.read(address, int(size)).find(byte & 255)
    return address + found if found >= 0 else 0


def _strchr(m: Machine, address: int, byte: int) -> int:
    found = (m.memory.string(address) + b"\0").find(byte & 255)
    return address + found if found >= 0 else 0


def _strcpy(m: Machine, target: int, source: int, *_: Any) -> int:
    m.memory.write(target, m.memory.string(source) + b"\0")
    return target


def _strncpy(m: Machine, target: int, source: int, size: int) -> int:
    m.memory.write(target, m.memory.string(source)[:size].ljust(size, b"\0"))
    return target


def _strcat(m: Machine, target: int, source: int, *_: Any) -> int:
    _strcpy(m, target + len(m.memory.string(target)), source)
    return target


def _strdup(m: Machine, source: int) -> int:
    return _strcpy(m, m.memory.allocate(len(m.memory.string(source)) + 1, "heap"), source)


STRINGS: dict[str, Builtin] = {
    **dict.fromkeys(("memcpy", "memmove", "__memcpy_chk", "__memmove_chk"), _copy),
    **dict.fromkeys(("memset", "__memset_chk"), _fill), **dict.fromkeys(("memcmp", "bcmp"), _compare),
    **dict.fromkeys(("strcmp", "strncmp"), _strcmp), "strlen": lambda m, s: len(m.memory.string(s)),
    "memchr": _memchr, "strchr": _strchr, "strcpy": _strcpy, "__strcpy_chk": _strcpy, "strncpy": _strncpy,
    "strcat": _strcat, "__strcat_chk": _strcat, "strdup": _strdup,
    "bzero": lambda m, a, n: m.memory.fill(a, 0, int(n)),
}  # fmt: skip


# --- output ----------------------------------------------------------------------------------------------------------

_CONVERSION = re.compile(r"%([-+ #0]*)(\*|\d+)?(?:\.(\*|\d+))?(hh|h|ll|l|j|z|t|L)?([diouxXeEfFgGaAcsp%])")


def formatted(memory: Memory, template: bytes, arguments: list[Any]) -> str:
    """What printf makes of its arguments."""
    rest = iter(arguments)

    def convert(match: re.Match[str]) -> str:
        flags, width, precision, length, letter = match.groups()
        if letter == "%":
            return "%"
        width = str(_int(next(rest))) if width == "*" else width or ""
        precision = str(_int(next(rest))) if precision == "*" else precision
        layout = f"%{flags}{width}" + (f".{precision}" if precision is not None else "")
        return _converted(memory, layout, length or "", letter, next(rest))

    return _CONVERSION.sub(convert, template.decode("utf-8", "replace"))


def _converted(memory: Memory, layout: str, length: str, letter: str, value: Any) -> str:
    if letter in "eEfFgG":
        number: float = DOUBLE.make(primal(value))
        return (layout + letter) % number
    if letter in "aA":
        return float(primal(value)).hex()
    if letter == "s":
        return (layout + "s") % (memory.string(value).decode("utf-8", "replace") if value else "(null)")
    if letter == "c":
        return (layout + "c") % chr(int(value) & 255)
    if letter == "p":
        return (layout + "s") % (hex(value) if value else "(nil)")
    bits = {"hh": 8, "h": 16, "": 32}.get(length, 64)
    unsigned = int(value) & ((1 << bits) - 1)
    return str((layout + letter) % (to_signed(bits)(unsigned) if letter in "di" else unsigned))


def _printf(m: Machine, template: int, *arguments: Any) -> int:
    return m.print(formatted(m.memory, m.memory.string(template), list(arguments)))


def _snprintf(m: Machine, target: int, size: int, template: int, *arguments: Any) -> int:
    text = formatted(m.memory, m.memory.string(template), list(arguments)).encode()
    if size:
        m.memory.write(target, text[: size - 1] + b"\0")
    return len(text)


def _fwrite(m: Machine, source: int, size: int, count: int, _: int) -> int:
    m.print(m.memory.read(source, size * count).decode("utf-8", "replace"))
    return count


OUTPUT: dict[str, Builtin] = {
    "printf": _printf, **dict.fromkeys(("fprintf", "__printf_chk"), lambda m, _, *rest: _printf(m, *rest)),
    "__fprintf_chk": lambda m, f, _, *rest: _printf(m, *rest),
    "puts": lambda m, s: m.print(m.memory.string(s).decode("utf-8", "replace") + "\n"),
    "fputs": lambda m, s, _: m.print(m.memory.string(s).decode("utf-8", "replace")),
    **dict.fromkeys(("putchar", "fputc", "putc"), lambda m, c, *_: m.print(chr(c & 255)) * 0 + c),
    "fwrite": _fwrite, "fflush": lambda m, _: 0, "snprintf": _snprintf,
    "__snprintf_chk": lambda m, t, n, f, s, *rest: _snprintf(m, t, n, *rest),
    "sprintf": lambda m, t, *rest: _snprintf(m, t, 1 << 30, *rest),
    "__sprintf_chk": lambda m, t, f, s, *rest: _snprintf(m, t, 1 << 30, *rest),
}  # fmt: skip


# --- ends, order and the rest ----------------------------------------------------------------------------------------


def _end(what: str) -> Builtin:
    def end(m: Machine, *operands: Any) -> None:
        raise ForeignError(what)

    return end


def _exit(m: Machine, status: int) -> None:
    raise ForeignError(f"the program called exit({_int(status)})")


def _assert_fail(m: Machine, text: int, file: int, line: int, *_: Any) -> None:
    raise ForeignError(f"assertion failed: {m.memory.string(text).decode()}")


_THROWERS = ("length_error", "logic_error", "out_of_range", "invalid_argument", "domain_error", "runtime_error")
_THROWS = [f"_ZSt{len('__throw_' + n)}__throw_{n}PKc" for n in _THROWERS]
_THROWS += ["_ZSt24__throw_out_of_range_fmtPKcz", "_ZSt17__throw_bad_allocv", "_ZSt28__throw_bad_array_new_lengthv"]
_THROWS += ["_ZSt25__throw_bad_function_callv", "_ZNSt3__122__libcpp_verbose_abortEPKcz"]

ENDS: dict[str, Builtin] = {
    "abort": _end("the program called abort"), "__stack_chk_fail": _end("the stack was smashed"),
    **dict.fromkeys(("exit", "_exit", "_Exit", "quick_exit"), _exit), "__assert_fail": _assert_fail,
    "_ZSt9terminatev": _end("the program called std::terminate"),
    "__clang_call_terminate": _end("an exception left a noexcept function"),
    "__cxa_pure_virtual": _end("a pure virtual function was called"),
    **{name: _end(f"the C++ library failed in {name}") for name in _THROWS},
}  # fmt: skip


def _elements(m: Machine, base: int, count: int, size: int) -> list[tuple[bytes, Any]]:
    return [(m.memory.read(base + i * size, size), m.memory.shadow(base + i * size, size)) for i in range(count)]


def _qsort(m: Machine, base: int, count: int, size: int, compare: int, *context: Any) -> None:
    """A merge sort: the comparison sees copies of two elements."""
    a, b = m.memory.allocate(size, "scratch"), m.memory.allocate(size, "scratch")

    def order(x: tuple[bytes, Any], y: tuple[bytes, Any]) -> int:
        m.memory.write(a, *x)
        m.memory.write(b, *y)
        result: int = _int(m.call(compare, [a, b, *context]))
        return result

    ordered = sorted(_elements(m, base, count, size), key=functools.cmp_to_key(order))
    for i, (data, shadow) in enumerate(ordered):
        m.memory.write(base + i * size, data, shadow)


def _bsearch(m: Machine, key: int, base: int, count: int, size: int, compare: int) -> int:
    low, high = 0, count
    while low < high:
        middle = (low + high) // 2
        order = _int(m.call(compare, [key, base + middle * size]))
        if order == 0:
            return base + middle * size
        low, high = (middle + 1, high) if order > 0 else (low, middle)
    return 0


def _errno(m: Machine) -> int:
    return m.cell("errno", 8)


def _guard_acquire(m: Machine, guard: int) -> int:
    return int(m.memory.read(guard, 1) == b"\0")


def _guard_release(m: Machine, guard: int) -> None:
    m.memory.write(guard, b"\1")


MISCELLANEOUS: dict[str, Builtin] = {
    "abs": lambda m, x: abs(_int(x)) & _M32,
    **dict.fromkeys(("labs", "llabs"), lambda m, x: abs(to_signed(64)(x)) & _M64),
    "qsort": _qsort, "qsort_r": _qsort, "bsearch": _bsearch, "__errno_location": _errno,
    **dict.fromkeys(("__cxa_atexit", "atexit", "time", "clock", "pthread_self"), lambda m, *_: 0),
    "__cxa_guard_acquire": _guard_acquire, "__cxa_guard_release": _guard_release,
    "__cxa_guard_abort": lambda m, g: None,
    **dict.fromkeys(("isnan", "isnanf", "__isnan", "__isnanf"), lambda m, x: int(primal(x) != primal(x))),
    **dict.fromkeys(("isinf", "isinff", "__isinf", "__isinff"), lambda m, x: int(abs(primal(x)) == float("inf"))),
    **dict.fromkeys(("finite", "__finite", "finitef"), lambda m, x: int(abs(primal(x)) < float("inf"))),
}  # fmt: skip

LIBRARY: dict[str, Builtin] = {**ALLOCATION, **STRINGS, **OUTPUT, **ENDS, **MISCELLANEOUS, **openmp.LIBRARY}
"""Symbol -> function of the machine and the operands."""
