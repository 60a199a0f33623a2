"""LLVM assembly as text, as LLVM prints it: names and renaming, which globals there are, texts put together."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product

from llgrad.ir.parse_types import escape, unescape, unescape_bytes
from llgrad.rules import special_functions
from llgrad.rules.blas import RULED
from llgrad.rules.library import PARTS
from llgrad.support.lazy_pattern import lazy_pattern

NAME = r'@(?:[-\w.$]+|"[^"]*")'
_NAMES = lazy_pattern(NAME)
_TOKEN = lazy_pattern(rf'{NAME}|"[^"\n]*"')
# In a function's or a variable's line.
COMDAT = lazy_pattern(r'(?:,? |^)comdat(?:\(\$(?:"[^"\n]*"|[^)\n]*)\))?(?=[\s,]|$)')
STATIC = "llgrad.static."  # prefix of static variables that derivatives share with the program
GLOBAL = lazy_pattern(rf"^({NAME}) = ([^\n]*?)\b(global|constant) ", re.MULTILINE)
DEFINITION = lazy_pattern(rf"^(define [^@\n]*)({NAME})\(([^\n]*)$", re.MULTILINE)
FUNCTION = lazy_pattern(rf"^define [^@\n]*({NAME})\([^\n]*\{{\n.*?^\}}\n", re.MULTILINE | re.DOTALL)
_LONG = r"\{ x86_fp80, x86_fp80 \}|x86_fp80"
_PARTS = lazy_pattern(rf"^declare [^@\n]*?({_LONG}) @{re.escape(PARTS)}(\w+)\(([^\n]*?)\)", re.MULTILINE)
_LOCAL = lazy_pattern(r'%(?:[-\w.$]+|"[^"\n]*")')
_TYPE = lazy_pattern(rf"^({_LOCAL.pattern}) = type (.*)$", re.MULTILINE)
_METADATA = lazy_pattern(r"^!(\d+) = ([^\n]*)\n", re.MULTILINE)
_REFERENCE = lazy_pattern(r"!(\d+)")
_LISTS_OF = {  # what a node of debug info need not list; the templates of functions are read (`inlined_at`)
    "distinct !DICompileUnit(": lazy_pattern(r", (?:enums|retainedTypes|globals|imports): !\d+"),
    "distinct !DISubprogram(": lazy_pattern(r", declaration: !\d+"),
    "distinct !DICompositeType(": lazy_pattern(r", templateParams: !\d+"),
    "!DICompositeType(": lazy_pattern(r", templateParams: !\d+"),
}


def plain(name: str) -> str:
    """A name without `@`, quotes and escapes, as LLVM itself has it."""
    return unescape(name[2:-1]) if name[1] == '"' else name[1:]


def spelt(name: str) -> str:
    """A global's name as assembly has it."""
    return f"@{name}" if re.fullmatch(r"[-\w.$]+", name, re.ASCII) else f'@"{escape(name)}"'


def names_in(text: str) -> list[str]:
    """The names of globals, as they are spelt, each time that one stands in the text."""
    return _NAMES.findall(text)


_QUOTED = lazy_pattern(r'([@$]?)"([^"\n]*)"')
_ENCODED = lazy_pattern(r"([@$])llgrad\$([\w.$]+)")


def unquoted(text: str) -> str:
    """The text with plain names for functions and variables that LLVM quotes: letters of other alphabets, spaces."""

    def edit(m: re.Match[str]) -> str:
        if not m[1]:
            return m[0]
        plainly = (chr(b) if chr(b).isalnum() and b < 128 or b in b"_." else f"${b:02X}" for b in unescape_bytes(m[2]))
        return f"{m[1]}llgrad${''.join(plainly)}"

    return _QUOTED.sub(edit, text) if '@"' in text else text


_CALLED_NUMBER = lazy_pattern(r"@\d+\(")  # quick to look for
_NUMBERED = lazy_pattern(r"^define [^@\n]*@\d+\(", re.MULTILINE)
_NUMBERED_VARIABLE = lazy_pattern(r"^@\d+ = (?![^\n]*\bconstant )", re.MULTILINE)
_NUMBER = lazy_pattern(r'@(\d+)\b|"[^"\n]*"')


def numbers_named(text: str) -> str:
    """The text with names where functions have numbers, by which LLVM does not find them, and where constants have
    (OpenMP's places in the source): what is taken out of a program, and put back, is found by name."""
    functions = _CALLED_NUMBER.search(text) and _NUMBERED.search(text)
    constants = "\n@0 = " in text and not _NUMBERED_VARIABLE.search(text)
    if not functions and not constants:
        return text
    return _NUMBER.sub(lambda m: f"@llgrad.number.{m[1]}" if m[1] else m[0], text)


def quoted_again(text: str) -> str:
    """The text with the names that `unquoted` took."""

    def edit(m: re.Match[str]) -> str:
        return f'{m[1]}"{re.sub(r"[$]([0-9A-F]{2})", lambda b: chr(92) + b[1], m[2])}"'

    return _ENCODED.sub(edit, text)


# A definition in the comdat of its own name, which is not spelt: ` comdat align 2 {`.
_OWN_COMDAT = lazy_pattern(rf"^(?:define [^@\n]*)?({NAME})(?:\(| = )[^\n]*?[ ,] ?comdat(?=[ ,]|$)", re.MULTILINE)


def renamed(text: str, names: Mapping[str, str]) -> str:
    """Give globals other names; strings are left alone. A definition stays in the comdat of its old name."""
    if not names:
        return text
    if "comdat" in text:
        text = _OWN_COMDAT.sub(lambda m: f"{m[0]}(${m[1][1:]})" if plain(m[1]) in names else m[0], text)

    def edit(m: re.Match[str]) -> str:
        new = names.get(plain(m[0])) if m[0][0] == "@" else None
        return m[0] if new is None else spelt(new)

    return _TOKEN.sub(edit, text)


_ALIAS = lazy_pattern(
    rf"^({NAME}) = ([^\n]*?)\balias [^\n]*?, (?:ptr )?((?:@|getelementptr )[^\n]*?)(?:, partition [^\n]*)?\n",
    re.MULTILINE,
)


def direct_variables(text: str, *, shown: bool = True) -> str:
    """The text with variables in the place of their aliases, which stay if other programs may see them (`shown`)."""
    variables = {m[1] for m in GLOBAL.finditer(text)} if " alias " in text else set()
    lines = {m[1]: m for m in _ALIAS.finditer(text) if not re.search(r"\bweak(_odr)?\b", m[2])}

    def target(name: str) -> str:
        return re.sub(NAME, lambda m: target(m[0]) if m[0] in lines else m[0], lines[name][3])

    found = {name: t for name in lines if not variables.isdisjoint(re.findall(NAME, t := target(name)))}
    if not found:
        return text
    for name in found:
        text = text.replace(lines[name][0], "")
    others = [m[0] for name in found if shown and {"internal", "private"}.isdisjoint((m := lines[name])[2].split())]
    return f"{_TOKEN.sub(lambda m: found.get(m[0], m[0]), text)}\n{''.join(others)}"


def without_idle_metadata(text: str) -> str:
    """The text without metadata that nothing in it needs, which is most of the debug info of C++.

    A compile unit need not list types, variables and imported names, nor a class its functions and the arguments of
    its template, nor a function its declaration in a class: what code refers to stays.
    """
    nodes = dict(_METADATA.findall(text))
    methods = {i for i, body in nodes.items() if body.startswith("!DISubprogram(")}
    rest = _METADATA.sub("", text)
    kept: dict[str, str] = {}
    work = _REFERENCE.findall(rest)
    while work:
        if (i := work.pop()) in kept or i not in nodes:
            continue
        body = nodes[i]
        if lists := _LISTS_OF.get(body[: body.find("(") + 1]):
            body = lists.sub("", body)
        elif body.startswith("!{") and methods:
            listed = body[2:-1].split(", ")
            if any(m[1:] in methods for m in listed):
                body = f"!{{{', '.join(m for m in listed if m[1:] not in methods)}}}"
        kept[i] = body
        work += _REFERENCE.findall(body)
    return rest + "".join(f"!{i} = {kept[i]}\n" for i in nodes if i in kept)


def mutable_globals(text: str) -> list[str]:
    """Variables that the text defines and that may change; without those of LLVM."""
    return [name for name, sort in _variables(text) if sort == "global"]


def _variables(text: str) -> Iterator[tuple[str, str]]:
    for m in GLOBAL.finditer(text):
        declared = re.search(r"\b(external|extern_weak|available_externally|appending)\b", m[2])
        if not declared and not m[1].startswith("@llvm.") and not m[1][1:].isdigit():  # unnamed: nobody's but its own
            yield plain(m[1]), m[3]


def shared_globals(text: str) -> list[str]:
    """Those of them that the program shares: not the shadows that an inner derivative has for itself."""
    own = {plain(m[1]) for m in GLOBAL.finditer(text) if {"internal", "private"} & set(m[2].split())}
    return [name for name in mutable_globals(text) if name not in own and not name.startswith(RULED)]


def definitions(text: str) -> list[str]:
    """The functions and variables that the text defines, constants too."""
    return [plain(name) for _, name, _ in DEFINITION.findall(text)] + [name for name, _ in _variables(text)]


def joined(texts: Sequence[str]) -> str:
    """Hand-written IR put together: each declaration once, none of what is defined."""
    lines = "\n".join(texts).split("\n")
    defined = {m[1] for line in lines if (m := re.match(rf"define [^@]*({NAME})", line))}
    declared: set[str] = set()
    kept = []
    for line in lines:
        m = re.match(rf"declare [^@]*({NAME})", line)
        if m is None or m[1] not in defined | declared:
            kept.append(line)
        if m:
            declared.add(m[1])
    return "\n".join(kept)


def types_named(text: str, program: str) -> str:
    """The program's definitions of the structs that `text` names, and of those that these name."""
    bodies = dict(_TYPE.findall(program.partition("\ndefine ")[0]))  # types come first
    found, wanted = dict[str, str](), _LOCAL.findall(text) if bodies else []
    while wanted:
        name = wanted.pop()
        if name in bodies and name not in found:
            found[name] = bodies[name]
            wanted += _LOCAL.findall(bodies[name])
    return "".join(f"{name} = type {body}\n" for name, body in found.items())


def without_bodies(text: str, names: Collection[str]) -> str:
    """Functions that have a rule as declarations, so that the rule is what their derivative is made from."""
    for name in names:
        body = rf"^define [^@\n]*?((?:\{{[^@\n]*\}}|<[^@\n]*>|\S+) @{re.escape(name)}\([^)\n]*\))[^\n]*\{{\n.*?^\}}$"
        text = re.sub(body, r"declare \1", text, flags=re.MULTILINE | re.DOTALL)
    return text


def with_bodies(text: str) -> str:
    """Functions of llgrad's own that are called and have no body yet get it."""
    own = {
        special_functions.symbol(base, f): (base, f)
        for base, f in product(special_functions.NAMES, special_functions.FORMATS_WITH_BODY)
    }
    declaration = re.compile(r"^declare [^@\n]*@([-\w.$]+)\(.*\n", re.MULTILINE)
    while missing := [m for m in declaration.finditer(text) if m[1] in own]:
        text = declaration.sub(lambda m: "" if m[1] in own else m[0], text)
        text = joined([text, *(special_functions.body(*own[m[1]]) for m in missing)])
    return joined([text, *map(_whole_of, _PARTS.finditer(text))]) if PARTS in text else text


def _whole_of(declaration: re.Match[str]) -> str:
    """A function of the parts of complex numbers, which calls that of the library: that wants them in memory."""
    result, callee, operands = declaration[1], declaration[2], declaration[3].count("x86_fp80") // 2
    pair = "{ x86_fp80, x86_fp80 }"
    lines, given = [], []
    for n in range(operands):
        lines += [
            f"  %z.{n} = alloca {pair}, align 16",
            f"  %at.{n} = getelementptr i8, ptr %z.{n}, i64 16",
            f"  store x86_fp80 %re.{n}, ptr %z.{n}, align 16",
            f"  store x86_fp80 %im.{n}, ptr %at.{n}, align 16",
        ]
        given.append(f"ptr byval({pair}) align 16")
    passed = ", ".join(f"{g} %z.{n}" for n, g in enumerate(given))
    body = "\n".join([*lines, f"  %r = call {result} @{callee}({passed})", f"  ret {result} %r"])
    parameters = ", ".join(f"x86_fp80 %re.{n}, x86_fp80 %im.{n}" for n in range(operands))
    return f"""define internal {result} @{PARTS}{callee}({parameters}) nounwind {{
{body}
}}
declare {result} @{callee}({', '.join(given)})
"""
