"""Atomic operations as ordinary ones: in code that one thread runs alone, and on variables that no other thread sees.

An edit of a function's lines, of LLVM assembly as LLVM prints it. Loops around an exchange (`x *= v` is one) run once,
where it can be shown: no other thread writes, so that what is compared is what was loaded (`certain`). Integers are
counted as ever: what they count may be shared with other threads all the same, as the owners of an object are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from llgrad.llvm.assembly import FUNCTION, plain, split_arguments, value_of

_ATOMIC = re.compile(r"(?: = |^ *)(?:atomicrmw|cmpxchg|(?:load|store) atomic) ", re.MULTILINE)

_RMW = re.compile(
    r"^( *)(%\S+) = atomicrmw (?:volatile )?(\w+) ptr (.+), (\S+) (\S+) (?:syncscope\(\S+\) )?\w+(?:, align (\d+))?"
)
_EXCHANGE = re.compile(
    r"^( *)(%\S+) = cmpxchg (?:weak )?(?:volatile )?ptr (.+), (\S+) (\S+), \S+ (\S+) (?:syncscope\(\S+\) )?\w+ \w+"
    r"(?:, align (\d+))?"
)
_ACCESS = re.compile(
    r"^( *(?:%\S+ = )?)(load|store) atomic (.*?)(?: syncscope\(\S+\))? "
    r"(?:unordered|monotonic|acquire|release|seq_cst), align"
)
LARGE = re.compile(r"^( *)(%\S+ = |)(?:tail )?call [^@\n]*@__atomic_(load|store|exchange|compare_exchange)\((.*)$")
_FORMATS = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "x86_fp80": "f80", "fp128": "f128"}
_CHOSEN = {"fmax": "maxnum", "fmin": "minnum", "fmaximum": "maximum", "fminimum": "minimum"}


def plain_access(line: str, name: str, sure: Collection[str]) -> list[str]:
    """An atomic access as one that is not. Counters are left: what they count may be shared with other threads.

    `sure`: the exchanges that always take place.
    """
    if line.lstrip().startswith("fence "):
        return []
    if m := _ACCESS.match(line):
        return [f"{m[1]}{m[2]} {m[3]}, align{line[m.end() :]}"]
    if m := _EXCHANGE.match(line):
        return [f"{m[1]}{step}" for step in _exchanged(m, name, m[2] in sure)]
    if (m := _RMW.match(line)) and (steps := _changed(m, name)):
        return [f"{m[1]}{step}" for step in steps]
    return [line]


def _exchanged(m: re.Match[str], name: str, sure: bool) -> list[str]:
    _, result, place, t, old, new, align = m.groups()
    at = f", align {align}" if align else ""
    if sure:
        return [
            f"store {t} {new}, ptr {place}{at}",
            f"{name}.pair = insertvalue {{ {t}, i1 }} poison, {t} {old}, 0",
            f"{result} = insertvalue {{ {t}, i1 }} {name}.pair, i1 true, 1",
        ]
    return [
        f"{name}.met = load {t}, ptr {place}{at}",
        f"{name}.same = icmp eq {t} {name}.met, {old}",
        f"{name}.now = select i1 {name}.same, {t} {new}, {t} {name}.met",
        f"store {t} {name}.now, ptr {place}{at}",
        f"{name}.pair = insertvalue {{ {t}, i1 }} poison, {t} {name}.met, 0",
        f"{result} = insertvalue {{ {t}, i1 }} {name}.pair, i1 {name}.same, 1",
    ]


def _changed(m: re.Match[str], name: str) -> list[str]:
    """The steps of an `atomicrmw` that may be one of floats; none for others."""
    _, result, operation, place, t, value, align = m.groups()
    at, now = f", align {align}" if align else "", f"{name}.now"
    if operation == "xchg" and (t in (*_FORMATS, "ptr") or t.startswith("i")):  # the bits of a float, perhaps
        now, steps = value, []
    elif operation in _CHOSEN and t in _FORMATS:
        steps = [f"{now} = call {t} @llvm.{_CHOSEN[operation]}.{_FORMATS[t]}({t} {result}, {t} {value})"]
    elif operation in ("fadd", "fsub") and t in _FORMATS:
        steps = [f"{now} = {operation} {t} {result}, {value}"]
    else:
        return []
    return [f"{result} = load {t}, ptr {place}{at}", *steps, f"store {t} {now}, ptr {place}{at}"]


def large_access(line: str, sure: Collection[str]) -> list[str]:
    """The same for what no instruction does: the library is given sizes and addresses."""
    if (m := LARGE.match(line)) is None:
        return [line]
    space, result, sort, (given, rest) = m[1], m[2], m[3], split_arguments(m[4])
    size, *places = [value_of(a) for a in given]

    def copied(to: str, source: str) -> str:
        return f"{space}call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {source}, i64 {size}, i1 false){rest}"

    if sort == "load":
        return [copied(places[1], places[0])]
    if sort == "store":
        return [copied(places[0], places[1])]
    if sort == "exchange":
        return [copied(places[2], places[0]), copied(places[0], places[1])]
    return [copied(places[0], places[2]), f"{space}{result}or i1 true, true"] if result[:-3] in sure else [line]


_LABEL = re.compile(r'^((?:[-\w.$]+|"[^"\n]*")):', re.MULTILINE)
_TOUCHES = re.compile(r"\b(?:store|call|invoke|atomicrmw|cmpxchg|fence|va_arg) ")
_COMPUTES = re.compile(
    r" call [^@\n]*@llvm\.(?:lifetime|fabs|fma|fmuladd|sqrt|sin|cos|tan|exp2?|log(?:2|10)?|powi?|copysign|"
    r"(?:min|max)(?:num|imum)|[su](?:min|max))\.|^ *#dbg_"
)
_STORED = re.compile(r"^ *store [^\n]*, ptr (%[-\w.$]+|%\"[^\"\n]*\")(?=,|$)")


def certain(body: str) -> set[str]:
    """The exchanges of a function that always take place where no other thread writes: what is compared is what was
    loaded from the same place before, be it before a loop around the exchange, and nothing is written between."""
    blocks = dict(_blocks(body))
    found = set()
    for label, lines in blocks.items():
        for n, line in enumerate(lines):
            if (m := LARGE.match(line)) and m[3] == "compare_exchange" and _large_is_sure(m, label, n, blocks, body):
                found.add(m[2][:-3])
            elif (m := _EXCHANGE.match(line)) and _is_sure(m, label, n, blocks, body):
                found.add(m[2])
    return found


def _is_sure(m: re.Match[str], label: str, n: int, blocks: dict[str, list[str]], body: str) -> bool:
    place, old, before = m[3], m[5], blocks[label][:n]
    cast = re.search(rf"^ *{re.escape(old)} = bitcast \S+ (\S+) to ", body, re.MULTILINE)
    met = cast[1] if cast else old
    if _loaded(before, met, place, body):
        return True
    phi = next((line for line in before if line.startswith(f"  {met} = phi ")), "")
    came = [p for p in re.findall(r"\[ (\S+), %([^\]]+) \]", phi) if p[1] != label]
    if not came or _writes(before, place, body=body):
        return False
    return all(_loaded(blocks.get(b, []), v, place, body) for v, b in came)


def _large_is_sure(m: re.Match[str], label: str, n: int, blocks: dict[str, list[str]], body: str) -> bool:
    place, kept = (value_of(a) for a in split_arguments(m[4])[0][1:3])
    before = [b for other, b in blocks.items() if other != label and _goes_to(b, label)]
    if not before or not _is_scalar(kept, body) or _writes(blocks[label][:n], place, kept, body=body):
        return False
    return all(_copied(b, place, kept, body) for b in before)


def private(text: str) -> tuple[str, list[str]]:
    """The text in which atomic operations on variables that only their function sees are ordinary ones, and which
    functions have changed."""
    changed = list[str]()

    def edit(m: re.Match[str]) -> str:
        if not _ATOMIC.search(m[0]) or (new := _private(m[0])) == m[0]:
            return m[0]
        changed.append(plain(m[1]))
        return new

    return (FUNCTION.sub(edit, text), changed) if _ATOMIC.search(text) else (text, changed)


def _private(body: str) -> str:
    sure, lines = certain(body), list[str]()
    for n, line in enumerate(body.split("\n")):
        m = _ATOMIC.search(line)
        place = re.search(r" ptr (%[-\w.$]+)[ ,]", line) if m else None
        own = place is not None and _is_scalar(_base(place[1], body), body)
        lines += plain_access(line, f"%llgrad.private.{n}", sure) if own else [line]
    return "\n".join(lines)


def _blocks(body: str) -> Iterator[tuple[str, list[str]]]:
    """The blocks of a function that have labels, as lines."""
    label, lines = "", list[str]()
    for line in body.split("\n")[1:]:
        if m := _LABEL.match(line):
            yield label, lines
            label, lines = m[1], []
        else:
            lines.append(line)
    yield label, lines


def _loaded(lines: list[str], value: str, place: str, body: str) -> bool:
    """Is a value loaded from `place` in a block, and nothing written after that?"""
    at = next((n for n, line in enumerate(lines) if line.startswith(f"  {value} = load ")), None)
    return at is not None and f", ptr {place} " in lines[at] and not _writes(lines[at + 1 :], place, body=body)


def _copied(lines: list[str], place: str, kept: str, body: str) -> bool:
    """Is `kept` a copy of what is at `place` at the end of a block?"""
    for n, line in enumerate(lines):
        if (m := LARGE.match(line)) and m[3] == "load":
            given = [value_of(a) for a in split_arguments(m[4])[0]]
            if given[1:3] == [place, kept]:
                return not _writes(lines[n + 1 :], place, kept, body=body)
    return False


def _goes_to(lines: list[str], label: str) -> bool:
    return any(re.search(rf"label %{re.escape(label)}(?![-\w.$])", line) for line in lines)


def _writes(lines: list[str], *places: str, body: str) -> bool:
    """Do these lines write anything but variables that only loads and stores know, other than `places`?"""
    for line in lines:
        if not _TOUCHES.search(line) or _COMPUTES.search(line):
            continue
        m = _STORED.match(line)
        kept = {_base(p, body) for p in places}
        if m is None or (base := _base(m[1], body)) in kept or not _is_scalar(base, body):
            return True
    return False


def _base(name: str, body: str) -> str:
    """The variable of which a pointer leads to a member."""
    member = rf"^ *{re.escape(name)} = getelementptr [^%\n]*(?:%[\w.]+, )?[^%\n]*ptr (%[-\w.$]+), [^%\n]*$"
    m = re.search(member, body, re.MULTILINE)
    return name if m is None else _base(m[1], body)


def _is_scalar(name: str, body: str) -> bool:
    """Is it a variable on the stack whose address, and that of its members, goes nowhere?"""
    uses = re.findall(rf"^ *([^\n]*{re.escape(name)}(?![-\w.$])[^\n]*)$", body, re.MULTILINE)
    end = rf", ptr {re.escape(name)}(?:,|$)"
    known = re.compile(
        rf"{re.escape(name)} = (?:alloca|getelementptr) |\S+ = load [^,\n]*{end}"
        rf"|store (?!ptr {re.escape(name)},)[^\n]*{end}"
        rf"|\S+ = (?:load atomic|atomicrmw \w+|cmpxchg(?: weak)?) (?:\S+, )?ptr {re.escape(name)}[ ,]"
        rf"|store atomic [^\n]*, ptr {re.escape(name)} "
        r"|#dbg_|call void @llvm\.lifetime\.|[^@]*call [^@]*@__atomic_"
    )
    if any(len(re.findall(rf"{re.escape(name)}(?![-\w.$])", use)) > 1 for use in uses):
        return False
    members = [(use, m[1]) for use in uses if (m := re.match(rf"(%\S+) = getelementptr [^\n]*{end}", use))]
    rest = [use for use in uses if use not in dict(members)]
    made = any(re.match(rf"{re.escape(name)} = (?:alloca|getelementptr) ", use) for use in uses)
    return made and all(map(known.match, rest)) and all(_is_scalar(member, body) for _, member in members)
