"""Text of LLVM's that LLVM itself does not take: what it prints and cannot read, what older ones wrote, what it loses.

These edits come before LLVM reads the text, so that nothing else has a module to change yet.
"""

from __future__ import annotations

import re

_POINTEE = re.compile(
    r"""(?P<type>%[-\w.$]+|%"[^"]*"|<?\{[^{}*]*\}>?|\[[^][*]*\])(?P<pointer>(?:[ ]addrspace\(\d+\))?\*)
    (?P<others>(?:[ ][a-z]\w*(?:\(\d+\)|[ ]\d+)?)*?[ ])(?P<word>sret|byval)(?![(\w])""",
    re.VERBOSE,
)


def with_pointees(text: str) -> str:
    """Assembly of before LLVM 12, where `%s* sret` was enough, with the type that is written today: `sret(%s)`."""
    if "* " not in text or not ("sret" in text or "byval" in text):
        return text
    return _POINTEE.sub(r"\g<type>\g<pointer>\g<others>\g<word>(\g<type>)", text)


def markers_as_globals(text: str) -> str:
    """The text of a program with globals for markers that are metadata strings: LLVM's bitcode loses such arguments."""
    if 'metadata !"' not in text:
        return text
    found: dict[str, None] = {}

    def edit(m: re.Match[str]) -> str:
        found[m[1]] = None
        return f"ptr @llgrad.marker.{m[1]}"

    text = re.sub(r'\bmetadata !"((?:enzyme|diffe)_\w+)"', edit, text)
    return text + "".join(f"\n@llgrad.marker.{name} = external global i8\n" for name in found)


_LOST_LABEL = re.compile(r"^ *#dbg_value\(ptr blockaddress\([^\n]*, poison\)[^\n]*\n", re.MULTILINE)


def without_lost_labels(text: str) -> str:
    """LLVM prints that a variable holds the address of a block that is gone, and does not read it."""
    return _LOST_LABEL.sub("", text) if ", poison)," in text and "blockaddress(" in text else text


_PLACE = re.compile(r"^ *#dbg_declare\([^\n]*, (![0-9]+), !DIExpression\(([^)]*)\), (![0-9]+)\)\n", re.MULTILINE)


def without_double_places(text: str) -> str:
    """LLVM's passes say where a variable is, and also where a part of it is, which its code generator asserts not."""
    if "DW_OP_LLVM_fragment" not in text:
        return text
    whole = {(m[1], m[3]) for m in _PLACE.finditer(text) if not m[2]}
    return _PLACE.sub(lambda m: "" if m[2] and (m[1], m[3]) in whole else m[0], text)
