"""Top-level lines of a module: variables, aliases and the headers of functions (LangRef: Global Variables, Functions).

Constants in a header may name globals that come later: initializers are read when asked for, the rest is put into
`late`, a list of steps that `ir.parse` takes when all globals are known.
"""

from __future__ import annotations

from collections.abc import Callable

from llgrad.errors import ParseError
from llgrad.ir.module import Module
from llgrad.ir.opcodes import CONSTANT_OPCODES, words
from llgrad.ir.parse_body import LazyBody
from llgrad.ir.parse_types import decode_name, join_tokens
from llgrad.ir.parse_values import ValueReader
from llgrad.ir.types import PTR, VOID, FunctionType, PointerType, Type
from llgrad.ir.values import (
    Alias,
    AnyConstant,
    Attribute,
    ConstNull,
    Function,
    GlobalValue,
    GlobalVariable,
    MDRef,
)

Late = list[Callable[[], None]]
Parameter = tuple[Type, tuple[Attribute, ...], str]

LINKAGES = frozenset(
    words(
        "private internal available_externally linkonce weak common appending extern_weak linkonce_odr weak_odr "
        "external"
    )
)
PREFIXES = frozenset(
    words(
        "dso_local dso_preemptable default hidden protected dllimport dllexport unnamed_addr local_unnamed_addr "
        "thread_local externally_initialized"
    )
)
_OPENERS, _CLOSERS = frozenset("([{<"), frozenset(")]}>")
_AFTER_CONSTANT = frozenset(["prefix", "prologue", "personality"])


class LazyInitializer:
    """The tokens of an initializer, until it is asked for; `text` writes them back."""

    __slots__ = ("module", "tokens")

    def __init__(self, module: Module, tokens: list[str]) -> None:
        self.module, self.tokens = module, tokens

    @property
    def text(self) -> str:
        return " ".join(self.tokens)

    def __call__(self, variable: GlobalVariable) -> AnyConstant:
        return ValueReader(self.module, self.text).constant(variable.value_type)


class HeaderReader(ValueReader):
    """Reads the line of one global."""

    def __init__(self, module: Module, line: str, late: Late) -> None:
        super().__init__(module, line)
        self.late = late

    def words(self, value: GlobalValue) -> str:
        """Reads linkage, visibility, storage, … into `value`; returns the linkage as written."""
        linkage = ""
        while True:
            token = self.tokens[self.i]
            if token in LINKAGES:
                value.linkage = linkage = self.take()
            elif token == "thread_local" and self.tokens[self.i + 1] == "(":
                self.i += 1
                value.prefix += (f"thread_local({self.parenthesised()})",)
            elif token in PREFIXES:
                value.prefix += (self.take(),)
            elif token == "addrspace":
                self.i += 1
                value.type = PointerType(int(self.parenthesised()))
            else:
                return linkage

    def skip_constant(self) -> list[str]:
        """The tokens of a constant, up to what follows it in a header."""
        start, depth = self.i, 0
        while token := self.tokens[self.i]:
            if depth == 0 and self.i > start and (token == "," or token[0] in '#!"' or token in _AFTER_CONSTANT):
                break
            depth += (token in _OPENERS) - (token in _CLOSERS)
            self.i += 1
        return self.tokens[start : self.i]

    def all_attachments(self) -> dict[str, MDRef]:
        """`!dbg !4 !type !7`, commas between them or not."""
        found: dict[str, MDRef] = {}
        while self.tokens[self.i][:1] == "!" or (self.tokens[self.i] == "," and self.tokens[self.i + 1][:1] == "!"):
            self.accept(",")
            self.attachment(found)
        return found

    # --- variables and aliases ---

    def variable(self, name: str, word: str, linkage: str) -> GlobalVariable:
        variable = GlobalVariable(name, self.type_or_function(), None, word == "constant")
        if linkage not in ("external", "extern_weak"):
            variable.pending = LazyInitializer(self.module, self.skip_constant())
        self.variable_clauses(variable)
        variable.metadata = self.all_attachments()
        while token := self.tokens[self.i]:
            if token[0] == "#":
                self.i += 1
                variable.attributes += self.group(token)
            else:
                variable.attributes += (self.attribute(),)
        return variable

    def variable_clauses(self, variable: GlobalVariable) -> None:
        """`, section "…", comdat($x), align 16`; the alignment into its slot, the rest as text."""
        while self.tokens[self.i] == "," and self.tokens[self.i + 1][:1] != "!":
            self.i += 1
            start = self.i
            if self.accept("align"):
                variable.align = self.integer()
                continue
            self.i += 1
            while self.tokens[self.i] and self.tokens[self.i] != "," and self.tokens[self.i][0] not in "#!":
                self.i += 1
            variable.suffix += f", {join_tokens(self.tokens[start : self.i])}"

    def alias(self, name: str, word: str) -> Alias:
        alias = Alias(name, self.type_or_function(), ConstNull(PTR), word)
        self.expect(",")
        tokens = self.skip_constant()
        start = self.i
        while self.tokens[self.i] and self.tokens[self.i][0] != "!" and self.tokens[self.i + 1][:1] != "!":
            self.i += 1
        alias.suffix = join_tokens(self.tokens[start : self.i])
        alias.metadata = self.all_attachments()

        def resolve() -> None:
            reader = ValueReader(self.module, " ".join(tokens))
            alias.aliasee = reader.constant(PTR) if tokens[0] in CONSTANT_OPCODES else reader.typed_constant()

        self.late.append(resolve)
        return alias

    # --- functions ---

    def function(self) -> Function:
        """Everything of a function but its body."""
        words = GlobalValue("", VOID)
        words.metadata = self.all_attachments()
        self.words(words)
        convention = self.calling_convention()
        result_attributes = self.attributes()
        result = self.type()
        token = self.take()
        if token[:1] != "@":
            self.i -= 1
            raise self.fail(f"expected the name of a function, found {token!r}")
        params, vararg = self.parameters()
        function_type = FunctionType(result, tuple(t for t, _, _ in params), vararg)
        function = Function(decode_name(token), function_type, argument_names(params))
        for argument, (_, attributes, _) in zip(function.arguments, params, strict=True):
            argument.attributes = attributes
        function.calling_convention, function.result_attributes = convention, result_attributes
        self.words(words)
        function.linkage, function.prefix, function.type = words.linkage, words.prefix, words.type
        self.function_clauses(function)
        function.metadata = words.metadata | self.all_attachments()
        if self.tokens[self.i]:
            raise self.fail(f"unexpected {self.tokens[self.i]!r} after the header of @{function.name}")
        return function

    def parameters(self) -> tuple[list[Parameter], bool]:
        self.expect("(")
        params: list[Parameter] = []
        vararg = False
        while not self.accept(")"):
            if self.accept("..."):
                vararg = True
            else:
                t = self.type()
                attributes = self.attributes()
                name = decode_name(self.take()) if self.tokens[self.i][:1] == "%" else ""
                params.append((t, attributes, name))
            if self.tokens[self.i] != ")":
                self.expect(",")
        return params, vararg

    def function_clauses(self, function: Function) -> None:
        """Attributes, section, comdat, alignment, gc, prefix, prologue, personality: in the order they come."""
        while (token := self.tokens[self.i]) and token[0] != "!":
            if token[0] == "#":
                self.i += 1
                function.attributes += self.group(token)
            elif token in ("section", "partition", "comdat", "align", "preferalign"):
                function.suffix = f"{function.suffix} {self.clause()}".lstrip()
            elif token == "gc":
                self.i += 2
                function.tail = f"gc {self.tokens[self.i - 1]}"
            elif token in _AFTER_CONSTANT:
                self.constant_clause(function, self.take())
            elif token[0] == '"' or "a" <= token[0] <= "z":
                function.attributes += (self.attribute(),)
            else:
                raise self.fail(f"unexpected {token!r} in the header of @{function.name}")

    def clause(self) -> str:
        """`section "…"`, `comdat`, `comdat($x)`, `align 16`."""
        word = self.take()
        if self.tokens[self.i] == "(":
            return f"{word}({self.parenthesised()})" if word == "comdat" else f"{word} {self.parenthesised()}"
        return word if word == "comdat" else f"{word} {self.take()}"

    def constant_clause(self, function: Function, word: str) -> None:
        tokens = self.skip_constant()
        if word != "personality":
            function.tail = f"{function.tail} {word} {' '.join(tokens)}".lstrip()
            return

        def resolve() -> None:
            function.personality = ValueReader(self.module, " ".join(tokens)).typed_constant()

        self.late.append(resolve)


def argument_names(params: list[Parameter]) -> list[str]:
    """Names as written; unnamed parameters are numbered as LLVM does."""
    names: list[str] = []
    number = 0
    for _, _, name in params:
        names.append(name or str(number))
        number = int(names[-1]) + 1 if names[-1].isdigit() else number
    return names


def read_global(module: Module, line: str, late: Late) -> None:
    """Enter the variable or alias of a line that starts with `@`."""
    reader = HeaderReader(module, line, late)
    name = decode_name(reader.take())
    reader.expect("=")
    words = GlobalValue(name, VOID)
    linkage = reader.words(words)
    word = reader.take()
    if word in ("global", "constant"):
        value: GlobalValue = reader.variable(name, word, linkage)
    elif word in ("alias", "ifunc"):
        value = reader.alias(name, word)
    else:
        reader.i -= 1
        raise reader.fail(f"@{name}: expected global, constant, alias or ifunc, found {word!r}")
    value.linkage, value.prefix, value.type = words.linkage, words.prefix, words.type
    enter(module, value)


def read_function(module: Module, line: str, body: str | None, late: Late) -> Function:
    """Enter a `declare …` or `define …`; `body` is what stands between the braces."""
    function = function_of(module, line, body, late)
    enter(module, function)
    return function


def complete_function(module: Module, line: str, body: str | None, late: Late) -> Function:
    """As `read_function`, but a function the module has already is kept, and given this body if it has none.

    A declaration of one may have another type: calls say by which type they call.
    """
    fresh = function_of(module, line, body, late)
    known = module.globals.get(fresh.name)
    if known is None:
        enter(module, fresh)
        return fresh
    if body is None and isinstance(known, Function):
        return known
    if not isinstance(known, Function) or known.value_type != fresh.value_type:
        raise ParseError(f"@{fresh.name} exists already as {known.value_type}, not {fresh.value_type}")
    if not known.is_declaration:
        raise ParseError(f"@{fresh.name} has a body already")
    for slot in ("arguments", "attributes", "result_attributes", "calling_convention", "linkage", "prefix", "suffix"):
        setattr(known, slot, getattr(fresh, slot))
    known.metadata, known.tail, known._body = fresh.metadata, fresh.tail, fresh._body
    late.append(lambda: setattr(known, "personality", fresh.personality))
    return known


def function_of(module: Module, line: str, body: str | None, late: Late) -> Function:
    reader = HeaderReader(module, line, late)
    reader.i = 1
    function = reader.function()
    if body is not None:
        function._body = LazyBody(body, tuple(a.name for a in function.arguments))
    return function


def enter(module: Module, value: GlobalValue) -> None:
    try:
        module.add(value)
    except KeyError:
        raise ParseError(f"@{value.name} is defined twice") from None
