"""`std::string`: while a derivative is made, members that change strings are calls that nobody looks into.

Their bodies copy text of any length, into a buffer in the string itself perhaps, to which a pointer in it points then:
to whoever does not know strings, text may lie in whatever lies beside one. What such a member does is in its name
instead: `llgrad.string.wp.s._ZN…` has a letter for each parameter (w: a string that is written, p: another pointer,
to a string or to text, that is read through; n: a number) and for its result (s: the first string, t: text, n: else).
They are taken not to throw: text that is too long, or memory that is not to be had, ends the program.
Members that only look at a string (`size`, `operator[]`, `compare`), and those that test positions, are as the program
has them. Members that it only declares get bodies: both libraries hold some.

So it goes with strings of any characters, of libstdc++ and of libc++ (`Family`), and with libc++'s functions that make
strings (`to_string`, `operator+`). Names of libc++ may be tagged with its version and settings (`B9nqe220108`): members
are those of llgrad's bodies whatever the tag. What libc++'s streams write text by, in its headers, are such calls, too
(`STREAMS`, `llgrad.stream.…`): they lead to virtual functions of buffers and locales. All else of streams is compiled
in the libraries. So is what all of <format> and <print> goes through (`FORMATS`, `llgrad.format.…`), which takes values
of any types: its bodies come back compiled as they are, since there are tens of thousands of lines of them.
"""

from __future__ import annotations

import functools
import re

from msgspec import Struct

from llgrad.errors import CompilerError
from llgrad.llvm import LLVMModule
from llgrad.llvm.assembly import COMDAT, NAME, plain, renamed
from llgrad.models.effects import FORMAT, STREAM, STRING
from llgrad.support.brackets import listed
from llgrad.transforms.pass_manager import Unit

_CHARACTERS = {"c": "char", "w": "wchar_t", "Ds": "char16_t", "Di": "char32_t", "Du": "char8_t"}
_CLASSES = {
    "libstdc++": "St7__cxx1112basic_stringI{0}St11char_traitsI{0}ESaI{0}EE",
    "libc++": "St3__112basic_stringI{0}NS_11char_traitsI{0}EENS_9allocatorI{0}EEE",
    "streams": "St3__1",
    "formats": "St3__1",
}
_MEMBER = re.compile(
    r"_ZNK?(?:SaI(?:[cw]|D[isu])E|St(?:7__cxx1112|3__112)basic_stringI(?:[cw]|D[isu])(?:St|NS_)11char_traits)\w+"
)
_LOOKS = r"5beginE|3endE|6rbeginE|4rendE|ixE|2atE|5frontE|4backE|4dataE|7_M_dataEv|13_M_local_dataE|16_M_get_allocatorE"
_CHANGES = {
    "libstdc++": rf"(?!\d+_S_|{_LOOKS})",
    "libc++": r"(?:[CD][12]|aS|pL|6assign|6append|6insert|5erase|7replace|6resize|7reserve|13shrink_to_fit|5clear|"
    r"9push_back|8pop_back|4swap|\d+__(?:init|assign|grow_by|erase|move_assign|copy_assign|insert|set_)\w*?)[EI]",
}
_TESTS = r"6insertEm|5eraseEm|7replaceEm|6(?:append|assign)ERKS[45]_m|C[12]ERKS[45]_m"
_RETURNS_STRING = r"(?:aS|pL|6append|6assign|7replace|\d+_M_(?:append|replace|replace_aux)|\d+__assign_\w+)[EI]"
_CHANGES_TWO = re.compile(r"[OR]S\w?_")
_MAKES = r"_ZNSt3__1(?:plI|21__concatenate_stringsI){0}NS_11char_traits\w+"
_IN_LIBRARY = re.compile(
    r"_ZNSt3__1(?:9to_string|10to_wstring)E[ijlmxydfe]|_ZNSt3__1plI[cw]\w+EEPKS6_RKS9_|"
    r"_ZNKSt(?:3__1|7__cxx11)\d+basic_[io]?string(?:stream|buf)I[cw]\w+3strEv"
)
_STREAMED = re.compile(
    r"_ZNK?St3__1(?:24__put_character_sequence|4endl|9basic_iosI[cw]NS_11char_traitsI[cw]EEE5widen)\w*"
)
_FORMATTED = re.compile(
    r"_ZNSt3__1(?:7vformat|12__vformat_to|17__vformatted_size|7__print\d+__vprint_(?:non)?unicode)[BI]\w*"
)
_TAG = re.compile(r"B\d+[a-z]+\d{6}")
_ALIAS = re.compile(rf"^({NAME}) = [^\n]*\balias [^\n]*?, ptr ({NAME})\n", re.MULTILINE)
_DECLARED = re.compile(rf"^declare ([^@\n]*)({NAME})\(([^\n]*)\n", re.MULTILINE)
_FUNCTION = re.compile(
    rf"^(?:declare|define) ([^@\n]*)({NAME})\(([^\n]*)\n(?:(?<=\{{\n).*?^\}}\n)?", re.MULTILINE | re.DOTALL
)
_APART = re.compile(
    rf"^declare [^@\n]*?(\S+) @((?:{'|'.join(map(re.escape, (STRING, STREAM, FORMAT)))})[nwp]*\.[nst]\.(\w+))"
    r"\(((?:[^()\n]|\([^()\n]*\))*)\)[^\n]*\n",
    re.MULTILINE,
)
_COMMA = re.compile(r",(?![^()]*\))")
_BYVAL = re.compile(r"\bbyval\([^()\n]*\) align \d+")
_DEFINED = re.compile(r"^(define [^\n]*)( #\d+(?: (?:comdat|align|personality|section)\b[^\n]*)? \{)$", re.MULTILINE)
_GROUP = re.compile(r"^\$[^\n]* = comdat any\n", re.MULTILINE)
_PARAMETER = re.compile(r"\b(ptr|i\d+|double|float|x86_fp80)\b")
_RESULT = re.compile(r"void|ptr|i\d+")


class Family(Struct, frozen=True):
    """The strings of a library whose characters are of one type."""

    library: str
    character: str

    @property
    def name(self) -> str:
        return _CLASSES[self.library].format(self.character)

    def is_named(self, text: str) -> bool:
        """Has a text such functions?"""
        named = {STREAMS: _STREAMED, FORMATS: _FORMATTED}.get(self)
        return named.search(text) is not None if named is not None else f"_ZN{self.name}" in text


STREAMS = Family("streams", "c")
"""Functions of libc++'s headers that write text to streams of any characters."""
FORMATS = Family("formats", "c")
"""Those that format values."""


def _families(text: str) -> tuple[Family, ...]:
    """Those of which a text, or a name, has members."""
    others = tuple(f for f in (STREAMS, FORMATS) if f.is_named(text))
    if "basic_stringI" not in text:
        return others
    every = [Family(library, c) for library in ("libstdc++", "libc++") for c in _CHARACTERS]
    return (*(f for f in every if f"_ZN{f.name}" in text or f"_ZNK{f.name}" in text), *others)


def names_strings(text: str) -> bool:
    """Does it name members of `std::string`, or streams?"""
    return bool(_families(text))


def strings_apart(text: str) -> LLVMModule:
    """The program with calls that say what they do for members of `std::string`, see above."""
    families = _families(text)
    if not any(f.is_named(text) for f in families):
        return with_strings(text)
    whole = with_strings(_apart(text, families))
    if any(_changes(_TAG.sub("", f.name), family) for family in families for f in whole.functions()):
        whole.replace_text(_apart(whole.text(), families))
    return whole


@functools.cache
def _changing(family: Family) -> re.Pattern[str]:
    if family in (STREAMS, FORMATS):
        return _STREAMED if family is STREAMS else _FORMATTED
    own = rf"_ZN{family.name}(?!{_TESTS}){_CHANGES[family.library]}\w*"
    return re.compile(own if family.library == "libstdc++" else rf"{own}|{_MAKES.format(family.character)}")


def _changes(bare: str, family: Family) -> bool:
    return _changing(family).fullmatch(bare) is not None


def _apart(text: str, families: tuple[Family, ...]) -> str:
    same: dict[str, str] = {}
    known: dict[str, str] = {}
    for family in families:
        bodies = _bodies(family)
        known |= bodies.known
        same |= {name: own for name, own in bodies.same.items() if own in bodies.known}
    aliases = {plain(m[1]) for m in _ALIAS.finditer(text)} & same.keys()
    text = _ALIAS.sub(lambda m: "" if plain(m[1]) in aliases else m[0], text)
    made: dict[str, str] = {}
    names: dict[str, str] = {}

    def edit(m: re.Match[str]) -> str:
        name = plain(m[2])
        own = known.get(_TAG.sub("", same.get(name, name)), name if _IN_LIBRARY.fullmatch(name) else "")
        parameters = m[3][: listed(m[3])[1]]
        if not own or ("byval(" in parameters and not _FORMATTED.match(own)) or not _RESULT.fullmatch(m[1].split()[-1]):
            return m[0]
        types = _PARAMETER.findall(parameters)
        result = _result(own, m[1])
        prefix = STREAM if _STREAMED.match(own) else FORMAT if _FORMATTED.match(own) else STRING
        named = names[name] = names[own] = f"{prefix}{_roles(own, types)}.{result}.{own}"
        if result == "s":
            types[0] += " returned"
        for at, copied in enumerate(_BYVAL.findall(parameters)):
            types[_by_value(parameters)[at]] += f" {copied}"
        made[named] = f"declare {m[1].split()[-1]} @{named}({', '.join(types)}) nounwind willreturn\n"
        return ""

    text = _FUNCTION.sub(edit, text)
    names |= {name: names[same[name]] for name in aliases}
    lines = [line for named, line in made.items() if f"@{named}(" not in text]
    return renamed(text, names) + "\n" + "".join(lines)


def _by_value(parameters: str) -> list[int]:
    """Which parameters are copies that the caller makes."""
    return [n for n, p in enumerate(_COMMA.split(parameters)) if "byval(" in p]


def _roles(name: str, types: list[str]) -> str:
    other = "w" if _CHANGES_TWO.search(_own(name)) else "p"
    return "".join("n" if t != "ptr" else "w" if not n else other for n, t in enumerate(types))


def _result(name: str, head: str) -> str:
    same = _STREAMED.match(name) or re.match(_RETURNS_STRING, _own(name))
    return "n" if head.split()[-1] != "ptr" else "s" if same else "t"


def _own(name: str) -> str:
    """What follows the class in the name of a member, without a tag."""
    bare = _TAG.sub("", name)
    return next((bare.partition(f.name)[2] for f in _families(bare)), bare)


def has_strings_apart(text: str) -> bool:
    """Does it call members of `std::string` by what they do?"""
    return _APART.search(text) is not None


def strings_again(whole: LLVMModule) -> LLVMModule:
    """Members of `std::string` under their own names again, with bodies: `whole`, changed."""
    text = whole.text()
    found = {m[3]: m for m in _APART.finditer(text)}
    if not found:
        return whole
    text = renamed(_APART.sub("", text), {m[2]: own for own, m in found.items()})
    there = {plain(m[1]) for m in re.finditer(rf"^(?:define|declare) [^@\n]*({NAME})\(", text, re.MULTILINE)}
    text += "".join(f"\ndeclare {m[1]} @{own}({m[4]})\n" for own, m in found.items() if own not in there)
    whole.replace_text(text)
    for family in _families(text):
        whole.link(_bodies(family).module)
    return whole


def with_strings(text: str) -> LLVMModule:
    """The program with bodies for the members of `std::string` that it only declares."""
    declared = {m[2]: m[0] for m in _DECLARED.finditer(text) if _MEMBER.fullmatch(plain(m[2]))}
    families = [f for f in _families(text) if f not in (STREAMS, FORMATS)] if declared else []
    for family in families:
        for name, other in _bodies(family).same.items():
            if (line := declared.get(f"@{name}")) is not None:
                text = text.replace(line, "") if f"@{other}(" in text else text
                text = re.sub(rf"@{name}(?![-\w.$])", f"@{other}", text)
    whole = LLVMModule.from_text(text)
    for family in families:
        whole.link(_bodies(family).module)
    return whole


class Bodies(Struct, frozen=True):
    """The members of a family that llgrad has. `same`: others' names for them; `known`: those that change a string, by
    their names without tags."""

    module: LLVMModule
    same: dict[str, str]
    known: dict[str, str]


@functools.cache
def _bodies(family: Family) -> Bodies:
    from llgrad.frontends.c.clang import formats, streams, strings

    try:
        if family in (STREAMS, FORMATS):
            made = streams() if family is STREAMS else formats()
        else:
            made = strings(raw=True, library=family.library, character=_CHARACTERS[family.character])
    except CompilerError:  # the program was compiled elsewhere: there is no such library here
        return Bodies(LLVMModule.from_text(""), {}, {})
    text = LLVMModule.read(made.module).text()
    if family is FORMATS:
        text = _DEFINED.sub(r"\1 noinline optnone\2", text.replace(" alwaysinline", "").replace(" optsize", ""))
    same = dict(_ALIAS.findall(text))
    text = re.sub(NAME, lambda m: same.get(m[0], m[0]), _ALIAS.sub("", text))
    text = COMDAT.sub("", _GROUP.sub("", text))  # LLVM links no function whose comdat the program still names
    module = LLVMModule.from_text(text)
    bare = {_TAG.sub("", f.name): f.name for f in module.functions() if not f.is_declaration}
    known = {name: own for name, own in bare.items() if _changes(name, family)}
    return Bodies(module, {plain(name): plain(other) for name, other in same.items()}, known)


def set_apart(unit: Unit, _: object) -> bool:
    """A pass: members of `std::string` become calls that nobody looks into."""
    return names_strings(unit.text()) and unit.put(strings_apart(unit.text()))


def put_back(unit: Unit, _: object) -> bool:
    """A pass: members of `std::string` have bodies again."""
    return has_strings_apart(unit.text()) and unit.put(strings_again(unit.llvm()))
