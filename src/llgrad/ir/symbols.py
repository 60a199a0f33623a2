"""Names of a module's globals: who is called or pointed to, renaming, copies of functions, what stays inside."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterable, Iterator, Mapping

from llgrad.ir.metadata import with_own_scopes
from llgrad.ir.module import Module
from llgrad.ir.parse_body import LazyBody
from llgrad.ir.parse_types import decode_name
from llgrad.ir.rewrite import bodies, edit_constants, is_callee, mentions, word
from llgrad.ir.values import (
    Alias,
    AnyConstant,
    Argument,
    BlockAddress,
    Call,
    Constant,
    Function,
    GlobalValue,
    GlobalVariable,
    InlineAsm,
    parts,
)
from llgrad.ir.write import body_text
from llgrad.ir.write_values import encode_name

INSIDE = ("internal", "private")
_VISIBLE = frozenset(("dso_local", "hidden", "protected"))
_NAMED = re.compile(r'@(?:[-\w.$]+|"[^"]*")')
_POINTED = re.compile(r'@(?:[-\w.$]+|"[^"]*")(?![-\w.$(])')
_CALLED = re.compile(r'([@%](?:[-\w.$]+|"[^"]*"))\(')
_OWN_COMDAT = re.compile(r"\bcomdat\b(?!\()")  # of the global's own name, which is not spelt then
_COMDAT = re.compile(r" ?\bcomdat\b(?:\(.*?\))?")


def is_local(value: GlobalValue) -> bool:
    """Is it this module's alone?"""
    return value.linkage in INSIDE


def make_local(f: Function) -> None:
    """Give a definition internal linkage; it leaves its group."""
    f.linkage = "internal"
    f.prefix = tuple(word for word in f.prefix if word not in _VISIBLE)
    f.suffix = _COMDAT.sub("", f.suffix)


def named(f: Function) -> set[str]:
    """The globals that a body names."""
    if (text := f.unread) is not None:
        return set(names_in(text))
    return {g.name for i in f.instructions() for v in i.operands for g in globals_in(v)}


def names_in(text: str) -> list[str]:
    """The names of the globals that a text names: of a metadata node, say."""
    return [decode_name(name) for name in _NAMED.findall(text)]


def globals_in(v: object) -> Iterator[GlobalValue]:
    """The globals that an operand is, or is made of."""
    if isinstance(v, GlobalValue):
        yield v
    elif isinstance(v, Constant):
        for part in parts(v):
            yield from globals_in(part)


def called(f: Function) -> set[str]:
    """The functions that a body calls by name; "" where it calls through a pointer."""
    if (text := f.unread) is not None:
        return {decode_name(name) if name[0] == "@" else "" for name in _CALLED.findall(text)}
    callees = (i.callee for i in f.instructions() if isinstance(i, Call))
    return {v.name if isinstance(v, GlobalValue) else "" for v in callees if not isinstance(v, InlineAsm)}


def pointed_to(module: Module) -> set[str]:
    """The globals that are used in another way than by calls of them: their addresses may be anywhere."""
    found: set[str] = set()
    for f in module.functions:
        found |= {g.name for g in globals_in(f.personality)}
        if (text := f.unread) is not None:
            found |= {decode_name(name) for name in _POINTED.findall(text)}
        elif not f.is_declaration:
            found |= {g.name for i in f.instructions() for n, v in enumerate(i.operands)
                      if not is_callee(i, n)
                      for g in globals_in(v)}  # fmt: skip
    return found | named_in_data(module)


def named_in_data(module: Module) -> set[str]:
    """The globals that variables and aliases name."""
    return {name for g in module.globals.values() if isinstance(g, Alias | GlobalVariable) for name in named_in(g)}


def named_in(g: GlobalVariable | Alias) -> set[str]:
    """The globals that the initializer of a variable, or an alias, names."""
    if isinstance(g, GlobalVariable) and (text := getattr(g.pending, "text", None)) is not None:
        return set(names_in(text))
    return {x.name for x in globals_in(g.initializer if isinstance(g, GlobalVariable) else g.aliasee)}


def named_elsewhere(module: Module) -> set[str]:
    """The globals that are named neither in bodies nor in initializers: in aliases, heads of functions, metadata."""
    texts = [*module.raw_metadata.values(), *(f.tail for f in module.functions)]
    found = {name for text in texts if "@" in text for name in names_in(text)}
    found |= {name for a in module.globals.values() if isinstance(a, Alias) for name in named_in(a)}
    return found | {g.name for f in module.functions for g in globals_in(f.personality)}


def read_where_named(module: Module, *names: str) -> None:
    """Read the bodies and initializers that name these globals: what was not read knows them by name."""
    words = _words(names)
    for f in bodies(module, *words):
        assert f.blocks is not None
    for v in module.variables:
        if v.pending is not None and mentions(v.pending, words):
            v.initializer = v.initializer


def rename(module: Module, names: Mapping[str, str]) -> None:
    """Give globals other names, which must be free."""
    names = {old: new for old, new in names.items() if old != new and old in module.globals}
    if not names:
        return
    read_where_named(module, *names)
    edit_constants(module, lambda c: _address_of_label(c, names.get), "blockaddress")
    for old, new in names.items():
        g = module.globals[old]
        g.name = new
        g.suffix = _OWN_COMDAT.sub(f"comdat(${encode_name(old)})".replace("\\", r"\\"), g.suffix)
    module.globals = {g.name: g for g in module.globals.values()}
    _rename_in_metadata(module, names)


def _rename_in_metadata(module: Module, names: Mapping[str, str]) -> None:
    """What metadata and debug records name has other names, too; bodies that name it were read."""
    for n, text in module.raw_metadata.items():
        if "@" in text:
            module.raw_metadata[n] = _respelt(text, names)
    for i in (i for f in module.functions if f.unread is None for i in f.instructions()):
        if i.debug_records:
            i.debug_records = tuple(_respelt(line, names) for line in i.debug_records)


def with_globals(others: Mapping[str, GlobalValue]) -> Callable[[AnyConstant], AnyConstant | None]:
    """An edit of constants (`rewrite.with_parts`): it puts others in the place of globals, and of their labels."""

    def edit(c: AnyConstant) -> AnyConstant | None:
        if isinstance(c, GlobalValue):
            return others.get(c.name)
        return _address_of_label(c, lambda name: others[name].name if name in others else None)

    return edit


def _address_of_label(c: AnyConstant, other: Callable[[str], str | None]) -> BlockAddress | None:
    if not isinstance(c, BlockAddress) or (name := other(c.function)) is None:
        return None
    return BlockAddress(c.type, name, c.block)


def _respelt(text: str, names: Mapping[str, str]) -> str:
    """The text with other names for globals."""

    def edit(m: re.Match[str]) -> str:
        new = names.get(decode_name(m[0]))
        return m[0] if new is None else f"@{encode_name(new)}"

    return _NAMED.sub(edit, text)


def use_instead(module: Module, pairs: Mapping[str, GlobalValue]) -> None:
    """Put globals in the place of others, which go."""
    old = {module.globals[name]: new for name, new in pairs.items()}
    edit_constants(module, lambda c: old.get(c) if isinstance(c, GlobalValue) else None, *_words(pairs))
    for a in module.globals.values():
        if isinstance(a, Alias) and isinstance(a.aliasee, GlobalValue):
            a.aliasee = old.get(a.aliasee, a.aliasee)
    _rename_in_metadata(module, {name: new.name for name, new in pairs.items()})
    for name in pairs:
        del module.globals[name]


def use_elsewhere(
    module: Module, old: GlobalValue, new: GlobalValue, *, callees: bool = True,
    keeps: Callable[[GlobalVariable], bool] | None = None,
) -> bool:  # fmt: skip
    """Use a global where another is used, but in variables that `keeps` names, and in direct calls if not `callees`."""
    words = _words([old.name])
    edited = edit_constants(module, lambda c: new if c is old else None, *words, callees=callees, keeps=keeps)
    aliases = [a for a in module.globals.values() if isinstance(a, Alias) and a.aliasee is old]
    for a in aliases:
        a.aliasee = new
    return edited or bool(aliases)


def _words(names: Iterable[str]) -> list[str]:
    return [word(name) for name in names]


def copied(f: Function, name: str, *, described: bool = False) -> Function:
    """A copy of a definition under another name, entered into its module; its body is read when first asked for.

    `described`: it has debug info, of its own.
    """
    assert f.module is not None
    new, (text, names) = copy.copy(f), body_text(f)
    new.name, new.users, new.metadata = name, [], {k: v for k, v in f.metadata.items() if k != "dbg"}
    if described and (subprogram := f.metadata.get("dbg")) is not None:
        new.metadata["dbg"], text = with_own_scopes(f.module, subprogram, text)
    new.arguments = [_copied(a) for a in f.arguments]
    new._blocks, new._body = [], LazyBody(text, names)
    f.module.add(new)
    return new


def _copied(a: Argument) -> Argument:
    new = Argument(a.type, a.name, a.index)
    new.attributes = a.attributes
    return new
