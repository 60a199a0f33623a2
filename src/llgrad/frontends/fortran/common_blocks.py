"""COMMON blocks: what each procedure declares in them, kept for the analysis of kinds (`analysis.layout.debug_info`).

Each file of a program has its own declarations of a block, and so has each procedure. They hang on the variable that is
the block, and of the variables of several files linking keeps one, with what hangs on it. So the declarations are
listed in metadata of their own, `!llgrad.common`: the variable, the procedure, the offset and the type of each member,
which is a number or an array of numbers (other types would lead to the procedure, which may be dropped).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_BLOCK = re.compile(r"^@(\w+_) = [^\n]*?\bglobal\b[^\n]*?((?:, !dbg !\d+)+)$", re.MULTILINE)
_NODE = re.compile(r"^!(\d+) = (?:distinct )?(![^\n]*)$", re.MULTILINE)
_OFFSET = re.compile(r"DIExpression\((?:DW_OP_plus_uconst, (\d+))?\)")
_ARRAY = "!DICompositeType(tag: DW_TAG_array_type"


def declared(text: str) -> str:
    """The text of a file with the declarations of its blocks listed."""
    if not (blocks := re.findall(_BLOCK, text)):
        return text
    nodes = dict(re.findall(_NODE, text))
    members = [m for name, attached in blocks for n in re.findall(r"\d+", attached) for m in _member(name, nodes, n)]
    first = max(map(int, nodes)) + 1
    numbers = ", ".join(f"!{first + n}" for n in range(len(members)))
    lines = (f"!{first + n} = !{{{m}}}\n" for n, m in enumerate(members))
    return f"{text}\n!llgrad.common = !{{{numbers}}}\n{''.join(lines)}" if members else text


def _member(name: str, nodes: dict[str, str], attachment: str) -> Iterator[str]:
    expression = nodes[attachment]
    variable = nodes.get(_field(expression, "var"), "")
    offset, type_ = re.search(_OFFSET, expression), _field(variable, "type")
    block = nodes.get(_field(variable, "scope"), "")
    if offset and block.startswith("!DICommonBlock(") and _is_plain(nodes, type_):
        procedure = re.search(r'linkageName: "([^"]*)"', nodes.get(_field(block, "scope"), ""))
        told = procedure[1] if procedure else ""
        yield f'!"{name}", !"{told}", i64 {offset[1] or 0}, !{type_}'


def _is_plain(nodes: dict[str, str], type_: str) -> bool:
    node = nodes.get(type_, "")
    inner = nodes.get(_field(node, "baseType"), "") if node.startswith(_ARRAY) else node
    return inner.startswith("!DIBasicType(")


def _field(node: str, name: str) -> str:
    found = re.search(rf"\b{name}: !(\d+)", node)
    return found[1] if found else ""
