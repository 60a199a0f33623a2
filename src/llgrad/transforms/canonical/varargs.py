"""Functions with variable arguments become functions that are passed the address of one struct with all of them.

A `va_list` of x86-64 (System V ABI, section 3.5.7) says how many registers of each sort are used up, where they were
saved, and where the arguments in memory lie. Here all of them are in memory: the caller lays them out as if no register
were left, `va_start` says so, and clang's `va_arg`, or a `vprintf` that is handed the list, reads on from there.
So nothing after this knows of variable arguments; memory, activity and kinds are those of a struct.

Left alone: functions whose address is taken, those that the program shares with others, those that pass on their own
`...`, and pairs of registers that are 128-bit integers (their alignment is not seen).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from itertools import count

from msgspec import Struct

from llgrad.ir.parse import parse
from llgrad.llvm.assembly import NAME, plain, split_arguments, value_of

AREA = "%llgrad.variable"
_DEFINITION = re.compile(
    rf"^define ([^@\n]*)({NAME})\(([^\n]*)\.\.\.\)([^\n]*\{{\n.*?^\}}\n)", re.MULTILINE | re.DOTALL
)
_FUNCTION = re.compile(r"^define [^\n]*\{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
_NAKED = re.compile(r"^attributes (#\d+) = \{[^\n]*\bnaked\b", re.MULTILINE)
_START = re.compile(r"^( *)[^\n]*@llvm\.va_start\.p0\(ptr [^%\n]*(%[-\w.$]+)\)[^\n]*\n", re.MULTILINE)
_END = re.compile(r"^ *[^=\n]*@llvm\.va_end\.p0\([^\n]*\n", re.MULTILINE)
_COPY = re.compile(r"^( *)[^=\n]*@llvm\.va_copy\.p0\(ptr ([^,\n]*), ptr ([^)\n]*)\)[^\n]*\n", re.MULTILINE)
_TAKEN = re.compile(
    r"^( *)(%[-\w.$]+) = va_arg ptr ([^,\n]+), (double|float|ptr|i(?:[1-9]|[1-5][0-9]|6[0-4]))\b[^\n]*$", re.MULTILINE
)
_MEMCPY = "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"
_USED_UP = (48, 176)  # offsets past all general and all vector registers
_TYPE = re.compile(r"<2 x float>|<4 x float>|<2 x double>|(?:double|float|x86_fp80|ptr|i(?:[1-9]|[1-5][0-9]|6[0-4]))\b")
_BYVAL = re.compile(r"byval\(((?:[^()]|\([^()]*\))*)\)")
_BEFORE_TYPES = r"(?:[^@\n(]|(?<=\w)\([^()\n]*\))*?(?<= )"  # attributes such as `nofpclass(nan inf)`, the result
_UNPROTOTYPED = re.compile(
    rf"^( *(?:%[-\w.$]+ = )?(?:\w+ )?(?:call|invoke) {_BEFORE_TYPES})\(([^\n@]*?\.\.\.)\) (%[-\w.$]+\()([^\n]*)",
    re.MULTILINE,
)
_VARIABLE = re.compile(rf"^(?:define|declare) [^@\n]*{NAME}\(([^\n]*?\.\.\.)\)", re.MULTILINE)


def applies(text: str) -> bool:
    """Is there a function with variable arguments, of a target whose lists are known?"""
    known = re.search(r'^target triple = "x86_64-(?!.*windows)', text, re.MULTILINE)
    return known is not None and (
        "@llvm.va_start" in text or " = va_arg " in text or _DEFINITION.search(text) is not None
    )


def without_variables(text: str, keep: Collection[str] = ()) -> str:
    """The text with a struct in the place of variable arguments; its values have names. `keep`: functions to leave."""
    text = _TAKEN.sub(_taken, text)
    naked = set(_NAKED.findall(text))  # such a function has no stack, nor values of its arguments
    own = (m for m in _DEFINITION.finditer(text) if plain(m[2]) not in keep and _own(m))
    found = {m[2]: m for m in own if naked.isdisjoint(m[4].partition("\n")[0].split())}
    calls = {name: _calls(name, text) for name in found}
    names = {name for name, m in found.items() if calls[name] is not None and _all_started(m[4])}
    if not names:
        return text
    number = count()
    for name in names:
        old = found[name]
        body = _START.sub(lambda m: _filled(m[1], m[2], AREA, next(number)), old[4])
        text = text.replace(old[0], f"define {old[1]}{name}({old[3]}ptr {AREA}){body}")
    given = [a for name in names for call in calls[name] or () for a in call.variable]
    sizes = _struct_sizes(text, dict.fromkeys(m[1] for a in given if (m := _BYVAL.search(a))))
    text = _FUNCTION.sub(lambda m: _passing(m[0], names, sizes), text)
    text = _END.sub("", text)
    if "call void @llvm.va_start." not in text:  # all lists are of this kind
        text = _COPY.sub(lambda m: _copied(m[1], m[2], m[3], next(number)), text)
    if _MEMCPY.split("(")[0] in text or "@llvm.memcpy.p0.p0.i64(" not in text:
        return text
    return f"{text}\n{_MEMCPY}\n"


def _all_started(body: str) -> bool:
    """Are all lists begun where this knows how? (Not behind null, nor in a variable.)"""
    return len(_START.findall(body)) == body.count("@llvm.va_start")


def _taken(m: re.Match[str]) -> str:
    """LLVM's instruction `va_arg` as clang writes it: the next register of its sort, or the next place in memory."""
    space, result, place, t = m.groups()
    at, step, last = (4, 16, 160) if t in ("double", "float") else (0, 8, 40)
    n = f"%llgrad.taken.{result[1:]}"
    lines = [
        f"{n}.place = getelementptr i8, ptr {place}, i64 8", f"{n}.memory = load ptr, ptr {n}.place",
        f"{n}.count = getelementptr i8, ptr {place}, i64 {at}", f"{n}.used = load i32, ptr {n}.count",
        f"{n}.left = icmp ule i32 {n}.used, {last}", f"{n}.area = getelementptr i8, ptr {place}, i64 16",
        f"{n}.saved = load ptr, ptr {n}.area", f"{n}.register = getelementptr i8, ptr {n}.saved, i32 {n}.used",
        f"{n}.from = select i1 {n}.left, ptr {n}.register, ptr {n}.memory",
        f"{n}.more = add i32 {n}.used, {step}", f"{n}.now = select i1 {n}.left, i32 {n}.more, i32 {n}.used",
        f"store i32 {n}.now, ptr {n}.count", f"{n}.after = getelementptr i8, ptr {n}.memory, i64 8",
        f"{n}.next = select i1 {n}.left, ptr {n}.memory, ptr {n}.after",
        f"{result} = load {t}, ptr {n}.from", f"store ptr {n}.next, ptr {n}.place",
    ]  # fmt: skip
    return "\n".join(space + line for line in lines)


def prototyped(text: str) -> str:
    """Calls through pointers without a prototype (`void *(*create)()`), for clang of functions with variable arguments
    of which there are none, as calls by the types of their arguments; unless such a function may be what is called."""
    if "...) %" not in text:
        return text
    variable = {_types(m[1]) for m in _VARIABLE.finditer(text)}

    def edit(m: re.Match[str]) -> str:
        types = _types(m[2])
        none = types not in variable and len(split_arguments(m[4])[0]) == len(types)
        return f"{m[1]}({', '.join(types)}) {m[3]}{m[4]}" if none else m[0]

    return _UNPROTOTYPED.sub(edit, text)


def _types(parameters: str) -> tuple[str, ...]:
    """Those of parameters that end in `...`."""
    found = split_arguments(f"{parameters})")[0][:-1]
    return tuple(m[0] if (m := _TYPE.match(p)) else p for p in found)


def converted(text: str) -> list[str]:
    """The functions that are passed such a struct."""
    return [plain(m[1]) for m in re.finditer(rf"^define [^@\n]*({NAME})\([^\n]*ptr {AREA}\)", text, re.MULTILINE)]


def _own(m: re.Match[str]) -> bool:
    """May this definition change, as all of its calls are seen?"""
    return bool(re.search(r"\b(internal|private)\b", m[1])) and "musttail" not in m[4]


def _copied(space: str, to: str, source: str, number: int) -> str:
    """`va_copy`: no registers are left in either list."""
    place, rest = f"%llgrad.list.{number}.from", f"%llgrad.list.{number}.rest"
    lines = [f"{place} = getelementptr i8, ptr {value_of(source)}, i64 8", f"{rest} = load ptr, ptr {place}"]
    return "".join(f"{space}{line}\n" for line in lines) + _filled(space, value_of(to), rest, number)


def _filled(space: str, place: str, area: str, number: int) -> str:
    """Fill in the list at `place`: no registers are left, what there is begins at `area`."""
    made = [f"%llgrad.list.{number}.{word}" for word in ("vectors", "memory", "saved")]
    lines = [f"store i32 {_USED_UP[0]}, ptr {place}, align 8"]
    for name, at, value in zip(made, (4, 8, 16), (f"i32 {_USED_UP[1]}", f"ptr {area}", "ptr null"), strict=True):
        lines += [f"{name} = getelementptr i8, ptr {place}, i64 {at}", f"store {value}, ptr {name}"]
    return "".join(f"{space}{line}\n" for line in lines)


# --- calls -----------------------------------------------------------------------------------------------------------


class _Call(Struct):
    """One call's line, taken apart: text before the type of the function, arguments, and what follows them."""

    start: str
    name: str
    fixed: list[str]
    variable: list[str]
    rest: str


def _calls(name: str, text: str) -> list[_Call] | None:
    """All uses of a function, where each is a call whose variable arguments can be laid out; else None."""
    found = []
    for line in re.findall(rf"^[^\n]*{re.escape(name)}(?![-\w.$])[^\n]*$", text, re.MULTILINE):
        if line.startswith("define ") and f" {name}(" in line and line.count(name) == 1:
            continue
        call = _call(line, {name})
        if call is None or line.count(name) != 1 or not all(_plain(v) for v in call.variable):
            return None
        words = [_type(v) for v in call.variable]
        if any(a == b == "i64" for a, b in zip(words, words[1:], strict=False)) and re.search(r"\bi128\b", text):
            return None
        found.append(call)
    return found


def _plain(argument: str) -> bool:
    """Is an argument passed as it stands, or a struct by value that is aligned to no more than 16 bytes?"""
    aligned = re.search(r"\balign (\d+)", argument)
    return _TYPE.match(argument) is not None and not (aligned and int(aligned[1]) > 16)


def _call(line: str, names: Collection[str]) -> _Call | None:
    m = re.match(rf"( *(?:%\S+ = )?[^@\n]*?\b(?:call|invoke) {_BEFORE_TYPES})\(([^@\n]*?)\.\.\.\) ({NAME})\(", line)
    if m is None or m[3] not in names or "musttail" in m[1]:
        return None
    arguments, rest = split_arguments(line[m.end() :])
    fixed = len(split_arguments(f"{m[2].rstrip(', ')})")[0])
    return _Call(m[1], m[3], arguments[:fixed], arguments[fixed:], rest)


def _passing(function: str, names: Collection[str], sizes: Mapping[str, int]) -> str:
    """A function whose calls of `names` pass structs, one on the stack for each call."""
    made: list[str] = []
    lines: list[str] = []
    for line in function.split("\n"):
        call = _call(line, names) if "..." in line and not line.startswith("define") else None
        if call is None:
            lines.append(line)
            continue
        area = f"%llgrad.variables.{len(made)}"
        stores, struct = _laid_out(area, call.variable, sizes)
        made.append(f"  {area} = alloca {struct}, align 16")
        arguments = ", ".join([*call.fixed, f"ptr {area}"])
        start = re.sub(r"\btail call\b", "call", call.start.rstrip())  # what it is passed is on the stack
        lines += [*stores, f"{start} {call.name}({arguments}){call.rest}"]
    if not made:
        return function
    at = next(n for n, line in enumerate(lines) if re.match(r'[-\w.$"]+:', line)) + 1
    return "\n".join([*lines[:at], *made, *lines[at:]])


def _laid_out(area: str, arguments: list[str], sizes: Mapping[str, int]) -> tuple[list[str], str]:
    """Stores of the arguments as the ABI has them in memory, each at a multiple of eight bytes; the struct's type."""
    members: list[str] = []
    lines = []
    for argument in arguments:
        by_value, place = _BYVAL.search(argument), f"{area}.{len(members)}"
        t = by_value[1] if by_value else _type(argument)
        members += ["[0 x x86_fp80]" if by_value and "align 16" in argument else "[0 x i64]", t]  # they only align
        lines.append(f"  {place} = getelementptr {{struct}}, ptr {area}, i32 0, i32 {len(members) - 1}")
        if by_value:
            copied = f"ptr {place}, ptr {value_of(argument)}, i64 {sizes[t]}, i1 false"
            lines.append(f"  call void @llvm.memcpy.p0.p0.i64({copied})")
        else:
            lines.append(f"  store {t} {value_of(argument)}, ptr {place}")
    struct = f"{{ {', '.join([*members, '[0 x i64]'])} }}"
    return [line.replace("{struct}", struct) for line in lines], struct


def _type(argument: str) -> str:
    m = _TYPE.match(argument)
    assert m is not None
    return m[0]


def _struct_sizes(text: str, types: Collection[str]) -> dict[str, int]:
    """Bytes of the types of structs that are passed by value."""
    if not types:
        return {}
    known = re.findall(r"^(?:target datalayout|%\S+ = type)[^\n]*$", text, re.MULTILINE)
    module = parse("\n".join([*known, f"declare void @f({', '.join(types)})\n"]))
    parameters = module.function("f").function_type.params
    return {t: module.layout.alloc_size(p) for t, p in zip(types, parameters, strict=True)}
