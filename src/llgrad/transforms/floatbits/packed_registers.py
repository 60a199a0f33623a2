"""Registers of a double in which other floats lie: what functions hand on in them becomes integers.

C's rules pass `struct { float a, b; }` in one register for floats; rustc and ldc write that as a `double`, of which the
function takes the bits apart. A float's type says that one float lies there, an integer's says nothing: what is in
which bytes is then seen from what is done with them. So a parameter of the program's own functions that is used as bits
alone is an integer, and so is a result of which all who call the function take the bits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import count

from msgspec.structs import replace

from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.types import DOUBLE, FLOAT, I64, StructType, Type
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Argument,
    Binary,
    Call,
    Cast,
    ConstInt,
    ExtractValue,
    Function,
    GetElementPtr,
    Load,
    Store,
    Value,
)
from llgrad.llvm import LLVMModule
from llgrad.llvm.assembly import FUNCTION, plain, spelt, split_arguments
from llgrad.transforms.canonical.abi_casts import Writer

_TAKEN = re.compile(r"= bitcast double %[-\w.$]+ to (?:i64|<2 x float>)")
_MATHS = re.compile(r"\b(?:fast|nnan|ninf|nsz|arcp|contract|afn|reassoc) ")
_SAID = re.compile(r"\b(?:noundef|nofpclass\([^()]*\)|returned) ")
_RETURN = r"^  ret {} ([^\n]*?)(, !dbg !\d+)?$"
_INSIDE = ("internal", "private")
_NAME = "%llgrad.bits."
_ROUNDS = 16  # of functions that hand bits on to each other
Path = tuple[int, ...]
"""Indices of a member of a struct; none of a value that is not one."""


def has_bits(text: str) -> bool:
    """May there be such registers? This is quick to say."""
    return _TAKEN.search(text) is not None or (" = alloca double," in text and " = load float, ptr %" in text)


def with_bits(text: str) -> str:
    """The program, whose values have names, with integers for such registers; the text itself if there are none.

    What is handed on by functions that were found is seen when it is done again.
    """
    return _Bits(text).text() if has_bits(text) else text


class _Bits:
    """What is found in a program."""

    def __init__(self, text: str) -> None:
        self._text = text
        module = parse(text)
        self._looking = [module.function(plain(m[1])) for m in FUNCTION.finditer(text) if has_bits(m[0])]
        self._parameters = dict(self._found_parameters())
        self._results = dict(self._found_results(module))

    def text(self) -> str:
        """The program with other types."""
        if not self._parameters and not self._results:
            return self._text
        edit = _Edit(self._parameters, self._results, next(n for n in count() if f"{_NAME}{n}." not in self._text))
        return FUNCTION.sub(lambda m: edit.function(plain(m[1]), m[0]), self._text)

    # --- what is bits

    def _found_parameters(self) -> Iterator[tuple[Function, dict[int, Type]]]:
        for f in self._looking:
            assert f.blocks  # they are read when they are asked for, and arguments have users then
            new = {a.index: t for a in f.arguments if (t := _retyped(a.type, [a], apart=True)) != a.type}
            if new and self._is_own(f):
                yield f, new

    def _found_results(self, module: Module) -> Iterator[tuple[Function, Type]]:
        called = {_made_by(i.value) for f in self._looking for i in f.instructions() if isinstance(i, Cast)}
        for f in called - {None}:
            assert f is not None
            if not self._is_own(f):
                continue
            calls = list(self._calls(f, module))
            new = _retyped(f.function_type.result, calls)
            if new != f.function_type.result and all(c.opcode == "call" for c in calls):
                yield f, new

    def _calls(self, f: Function, module: Module) -> Iterator[Call]:
        for m in FUNCTION.finditer(self._text):
            if f"{spelt(f.name)}(" in m[0]:
                instructions = module.function(plain(m[1])).instructions()
                yield from (i for i in instructions if isinstance(i, Call) and i.called_function is f)

    def _is_own(self, f: Function) -> bool:
        """Does the program call the function by name, as what it is, and do nothing else with it?"""
        if f.is_declaration or f.linkage not in _INSIDE or f.function_type.vararg or "musttail" in self._text:
            return False
        name = re.escape(spelt(f.name))
        return not re.search(rf"{name}(?![-\w.$(])", self._text)


def _made_by(v: AnyValue) -> Function | None:
    """The function of which a value is the result, or a member of it."""
    while isinstance(v, ExtractValue):
        v = v.operands[0]
    return v.called_function if isinstance(v, Call) else None


def _retyped(t: Type, values: list[Argument] | list[Call], *, apart: bool = False) -> Type:
    """The type with integers for the doubles of which only the bits are used; somebody is to take them `apart`."""

    def inside(t: Type, path: Path) -> Type:
        if isinstance(t, StructType) and t.name is None:
            return replace(t, fields=tuple(inside(member, (*path, n)) for n, member in enumerate(t.fields or ())))
        return I64 if t == DOUBLE and _are_bits([u for v in values for u in _uses(v, path)], apart) else t

    return inside(t, ())


def _uses(v: AnyValue, path: Path) -> Iterator[object]:
    """The instructions that use a member of a value."""
    for user in v.users:
        if not path:
            yield user
        elif isinstance(user, ExtractValue) and user.indices[: len(path)] == path[: len(user.indices)]:
            yield from _uses(user, path[len(user.indices) :])
        elif not isinstance(user, ExtractValue):
            yield user


def _are_bits(users: list[object], apart: bool) -> bool:
    bits = [u for u in users if isinstance(u, Cast | Store) and (u.opcode == "bitcast" or _is_read_as_others(u))]
    return 0 < len(bits) == len(users) and (not apart or any(map(_is_apart, bits)))


def _is_read_as_others(store: Cast | Store) -> bool:
    """Does an instruction put a double into a variable of which floats of another format are read?"""
    if not isinstance(store, Store) or not isinstance(store.pointer, Alloca):
        return False
    places = [store.pointer, *(u for u in store.pointer.users if isinstance(u, GetElementPtr))]
    read = [u.type for place in places for u in place.users if isinstance(u, Load)]
    return FLOAT in read and DOUBLE not in read


def _is_apart(bits: Cast | Store) -> bool:
    """Are the bits floats of another format, or an integer of which a part is taken or that is handed on?"""
    taken = any(isinstance(u, Call) or _is_half(u) for u in bits.users)
    return taken or isinstance(bits, Store) or bits.type != I64


def _is_half(u: Value) -> bool:
    """Is it the lower half of an integer, or the upper one?"""
    match u:
        case Binary("lshr", _, ConstInt(value=32)):
            return bool(u.users) and all(isinstance(x, Cast) and x.opcode == "trunc" for x in u.users)
    return isinstance(u, Cast) and u.opcode == "trunc"


class _Edit:
    """Writes the new types of parameters and results, of functions and of calls."""

    def __init__(
        self, parameters: Mapping[Function, Mapping[int, Type]], results: Mapping[Function, Type],
        number: int,
    ) -> None:  # fmt: skip
        self._functions = {f.name: f for f in (*parameters, *results)}
        self._parameters, self._results = parameters, results
        names = "|".join(re.escape(spelt(f)) for f in self._functions)
        self._called = re.compile(rf"\b(?:call|invoke) [^@\n]*?({names})\(")
        self._names = (f"{_NAME}{number}.{n}" for n in count())
        self._bits: dict[tuple[str, Type, Type], str] = {}  # of values of this block

    def function(self, name: str, text: str) -> str:
        """A function of the program."""
        lines, self._bits = text.split("\n"), {}
        made = [new for line in lines[1:] for new in self._line(line)]
        f = self._functions.get(name)
        if f is None:
            return "\n".join([lines[0], *made])
        head, first = self._head(f, lines[0])
        return self._returning(f, "\n".join([head, made[0], *first, *made[1:]]))

    def _writer(self) -> Writer:
        return Writer(f"{next(self._names)}.")

    def _head(self, f: Function, line: str) -> tuple[str, list[str]]:
        """The head, and what makes parameters of the old types."""
        start, given, rest = _apart_at(line, f)
        lines: list[str] = []
        for n, t in self._parameters.get(f, {}).items():
            old, name, bits = f.arguments[n].type, given[n].split()[-1], next(self._names)
            w = self._writer()
            w.as_type(bits, t, old)
            lines += [*w.lines[:-1], f"{name} = {w.lines[-1].partition(' = ')[2]}"]
            given[n] = f"{t} {bits}"
        return f"{self._returned(f, start)}({', '.join(given)}){rest}", [f"  {line}" for line in lines]

    def _returned(self, f: Function, start: str) -> str:
        """What stands before the parameters, with the new type of the result."""
        if (new := self._results.get(f)) is None:
            return start
        before = start.removesuffix(f"{f.function_type.result} {spelt(f.name)}")
        return f"{_MATHS.sub('', _SAID.sub('', before))}{new} {spelt(f.name)}"

    def _returning(self, f: Function, text: str) -> str:
        if (new := self._results.get(f)) is None:
            return text
        old = f.function_type.result

        def edit(m: re.Match[str]) -> str:
            w = self._writer()
            value = w.as_type(m[1], old, new)
            return "".join(f"  {line}\n" for line in w.lines) + f"  ret {new} {value}{m[2] or ''}"

        return re.sub(_RETURN.format(re.escape(str(old))), edit, text, flags=re.MULTILINE)

    def _line(self, line: str) -> list[str]:
        if not line.startswith("  "):
            self._bits = {}
        return self._instruction(line)

    def _instruction(self, line: str) -> list[str]:
        """An instruction; a call with what makes its arguments, and its result, before and after it."""
        m = self._called.search(line) if "@" in line and line.startswith("  ") else None
        if m is None:
            return [line]
        f = self._functions[plain(m[1])]
        start, given, rest = _apart_at(line, f)
        w = self._writer()
        for n, t in self._parameters.get(f, {}).items():
            old = f.arguments[n].type
            value = _SAID.sub("", given[n].removeprefix(f"{old} "))
            if (value, old, t) not in self._bits:
                self._bits[value, old, t] = w.as_type(value, old, t)
            given[n] = f"{t} {self._bits[value, old, t]}"
        before, after = [f"  {line}" for line in w.lines], list[str]()
        if (new := self._results.get(f)) is not None and " = " in start:
            name, bits = start.split(" = ")[0].strip(), next(self._names)
            w = self._writer()
            w.as_type(bits, new, f.function_type.result)
            after = [f"  {line}" for line in (*w.lines[:-1], f"{name} = {w.lines[-1].partition(' = ')[2]}")]
            start = start.replace(f"{name} =", f"{bits} =", 1)
        return [*before, f"{self._returned(f, start)}({', '.join(given)}){rest}", *after]


def _apart_at(line: str, f: Function) -> tuple[str, list[str], str]:
    """A head or a call: what stands before the arguments, these, and what comes after them."""
    at = line.index(f"{spelt(f.name)}(") + len(spelt(f.name))
    given, rest = split_arguments(line[at + 1 :])
    return line[:at], given, rest


__all__ = ["has_bits", "with_bits"]


def told_apart(work: LLVMModule) -> None:
    """Registers of doubles in which other floats lie as integers (`retyped`)."""
    for _ in range(_ROUNDS if has_bits(work.text()) else 0):
        work.run(["instruction_namer"])
        if (retyped := with_bits(work.text())) == work.text():
            return
        work.replace_text(retyped)
        work.run(["sroa", "instruction_combine", "dce"])
