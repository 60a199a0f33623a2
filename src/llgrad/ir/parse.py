"""LLVM 22 assembly, as LLVM itself prints it, to a `Module` (LangRef: Module Structure).

`parse` reads what stands at top level, a line at a time; the bodies of functions, initializers and metadata nodes are
read when first asked for. `parse_function_text` enters hand-written functions into a module that exists.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator

from llgrad.errors import ParseError
from llgrad.ir import metadata
from llgrad.ir.module import Module
from llgrad.ir.parse_globals import Late, complete_function, read_function, read_global
from llgrad.ir.parse_types import TypeReader, unescape
from llgrad.ir.types import DataLayout
from llgrad.ir.values import Attribute, Function

_METADATA = re.compile(r"^!(\d+) = (.*)$", re.MULTILINE)
_TYPE = re.compile(r'^(%(?:[-\w.$]+|"[^"]*")) = type (.*)$')
_NAMED = re.compile(r"^!([-\w.$\\]+) = (.*)$")
_GROUP = re.compile(r"^attributes #(\d+) = \{(.*)\}$")
_END = re.compile(r"^\}", re.MULTILINE)
_OPENING = re.compile(r"\{[ \t]*(?:;[^\n]*)?$", re.MULTILINE)
_STRING = re.compile(r'"([^"]*)"')


def parse(text: str) -> Module:
    """The module that `text` is; ParseError names the line that cannot be read."""
    module = Module()
    module.node_parser = metadata.parse_node
    module.raw_metadata = {int(i): body for i, body in _METADATA.findall(text)}
    entities = list(_entities(text))
    _types_and_groups(module, entities)
    late: Late = []
    for line, body in entities:
        _entity(module, line, body, late)
    for step in late:
        step()
    return module


def parse_function_text(module: Module, text: str) -> list[Function]:
    """Enter the `define …` and `declare …` of `text` into `module` and parse the bodies; returns them in order.

    A function that the module has already gets this body if it has none; its type must be the same. Attribute groups of
    `text` hold for `text` only; named types are entered where the module has none of that name.
    """
    entities = list(_entities(textwrap.dedent(text)))
    saved = dict(module.attribute_groups)
    late: Late = []
    try:
        _types_and_groups(module, entities)
        functions = []
        for line, body in entities:
            if line.startswith(("define", "declare")):
                functions.append(complete_function(module, line, body, late))
            elif line[0] != "%" and not line.startswith("attributes"):
                raise ParseError(
                    "only functions, types and attribute groups may stand here", cause=f"in the line: {line}"
                )
        for step in late:
            step()
        for function in functions:
            assert function.blocks is not None  # parses the body
    finally:
        module.attribute_groups.clear()
        module.attribute_groups.update(saved)
    return functions


def _entities(text: str) -> Iterator[tuple[str, str | None]]:
    """Each top-level line, with its body if it is a definition; metadata nodes and comments are left out."""
    at, size = 0, len(text)
    while at < size:
        end = text.find("\n", at)
        end = size if end < 0 else end
        if text.startswith("define", at):
            opening = _OPENING.search(text, at)
            closing = _END.search(text, opening.end()) if opening else None
            if opening is None or closing is None:
                raise ParseError("a function without an end", cause=f"in the line: {text[at:end]}")
            if "\ndefine" in text[at : opening.start()]:
                raise ParseError("a body must stand on lines of its own", cause=f"in the line: {text[at:end]}")
            yield text[at : opening.start()], text[opening.end() : closing.start()]
            end = text.find("\n", closing.end())
            end = size if end < 0 else end
        elif text[at:end].strip() and text[at] != ";" and not (text[at] == "!" and text[at + 1].isdigit()):
            line = text[at:end]
            while line.startswith(("declare", "@")) and _open_parentheses(line) and end < size:
                end = text.find("\n", end + 1)
                end = size if end < 0 else end
                line = text[at:end]
            yield line, None
        at = end + 1


def _open_parentheses(line: str) -> bool:
    bare = _STRING.sub("", line)
    return bare.count("(") > bare.count(")")


def _types_and_groups(module: Module, entities: list[tuple[str, str | None]]) -> None:
    """What headers speak of: named types first, for groups may name them."""
    for line, _ in entities:
        if line[0] == "%":
            m = _match(_TYPE, line, "a type definition")
            module.raw_types.setdefault(m[1], m[2])
    for name in module.raw_types:
        TypeReader(module, name).type()
    for line, _ in entities:
        if line.startswith("attributes"):
            _group_line(module, line)


def _entity(module: Module, line: str, body: str | None, late: Late) -> None:
    first = line.split(maxsplit=1)[0]
    if first in ("define", "declare"):
        read_function(module, line, body, late)
    elif first[0] == "@":
        read_global(module, line, late)
    elif first[0] == "$":
        module.comdats.append(line)
    elif first == "target":
        _target(module, line)
    elif first == "source_filename":
        name = unescape(_match(_STRING, line, "a file name", search=True)[1])
        module.source_filename = "" if name == "<string>" else name  # which LLVM writes where there is none
    elif first == "module":
        module.asm.append(unescape(_match(_STRING, line, "module asm", search=True)[1]))
    elif first[0] == "!":
        named = _match(_NAMED, line, "named metadata")
        module.named_metadata[unescape(named[1])] = named[2]
    elif first in ("uselistorder", "uselistorder_bb"):
        module.use_list_orders.append(line)
    elif first[0] not in "%^" and first != "attributes":
        raise ParseError(f"unknown top-level entity {first!r}", cause=f"in the line: {line[:300]}")


def _match(pattern: re.Pattern[str], line: str, what: str, search: bool = False) -> re.Match[str]:
    m = pattern.search(line) if search else pattern.match(line)
    if m is None:
        raise ParseError(f"not {what}", cause=f"in the line: {line[:300]}")
    return m


def _group_line(module: Module, line: str) -> None:
    m = _match(_GROUP, line.rstrip(), "an attribute group")
    reader = TypeReader(module, m[2])
    found: list[Attribute] = []
    while reader.tokens[reader.i]:
        found.append(reader.attribute())
    module.attribute_groups[int(m[1])] = tuple(found)


def _target(module: Module, line: str) -> None:
    text = unescape(_match(_STRING, line, "a target", search=True)[1])
    if line.split()[1] == "triple":
        module.triple = text
    else:
        module.layout = DataLayout(text)
