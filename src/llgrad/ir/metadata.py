"""Metadata nodes from and to text (LangRef: Metadata).

A field or operand is an MDRef (inline nodes too, with their text), an MDString, an int, a bool, None for `null`, a
Constant or GlobalValue where a typed value stands, a tuple for `{…}`, or a str: enumerators and flags as written.
"""

from __future__ import annotations

import re
from typing import Any

from llgrad.errors import ParseError
from llgrad.ir.module import Module
from llgrad.ir.parse_types import escape, unescape
from llgrad.ir.parse_values import ValueReader
from llgrad.ir.types import METADATA
from llgrad.ir.values import Constant, GlobalValue, MDNode, MDRef, MDString, MetadataValue
from llgrad.ir.write_values import operand

_NODE = re.compile(r"\s*(distinct\s+)?!(\w*)\s*[({](.*)[)}]\s*\Z", re.DOTALL)
_INTEGER = re.compile(r"-?\d+\Z")
_REFERENCE = re.compile(r"(?<![\w.])!(\d+)\b")
_OUTER = re.compile(r"\b(?:scope|inlinedAt): !(\d+)")
_LOOP = re.compile(r"!llvm\.loop !(\d+)")  # of its operands, two say where the loop is
_RETAINED = re.compile(r", retainedNodes: !\d+")


def parse_node(module: Module, i: int) -> MDNode:
    """Node `!i` of the module."""
    text = module.raw_metadata.get(i)
    if text is None:
        raise ParseError(f"metadata !{i} is not defined")
    node = parse_text(module, text)
    node.id = i
    return node


def parse_inline(module: Module, ref: MDRef) -> MDNode:
    """The node of a reference that carries its own text."""
    return parse_text(module, ref.text)


def parse_text(module: Module, text: str) -> MDNode:
    """A node from its text (`!{!1, i32 2}`, `distinct !DILocation(…)`)."""
    m = _NODE.match(text)
    if m is None:
        if text.lstrip().startswith(("!", "distinct")):
            raise ParseError("not a metadata node", cause=f"in: {text[:300]}")
        return MDNode("", (_MetadataReader(module, text).item(),))  # a value as a node of its own: `!0 = i32 1`
    reader = _MetadataReader(module, m[3])
    node = MDNode(m[2], distinct=m[1] is not None)
    operands: list[Any] = []
    while reader.tokens[reader.i]:
        if reader.tokens[reader.i][-1] == ":":
            key = reader.take()[:-1]
            node.fields[key] = reader.item()
        else:
            operands.append(reader.item())
        if reader.tokens[reader.i]:
            reader.expect(",")
    node.operands = tuple(operands)
    return node


class _MetadataReader(ValueReader):
    def item(self) -> Any:
        """One operand or field."""
        token = self.tokens[self.i]
        if token[:2] == '!"':
            self.i += 1
            return MDString(unescape(token[2:-1]))
        if token[:1] == "!":
            text = self.metadata_text()
            return MDRef(int(text[1:])) if text[1:].isdigit() else MDRef(-1, text)
        if token[:1] == '"':
            self.i += 1
            return MDString(unescape(token[1:-1]))
        if token == "{":
            return self._tuple()
        if _INTEGER.match(token):
            self.i += 1
            return int(token)
        return self._word_or_value(token)

    def _tuple(self) -> tuple[Any, ...]:
        self.i += 1
        items: list[Any] = []
        while not self.accept("}"):
            items.append(self.item())
            if self.tokens[self.i] != "}":
                self.expect(",")
        return tuple(items)

    def _word_or_value(self, token: str) -> Any:
        if token in ("null", "true", "false"):
            self.i += 1
            return {"null": None, "true": True, "false": False}[token]
        if token in self.types or token[:1] in ("<", "[", "{", "%") or re.match(r"i\d+\Z", token):
            return self.typed()
        words = [self.take()]
        while self.accept("|"):
            words.append(self.take())
        return " | ".join(words)


def with_own_scopes(module: Module, subprogram: MDRef, body: str) -> tuple[MDRef, str]:
    """A subprogram for a copy of a function, and its body in which all scopes lie in that one.

    LLVM wants a subprogram in one function only.
    """
    known = module.raw_metadata
    seen: dict[int, bool] = {subprogram.id: True}  # does a node lie in the subprogram?
    loops = {int(n) for n in _LOOP.findall(body)}

    def inside(i: int) -> bool:
        if i not in seen:
            seen[i] = False
            outer = [int(n) for n in (_REFERENCE if i in loops else _OUTER).findall(known.get(i, ""))]
            seen[i] = any([inside(n) for n in outer])
        return seen[i]

    for i in {int(n) for n in _REFERENCE.findall(body)}:
        inside(i)
    new = {i: module.add_metadata(_RETAINED.sub("", known.get(i, ""))) for i, lies in seen.items() if lies}

    def edit(m: re.Match[str]) -> str:
        return field_text(new[int(m[1])]) if int(m[1]) in new else m[0]

    for ref in new.values():
        known[ref.id] = _REFERENCE.sub(edit, known[ref.id])
    return new[subprogram.id], _REFERENCE.sub(edit, body)


# --- writing ---------------------------------------------------------------------------------------------------------


def node_text(node: MDNode) -> str:
    """The node as LLVM prints it."""
    operands = [item_text(o) for o in node.operands]
    distinct = "distinct " if node.distinct else ""
    if not node.kind:
        return f"{distinct}!{{{', '.join(operands)}}}"
    fields = [f"{k}: {field_text(v)}" for k, v in node.fields.items()]
    return f"{distinct}!{node.kind}({', '.join([*operands, *fields])})"


def item_text(item: Any) -> str:
    """An operand of a tuple: strings carry the `!`."""
    return f'!"{escape(item.text)}"' if isinstance(item, MDString) else field_text(item)


def field_text(item: Any) -> str:
    """A field of a specialised node."""
    match item:
        case None:
            return "null"
        case bool():
            return "true" if item else "false"
        case MDString(text):
            return f'"{escape(text)}"'
        case MDRef(i, text):
            return text or f"!{i}"
        case MetadataValue(type, text) if type == METADATA:
            return text
        case tuple():
            return "{" + ", ".join(map(item_text, item)) + "}"
        case Constant() | GlobalValue():
            return operand(item)
    return str(item)
