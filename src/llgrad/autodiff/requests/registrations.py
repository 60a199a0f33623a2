"""What a program says about its functions and globals: C's `__enzyme_register_…` and kin, annotations, IR attributes.

`named(text)` gives the globals names of llgrad's, before anything is optimised; unknown ones are refused. They stay in
the module that is prepared and keep what they name alive. `protected(text)` makes sure that LLVM neither inlines the
functions named nor looks into them (decision 4 of the design: their linkage becomes `weak`), and gives functions that
behave like a library function a name that has its rule (`LIKE`). `read` finds all of it in a module that is to be
differentiated; `apply` puts what analyses want to know on functions and globals, as attributes and metadata.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from itertools import count

from msgspec import Struct, field

from llgrad.analysis.call_shapes import OTHER
from llgrad.analysis.memory.mod_ref import analyse
from llgrad.autodiff.requests.byval_rules import by_address
from llgrad.autodiff.requests.spelling import nearest
from llgrad.errors import LlgradError, UnknownNameError, UnsupportedError
from llgrad.ir.build import TRUE
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.types import PTR, VOID, FloatType, IntType, PointerType, Type
from llgrad.ir.values import (
    Alias,
    AnyValue,
    Attribute,
    Call,
    ConstAggregate,
    ConstExpr,
    ConstInt,
    ConstNull,
    Function,
    GlobalValue,
    GlobalVariable,
    Instruction,
    Load,
)
from llgrad.ir.write import write
from llgrad.llvm.assembly import FUNCTION, GLOBAL, NAME, plain, renamed, spelt
from llgrad.models.effects import ALLOCATES, FREES, RELEASES, deallocator_of
from llgrad.rules import library
from llgrad.rules.library import LIKE

PREFIX = "llgrad.registered."
RULE = "llgrad.rule"  # attribute of functions that have a rule of the user's
CONSTANT = "llgrad.constant"  # attribute of their parameters by which the rule has no derivative
SHADOW, INACTIVE = "enzyme_shadow", "enzyme_inactive"  # metadata of globals
_INACTIVE_GROUP = re.compile(rf'^attributes #(\d+) = \{{[^\n]*"{INACTIVE}"', re.MULTILINE)
_GROUP_OF_GLOBAL = re.compile(rf"^({NAME}) = [^\n]*\b(?:global|constant) [^\n]* #(\d+)", re.MULTILINE)
_ON_GLOBALS = re.compile(rf"^({NAME}) = [^\n]*, !({SHADOW}|{INACTIVE}) !(\d+)", re.MULTILINE)
CALLED = "llgrad.called."
"""`llgrad.called.llgrad.like.exp.mine` calls the function behind it: what pointers to that one point to."""
_TELLS = re.compile(rf"@[^\n=]*{re.escape(PREFIX)}|@\"?llvm\.")  # registrations, annotations, what LLVM is told to keep
_LIKENED = re.compile(rf'@"?(?:{re.escape(LIKE)}|{re.escape(OTHER)})[-\w.$]+"?')
_UNUSED = ("internal", "private", "unnamed_addr", "local_unnamed_addr")  # LLVM drops such, as nothing names them
KINDS = (
    "register_gradient", "register_derivative", "register_splitderivative", "function_like", "allocation_like",
    "inactivefn", "inactive_global", "nofree", "shadow_global", "no_escaping_allocation",
)  # fmt: skip
_COPIES = ("llvm.memcpy.", "llvm.memmove.")
_ANNOTATIONS = "llvm.global.annotations"


class Registrations(Struct):
    """By names of functions and globals.

    gradients   function -> (augmented forward sweep, reverse sweep), as the user wrote them;
    tangents    function -> its forward mode;
    splits      function -> (augmented forward sweep, forward mode that is given its tape);
    routines    library routine -> the functions of llgrad's own rule, "" for those that it has not
                (`library_routines.WORDS`);
    like        function -> name of the library function whose rule it has;
    allocators  function -> (argument that is the size, function that frees);
    inactive    functions that no derivative passes through;
    no_free     functions that free nothing;
    inactive_globals, shadow_globals {global: shadow};
    lost        functions that had a rule in an inner derivative, which called them for their value alone.
    """

    gradients: dict[str, tuple[str, str]] = field(default_factory=dict)
    tangents: dict[str, str] = field(default_factory=dict)
    splits: dict[str, tuple[str, str]] = field(default_factory=dict)
    routines: dict[str, tuple[str, ...]] = field(default_factory=dict)
    like: dict[str, str] = field(default_factory=dict)
    allocators: dict[str, tuple[int, str]] = field(default_factory=dict)
    inactive: dict[str, None] = field(default_factory=dict)
    no_free: dict[str, None] = field(default_factory=dict)
    inactive_globals: dict[str, None] = field(default_factory=dict)
    shadow_globals: dict[str, str] = field(default_factory=dict)
    lost: dict[str, None] = field(default_factory=dict)

    @property
    def ruled(self) -> dict[str, None]:
        """The functions that have rules of the user's, or such rules of llgrad's."""
        return dict.fromkeys([*self.gradients, *self.tangents, *self.routines])

    @property
    def heap(self) -> dict[str, str]:
        """Names of the allocators, and of what frees their memory, that say what they are (`models.effects`)."""
        names = {}
        for name, (size, release) in self.allocators.items():
            names[name] = f"{ALLOCATES}{size}${release}${name}"
            if release not in RELEASES:
                names[release] = deallocator_of(release)
        return names


def named(text: str) -> str:
    """The program with its registrations under names of llgrad's."""
    renamed: dict[str, str] = {}

    def edit(m: re.Match[str]) -> str:
        name = m[1][1:].strip('"')
        if "__enzyme_" not in name or re.search(r"\b(external|extern_weak)\b", m[2]):
            return m[0]
        kind = next((k for k in sorted(KINDS, key=len, reverse=True) if f"__enzyme_{k}" in name), None)
        if kind is None:
            known = [f"__enzyme_{k}" for k in KINDS]
            near = nearest(name, known)
            raise UnsupportedError(
                f"the global {name} is no registration that llgrad knows",
                span=parse(text).definition(plain(m[1])), cause=f"known are {', '.join(known)}",
                fix=f"did you mean {near}?" if near else "check the spelling",
            )  # fmt: skip
        own = re.sub(r"[^\w$]", "_", name.partition(f"__enzyme_{kind}")[2].replace("enzyme_", ""))
        renamed[m[1]] = f"@{PREFIX}{kind}.{len(renamed)}.{own}"
        kept = "".join(f"{w} " for w in m[2].split() if w not in _UNUSED)
        return f"{renamed[m[1]]} = {kept}global "

    text = GLOBAL.sub(edit, text)
    if renamed:
        text = re.sub(NAME, lambda m: renamed.get(m[0], m[0]), text)
    return text + _said_of_globals(text) + _said_of_allocators(text)


def _said_of_globals(text: str) -> str:
    """Registrations for what metadata and attributes say of globals.

    LLVM takes a variable that only metadata names for unused, and takes what is stored in one for what is loaded.
    """
    groups = _INACTIVE_GROUP.findall(text) if INACTIVE in text else []
    marked = [name for name, group in _GROUP_OF_GLOBAL.findall(text) if group in groups] if groups else []
    made = [
        f"\n@{PREFIX}inactive_global.attribute.{n} = global [1 x ptr] [{_pointer(text, name)}]\n"
        for n, name in enumerate(marked)
    ]
    for name, word, node in _ON_GLOBALS.findall(text):
        told = re.search(rf"^!{node} = [^\n]*?({NAME})", text, re.MULTILINE) if word == SHADOW else None
        pointers = ", ".join(_pointer(text, g) for g in ([name, told[1]] if told else [name]))
        if told or word == INACTIVE:
            kind, n = ("shadow_global", 2) if told else ("inactive_global", 1)
            made.append(f"\n@{PREFIX}{kind}.metadata.{len(made)} = global [{n} x ptr] [{pointers}]\n")
    return "".join(made)


def _pointer(text: str, name: str) -> str:
    """A constant that points to a global, whichever its address space is."""
    space = re.search(rf"^{re.escape(name)} = [^\n\"]*?\b(addrspace\(\d+\)) [^\n]*", text, re.MULTILINE)
    return f"ptr addrspacecast (ptr {space[1]} {name} to ptr)" if space else f"ptr {name}"


def _said_of_allocators(text: str) -> str:
    """Registrations for foreign functions of which attributes say that they allocate, and what frees their memory.

    Shadows come from there, too; what nothing but a collector frees has none to free them by.
    """
    if "allockind(" not in text:
        return ""
    foreign = [f for f in parse(text).functions if f.is_declaration and library.effects(f.name) is None]
    release = {_said(f, "alloc-family"): f.name for f in foreign
               if '"free"' in _said(f, "allockind") and [a.type for a in f.arguments] == [PTR]}  # fmt: skip
    made: list[str] = []
    for f in foreign:
        size, family = _said(f, "allocsize"), _said(f, "alloc-family")
        if re.search(r"\balloc\b", _said(f, "allockind")) and size.isdigit() and family and family in release:
            pointers = f"ptr {spelt(f.name)}, ptr inttoptr (i64 {size} to ptr), ptr null, ptr {spelt(release[family])}"
            made.append(f"\n@{PREFIX}allocation_like.attributes.{len(made)} = global [4 x ptr] [{pointers}]\n")
    return "".join(made)


def _said(f: Function, name: str) -> str:
    """The value of an attribute of a function, empty if it has none."""
    return next((str(a.value) for a in f.attributes if a.name == name), "")


def read(module: Module) -> Registrations:
    """Everything said in the module."""
    found = Registrations()
    for g in module.variables:
        if PREFIX in g.name and g.initializer is not None:
            kind = g.name[g.name.index(PREFIX) + len(PREFIX) :].split(".")[0]
            parts = [_origin(v) for v in _elements(g.initializer)]
            with _at(module, g.name):
                (_routine if kind == "routine" else _registration)(found, g, kind, parts)
        elif g.name == _ANNOTATIONS and isinstance(g.initializer, ConstAggregate):
            for entry in g.initializer.elements:
                said = [_origin(v) for v in _elements(entry)]
                with _at(module, getattr(said[0], "name", "") if said else ""):
                    _annotation(found, said)
    for f in module.functions:
        for a in f.attributes:
            if a.name.startswith("enzyme_") and not f.name.startswith("__enzyme"):
                with _at(module, f.name):
                    _word(found, f.name, a.name, str(a.value or ""))
            elif a.name == RULE and f.name not in found.ruled:
                found.lost[f.name] = None
    return found


@contextmanager
def _at(module: Module, name: str) -> Iterator[None]:
    """What is wrong here is so where the source defines a function or a variable."""
    try:
        yield
    except LlgradError as error:
        error.span = error.span or (module.definition(name) if name in module.globals else None)
        raise


def _routine(found: Registrations, g: GlobalVariable, kind: str, parts: list[AnyValue]) -> None:
    """A rule of llgrad's own (`llgrad.transforms.canonical.blas_calls`); what it has no need of is null."""
    name, *rule = (v.name if isinstance(v, Function) else "" for v in parts)
    found.routines[name] = tuple(rule)


def _registration(found: Registrations, g: GlobalVariable, kind: str, parts: list[AnyValue]) -> None:
    match kind:
        case "register_gradient" | "register_splitderivative":
            f, augmented, other = _functions(g, kind, parts, 3)
            pair = augmented.name, other.name
            table = found.gradients if kind == "register_gradient" else found.splits
            _once(f.name, table.setdefault(f.name, pair) == pair)
        case "register_derivative":
            f, forward = _functions(g, kind, parts, 2)
            _once(f.name, found.tangents.setdefault(f.name, forward.name) == forward.name)
        case "function_like":
            _word(found, _functions(g, kind, parts, 1)[0].name, "enzyme_function_like", _string(parts[1:]))
        case "inactivefn" | "nofree":
            for f in _functions(g, kind, parts, 1):
                _word(found, f.name, "enzyme_inactive" if kind == "inactivefn" else "enzyme_nofree", "")
        case "inactive_global":
            for v in parts:
                if isinstance(v, GlobalVariable):
                    found.inactive_globals[v.name] = None
        case "shadow_global":
            variables = [v for v in parts if isinstance(v, GlobalVariable)]
            if len(variables) != 2:
                raise _malformed(g, kind, "{&variable, &shadow}")
            found.shadow_globals[variables[0].name] = variables[1].name
        case "allocation_like":
            _allocator(found, g, kind, parts)


def _allocator(found: Registrations, g: GlobalVariable, kind: str, parts: list[AnyValue]) -> None:
    """`{alloc, (void *)size, "-1", release}`; the string lists what is given to `release`, -1 being the memory."""
    shape = '{function, (void *)index_of_size, "-1", function that frees}'
    match parts:
        case [Function() as f, ConstInt() | ConstNull() as index, _, Function() as release]:
            size = index.value if isinstance(index, ConstInt) else 0
        case _:
            raise _malformed(g, kind, shape)
    given = _string(parts[2:3]).strip() or "-1"
    if not (size < len(f.arguments) and isinstance(f.arguments[size].type, IntType)):
        raise UnsupportedError(f"argument {size} of {f.name}, the size of what it allocates, is no integer", fix=shape)
    if given != "-1" or [a.type for a in release.arguments] != [PTR]:
        raise UnsupportedError(
            f"{release.name} cannot free the shadows of what {f.name} allocates",
            cause="it takes more than the memory", fix="register a function that takes the memory alone",
        )  # fmt: skip
    told = size, release.name
    _once(f.name, found.allocators.setdefault(f.name, told) == told)


def _once(name: str, same: bool) -> None:
    if not same:
        raise UnsupportedError(f"{name} has two rules for one mode", fix="give one")


def _functions(g: GlobalVariable, kind: str, parts: list[AnyValue], least: int) -> list[Function]:
    found = [v for v in parts if isinstance(v, Function)]
    if len(found) < least:
        shapes = {3: "{function, augmented, reverse}", 2: "{function, forward}", 1: "{function}"}
        raise _malformed(g, kind, shapes[least])
    return found[:least] if least > 1 else found


def _malformed(g: GlobalVariable, kind: str, shape: str) -> UnsupportedError:
    return UnsupportedError(
        f"the initial value of {g.name} is not {shape}",
        cause="it must be constant: functions, globals and strings by name",
        fix=f"write void *__enzyme_{kind}NAME[] = {shape}",
    )  # fmt: skip


def _annotation(found: Registrations, parts: Sequence[AnyValue]) -> None:
    """One entry of `llvm.global.annotations`: what is annotated, the words, the place."""
    word, _, value = _string(parts[1:2]).partition("=")
    if not word.startswith("enzyme_"):
        return
    if isinstance(parts[0], Function):
        _word(found, parts[0].name, word, value)
    elif isinstance(parts[0], GlobalVariable) and word == "enzyme_inactive":
        found.inactive_globals[parts[0].name] = None


def _word(found: Registrations, name: str, word: str, value: str) -> None:
    """An attribute of a function."""
    match word:
        case "enzyme_inactive":
            found.inactive[name] = None
        case "enzyme_nofree":
            found.no_free[name] = None
        case "enzyme_function_like":
            if library.lookup(value) is None:
                raise UnknownNameError(
                    f"{name} is declared to be like {value}, which has no rule", fix="name a function of libm"
                )
            _once(name, found.like.setdefault(name, value) == value)
        case "enzyme_shouldrecompute" | "enzyme_no_escaping_allocation":
            pass  # advice, which the plan does without
        case _:
            raise UnsupportedError(f"the attribute {word} of {name} is not supported", fix="leave it out")


def _elements(v: AnyValue | None) -> Sequence[AnyValue]:
    if v is None:
        return ()
    whole = isinstance(v, ConstAggregate) and not (v.elements and isinstance(v.elements[0].type, IntType))
    return v.elements if whole and isinstance(v, ConstAggregate) else (v,)


def _origin(v: AnyValue) -> AnyValue:
    """What a constant pointer points to."""
    while isinstance(v, ConstExpr | Alias):
        v = v.operands[0] if isinstance(v, ConstExpr) else v.aliasee
    return v


def _string(parts: Sequence[AnyValue]) -> str:
    """The text of the first string."""
    for v in parts:
        if isinstance(v, GlobalVariable) and isinstance(v.initializer, ConstAggregate):
            codes = [x.value for x in v.initializer.elements if isinstance(x, ConstInt)]
            return bytes(codes).split(b"\0")[0].decode("latin-1")
    return ""


# --- the text that is prepared, and the module that is differentiated -------------------------------------------------


def protected(text: str, roots: Sequence[str] = ()) -> str:
    """The program with the functions that registrations name out of LLVM's reach.

    A root that is like a library function becomes a function that calls it.
    """
    if not any(word in text for word in (PREFIX, "enzyme_", RULE)):
        return text
    text = not_inlined(text)
    module = parse(text)
    found = read(module)
    rules = [*found.tangents.values(), *(name for pair in found.gradients.values() for name in pair)]
    if (passed := by_address(text, found.ruled, rules, PREFIX)) != text:
        text = passed
        module = parse(text)
        found = read(module)
    if hidden := [f for name in dict.fromkeys([*found.ruled, *found.like, *found.inactive, *found.lost])
                  if isinstance(f := module.globals.get(name), Function) and not f.is_declaration]:  # fmt: skip
        for f in hidden:
            f.linkage = "weak"  # LLVM must expect another definition
        text = write(module)
    names = {name: _likened(module, like, name) for name, like in found.like.items()}
    if names:
        text = renamed(text, names)
        text = _with_callers(text, {spelt(names[name]): module.function(name) for name in found.like})
    text = _read_anew(_with_heap(text, module, found.heap), found.inactive_globals, roots)
    return text + "".join(caller(module.function(r), names[r]) for r in roots if r in found.like)


def _with_callers(text: str, likened: dict[str, Function]) -> str:
    """The program with pointers to functions that call these: who follows a pointer differentiates what is there."""
    for name, f in likened.items():
        if f.is_declaration or any(a.attribute("byval") or a.attribute("sret") for a in f.arguments):
            continue
        own = f"{CALLED}{plain(name)}"
        pointer = re.compile(rf"{re.escape(name)}(?![-\w.$(])")
        pointing = "\n".join(x if _TELLS.match(x) else pointer.sub(f"@{own}", x) for x in text.split("\n"))
        if pointing != text:
            text = pointing + caller(f, plain(name), own)
    return text


def _read_anew(text: str, names: Collection[str], roots: Sequence[str]) -> str:
    """The program with volatile reads of inactive variables: what LLVM knows to be there may have a derivative."""
    if not names:
        return text
    module = parse(text)
    for root in roots:
        memory = analyse(module, module.function(root))
        for i in [i for f in memory.functions for i in f.instructions()]:
            read = _read_from(i)
            objects = memory.points_to(read) if read is not None else ()
            if any(isinstance(o.site, GlobalVariable) and o.site.name in names for o in objects):
                if isinstance(i, Load):
                    i.flags |= {"volatile"}
                elif isinstance(i, Call):
                    i.set_operand(i.arity - 1, TRUE)
    return write(module)


def _read_from(i: Instruction) -> AnyValue | None:
    """The address that a load, or a copy, reads from."""
    if isinstance(i, Load):
        return i.pointer if "atomic" not in i.flags else None
    copies = isinstance(i, Call) and isinstance(i.callee, Function) and i.callee.name.startswith(_COPIES)
    return i.operands[1] if copies else None


def _with_heap(text: str, module: Module, names: dict[str, str]) -> str:
    """The program with calls of declared functions for those of its own heap; `original` calls the program's again."""
    if not names:
        return text
    own = re.compile(rf"^(?:define [^@\n]*({NAME})\(|@[^\n]*{re.escape(PREFIX)}|declare [^@\n]*({NAME})\()")

    def edit(line: str) -> str:
        m = own.match(line)
        kept = m is not None and (line.startswith("@") or plain(m[1] or m[2]) in names)
        return line if kept else renamed(line, names)

    made = [f"declare {f.function_type.result} @{names[f.name]}({', '.join(map(str, f.function_type.params))})\n"
            for f in map(module.function, names)]  # fmt: skip
    return "\n".join(map(edit, text.split("\n"))) + "\n" + "".join(made)


_TOLD = re.compile(rf"@(?:{re.escape(ALLOCATES)}\d+\$[^$]*\$|{re.escape(FREES)}\$)([-\w.$]+)")


def original(text: str) -> str:
    """The text with the program's names for the functions of its own heap."""
    if not any(f"@{word}" in text for word in (ALLOCATES, FREES)):
        return text
    names = {m[0]: f"@{m[1]}" for line in text.split("\n") if line.startswith("declare ") for m in _TOLD.finditer(line)}
    there = {m[1] for m in re.finditer(rf"^(?:define|declare) [^@\n]*({NAME})\(", text, re.MULTILINE)}
    lines = [
        line for line in text.split("\n")
        if not (line.startswith("declare ") and any(names[m[0]] in there for m in _TOLD.finditer(line)))
    ]  # fmt: skip
    return re.sub(NAME, lambda m: names.get(m[0], m[0]), "\n".join(lines))


def _likened(module: Module, like: str, name: str) -> str:
    """A name that is new: derivatives of derivatives meet those that inner derivatives were given."""
    _require_likeness(module.function(name), like)
    word = library.as_word(like)
    return next(new for n in count() if (new := f"{LIKE}{word}{f'${n}' if n else ''}.{name}") not in module.globals)


_CLASSES: dict[type[Type], str] = {FloatType: "float", IntType: "int", PointerType: "pointer"}


def _require_likeness(f: Function, like: str) -> None:
    """A rule says nothing of parameters that it has not."""
    entry = library.lookup(like)
    if entry is None or entry.shape != "scalar" or entry.lanes > 1:
        return
    given = tuple(_CLASSES.get(type(t), str(t)) for t in f.function_type.params)
    if given != entry.rule.operands:
        raise UnsupportedError(
            f"{f.name} is declared to be like {like}, but its parameters are not",
            span=f.module.definition(f.name) if f.module is not None else None,
            cause=f"{like} takes {', '.join(entry.rule.operands)}, {f.name} takes {', '.join(given) or 'nothing'}",
            fix="give it a function with the parameters of that one, or a derivative of its own",
        )


def told(found: Registrations) -> frozenset[str]:
    """The functions of which the program says what they do."""
    return frozenset((*found.ruled, *found.splits, *found.like, *found.allocators, *found.inactive, *found.no_free))


def own_names_again(text: str) -> str:
    """The finished text with the functions that are like others, or called as of another type, under the names that
    other objects know."""
    names = dict.fromkeys(plain(m[0]) for m in _LIKENED.finditer(text))
    if not names:
        return text
    module = parse(text)
    again: dict[str, str] = {}
    gone: list[str] = []
    for name in names:
        own = name.removeprefix(LIKE).removeprefix(OTHER).partition(".")[2]
        if own not in module.globals and own not in again.values():
            again[name] = own
        elif module.function(name).is_declaration:
            gone.append(name)
            again[name] = own
    for name in gone:
        del module.globals[name]
    return renamed(write(module) if gone else text, again)


def _may_register(text: str) -> bool:
    """May a text with llgrad's names for registrations say something of functions? This is quick to say."""
    return any(word in text for word in (PREFIX, _ANNOTATIONS, '"enzyme_'))


def not_inlined(text: str) -> str:
    """The program without `alwaysinline` on functions that registrations name."""
    if "alwaysinline" not in text or not _may_register(text):
        return text
    module = parse(text)
    found = read(module)
    changed = False
    for name in (*found.ruled, *found.splits, *found.like, *found.heap, *found.inactive):
        f = module.globals.get(name)
        if isinstance(f, Function) and f.blocks and f.attribute("alwaysinline") is not None:
            f.attributes = tuple(a for a in f.attributes if a.name != "alwaysinline")
            changed = True
    return write(module) if changed else text


def ignored(text: str) -> list[str]:
    """Functions whose registrations have no effect in IR that a compiler has optimised: it has put their bodies in the
    place of all calls, as it seems, for no code names them and nothing forbids it."""
    bodies = {name for m in FUNCTION.finditer(text) for name in re.findall(NAME, text[m.end(1) : m.end()])}
    if "__enzyme_" not in text or not any("__enzyme_" in name for name in bodies):
        return []
    if not _may_register(told := named(text)):
        return []
    module = parse(told)
    found = read(module)
    return [
        name for name in dict.fromkeys((*found.ruled, *found.splits, *found.like, *found.inactive))
        if isinstance(f := module.globals.get(name), Function) and not f.is_declaration
        and f.attribute("noinline") is None and spelt(name) not in bodies
    ]  # fmt: skip


def caller(f: Function, callee: str, name: str = "", constant: Collection[int] = ()) -> str:
    """A function that does nothing but call `callee`, which has the type of `f`. Its rule takes some of its arguments
    for constants."""
    words = {n: f' "{CONSTANT}"' for n in constant}
    marked = ", ".join(f"{a.type}{words.get(n, '')} %x{n}" for n, a in enumerate(f.arguments))
    parameters = ", ".join(f"{a.type} %x{n}" for n, a in enumerate(f.arguments))
    result = f.function_type.result
    got, given = ("", "void") if result == VOID else ("%r = ", f"{result} %r")
    return f"""
define {result} {spelt(name or f.name)}({marked}) {{
  {got}call {result} {spelt(callee)}({parameters})
  ret {given}
}}
"""


def apply(module: Module, found: Registrations) -> None:
    """Put on functions and globals what analyses ask for."""
    for name in found.inactive:
        _mark(module.globals.get(name), Attribute("enzyme_inactive", string=True))
    for name in found.no_free:
        _mark(module.globals.get(name), Attribute("nofree"))
    for name in found.ruled:
        _mark(module.globals.get(name), Attribute(RULE, string=True))
    for name in found.inactive_globals:
        g = module.globals.get(name)
        if isinstance(g, GlobalVariable):
            g.attributes = (*g.attributes, Attribute(INACTIVE, string=True))
    for name, shadow in found.shadow_globals.items():
        g = module.globals.get(name)
        if isinstance(g, GlobalVariable):
            g.attributes = (*g.attributes, Attribute(SHADOW, shadow, string=True))


def unmark(module: Module) -> None:
    """Take from the globals what `apply` put there: LLVM knows no such attributes."""
    for g in module.variables:
        g.attributes = tuple(a for a in g.attributes if a.name not in (INACTIVE, SHADOW))


def _mark(f: GlobalValue | None, attribute: Attribute) -> None:
    if isinstance(f, Function) and f.attribute(attribute.name) is None:
        f.attributes = (*f.attributes, attribute)

