"""The parser's lowest layer: tokens, names, types and attributes.

Text is cut by one regular expression into a list of strings; a reader is that list and a position in it. Types that are
one token (`i32`, `ptr addrspace(1)`, `<4 x float>`, `%struct.s`) are found in a dictionary.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from llgrad.errors import ParseError
from llgrad.ir.opcodes import CONSTANT_OPCODES, words
from llgrad.ir.types import (
    ArrayType,
    FunctionType,
    IntType,
    PointerType,
    StructType,
    TargetType,
    Type,
    VectorType,
)
from llgrad.ir.values import Attribute

if TYPE_CHECKING:
    from llgrad.ir.module import Module

TOKENS = re.compile(
    r""" ;[^\n]*                                              # comment
    | [%@$](?:[-\w.$]+|"[^"]*")                               # name
    | [(),=\]}]
    | \#dbg_\w+\([^\n]*                                       # debug record
    | \#\d+                                                   # attribute group
    | !DI\w+\((?:[^()"]|"[^"]*"|\((?:[^()]|\([^()]*\))*\))*\) # inline specialised node
    | !(?:[-\w.$\\]+|"[^"]*")?                                # metadata
    | (?:[-\w.$]+|"[^"]*"):(?=\s|$)                           # label
    | ptr\s+addrspace\s*\(\s*\d+\s*\)
    | [-+]?\d+\.\d*(?:[eE][-+]?\d+)?                          # decimal number
    | c?"[^"]*"
    | -?\w+
    | <\d+\ x\ \w+>                                           # vector of a simple type
    | \[\d+\ x\ \w+\]                                         # array of a simple type
    | \.\.\.
    | [<>{\[|*:]
    """,
    re.VERBOSE | re.ASCII,
)
_ESCAPE = re.compile(r"\\([0-9A-Fa-f]{2}|\\)")
_NOT_ESCAPED = frozenset(range(0x20, 0x7F)) - {0x22, 0x5C}
_DIGITS = re.compile(r"\d+\Z")

TYPE_ATTRIBUTES = frozenset(["sret", "byval", "byref", "inalloca", "preallocated", "elementtype"])
VALUE_WORDS = CONSTANT_OPCODES | frozenset(
    words(
        "true false null undef poison zeroinitializer none splat asm blockaddress dso_local_equivalent no_cfi ptrauth"
    )
)


def tokenise(text: str) -> list[str]:
    """The tokens of `text` without comments, then three empty strings so that looking ahead needs no test."""
    tokens: list[str] = TOKENS.findall(text)
    if ";" in text:
        tokens = [t for t in tokens if t[0] != ";"]
    tokens += ("", "", "")
    return tokens


def unescape(text: str) -> str:
    """What stands between LLVM's quotes, as text (bytes that are not UTF-8 become surrogates)."""
    return unescape_bytes(text).decode("utf-8", "surrogateescape") if "\\" in text else text


def unescape_bytes(text: str) -> bytes:
    """What stands between LLVM's quotes, as bytes."""
    if "\\" not in text:
        return text.encode("utf-8", "surrogateescape")
    out, at = bytearray(), 0
    for m in _ESCAPE.finditer(text):
        out += text[at : m.start()].encode("utf-8", "surrogateescape")
        out.append(0x5C if m[1] == "\\" else int(m[1], 16))
        at = m.end()
    return bytes(out + text[at:].encode("utf-8", "surrogateescape"))


def escape(text: str) -> str:
    """Text between quotes: everything that is not printable ASCII as `\\XX`."""
    if text.isascii() and text.isprintable() and '"' not in text and "\\" not in text:
        return text
    return "".join(chr(b) if b in _NOT_ESCAPED else f"\\{b:02X}" for b in text.encode("utf-8", "surrogateescape"))


def decode_name(token: str) -> str:
    """The name behind `%x`, `@"a b"`, without sigil and quotes.

    A quoted name of digits only (`%"0"`) is not the unnamed value `%0`: it keeps its quotes.
    """
    if token[1] != '"':
        return token[1:]
    name = unescape(token[2:-1])
    return f'"{name}"' if _DIGITS.match(name) else name


class TypeReader:
    """Tokens of one text, a position, and the module whose types and attribute groups they speak of."""

    def __init__(self, module: Module, text: str) -> None:
        self.module, self.text = module, text
        self.tokens = tokenise(text)
        self.i = 0
        self.types = module.type_cache
        self.groups = module.attribute_groups

    # --- errors and small steps ---

    def fail(self, message: str) -> ParseError:
        """The error to raise: names the line of the current token."""
        at, count = 0, -1
        for m in TOKENS.finditer(self.text):
            if m[0][0] != ";":
                count += 1
            if count >= self.i:
                at = m.start()
                break
        start = self.text.rfind("\n", 0, at) + 1
        line = self.text[start:].split("\n", 1)[0].strip()
        return ParseError(message, cause=f"in the line: {line[:300]}")

    def expect(self, token: str) -> None:
        if self.tokens[self.i] != token:
            raise self.fail(f"expected {token!r}, found {self.tokens[self.i]!r}")
        self.i += 1

    def accept(self, token: str) -> bool:
        if self.tokens[self.i] == token:
            self.i += 1
            return True
        return False

    def take(self) -> str:
        self.i += 1
        return self.tokens[self.i - 1]

    def integer(self) -> int:
        token = self.take()
        try:
            return int(token)
        except ValueError:
            self.i -= 1
            raise self.fail(f"expected an integer, found {token!r}") from None

    def parenthesised(self) -> str:
        """The text inside a balanced pair of parentheses, which starts here, with single spaces between its tokens."""
        self.expect("(")
        start, depth = self.i, 1
        while depth:
            token = self.take()
            if not token:
                raise self.fail("unbalanced parentheses")
            depth += (token == "(") - (token == ")")
        return join_tokens(self.tokens[start : self.i - 1])

    # --- types ---

    def type(self) -> Type:
        """A type, but not a function type (see `type_or_function`)."""
        token = self.tokens[self.i]
        self.i += 1
        t = self.types.get(token)
        if t is None:
            t = self._other_type(token)
        return t

    def type_or_function(self) -> Type:
        t = self.type()
        return self.function_type(t) if self.tokens[self.i] == "(" else t

    def function_type(self, result: Type) -> FunctionType:
        self.expect("(")
        params: list[Type] = []
        vararg = False
        while not self.accept(")"):
            if self.accept("..."):
                vararg = True
            else:
                params.append(self.type())
            if self.tokens[self.i] != ")":
                self.expect(",")
        return FunctionType(result, tuple(params), vararg)

    def _other_type(self, token: str) -> Type:
        first = token[:1]
        if first == "{":
            return StructType(self._fields())
        if token == "<" and self.tokens[self.i] == "{":
            self.i += 1
            fields = self._fields()
            self.expect(">")
            return StructType(fields, packed=True)
        if token in ("<", "["):
            return self._sequence(token)
        if token == "target":
            return self._target()
        t = self._one_token(token, first)
        self.types[token] = t
        return t

    def _fields(self) -> tuple[Type, ...]:
        fields: list[Type] = []
        while not self.accept("}"):
            fields.append(self.type())
            if self.tokens[self.i] != "}":
                self.expect(",")
        return tuple(fields)

    def _sequence(self, opening: str) -> Type:
        scalable = self.accept("vscale")
        if scalable:
            self.expect("x")
        count = self.integer()
        self.expect("x")
        element = self.type()
        self.expect("]" if opening == "[" else ">")
        return ArrayType(element, count) if opening == "[" else VectorType(element, count, scalable)

    def _target(self) -> Type:
        self.expect("(")
        name = unescape(self.take()[1:-1])
        params: list[Type | int] = []
        while self.accept(","):
            params.append(self.integer() if self.tokens[self.i].isdigit() else self.type())
        self.expect(")")
        return TargetType(name, tuple(params))

    def _one_token(self, token: str, first: str) -> Type:
        if first == "i" and token[1:].isdigit():
            return IntType(int(token[1:]))
        if token.startswith("ptr"):
            space = int(token[token.index("(") + 1 : -1])
            return PointerType(space)
        if first in ("<", "["):
            count, element = token[1:-1].split(" x ")
            inner = self.types.get(element) or self._one_token(element, element[:1])
            return VectorType(inner, int(count)) if first == "<" else ArrayType(inner, int(count))
        if first == "%":
            return self._named(token)
        self.i -= 1
        raise self.fail(f"expected a type, found {token!r}")

    def _named(self, token: str) -> Type:
        """A named struct, its body read when it is first met (bodies may name types that come later)."""
        known = self.module.types.get(token)
        if known is not None:
            return known
        text = self.module.raw_types.get(token)
        if text is None:
            raise self.fail(f"type {token} is not defined")
        self.module.types[token] = named = TypeReader(self.module, text).struct(token)
        return named

    def struct(self, name: str) -> StructType:
        """The body of a named struct."""
        if self.accept("opaque"):
            return StructType(None, name=name)
        body = self.type()
        if not isinstance(body, StructType):
            raise self.fail(f"{name} is not a struct")
        return StructType(body.fields, body.packed, name)

    # --- attributes ---

    def attributes(self) -> tuple[Attribute, ...]:
        """Parameter or result attributes up to the value or type that follows them."""
        found: list[Attribute] = []
        while True:
            token = self.tokens[self.i]
            first = token[:1]
            if not ("a" <= first <= "z" or first == '"') or token in VALUE_WORDS or token[:2] == 'c"':
                return tuple(found)
            if token in self.types or (first == "i" and token[1:].isdigit()) or token == "target":
                return tuple(found)
            if token.startswith("ptr "):  # ptr addrspace(1), the first of its kind
                return tuple(found)
            found.append(self.attribute())

    def attribute(self) -> Attribute:
        """One attribute in either syntax: `align 8`, `align(8)`, `align=8`, `name`, `name(…)`, `"key"="value"`."""
        name = self.take()
        following = self.tokens[self.i]
        if name[0] == '"':
            value = None
            if following == "=":
                self.i += 1
                value = unescape(self.take()[1:-1])
            return Attribute(unescape(name[1:-1]), value, string=True)
        if following == "(":
            return self._with_arguments(name)
        if following == "=":
            self.i += 1
            return Attribute(name, self.integer())
        if name == "align":
            return Attribute(name, self.integer())
        return Attribute(name)

    def _with_arguments(self, name: str) -> Attribute:
        if name in TYPE_ATTRIBUTES:
            self.expect("(")
            t = self.type_or_function()
            self.expect(")")
            return Attribute(name, t)
        text = self.parenthesised()
        return Attribute(name, int(text) if text.isdigit() else text)

    def group(self, token: str) -> tuple[Attribute, ...]:
        """The attributes of `#3`."""
        try:
            return self.groups[int(token[1:])]
        except KeyError:
            raise self.fail(f"attribute group {token} is not defined") from None


def join_tokens(tokens: list[str]) -> str:
    """Tokens as LLVM prints them: no blank inside parentheses or before a comma or colon."""
    out = ""
    for t in tokens:
        out += t if not out or out[-1] == "(" or t in (",", ")", ":") or (t == "(" and out[-1] != ",") else f" {t}"
    return out
