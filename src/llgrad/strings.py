"""`std::string` of libstdc++: while a derivative is made, members that change strings are calls that nobody looks into.

Their bodies copy text of any length, into a buffer in the string itself perhaps, to which a pointer in it points then:
to whoever does not know strings, text may lie in whatever lies beside one. What such a member does is in its name
instead: `llgrad.string.wp.s._ZN…` has a letter for each parameter (w: a string that is written, p: another pointer,
to a string or to text, that is read through; n: a number) and for its result (s: the first string, t: text, n: else).
They are taken not to throw: text that is too long, or memory that is not to be had, ends the program.
Members that only look at a string (`size`, `operator[]`, `compare`), and those that test positions, are as the program
has them. Members that it only declares get bodies: before C++20 libstdc++ has them in its library.
"""

from __future__ import annotations

import functools
import re

from llgrad.assembly import NAME, plain, renamed
from llgrad.backend import LLVMModule
from llgrad.rules.facts import STRING

_CLASS = "St7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE"
_LOOKS = r"5beginE|3endE|6rbeginE|4rendE|ixE|2atE|5frontE|4backE|4dataE|7_M_dataEv|13_M_local_dataE|16_M_get_allocatorE"
_TESTS = r"6insertEm|5eraseEm|7replaceEm|6(?:append|assign)ERKS4_m|C[12]ERKS4_m"
_MEMBER = re.compile(rf"_ZNK?(?:SaIcE|{_CLASS})\w+")
_CHANGES = re.compile(rf"_ZN{_CLASS}(?!\d+_S_|{_LOOKS}|{_TESTS})\w+")
_CHANGES_TWO = re.compile(rf"_ZN{_CLASS}\w*E(?:O|R)S4_\w*")
_RETURNS_STRING = re.compile(rf"_ZN{_CLASS}(?:aS|pL|6append|6assign|7replace|\d+_M_(?:append|replace|replace_aux)E)\w*")
_ALIAS = re.compile(rf"^({NAME}) = [^\n]*\balias [^\n]*?, ptr ({NAME})\n", re.MULTILINE)
_DECLARED = re.compile(rf"^declare ([^@\n]*)({NAME})\(([^\n]*)\n", re.MULTILINE)
_FUNCTION = re.compile(
    rf"^(?:declare|define) ([^@\n]*)({NAME})\(([^\n]*)\n(?:(?<=\{{\n).*?^\}}\n)?", re.MULTILINE | re.DOTALL
)
_APART = re.compile(
    rf"^declare [^@\n]*?(\S+) @({re.escape(STRING)}[nwp]*\.[nst]\.(\w+))\(([^\n]*?)\)[^\n]*\n", re.MULTILINE
)
_COMDAT = re.compile(r"^\$[^\n]* = comdat any\n|,? comdat(?:\(\$[^)\n]*\))?(?=[ ,\n])", re.MULTILINE)
_PARAMETER = re.compile(r"\b(ptr|i\d+|double|float)\b")


def strings_apart(text: str) -> LLVMModule:
    """The program with calls that say what they do for members of `std::string`, see above."""
    if f"_ZN{_CLASS}" not in text:
        return with_strings(text)
    whole = with_strings(_apart(text))
    if any(_CHANGES.fullmatch(f.name) for f in whole.functions()):
        whole.replace_text(_apart(whole.text()))
    return whole


def _apart(text: str) -> str:
    known, same = _members()
    aliases = {plain(m[1]) for m in _ALIAS.finditer(text)} & same.keys()
    text = _ALIAS.sub(lambda m: "" if plain(m[1]) in aliases else m[0], text)
    made: dict[str, str] = {}
    names: dict[str, str] = {}

    def edit(m: re.Match[str]) -> str:
        name = plain(m[2])
        own = same.get(name, name)
        if own not in known:
            return m[0]
        types = _PARAMETER.findall(_parameters(m[3]))
        result = _result(own, m[1])
        named = names[name] = names[own] = f"{STRING}{_roles(own, types)}.{result}.{own}"
        if result == "s":
            types[0] += " returned"
        made[named] = f"declare {m[1].split()[-1]} @{named}({', '.join(types)}) nounwind willreturn\n"
        return ""

    text = _FUNCTION.sub(edit, text)
    names |= {name: names[same[name]] for name in aliases}
    lines = [line for named, line in made.items() if f"@{named}(" not in text]
    return renamed(text, names) + "\n" + "".join(lines)


def _parameters(rest: str) -> str:
    """What stands before the parenthesis that ends a list of parameters."""
    depth = 1
    for at, c in enumerate(rest):
        depth += (c == "(") - (c == ")")
        if not depth:
            return rest[:at]
    return rest


def _roles(name: str, types: list[str]) -> str:
    other = "w" if _CHANGES_TWO.fullmatch(name) else "p"
    return "".join("n" if t != "ptr" else "w" if not n else other for n, t in enumerate(types))


def _result(name: str, head: str) -> str:
    return "n" if head.split()[-1] != "ptr" else "s" if _RETURNS_STRING.fullmatch(name) else "t"


def strings_again(whole: LLVMModule) -> None:
    """Members of `std::string` under their own names again, with bodies."""
    text = whole.text()
    found = {m[3]: m for m in _APART.finditer(text)}
    if not found:
        return
    text = renamed(_APART.sub("", text), {m[2]: own for own, m in found.items()})
    there = {plain(m[1]) for m in re.finditer(rf"^(?:define|declare) [^@\n]*({NAME})\(", text, re.MULTILINE)}
    text += "".join(f"\ndeclare {m[1]} @{own}({m[4]})\n" for own, m in found.items() if own not in there)
    whole.replace_text(text)
    whole.link(_bodies()[0])


def with_strings(text: str) -> LLVMModule:
    """The program with bodies for the members of libstdc++'s `std::string` that it only declares."""
    declared = {m[2]: m[0] for m in _DECLARED.finditer(text) if _MEMBER.fullmatch(plain(m[2]))}
    if not declared:
        return LLVMModule.from_text(text)
    bodies, same = _bodies()
    for name, other in same.items():
        if (line := declared.get(f"@{name}")) is not None:
            text = text.replace(line, "") if f"@{other}(" in text else text
            text = re.sub(rf"@{name}(?![-\w.$])", f"@{other}", text)
    whole = LLVMModule.from_text(text)
    whole.link(bodies)
    return whole


@functools.cache
def _members() -> tuple[frozenset[str], dict[str, str]]:
    """The members that change strings, of which there are bodies; and others' names for them."""
    bodies, same = _bodies()
    known = frozenset(f.name for f in bodies.functions() if not f.is_declaration and _CHANGES.fullmatch(f.name))
    return known, {name: own for name, own in same.items() if own in known}


@functools.cache
def _bodies() -> tuple[LLVMModule, dict[str, str]]:
    """The bodies, and the names that are others'."""
    from llgrad.frontends.clang import strings

    text = LLVMModule.read(strings(raw=True).module).text()
    same = dict(_ALIAS.findall(text))
    text = re.sub(NAME, lambda m: same.get(m[0], m[0]), _ALIAS.sub("", text))
    text = _COMDAT.sub("", text)  # LLVM links no function whose comdat the program still names
    return LLVMModule.from_text(text), {plain(name): plain(other) for name, other in same.items()}
