"""Equality tests of floats, hidden from an optimiser.

Decision 4 of the design: `if (x == 3.0) return x * x;` loses its derivative when an optimiser puts the constant in. So
the operands of floating-point equality tests pass through opaque calls (`hide`) until optimisation is done (`reveal`).

So do those of equality tests of a float's bits (`hide_bits`): `if (bits == 0x4008000000000000) …` of what is read as a
float again. Integers are compared everywhere, and loops are counted by it, so it must be seen that they may be bits:
the constant is one that no number has, by far, and the other operand is not computed; or one of two operands that are
not computed becomes a float, or lies where floats are read. So do operands that are computed from bits that certainly
are a float, too: of `(bits ^ c) == 0` and of two tests of its halves LLVM makes one of all bits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from llgrad.llvm import LLVMModule
from llgrad.support.brackets import listed
from llgrad.transforms.intrinsics.expansions import unstrict

_HIDE = "llgrad.hide."
_FLOAT = r"(?:half|bfloat|float|double|x86_fp80|fp128|ppc_fp128)"
_TYPE = rf"({_FLOAT}|<[^>]*>)"
_COMPARED = re.compile(rf"^( *%[^=\n]+ = fcmp (?:[a-z]+ )*?(o..|u..|one|une)) {_TYPE} (?=\S)")
_EQUAL = ("oeq", "one", "ueq", "une")
_AT_LEAST, _AT_MOST = ("oge", "ult"), ("ole", "ugt")
_ABSOLUTE = re.compile(r"^ *(%[^= \n]+) = [^@\n]*call [^@\n]*@llvm\.fabs\.", re.MULTILINE)
_SUFFIX = {"half": "f16", "bfloat": "bf16", "float": "f32", "double": "f64", "x86_fp80": "f80", "fp128": "f128"}


def hide(text: str) -> str:
    """Pass both operands of every `==` and `!=` on floats through an opaque call, unless one is zero.

    Comparing with zero tells nothing about a float's bits, so no optimiser puts the zero in; but of `3.0 - x == 0` it
    makes `x == 3.0`. There the other operand passes through `llvm.canonicalize`, which is folded if it is a constant.
    What LLVM makes equality tests of is such a test: `x >= 3.0 && x <= 3.0`, and `fabs(x) <= 0`.
    """
    if " = fcmp " not in text:
        return text
    start = max((int(n) for n in re.findall(r"%llgrad\.hidden\.(\d+)", text)), default=-1) + 1
    hiding = _Hiding(start)
    text = _BODY.sub(lambda m: hiding.body(m[0]) if " = fcmp " in m[0] else m[0], text)
    new = [f"{line}\n" for line in hiding.declared if line.split(" no")[0] not in text]
    return "".join([text, *new])


class _Hiding:
    """Writes the calls, and collects what is declared."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.declared: dict[str, None] = {}

    def body(self, text: str) -> str:
        lines = text.split("\n")
        found: list[tuple[int, str, str, str, str, str, str]] = []
        for n, line in enumerate(lines):
            m = _COMPARED.match(line)
            split = _operands(line[m.end() :]) if m else None
            if m is not None and split is not None:
                found.append((n, m[1], m[2], m[3], *split))
        least, most = (
            {(t, v) for _, _, predicate, t, a, b, _ in found if predicate in side for v in (a, b) if v[0] != "%"}
            for side in (_AT_LEAST, _AT_MOST)
        )
        both = least & most
        absolute = set(_ABSOLUTE.findall(text)) if most else set[str]()
        for n, head, predicate, t, a, b, rest in found:
            if any(v.startswith("%llgrad.hidden.") for v in (a, b)):
                continue
            zero, between = _is_zero(a) or _is_zero(b), (t, a) in both or (t, b) in both
            if zero and (predicate in _EQUAL or a in absolute or b in absolute):
                calls = [v if _is_zero(v) else self._canonical(t, v) for v in (a, b)]
            elif predicate in _EQUAL or between and predicate in (*_AT_LEAST, *_AT_MOST):
                calls = [self._opaque(t, v) for v in (a, b)]
            else:
                continue
            made, names = zip(*map(self._named, calls), strict=True)
            lines[n] = "\n".join([*filter(None, made), f"{head} {t} {names[0]}, {names[1]}{rest}"])
        return "\n".join(lines)

    def _named(self, call: str) -> tuple[str, str]:
        """The line that makes what a call gives, and its name; of what is no call, itself."""
        if not call.startswith("call "):
            return "", call
        self.count += 1
        return f"  %llgrad.hidden.{self.count - 1} = {call}", f"%llgrad.hidden.{self.count - 1}"

    def _opaque(self, t: str, v: str) -> str:
        helper = f"{_HIDE}{_mangled(t)}"
        attributes = "nocallback nofree nosync nounwind speculatable willreturn memory(none)"
        self.declared[f"declare {t} @{helper}({t}) {attributes}"] = None
        return f"call {t} @{helper}({t} {v})"

    def _canonical(self, t: str, v: str) -> str:
        if (m := re.fullmatch(rf"(?:<(\d+) x )?({_FLOAT})>?", t)) is None or m[2] not in _SUFFIX:
            return v
        name = f"@llvm.canonicalize.{f'v{m[1]}' if m[1] else ''}{_SUFFIX[m[2]]}"
        self.declared[f"declare {t} {name}({t})"] = None
        return f"call {t} {name}({t} {v})"


MOST_PARTS = 200  # of what an operand is computed from; what is made of more is hidden
_LOCAL = r'%(?:[-\w.$]+|"[^"\n]*")'
_NUMBER = r"-?\d+"
_BODY = re.compile(r"^define [^\n]*\{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
_BITS_COMPARED = re.compile(
    rf"^( *{_LOCAL} = icmp (?:samesign )?\w+) (i\d+) ({_LOCAL}|{_NUMBER}), ({_LOCAL}|{_NUMBER})(?=,|$)", re.MULTILINE
)
_COMPUTED = re.compile(
    rf"^  ({_LOCAL}) = (?:and|or|xor|add|sub|shl|lshr|ashr|trunc|zext|sext) ([^\n]*?)(?:, ![^\n]*)?$", re.MULTILINE
)
_INTEGER = re.compile(rf"^  ({_LOCAL}) = alloca i(?:32|64)\b", re.MULTILINE)
_BITS_CHOSEN = re.compile(rf"^(  switch) (i32|i64) ({_LOCAL})(, label [^\n]*\n(?:    [^\n]*\n)*)", re.MULTILINE)
_MOVES = "load|bitcast|phi|select|freeze|call|invoke|getelementptr"
_MADE = re.compile(rf"^  ({_LOCAL}) = (?:tail )?({_MOVES}) ([^\n]*)", re.MULTILINE)
_SOME_FLOAT = r"(?:double|float|<\d+ x (?:double|float)>)"
_CALL_OF_FLOAT = re.compile(rf" = (?:[a-z]+ )*call [^@\n]*?{_SOME_FLOAT} @[^\n]*")
_FLOATS_AT = re.compile(
    rf"^  (?:{_LOCAL} = load {_SOME_FLOAT}, ptr|store {_SOME_FLOAT} [^\n]*, ptr) ({_LOCAL}|@[-\w.$]+)", re.MULTILINE
)
_POINTER = re.compile(rf"\bptr (?:[a-z_]+(?:\([^()\n]*\)| \d+)? )*({_LOCAL}|@[-\w.$]+)")


def hide_bits(text: str) -> str:
    """Pass both operands of equality tests of what may be the bits of floats through an opaque call."""
    used: set[str] = set()
    text = _BODY.sub(lambda m: _Bits(m[0], used).hidden() if _may_compare_bits(m[0]) else m[0], text)
    attributes = "nocallback nofree nosync nounwind speculatable willreturn memory(none)"
    new = {t: f"declare {t} @{_HIDE}{t}({t})" for t in sorted(used)}
    return "".join([text, *(f"{head} {attributes}\n" for head in new.values() if head not in text)])


def _may_compare_bits(body: str) -> bool:
    return _BITS_COMPARED.search(body) is not None or _BITS_CHOSEN.search(body) is not None


class _Bits:
    """One function: what in it is moved, and not computed, and what of that is a float elsewhere."""

    def __init__(self, body: str, used: set[str]) -> None:
        self.body, self.used = body, used
        self.made = {m[1]: (m[2], m[3]) for m in _MADE.finditer(body)}
        self.computed = set(re.findall(rf"^  ({_LOCAL}) = ", body, re.MULTILINE)) - self.made.keys()
        self.parts = {m[1]: re.findall(_LOCAL, m[2]) for m in _COMPUTED.finditer(body)}
        self.places = set(_FLOATS_AT.findall(body))
        self.floats = {self._base(p) for p in self.places}
        self.cast = set(re.findall(rf" = bitcast i\d+ ({_LOCAL}) to", body))
        self.given = {v for line in _CALL_OF_FLOAT.findall(body) for v in re.findall(_LOCAL, line)}
        self.stored: dict[str, list[str]] = {}
        for v, pointer in re.findall(rf"^  store i\d+ ({_LOCAL}), ptr ({_LOCAL})", body, re.MULTILINE):
            self.stored.setdefault(v, []).append(pointer)
        self.places |= self.given.intersection(_INTEGER.findall(body))
        self.count = 0

    def hidden(self) -> str:
        body = _BITS_COMPARED.sub(self._compared, self.body)
        return _BITS_CHOSEN.sub(self._chosen, body)

    def _compared(self, m: re.Match[str]) -> str:
        test, t, *sides = m.groups()
        equal = test.endswith(("eq", "ne")) and self._are_bits(t, sides)
        if not (equal or self._are_ordered(t, sides) or any(map(self._is_part, sides))):
            return m[0]
        lines, names = zip(*(self._hide(t, v) for v in sides), strict=True)
        return f"{''.join(lines)}{test} {t} {', '.join(names)}"

    def _are_bits(self, t: str, sides: list[str]) -> bool:
        """Are what is compared the bits of floats as they are?"""
        constants = [int(v) for v in sides if v[0] != "%"]
        if t not in ("i32", "i64") or not all(self._is_moved(v) for v in sides if v[0] == "%"):
            return False
        return any(_is_float(t, n) for n in constants) if constants else any(map(self._is_a_float, sides))

    def _are_ordered(self, t: str, sides: list[str]) -> bool:
        """Are a float's bits compared with a constant, perhaps from both sides?"""
        constant = any(v[0] != "%" and t in ("i32", "i64") and _is_float(t, int(v)) for v in sides)
        return constant and any(map(self._is_surely_a_float, sides))

    def _is_part(self, v: str) -> bool:
        """Is it computed from the bits of what certainly is a float, too? (LLVM finds out what the bits are, then.)"""
        work, seen = [*self.parts.get(v, ())], set[str]()
        while work:
            v = work.pop()
            if len(seen) > MOST_PARTS:
                return True
            if v not in seen:
                seen.add(v)
                work += self.parts.get(v, ())
        return any(map(self._is_surely_a_float, seen - self.parts.keys()))

    def _is_surely_a_float(self, v: str) -> bool:
        how, of = self.made.get(v, ("", ""))
        cast = how == "bitcast" and re.match(_SOME_FLOAT, of) is not None
        if cast or v in self.cast or how == "load" and _pointer(of) in self.places:
            return True
        return not self.places.isdisjoint(self.stored.get(v, ()))

    def _chosen(self, m: re.Match[str]) -> str:
        start, t, value, cases = m.groups()
        found = re.findall(rf"^    {t} ({_NUMBER}), label", cases, re.MULTILINE)
        if not self._is_moved(value) or not any(_is_float(t, int(n)) for n in found):
            return m[0]
        line, name = self._hide(t, value)
        return f"{line}{start} {t} {name}{cases}"

    def _hide(self, t: str, value: str) -> tuple[str, str]:
        self.used.add(t)
        name, self.count = f"%llgrad.hidden.bits.{self.count}", self.count + 1
        return f"  {name} = call {t} @{_HIDE}{t}({t} {value})\n", name

    def _is_moved(self, v: str) -> bool:
        """Is it read, or given, or one of several such, and nowhere the result of arithmetic?"""
        work, seen = [v], set[str]()
        while work:
            v = work.pop()
            if v in self.computed:
                return False
            if v not in seen:
                seen.add(v)
                work += self._sources(v)
        return True

    def _sources(self, v: str) -> Iterator[str]:
        how, of = self.made.get(v, ("", ""))
        if how == "phi":
            yield from re.findall(rf"\[ ({_LOCAL}), ", of)
        elif how == "select":
            yield from re.findall(_LOCAL, of)[1:]
        elif how == "freeze":
            yield from re.findall(_LOCAL, of)

    def _is_a_float(self, v: str) -> bool:
        """Is it made of a float, or read where floats are, or does it become one?"""
        how, of = self.made.get(v, ("", ""))
        if how == "bitcast" or how == "load" and self._holds_floats(_pointer(of)):
            return True
        return v in self.cast or v in self.given or any(map(self._holds_floats, self.stored.get(v, ())))

    def _holds_floats(self, pointer: str) -> bool:
        return pointer in self.given or self._base(pointer) in self.floats

    def _base(self, pointer: str) -> str:
        """What an address is computed from."""
        while self.made.get(pointer, ("",))[0] == "getelementptr":
            pointer = _pointer(self.made[pointer][1])
        return pointer


def _pointer(of: str) -> str:
    m = _POINTER.search(of)
    return m[1] if m else ""


def _is_float(t: str, n: int) -> bool:
    """Has the float with these bits an exponent of its own? (Numbers that a program counts have none.)"""
    exponent = n >> 23 & 0xFF if t == "i32" else n >> 52 & 0x7FF
    return 0 < exponent < (0xFF if t == "i32" else 0x7FF)


def reveal(module: LLVMModule) -> None:
    """Undo `hide`: the opaque calls become their arguments."""
    types = rf"{_FLOAT}|i\d+|<[^>\n]*>"
    declared = re.compile(rf"^declare [^@\n]*?({types}) @({re.escape(_HIDE)}[\w.]+)\(", re.MULTILINE)
    found = declared.findall(module.text())
    text = module.text()
    if "%llgrad.hidden." in text and "@llvm.canonicalize." in text:
        module.replace_text(_BODY.sub(lambda m: _plain(m[0]), text))
    if found:
        body = "define internal {0} @{1}({0} %x) alwaysinline {{\n  ret {0} %x\n}}\n"
        text = re.sub(rf"^declare [^\n]*@{re.escape(_HIDE)}[^\n]*$", "", module.text(), flags=re.MULTILINE)
        module.replace_text(text + "".join(body.format(t, name) for t, name in found))
        module.run(["always_inliner", "global_dce"])


_CANONICAL = re.compile(
    r"^  (%llgrad\.hidden\.[-\w.$]+) = [^@\n]*call [^@\n]*@llvm\.canonicalize\.\w+\([^%@\n]*?(\S+)\)[^()\n]*\n",
    re.MULTILINE,
)


def _plain(body: str) -> str:
    """A function in which numbers that are compared with zero are compared as they are."""
    known = {m[1]: m[2] for m in _CANONICAL.finditer(body)}

    def of(name: str) -> str:
        while name in known:
            name = known[name]
        return name

    return re.sub(r"%llgrad\.hidden\.[-\w.$]+", lambda m: of(m[0]), _CANONICAL.sub("", body)) if known else body


def _operands(text: str) -> tuple[str, str, str] | None:
    """`%x, 3.0, !dbg !7` → (`%x`, `3.0`, `, !dbg !7`); None where it does not look like that."""
    parts, _ = listed(text)
    return (parts[0], parts[1], "".join(f", {part}" for part in parts[2:])) if len(parts) > 1 else None


def _is_zero(operand: str) -> bool:
    return operand == "zeroinitializer" or bool(re.fullmatch(r"-?0\.0+e\+00|0x[HKLRM]?0+", operand))


def _mangled(t: str) -> str:
    return re.sub(r"\W+", ".", t).strip(".")


def ordinary_operations(text: str) -> str:
    """Constrained operations on floats become ordinary ones."""
    return hide(ordinary) if (ordinary := unstrict(text)) != text else text
