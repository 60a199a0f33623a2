"""What a program says about its functions and globals: C's `__enzyme_register_…` and kin, annotations, IR attributes.

`with_names` gives the globals names of llgrad's, before anything is optimised; unknown ones are refused. They stay in
the module that is prepared and keep what they name alive. `protect` makes sure that LLVM neither inlines the functions
named nor looks into them (decision 4 of the design: their linkage becomes `weak`), and gives functions that behave like
a library function a name that has its rule (`LIKE`). `read` finds all of it in a module that is to be differentiated;
`apply` puts what analyses want to know on functions and globals, as attributes and metadata.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import count

from msgspec import Struct, field

from llgrad.analysis.call_shapes import OTHER
from llgrad.analysis.memory.mod_ref import analyse
from llgrad.autodiff.requests.spelling import nearest
from llgrad.errors import LlgradError, UnknownNameError, UnsupportedError
from llgrad.ir.build import TRUE, Builder, Names, declare, i64
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.rewrite import bodies, called_instead, calling, direct_calls, with_parts
from llgrad.ir.symbols import is_local, named, names_in, rename, use_elsewhere, use_instead
from llgrad.ir.types import PTR, VOID, ArrayType, FloatType, IntType, PointerType, Type
from llgrad.ir.values import (
    Alias,
    AnyConstant,
    AnyValue,
    Attribute,
    Block,
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
from llgrad.models.effects import ALLOCATES, FREES, RELEASES, deallocator_of
from llgrad.rules import library
from llgrad.rules.library import LIKE

PREFIX = "llgrad.registered."
RULE = "llgrad.rule"  # attribute of functions that have a rule of the user's
CONSTANT = "llgrad.constant"  # attribute of their parameters by which the rule has no derivative
SHADOW, INACTIVE = "enzyme_shadow", "enzyme_inactive"  # metadata of globals
BY_ADDRESS = "llgrad.byaddress."
CALLED = "llgrad.called."
"""`llgrad.called.llgrad.like.exp.mine` calls the function behind it: what pointers to that one point to."""
_UNNAMED = ("unnamed_addr", "local_unnamed_addr")
KINDS = (
    "register_gradient", "register_derivative", "register_splitderivative", "function_like", "allocation_like",
    "inactivefn", "inactive_global", "nofree", "shadow_global", "no_escaping_allocation",
)  # fmt: skip
_ADVICE = {
    "shouldrecompute", "nocache", "no_escaping_allocation", "ta_norecur", "ReadOnlyOrThrow", "LocalReadOnlyOrThrow",
}  # fmt: skip
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
    allocators  function -> (argument that is the size, function that frees, which of its several arguments is memory);
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
    allocators: dict[str, tuple[int, str, int | None]] = field(default_factory=dict)
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
        for name, (size, release, memory) in self.allocators.items():
            among = "" if memory is None else f".{memory}"
            names[name] = f"{ALLOCATES}{size}{among}${release}${name}"
            if release not in RELEASES:
                names[release] = deallocator_of(release) if memory is None else f"{FREES}{memory}${release}"
        return names


def may_register(text: str) -> bool:
    """May a program say anything of this kind by its variables, or by attributes? This is quick to say."""
    return "enzyme_" in text.partition("\ndefine ")[0] or INACTIVE in text or SHADOW in text or "allockind(" in text


def with_names(module: Module) -> bool:
    """Give registrations names of llgrad's; what metadata and attributes say becomes registrations, too.

        @__enzyme_register_gradient_f = internal global [3 x ptr] [ptr @f, ptr @augmented, ptr @reverse]
        → @llgrad.registered.register_gradient.0._f = global [3 x ptr] [ptr @f, ptr @augmented, ptr @reverse]
    """
    names: dict[str, str] = {}
    for g in module.variables:
        if "__enzyme_" not in g.name or g.is_declaration:
            continue
        kind = next((k for k in sorted(KINDS, key=len, reverse=True) if f"__enzyme_{k}" in g.name), None)
        if kind is None:
            known = [f"__enzyme_{k}" for k in KINDS]
            near = nearest(g.name, known)
            raise UnsupportedError(
                f"the global @{g.name} is no registration that llgrad knows",
                span=module.definition(g.name), cause=f"known are {', '.join(known)}",
                fix=f"did you mean {near}?" if near else "check the spelling",
            )  # fmt: skip
        own = g.name.partition(f"__enzyme_{kind}")[2].replace("enzyme_", "")
        plain = "".join(c if c.isalnum() or c in "_$" else "_" for c in own)
        names[g.name] = f"{PREFIX}{kind}.{len(names)}.{plain}"
        g.constant, g.prefix = False, tuple(word for word in g.prefix if word not in _UNNAMED)
        g.linkage = "external" if is_local(g) else g.linkage  # LLVM drops a local one, as nothing names it
    rename(module, names)
    said = [*_said_of_globals(module), *_said_of_allocators(module)]
    for n, (kind, pointers) in enumerate(said):
        whole = ArrayType(PTR, len(pointers))
        module.add(GlobalVariable(f"{PREFIX}{kind}.said.{n}", whole, ConstAggregate(whole, tuple(pointers))))
    return bool(names or said)


def _said_of_globals(module: Module) -> Iterator[tuple[str, list[AnyConstant]]]:
    """Registrations for what metadata and attributes say of globals.

    LLVM takes a variable that only metadata names for unused, and takes what is stored in one for what is loaded.
    """
    for g in module.variables:
        if any(a.name == INACTIVE for a in g.attributes) or INACTIVE in g.metadata:
            yield "inactive_global", [_pointer(g)]
        if (node := g.metadata.get(SHADOW)) is not None:
            named = [n for n in names_in(module.raw_metadata.get(node.id, "")) if n in module.globals]
            if named:
                yield "shadow_global", [_pointer(g), _pointer(module.globals[named[0]])]


def _pointer(g: GlobalValue) -> AnyConstant:
    """A constant that points to a global, whichever its address space is."""
    return g if g.type == PTR else ConstExpr(PTR, "addrspacecast", (g,))


def _said_of_allocators(module: Module) -> Iterator[tuple[str, list[AnyConstant]]]:
    """Registrations for foreign functions of which attributes say that they allocate, and what frees their memory.

    Shadows come from there, too; what nothing but a collector frees has none to free them by.
    """
    foreign = [f for f in module.functions if f.is_declaration and library.effects(f.name) is None]
    release = {_said(f, "alloc-family"): f for f in foreign
               if '"free"' in _said(f, "allockind") and _memory_of(f) is not None}  # fmt: skip
    for f in foreign:
        size, family = _said(f, "allocsize"), _said(f, "alloc-family")
        if "alloc" in _said(f, "allockind").strip('"').split(",") and size.isdigit() and family and family in release:
            index = ConstExpr(PTR, "inttoptr", (i64(int(size)),))
            yield "allocation_like", [f, index, ConstNull(PTR), release[family]]


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
    """`{alloc, (void *)size, "-1", release}`; the string lists what `release` takes: -1 is the memory."""
    shape = '{function, (void *)index_of_size, "-1", function that frees}'
    match parts:
        case [Function() as f, ConstInt() | ConstNull() as index, _, Function() as release]:
            size = index.value if isinstance(index, ConstInt) else 0
        case _:
            raise _malformed(g, kind, shape)
    said = _string(parts[2:3]).replace(" ", "")
    memory = _memory_of(release)
    takes = [n == memory for n, _ in enumerate(release.arguments)]
    if size >= len(f.arguments) or not isinstance(f.arguments[size].type, IntType):
        raise UnsupportedError(f"argument {size} of {f.name}, the size of what it allocates, is no integer", fix=shape)
    if memory is None or said and [word == "-1" for word in said.split(",")] != takes:
        taken = ", ".join(str(a.type) for a in release.arguments)
        raise UnsupportedError(
            f"{release.name} cannot free the shadows of what {f.name} allocates",
            cause=f"it takes ({taken}), and what the registration lists for that is {said or '-1'}",
            fix=f'list -1 for the memory and the argument of {f.name} for each number, as "-1,{size}"',
        )
    told = size, release.name, None if len(release.arguments) == 1 else memory
    _once(f.name, found.allocators.setdefault(f.name, told) == told)


def _memory_of(release: Function) -> int | None:
    """The one argument that is a pointer; None where there are several, or others that are no integers."""
    pointers = [a.index for a in release.arguments if not isinstance(a.type, IntType)]
    return pointers[0] if len(pointers) == 1 and release.arguments[pointers[0]].type == PTR else None


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
        case "enzyme_function_like" | "enzyme_math":
            if library.lookup(value) is None:
                raise UnknownNameError(
                    f"{name} is declared to be like {value}, which has no rule", fix="name a function of libm"
                )
            _once(name, found.like.setdefault(name, value) == value)
        case _ if word.removeprefix("enzyme_") not in _ADVICE:  # (which the plan does without)
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


def tells(text: str) -> bool:
    """May a program have any of this?"""
    return any(word in text for word in (PREFIX, "enzyme_", RULE))


def protect(module: Module, roots: Sequence[str] = ()) -> bool:
    """Put the functions that registrations name out of LLVM's reach.

    A root that is like a library function becomes a function that calls it.
    """
    changed = keep_calls(module)
    found = read(module)
    rules = [*found.tangents.values(), *(name for pair in found.gradients.values() for name in pair)]
    if _by_address(module, found.ruled, rules):
        found, changed = read(module), True
    for name in dict.fromkeys([*found.ruled, *found.like, *found.inactive, *found.lost]):
        f = module.globals.get(name)
        if isinstance(f, Function) and not f.is_declaration:
            f.linkage, changed = "weak", True  # LLVM must expect another definition
    likened = {name: module.function(name) for name in found.like}
    rename(module, {name: _likened(module, like, name) for name, like in found.like.items()})
    for f in likened.values():
        _call_where_pointed(module, f)
    _set_heap_apart(module, found.heap)
    for name in (r for r in roots if r in likened):
        module.add(caller(likened[name], likened[name], name))
    _read_anew(module, found.inactive_globals, roots)
    return bool(changed or likened or found.heap or found.inactive_globals)


def _tells(g: GlobalVariable) -> bool:  # registrations, annotations, what LLVM is told to keep
    return PREFIX in g.name or g.name.startswith("llvm.")


def _call_where_pointed(module: Module, f: Function) -> None:
    """Have pointers to a function point to one that calls it: who follows a pointer differentiates what is there."""
    if f.is_declaration or any(a.attribute("byval") or a.attribute("sret") for a in f.arguments):
        return
    own = caller(f, f, f"{CALLED}{f.name}")
    if use_elsewhere(module, f, own, callees=False, keeps=_tells):
        module.add(own)


def _read_anew(module: Module, names: Collection[str], roots: Sequence[str]) -> None:
    """Make reads of inactive variables volatile: what LLVM knows to be there may have a derivative."""
    for root in roots if names else ():
        memory = analyse(module, module.function(root))
        for i in [i for f in memory.functions for i in f.instructions()]:
            read = _read_from(i)
            objects = memory.points_to(read) if read is not None else ()
            if any(isinstance(o.site, GlobalVariable) and o.site.name in names for o in objects):
                if isinstance(i, Load):
                    i.flags |= {"volatile"}
                elif isinstance(i, Call):
                    i.set_operand(i.arity - 1, TRUE)


def _by_address(module: Module, ruled: Collection[str], rules: Collection[str]) -> bool:
    """Have functions with rules, and their rules, take addresses of the structs that they are passed by value.

        %y = call double @weight(ptr byval(%big) %b)    →    %y = call double @llgrad.byaddress.weight(ptr %b)

    What is called takes a copy, and calls the function. A struct by value is a pointer argument then, whose shadow is
    one, and which nobody writes through. (A rule in forward mode may take the tangent by value, too.)
    """
    functions = [f for name in dict.fromkeys([*ruled, *rules]) if isinstance(f := module.globals.get(name), Function)]
    made: dict[GlobalValue, Function] = {}
    for f in (f for f in functions if any(a.attribute("byval") for a in f.arguments)):
        made[f] = new = caller(f, f, f"{BY_ADDRESS}{f.name}")
        for a, own in zip(new.arguments, f.arguments, strict=True):
            a.attributes = tuple(x for x in own.attributes if x.name != "byval")
        (call,) = (i for i in new.instructions() if isinstance(i, Call))
        call.argument_attributes = [a.attributes for a in f.arguments]
        for c, _ in [*direct_calls(bodies(module, *calling(f.name)))] if f.name in ruled else ():
            if c.callee is f:
                said = [tuple(x for x in words if x.name != "byval") for words in c.argument_attributes]
                called_instead(c, new, c.arguments, said)
    for g in module.variables if made else ():
        if PREFIX in g.name and g.initializer is not None:
            g.initializer = with_parts(g.initializer, lambda c: made.get(c) if isinstance(c, GlobalValue) else None)
    for new in made.values():
        module.add(new)
    return bool(made)


def _read_from(i: Instruction) -> AnyValue | None:
    """The address that a load, or a copy, reads from."""
    if isinstance(i, Load):
        return i.pointer if "atomic" not in i.flags else None
    copies = isinstance(i, Call) and isinstance(i.callee, Function) and i.callee.name.startswith(_COPIES)
    return i.operands[1] if copies else None


def _set_heap_apart(module: Module, names: dict[str, str]) -> None:
    """Have declared functions called for those of the program's own heap; `original` calls the program's again."""
    for name, apart in names.items():
        f = module.function(name)
        t = f.function_type
        use_elsewhere(module, f, declare(module, apart, t.result, t.params), keeps=_tells)


def original(module: Module) -> None:
    """Give the functions of the program's own heap the program's names."""
    _with_own_names(module, {
        f.name: f.name.split("$", 2 if f.name.startswith(ALLOCATES) else 1)[-1]
        for f in module.functions if f.is_declaration and f.name.startswith((ALLOCATES, FREES))
    })  # fmt: skip


def _with_own_names(module: Module, names: Mapping[str, str]) -> bool:
    """Give functions other names; those that have these names already stand for what is only declared."""
    changed = False
    for name, own in names.items():
        if own not in module.globals:
            rename(module, {name: own})
            changed = True
        elif module.function(name).is_declaration:
            use_instead(module, {name: module.globals[own]})
            changed = True
    return changed


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


def renamed_for_rules(text: str) -> bool:
    """May a text have functions that are like others, or called as of another type?"""
    return LIKE in text or OTHER in text


def own_names_again(module: Module) -> bool:
    """Give the functions that are like others, or called as of another type, the names that other objects know."""
    names = [f.name for f in module.functions if f.name.startswith((LIKE, OTHER))]
    own = (name.removeprefix(LIKE).removeprefix(OTHER).partition(".")[2] for name in names)
    return _with_own_names(module, dict(zip(names, own, strict=True)))


def keep_calls(module: Module) -> bool:
    """Take `alwaysinline` from functions that registrations name."""
    found = read(module)
    changed = False
    for name in (*found.ruled, *found.splits, *found.like, *found.heap, *found.inactive):
        f = module.globals.get(name)
        if isinstance(f, Function) and not f.is_declaration and f.attribute("alwaysinline") is not None:
            f.attributes = tuple(a for a in f.attributes if a.name != "alwaysinline")
            changed = True
    return changed


def may_inline(text: str) -> bool:
    """May a program have functions that registrations name, and that are `alwaysinline`?"""
    return "alwaysinline" in text and (PREFIX in text or "enzyme_" in text)


def ignored(text: str) -> list[str]:
    """Functions whose registrations have no effect in IR that a compiler has optimised: it has put their bodies in the
    place of all calls, as it seems, for no code names them and nothing forbids it."""
    if "__enzyme_" not in text or not may_register(text):
        return []
    module = parse(text)
    with_names(module)
    bodies = {called for f in module.functions if not f.is_declaration for called in named(f)}
    if not any("__enzyme_" in called for called in bodies):
        return []
    found = read(module)
    return [
        word for word in dict.fromkeys((*found.ruled, *found.splits, *found.like, *found.inactive))
        if isinstance(f := module.globals.get(word), Function) and not f.is_declaration
        and f.attribute("noinline") is None and word not in bodies
    ]  # fmt: skip


def caller(f: Function, callee: Function, name: str, constant: Collection[int] = ()) -> Function:
    """A function that does nothing but call `callee`, which has the type of `f`; its rule takes some of its arguments
    for constants."""
    new = Function(name, f.function_type, [f"x{n}" for n, _ in enumerate(f.arguments)])
    for n in constant:
        new.arguments[n].attributes = (Attribute(CONSTANT, string=True),)
    b = Builder(Block("entry", new), Names(a.name for a in new.arguments))
    new._blocks.append(b.block)
    result = b.call(callee, new.arguments, "r")
    b.ret(None if result.type == VOID else result)
    return new


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
