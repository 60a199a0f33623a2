"""OpenMP's parallel regions as calls that a team makes, so that their derivatives are parallel regions again.

    call void (…) @__kmpc_fork_call(ptr @loc, i32 1, ptr @f.omp_outlined, ptr %x)
    ->
    call void @f.omp_outlined(ptr @llgrad.openmp.thread, ptr @llgrad.openmp.thread, ptr %x)
    define internal void @f.omp_outlined(…) noinline "llgrad.fork"

A call of a function with the attribute `llgrad.fork` is made by each thread of a new team. All passes and analyses see
a plain call of a plain function. The derivative of such a function has the attribute, too; the last step makes calls of
these functions regions again (`canonical.forks`).

The constructs inside become calls of `llgrad.team.…`, which take and return values:

    call void @__kmpc_for_static_init_4(…, i32 34, ptr %last, ptr %lower, ptr %upper, ptr %stride, i32 1, i32 1)
    ->
    %0 = load i32, ptr %last …
    %1 = call { i32, i32, i32, i32 } @llgrad.team.static.4(i32 34, i32 %0, …)      ; of this thread
    %2 = extractvalue { i32, i32, i32, i32 } %1, 0
    store i32 %2, ptr %last …

Sums of a reduction, and atomic operations, are made under a lock. `form` raises UnsupportedError, which says why, where
a program has what this does not know: it is to run in one thread then (`canonical.openmp`).
"""

from __future__ import annotations

from llgrad.errors import UnsupportedError
from llgrad.ir.build import Builder, const_int, declare
from llgrad.ir.module import Module
from llgrad.ir.rewrite import after, before, erase, local_names, replaced
from llgrad.ir.symbols import globals_in, named
from llgrad.ir.types import I32, I64, PTR, VOID, FloatType, FunctionType, IntType, StructType, Type
from llgrad.ir.values import (
    Alloca,
    AnyValue,
    Attribute,
    Block,
    Call,
    Cast,
    ConstNull,
    Function,
    InlineAsm,
    Instruction,
    Load,
    Store,
    Switch,
    Value,
)
from llgrad.transforms.canonical import openmp
from llgrad.transforms.canonical.atomics import is_atomic, is_large, make_plain
from llgrad.transforms.canonical.openmp import Edit, Library, apart, called_name, drop_wishes, instead, speaks

FORK = "llgrad.fork"  # attribute of functions whose calls a team makes
TEAM = "llgrad.team."  # prefix of the constructs within
PUSH = f"{TEAM}push"  # how many threads the next team has; 0 says nothing

_LOOPS = {
    f"__kmpc_{name}_{sort}": (verb, sort)
    for name, verb in (("for_static_init", "static"), ("dispatch_init", "begin"), ("dispatch_next", "next"),
                       ("dispatch_fini", "fini"))
    for sort in ("4", "4u", "8", "8u")
}  # fmt: skip
_REDUCES = ("__kmpc_reduce", "__kmpc_reduce_nowait")
_GONE = {f"__kmpc_{name}" for name in ("for_static_fini", "end_master", "end_masked", "begin", "end")}
_CALLS: dict[str, tuple[str, Type, tuple[int, ...]]] = {
    "__kmpc_barrier": ("barrier", VOID, ()),
    "__kmpc_single": ("single", I32, ()),
    "__kmpc_end_single": ("end_single", VOID, ()),
    "__kmpc_master": ("master", I32, ()),
    "__kmpc_masked": ("masked", I32, (2,)),
    "__kmpc_critical": ("critical", VOID, (2,)),
    "__kmpc_critical_with_hint": ("critical", VOID, (2,)),
    "__kmpc_end_critical": ("end_critical", I64, (2,)),
    "__kmpc_ordered": ("ordered", VOID, ()),
    "__kmpc_end_ordered": ("end_ordered", I64, ()),
    "__kmpc_dispatch_deinit": ("deinit", VOID, ()),
    "__kmpc_global_thread_num": ("thread", I32, ()),
}
"""What constructs are called, what they return, and which of the library's arguments they take."""

MIRRORED = frozenset({"barrier", "critical", "end_critical", "ordered", "end_ordered", "lock", "unlock"})
"""Those that the reverse sweep has, too, from the last one on: what ends a section returns the number of that end among
all of the team, and the reverse sweep waits for its turn there."""

ALONE = frozenset({"static.4", "static.4u", "static.8", "static.8u", "master", "masked", "thread"})
"""Those that only say what the thread's part is."""

HIDDEN = frozenset(f"{verb}.{sort}" for verb in ("begin", "next", "fini") for sort in ("4", "4u", "8", "8u"))
"""Those that touch memory of the library's alone."""


def form(module: Module) -> tuple[list[str], list[str]]:
    """Make the regions of a program calls that teams make: what is to be inlined into them, and all that have changed.

    Raises UnsupportedError where a construct is not known; the module is useless then.
    """
    parts = apart(module)
    library = Library(module)
    functions = [f for f in module.functions if not f.is_declaration]
    opened = {n for f in functions if f.name not in parts.inside for n in named(f)} & parts.entered
    for name in parts.entered:
        _float_arguments(module, module.function(name))
    changed = []
    for f in functions:
        inside = f.name in parts.inside
        if inside:
            _refuse_unknown(f)
        if inside or speaks(f):
            changed.append(f.name)
            (_Inside if inside else _Outside)(f, library, inside, forks=False).run()  # teams are as large as ever
    for f in map(module.function, opened):
        others = tuple(a for a in f.attributes if a.name not in ("alwaysinline", "noinline", "inlinehint"))
        f.attributes = (*others, Attribute("noinline"), Attribute(FORK, string=True))
    drop_wishes(module)
    return sorted(parts.entered - opened), changed


def is_fork(f: Function | None) -> bool:
    """Is a call of this function made by each thread of a team?"""
    return f is not None and f.attribute(FORK) is not None


def refuse(what: str, i: Instruction | None = None) -> UnsupportedError:
    """The error that says what is not known of a region's derivative."""
    found = UnsupportedError(f"{what} in a parallel region")
    if i is not None and i.block.function is not None and (module := i.block.function.module) is not None:
        found.span = module.span(i)
    return found


def _met(f: Function) -> list[Instruction]:
    """The instructions that run, where a reduction is made under a lock: the library could ask for other ways."""
    found, work = dict[Block, None](), [f.entry]
    while work:
        if (block := work.pop()) in found:
            continue
        found[block] = None
        end = block.terminator
        if isinstance(end, Switch) and isinstance(c := end.condition, Call) and called_name(c) in _REDUCES:
            work += [t for v, t in zip(end.values, end.targets[1:], strict=True) if v.value == 1]
        else:
            work += block.successors()
    return [i for block in f.blocks if block in found for i in block.instructions]


def _refuse_unknown(f: Function) -> None:
    for i in _met(f):
        if isinstance(i, Call) and i.called_function is None and not isinstance(i.callee, InlineAsm):
            raise refuse("a call through a pointer", i)
        if i.opcode == "invoke" and called_name(i).startswith(openmp.LIBRARY):
            raise refuse("a construct that may throw", i)
        for v in i.operands:
            for g in globals_in(v):
                if any(word.startswith("thread_local") for word in g.prefix):
                    raise refuse(f"the thread's own variable {g.name}", i)


class _Outside(Edit):
    """Code outside of regions, which opens teams."""

    def _call(self, call: Call, name: str) -> None:
        b = before(call, self.names)
        match name:
            case "__kmpc_fork_call" | "__kmpc_fork_call_if" if call.opcode == "call":
                if name.endswith("_if"):
                    alone = b.icmp("eq", call.arguments[3], const_int(I32, 0))
                    self._push(b, b.select(alone, const_int(I32, 1), const_int(I32, 0)))
                thread = self.library.thread()
                instead(call, call.arguments[2], VOID, [thread, thread], range(openmp.FORKS[name], call.arity))
            case "__kmpc_push_num_threads":
                self._push(b, call.arguments[2])
                erase(call)
            case "__kmpc_serialized_parallel":
                self._push(b, const_int(I32, 1))
                erase(call)
            case "__kmpc_end_serialized_parallel":
                erase(call)
            case "__kmpc_fork_call" | "__kmpc_fork_call_if" | "__kmpc_fork_teams":
                raise refuse(f"{name}", call)
            case _:
                super()._call(call, name)

    def _push(self, b: Builder, count: AnyValue) -> None:
        b.call(declared(self.library.module, "push", VOID, [I32]), [count])


class _Inside(Edit):
    """Code within regions."""

    def run(self) -> None:
        for i in _met(self.f):
            if is_large(i) or i.opcode == "cmpxchg":
                raise refuse("an atomic exchange", i)
            if i.opcode == "fence":
                raise refuse("a fence", i)
            if is_atomic(i):
                self._atomic(i)
            elif isinstance(i, Call) and called_name(i).startswith(openmp.LIBRARY):
                self._call(i, called_name(i))

    def _atomic(self, i: Instruction) -> None:
        """An atomic operation becomes a plain one under the lock of all of them."""
        b = before(i, self.names)
        b.call(declared(self.library.module, "lock", VOID, []), [])
        after(i, self.names).call(declared(self.library.module, "unlock", I64, []), [])
        make_plain(i, self.names, set())

    def _call(self, call: Call, name: str) -> None:
        b, module = before(call, self.names), self.library.module
        if name in _GONE:
            erase(call)
        elif name in _CALLS:
            made, result, which = _CALLS[name]
            given = [call.arguments[n] for n in which]
            self._put(call, b.call(declared(module, made, result, [v.type for v in given]), given))
        elif name in _REDUCES:
            b.call(declared(module, "critical", VOID, [PTR]), [call.arguments[-1]])
            replaced(call, const_int(I32, 1))
        elif name in ("__kmpc_end_reduce", "__kmpc_end_reduce_nowait"):
            b.call(declared(module, "end_critical", I64, [PTR]), [call.arguments[2]])
            if not name.endswith("nowait"):
                b.call(declared(module, "barrier", VOID, []), [])
            erase(call)
        elif name in _LOOPS:
            self._loop(call, b, *_LOOPS[name])
        elif name.startswith("__kmpc_"):
            raise refuse(name, call)

    def _put(self, call: Call, made: AnyValue) -> None:
        erase(call) if call.type == VOID else replaced(call, made)

    def _loop(self, call: Call, b: Builder, verb: str, sort: str) -> None:
        """The bounds are values that the construct takes and returns."""
        name, given = f"{verb}.{sort}", call.arguments[2:]
        if verb == "next":
            replaced(call, self._in_values(call, b, name, [], given, [], 1))
            return
        if verb == "static":
            self._in_values(call, b, name, given[:1], given[1:5], given[5:], 0)
        else:
            b.call(declared(self.library.module, name, VOID, [v.type for v in given]), given)
        erase(call)

    def _in_values(
        self, call: Call, b: Builder, name: str, first: list[AnyValue], places: list[AnyValue], rest: list[AnyValue],
        before: int,
    ) -> AnyValue:  # fmt: skip
        """Call a construct with what is in memory, and store what it returns, behind `before` other results."""
        if any(isinstance(p, ConstNull) for p in places):
            raise refuse("a loop whose bounds nobody reads", call)
        t = I64 if name.rpartition(".")[2][0] == "8" else I32
        types: list[Type] = [I32, t, t, t]
        had = [b.load(u, p, "", 4) for u, p in zip(types, places, strict=True)]
        given = [*first, *had, *rest]
        results = StructType((*[I32] * before, *types))
        found = b.call(declared(self.library.module, name, results, [v.type for v in given]), given)
        for n, p in enumerate(places):
            b.store(b.extract(found, before + n), p, 4)
        return b.extract(found, 0)


def declared(module: Module, name: str, result: Type, params: list[Type]) -> Function:
    """A construct, with what LLVM may know of it."""
    f = declare(module, f"{TEAM}{name}", result, params)
    if not f.attributes:
        said = [Attribute("nounwind")]
        if name in ALONE:
            said += [Attribute("willreturn"), Attribute("memory", "none")]
        elif name in HIDDEN:
            said += [Attribute("memory", "inaccessiblemem: readwrite")]
        f.attributes = tuple(said)
    return f


def _float_arguments(module: Module, f: Function) -> None:
    """Floats that a region is passed in integers are passed as floats.

        define internal void @f.omp_outlined(…, i64 %k)  ->  define internal void @f.omp_outlined(…, double %k)
    """
    assert f.blocks is not None  # reads the body, and so its uses
    types = {a.index: t for a in f.arguments if a.type == I64 and (t := _read_as(a)) is not None}
    if not types:
        return
    told = dict[str, str]()  # of debug info
    for a in f.arguments:
        if a.index in types:
            a.type, a.attributes = types[a.index], ()
            halves = [u for u in a.users if isinstance(u, Cast) and u.opcode == "trunc"]
            for cast in _casts(a):
                replaced(cast, a)
            for half in halves:
                erase(half)
            told[f"(i64 %{a.name},"] = f"({a.type} %{a.name},"
    for i in f.instructions() if told else ():
        i.debug_records = tuple(_with(told, line) for line in i.debug_records)
    f.value_type = FunctionType(f.function_type.result, tuple(a.type for a in f.arguments))
    for g in [g for g in module.functions if not g.is_declaration]:
        if (text := g.unread) is not None and f.name not in text:
            continue
        for i in list(g.instructions()):
            if isinstance(i, Call) and (n := _passed_from(i, f)) is not None:
                _pass_floats(i, {index - 2 + n: t for index, t in types.items()})
            elif isinstance(i, Call) and i.called_function is f:
                _pass_floats(i, types)
                i.function_type = f.function_type


def _with(told: dict[str, str], line: str) -> str:
    for old, new in told.items():
        line = line.replace(old, new)
    return line


def _passed_from(i: Call, f: Function) -> int | None:
    """Where a call that opens a region of this function passes what the function gets."""
    at = openmp.FORKS.get(called_name(i))
    return at if at is not None and i.arguments[2] is f else None


def _pass_floats(i: Call, types: dict[int, FloatType]) -> None:
    assert i.block.function is not None
    b = before(i, local_names(i.block.function))
    for n, t in types.items():
        v = i.arguments[n]
        if isinstance(v, Load):
            i.set_operand(n, before(v, b.names).load(t, v.pointer, "", 4))
        else:
            bits = v if t.bits == 64 else b.cast("trunc", v, IntType(t.bits))
            i.set_operand(n, b.cast("bitcast", bits, t))
        i.argument_attributes[n] = ()


def _read_as(a: Value) -> FloatType | None:
    """The float that an integer argument holds: it is kept in a variable that is read as one, and nothing else."""
    cast_to = {c.type for c in _casts(a)}
    if len(cast_to) == 1 and isinstance(t := cast_to.pop(), FloatType) and len(_casts(a)) == len(_parts(a)):
        return t
    if len(a.users) != 1 or not isinstance(store := a.users[0], Store) or not isinstance(store.pointer, Alloca):
        return None
    reads = [u for u in store.pointer.users if u is not store and not _is_lifetime(u)]
    types = {u.type for u in reads if isinstance(u, Load)}
    if len(types) != 1 or not isinstance(t := types.pop(), FloatType) or t.bits > 64:
        return None
    return t if all(isinstance(u, Load | Store) and _pointer(u) is store.pointer for u in reads) else None


def _parts(a: Value) -> list[Instruction]:
    """The users of an integer, or of its lower half."""
    return [v for u in a.users for v in (u.users if isinstance(u, Cast) and u.opcode == "trunc" else [u])]


def _casts(a: Value) -> list[Cast]:
    """Where an integer, or its lower half, becomes a float again."""
    return [u for u in _parts(a) if isinstance(u, Cast) and u.opcode == "bitcast" and isinstance(u.type, FloatType)]


def _pointer(i: Load | Store) -> AnyValue:
    return i.pointer


def _is_lifetime(i: Instruction) -> bool:
    return called_name(i).startswith("llvm.lifetime.")
