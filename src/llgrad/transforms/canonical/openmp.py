"""OpenMP in what is differentiated: each team has one thread, which OpenMP allows, so derivatives run in the caller's.

    call void (…) @__kmpc_fork_call(ptr @loc, i32 1, ptr @f.omp_outlined, ptr %x)
    ->
    call void @f.omp_outlined(ptr @llgrad.openmp.thread, ptr @llgrad.openmp.thread, ptr %x)

A parallel region becomes a call of the function that clang and flang made of it, work sharing gives the one thread all
iterations, a task runs where it is made, barriers and critical sections go, atomic operations are plain (`atomics`).
What runs within regions and without them as well is copied for within. The run-time library that is known here is
LLVM's (`__kmpc_…`); what has no meaning here is left, and refused by name if active floats reach it.

Outside of the regions of what is differentiated the program may run in a team of its own: queries and locks ask the
library there as they do in the program, and a construct that would divide work over a team ends the program with
`FAIL_TEAM` if there is one. Atomic operations stay atomic there.

Limits: reductions over tasks, `cancel` (which is off unless the environment asks for it), events of detached tasks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from llgrad.ir.build import Builder, const_int
from llgrad.ir.module import Module
from llgrad.ir.parse import parse_function_text
from llgrad.ir.rewrite import at_start, before, called_instead, erase, local_names, replaced, with_parts
from llgrad.ir.symbols import copied, is_local, make_local, named, named_in_data
from llgrad.ir.types import I32, I64, VOID, FunctionType, StructType, Type
from llgrad.ir.values import (
    AnyConstant,
    AnyValue,
    Call,
    Constant,
    ConstInt,
    ConstNull,
    Function,
    GlobalValue,
    GlobalVariable,
    Instruction,
    Store,
)
from llgrad.transforms.canonical.atomics import WORDS, certain, is_atomic, is_large, make_plain, make_plain_call

FAIL_TEAM = 14  # code of `llgrad_fail`
INSIDE = "llgrad.inside."  # prefix of copies for within regions
OWN = "llgrad.openmp."
THREAD = f"{OWN}thread"  # the number of the one thread

LIBRARY = ("__kmpc_", "omp_")
_SPEAKS = ("@__kmpc_", "@omp_", "@__atomic_", "fence ", *WORDS)
FORKS = {"__kmpc_fork_call": 3, "__kmpc_fork_teams": 3, "__kmpc_fork_call_if": 4}  # where what is passed on starts
_TASKS = {f"__kmpc_{n}" for n in ("omp_task", "omp_task_with_deps", "omp_task_complete_if0", "taskloop", "taskloop_5")}
_REGION = re.compile(r"[^.].*\.omp_outlined(?:_debug__)?(?:\.\d+)?")  # of clang's, which may be called directly
_SHARED = re.compile(r"__kmpc_(?:(dist_)?for_static_init|dispatch_(init|next))_([48]u?)")
_WISHES = ('!{!"llvm.loop.vectorize.enable", i1 true', '!{!"llvm.loop.parallel_accesses", ')
"""What `simd` asks of LLVM, which would say that it does not do it before it differentiates; and that iterations touch
nothing in common, which is said of what is in critical sections and atomic, too."""

_ZERO = """global_thread_num omp_taskwait omp_taskyield omp_taskwait_deps_51 cancel cancellationpoint cancel_barrier"""
_ALONE = "reduce reduce_nowait single master"
_EMPTY = """for_static_fini push_num_threads push_num_teams push_proc_bind push_num_threads_strict end_reduce
end_reduce_nowait end_single end_master end_masked flush begin end serialized_parallel end_serialized_parallel
dispatch_deinit dispatch_fini_4 dispatch_fini_8 dispatch_fini_4u dispatch_fini_8u taskgroup end_taskgroup omp_wait_deps
omp_task_begin_if0 copyprivate barrier critical end_critical critical_with_hint ordered end_ordered doacross_init
doacross_fini doacross_wait doacross_post barrier_master_nowait end_barrier_master"""
_LOCKS = [f"omp_{verb}_{kind}" for verb in ("set", "unset") for kind in ("lock", "nest_lock")]
_VALUES: dict[str, int | None] = {
    **{f"__kmpc_{name}": 0 for name in _ZERO.split()},
    **{f"__kmpc_{name}": 1 for name in _ALONE.split()},
    **{f"__kmpc_{name}": None for name in _EMPTY.split()},
    **dict.fromkeys(_LOCKS),
    **{name: n for base, n in (("thread_num", 0), ("num_threads", 1), ("max_threads", 1), ("team_size", 1))
       for name in (f"omp_get_{base}", f"omp_get_{base}_")},
    **{f"omp_test_{kind}": 1 for kind in ("lock", "nest_lock")},
}  # fmt: skip
"""What functions return to the one thread of a region; they do nothing else."""

_DIVIDES = {f"__kmpc_{name}" for name in (*_ALONE.split(), "barrier", "masked")}
"""Those of them that stand for more where there is a team."""

_ASKED = {
    *_LOCKS, *(f"omp_test_{kind}" for kind in ("lock", "nest_lock")),
    *(f"omp_get_{name}{end}" for name in ("thread_num", "num_threads", "team_size") for end in ("", "_")),
    *(f"__kmpc_{name}" for name in ("critical", "end_critical", "critical_with_hint", "global_thread_num")),
}  # fmt: skip
"""Those of them that are called as ever outside of regions."""


class Parts(Struct, frozen=True):
    """Where the functions of a program run: `entered` are the regions, `inside` what runs within regions alone."""

    entered: frozenset[str]
    inside: frozenset[str]


def applies(text: str) -> bool:
    """Does a text speak of OpenMP's run-time library?"""
    return "@__kmpc_" in text or "@omp_" in text


def alone(module: Module) -> tuple[list[str], list[str]]:
    """Make teams of one thread: the functions that are to be inlined, and all that have changed."""
    parts = apart(module)
    library = Library(module)
    changed = []
    for f in [f for f in module.functions if not f.is_declaration]:
        if speaks(f):
            changed.append(f.name)
            Edit(f, library, f.name in parts.inside, bool(parts.entered)).run()
    drop_wishes(module)
    return sorted(parts.entered), changed


def drop_wishes(module: Module) -> None:
    """Take out what `simd` asks of LLVM."""
    for i, text in module.raw_metadata.items():
        if text.removeprefix("distinct ").startswith(_WISHES):
            module.raw_metadata[i] = f"{'distinct ' * text.startswith('distinct')}!{{}}"


# --- what runs where -------------------------------------------------------------------------------------------------


def apart(module: Module) -> Parts:
    """Have what runs within regions and without them as well copied for within, if it speaks of OpenMP or does
    something atomically, or leads to that."""
    functions = {f.name: f for f in module.functions if not f.is_declaration}
    names = {name: (named(f) & functions.keys()) - {name} for name, f in functions.items()}
    entered = {name for f in functions.values() if _forks(f) for name in _entered(f)} & functions.keys()
    entered |= {f for f in functions if _REGION.fullmatch(f)}
    inside = _reached(entered, names)
    within = {n for f in inside for n in names[f]}
    roots = {name for name, f in functions.items() if not is_local(f)}
    roots |= named_in_data(module) | (functions.keys() - inside - within)
    outside = _reached((roots & functions.keys()) - entered, {f: found - entered for f, found in names.items()})
    users: dict[str, set[str]] = {f: set() for f in functions}
    for f, found in names.items():
        for n in found:
            users[n].add(f)
    speaking = _reached({name for name, f in functions.items() if speaks(f)}, users)
    both = inside & outside & speaking
    copies = {functions[name]: copied(functions[name], f"{INSIDE}{name}") for name in functions if name in both}
    for copy in copies.values():
        make_local(copy)
    alone = [functions[name] for name in functions if name in inside - outside]
    for caller in (*alone, *copies.values()) if copies else ():
        _call_copies(caller, copies)
    return Parts(frozenset(entered), frozenset(f.name for f in (*alone, *copies.values())))


def _reached(roots: Iterable[str], names: dict[str, set[str]]) -> set[str]:
    found, work = set[str](), list(roots)
    while work:
        if (f := work.pop()) not in found:
            found.add(f)
            work += names[f]
    return found


def speaks(f: Function) -> bool:
    """Does a function call the library, or do something atomically?"""
    if (text := f.unread) is not None and not any(word in text for word in _SPEAKS):
        return False
    return any(is_atomic(i) or is_large(i) or called_name(i).startswith(LIBRARY) for i in f.instructions())


def called_name(i: Instruction) -> str:
    """The name of what an instruction calls; nothing where it calls nothing, or no function."""
    f = i.called_function if isinstance(i, Call) else None
    return "" if f is None else f.name


def _forks(f: Function) -> bool:
    return f.unread is None or any(name in f.unread for name in FORKS)


def _entered(f: Function) -> list[str]:
    """The regions that a function enters."""
    found = (i.operands[2] for i in f.instructions() if called_name(i) in FORKS)
    return [v.name for v in found if isinstance(v, Function)]


def _call_copies(f: Function, copies: dict[Function, Function]) -> None:
    def edit(c: AnyConstant) -> AnyConstant | None:
        return copies.get(c) if isinstance(c, Function) else None

    for i in f.instructions():
        for n, v in enumerate(i.operands):
            if isinstance(v, Constant | GlobalValue) and (new := with_parts(v, edit)) is not v:
                i.set_operand(n, new)


# --- one function ----------------------------------------------------------------------------------------------------


class _Task(Struct, frozen=True):
    """The function of a task, and the one that destroys what it has been given, if that is to be done."""

    entry: Function
    destructor: Function | None = None


def _tasks(f: Function) -> dict[AnyValue, _Task]:
    """The tasks that a function makes, by their blocks; not those whose copies are destroyed by nobody knows what."""
    made: dict[AnyValue, _Task] = {}
    instructions = list(f.instructions())
    for n, i in enumerate(instructions):
        if called_name(i) != "__kmpc_omp_task_alloc" or not isinstance(i, Call):
            continue
        flags, entry = i.arguments[2], i.arguments[-1]
        if isinstance(flags, ConstInt) and isinstance(entry, Function):
            destructor = _destructor(instructions[n + 1 :]) if flags.value & 8 else None
            if not flags.value & 8 or destructor is not None:
                made[i] = _Task(entry, destructor)
    return made


def _destructor(instructions: Iterable[Instruction]) -> Function | None:
    """The function that is stored first, before another task is made, if it destroys one's copies."""
    for i in instructions:
        if called_name(i) == "__kmpc_omp_task_alloc":
            return None
        if isinstance(i, Store) and isinstance(i.value, GlobalValue):
            return i.value if isinstance(i.value, Function) and "omp_task_destructor" in i.value.name else None
    return None


class Edit:
    """One function being edited: does it run inside of regions, are there `forks` in the program?"""

    def __init__(self, f: Function, library: Library, inside: bool, forks: bool) -> None:
        self.f, self.library, self.inside, self.forks = f, library, inside, forks
        self.names, self.tasks = local_names(f), _tasks(f)
        self.state: AnyValue | None = None  # what `dispatch_next` has left to give: bounds, step, is there anything

    def run(self) -> None:
        sure = certain(self.f) if self.inside else set()
        for i in list(self.f.instructions()):
            if self.inside and is_atomic(i):
                make_plain(i, self.names, sure)
            elif isinstance(i, Call) and self.inside and is_large(i):
                make_plain_call(i, self.names, sure)
            elif isinstance(i, Call) and called_name(i).startswith(LIBRARY):
                self._call(i, called_name(i))

    def _call(self, call: Call, name: str) -> None:
        """One call of the library, in the terms of one thread."""
        if call.opcode == "invoke" and name.startswith("__kmpc_"):
            return
        b = before(call, self.names)
        if name in FORKS:
            thread = self.library.thread()
            given = range(FORKS[name], call.arity)
            instead(call, call.arguments[2], VOID, [thread, thread], given)
        elif name in _TASKS:
            self._task(call, name, b)
        elif not self._helped(call, name, b):
            asked = name in _ASKED or ("max_threads" in name and not self.forks)
            if name in _VALUES and (self.inside or not asked):
                if name in _DIVIDES:
                    self._guard(b)
                call.set_operand(call.arity, self.library.value(call.called_function, name))

    def _helped(self, call: Call, name: str, b: Builder) -> bool:
        """Does a call become one of a function of llgrad's?"""
        m = _SHARED.fullmatch(name)
        n = call.arity
        if m is not None and not any(isinstance(v, ConstNull) for v in call.arguments[3 if m[2] is None else 2 :]):
            if m[2] is None:
                helper, given, divides = f"static.{m[3]}", [3, 4, 5, n - 3, n - 2], True
            elif m[2] == "init":
                helper, given, divides = f"begin.{m[3]}", [3, 4, 5], True
            else:
                helper, given, divides = f"next.{m[3][0]}", list(range(2, n)), False
        elif name in _HELPERS:
            helper, given, divides = _HELPERS[name]
        else:
            return False
        if divides:
            self._guard(b)
        f = self.library.function(helper)
        first = [self._state()] if helper.startswith(("begin.", "next.")) else []
        new = instead(call, f, f.function_type.result, first, given)
        if (task := self.tasks.pop(call, None)) is not None:  # its block is this value now
            self.tasks[new] = task
        return True

    def _state(self) -> AnyValue:
        if self.state is None:
            self.state = at_start(self.f, self.names).alloca(StructType((I64, I64, I64, I32)), f"{OWN}loop", 8)
        return self.state

    def _guard(self, b: Builder) -> None:
        """End the program where a team would divide its work."""
        if not self.inside:
            b.call(self.library.function("alone"), [])

    def _task(self, call: Call, name: str, b: Builder) -> None:
        """A task runs at once; its block is made in the same function. What runs by itself is only ended here."""
        block, loop = call.arguments[2], "taskloop" in name
        task = self.tasks.get(block)
        if task is None:
            return
        if loop:
            b.call(self.library.function("last"), [block])
        zero = const_int(I32, 0)
        ran: AnyValue = zero
        if not name.endswith("complete_if0"):
            ran = _run(b, task.entry, [zero, block], call)
        if task.destructor is not None:
            _run(b, task.destructor, [zero, block], call)
        _run(b, self.library.function("ended"), [block], call)
        erase(call) if call.type == VOID else replaced(call, ran)


def instead(call: Call, callee: AnyValue, result: Type, first: list[AnyValue], given: Iterable[int]) -> Call:
    """Call `callee` with `first` and those of the call's arguments that are `given`."""
    passed = [(call.arguments[n], call.argument_attributes[n]) for n in given]
    values, said = [*first, *(v for v, _ in passed)], [*(() for _ in first), *(words for _, words in passed)]
    return called_instead(call, callee, values, said, result=result)


def _run(b: Builder, f: Function, given: list[AnyValue], call: Call) -> AnyValue:
    """Call `f` as `call` is one."""
    result = f.function_type.result if f.name.startswith(OWN) else I32
    new = Call(FunctionType(result, tuple(v.type for v in given)), f, given)
    new.attributes = call.attributes
    return b.insert(new, f"{OWN}ran")


# --- what stands for the library -------------------------------------------------------------------------------------

_STATIC = """define internal void @{own}static.{sort}(
  ptr %last, ptr %lower, ptr %upper, ptr %stride, {t} %step
) alwaysinline nounwind {{
  %from = load {t}, ptr %lower
  %to = load {t}, ptr %upper
  %up = icmp sgt {t} %step, 0
  %ahead = icmp {sign}le {t} %from, %to
  %back = icmp {sign}ge {t} %from, %to
  %some = select i1 %up, i1 %ahead, i1 %back
  %is = zext i1 %some to i32
  store i32 %is, ptr %last
  %way = sub{flags} {t} %to, %from
  %one = select i1 %up, {t} 1, {t} -1
  %all = add{flags} {t} %way, %one
  store {t} %all, ptr %stride
  ret void
}}"""
_BEGIN = """define internal void @{own}begin.{sort}(ptr %loop, {t} %from, {t} %to, {t} %step) alwaysinline nounwind {{
  %up = icmp sgt {t} %step, 0
  %ahead = icmp {sign}le {t} %from, %to
  %back = icmp {sign}ge {t} %from, %to
  %some = select i1 %up, i1 %ahead, i1 %back
  %is = zext i1 %some to i32
  store {t} %from, ptr %loop
  %second = getelementptr i8, ptr %loop, i64 8
  store {t} %to, ptr %second
  %third = getelementptr i8, ptr %loop, i64 16
  store {t} %step, ptr %third
  %fourth = getelementptr i8, ptr %loop, i64 24
  store i32 %is, ptr %fourth
  ret void
}}"""
_NEXT = """define internal i32 @{own}next.{sort}(
  ptr %loop, ptr %last, ptr %lower, ptr %upper, ptr %stride
) alwaysinline nounwind {{
  %fourth = getelementptr i8, ptr %loop, i64 24
  %is = load i32, ptr %fourth
  store i32 0, ptr %fourth
  %from = load {t}, ptr %loop
  store {t} %from, ptr %lower
  %second = getelementptr i8, ptr %loop, i64 8
  %to = load {t}, ptr %second
  store {t} %to, ptr %upper
  %third = getelementptr i8, ptr %loop, i64 16
  %step = load {t}, ptr %third
  store {t} %step, ptr %stride
  %was = load i32, ptr %last
  %now = or i32 %was, %is
  store i32 %now, ptr %last
  ret i32 %is
}}"""
_OTHERS = {
    "alone": f"""declare i32 @omp_in_parallel()
declare void @llgrad_fail(i32, ptr)
define internal void @{OWN}alone() nounwind {{
  %team = call i32 @omp_in_parallel()
  %is = icmp eq i32 %team, 0
  br i1 %is, label %good, label %bad
bad:
  call void @llgrad_fail(i32 {FAIL_TEAM}, ptr null)
  unreachable
good:
  ret void
}}""",
    "task": f"""declare ptr @malloc(i64)
define internal ptr @{OWN}task(i64 %size, i64 %shared) alwaysinline nounwind {{
  %more = add i64 %size, 7
  %up = and i64 %more, -8
  %all = add i64 %up, %shared
  %block = call ptr @malloc(i64 %all)
  %at = getelementptr i8, ptr %block, i64 %up
  store ptr %at, ptr %block
  %part = getelementptr i8, ptr %block, i64 16
  store i32 0, ptr %part
  ret ptr %block
}}""",
    "ended": f"""declare void @free(ptr)
define internal void @{OWN}ended(ptr %block) alwaysinline nounwind {{
  call void @free(ptr %block)
  ret void
}}""",
    "last": f"""define internal void @{OWN}last(ptr %block) alwaysinline nounwind {{
  %at = getelementptr i8, ptr %block, i64 64
  store i32 1, ptr %at
  ret void
}}""",
    "private": f"""define internal ptr @{OWN}private(ptr %data) alwaysinline nounwind {{
  ret ptr %data
}}""",
    "masked": f"""define internal i32 @{OWN}masked(i32 %filter) alwaysinline nounwind {{
  %is = icmp eq i32 %filter, 0
  %one = zext i1 %is to i32
  ret i32 %one
}}""",
}


_HELPERS = {
    "__kmpc_omp_task_alloc": ("task", [3, 4], False),
    "__kmpc_threadprivate_cached": ("private", [2], True),
    "__kmpc_masked": ("masked", [2], True),
}  # fmt: skip
"""What else calls are of: the function, which arguments it takes, and does the call divide work?"""


class Library:
    """What the edited functions call, entered into the module when it is asked for."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def thread(self) -> GlobalValue:
        if THREAD not in self.module.globals:
            number = GlobalVariable(THREAD, I32, const_int(I32, 0), constant=True)
            self.module.add(number).linkage = "internal"
        return self.module.globals[THREAD]

    def function(self, helper: str) -> Function:
        if f"{OWN}{helper}" not in self.module.globals:
            sort, _, which = helper.partition(".")
            form = {"static": _STATIC, "begin": _BEGIN, "next": _NEXT}.get(sort)
            t = "i64" if which[:1] == "8" else "i32"
            sign = "u" if which.endswith("u") else "s"
            flags = "" if sign == "u" else " nsw"
            body = form.format(own=OWN, sort=which, t=t, sign=sign, flags=flags) if form else _OTHERS[helper]
            parse_function_text(self.module, body)
        return self.module.function(f"{OWN}{helper}")

    def value(self, f: Function | None, name: str) -> Function:
        """The function that returns what the library's does to one thread."""
        assert f is not None
        if f"{OWN}{name}" not in self.module.globals:
            t = f.function_type
            given = ", ".join(f"{p} %{n}" for n, p in enumerate(t.params))
            back = "ret void" if t.result == VOID else f"ret {t.result} {_VALUES[name] or 0}"
            head = f"define internal {t.result} @{OWN}{name}({given}) alwaysinline nounwind"
            parse_function_text(self.module, f"{head} {{\n  {back}\n}}\n")
        return self.module.function(f"{OWN}{name}")
