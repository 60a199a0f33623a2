"""OpenMP in what is differentiated: each team has one thread, which OpenMP allows, so derivatives run in the caller's.

A parallel region becomes a call of the function that clang and flang made of it, work sharing gives the one thread all
iterations, a task runs where it is made, barriers and critical sections go, atomic operations are plain (`atomics`).
What runs within regions and without them as well is copied for within. The run-time library that is known here is
LLVM's (`__kmpc_…`); what has no meaning here is left, and refused by name if active floats reach it.

Outside of the regions of what is differentiated the program may run in a team of its own: queries and locks ask the
library there as they do in the program, and a construct that would divide work over a team ends the program with
`FAIL_TEAM` if there is one. Atomic operations stay atomic there.

An edit of LLVM assembly as LLVM prints it. Limits: reductions over tasks, `cancel` (which is off unless the environment
asks for it), events of detached tasks.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import count

from msgspec import Struct

from llgrad.llvm.assembly import DEFINITION, FUNCTION, NAME, plain, renamed, spelt, split_arguments, value_of
from llgrad.transforms.canonical.atomics import certain, large_access, plain_access

FAIL_TEAM = 14  # code of `llgrad_fail`
INSIDE = "llgrad.inside."  # prefix of copies for within regions
OWN = "llgrad.openmp."
THREAD = f"@{OWN}thread"  # the number of the one thread
_STATE = f"%{OWN}loop"  # what `dispatch_next` has left to give: bounds, step, whether there is anything

_DECLARED = re.compile(r"^declare [^@\n]*?(\S+) @((?:__kmpc_|omp_)\w+)\(([^\n]*?)\)[^()\n]*$", re.MULTILINE)
_CALL = re.compile(
    r"^( *)(%\S+ = |)(?:tail |notail )?(call|invoke) [^@\n]*@(__kmpc_\w+|omp_\w+)\(([^\n]*)$"
)
_ATOMIC = re.compile(r"(?: = |^ *)(?:atomicrmw|cmpxchg|(?:load|store) atomic|fence) ")
_SPEAKS = re.compile(r"@(?:__kmpc_|omp_|__atomic_)|" + _ATOMIC.pattern, re.MULTILINE)
_FORKS = {"__kmpc_fork_call": 3, "__kmpc_fork_teams": 3, "__kmpc_fork_call_if": 4}  # where what is passed on starts
_TASKS = {f"__kmpc_{n}" for n in ("omp_task", "omp_task_with_deps", "omp_task_complete_if0", "taskloop", "taskloop_5")}
_FORK = re.compile(rf"@(?:{'|'.join(_FORKS)})\(ptr [^,\n]*, i32 [^,\n]*, ptr (?:\w+ )*({NAME})")
_REGION = re.compile(r'@"?[^."].*\.omp_outlined(?:_debug__)?(?:\.\d+)?"?')  # of clang's, which may be called directly
_WISHES = re.compile(
    r'^(!\d+ = (?:distinct )?!)\{!"llvm\.loop\.(?:vectorize\.enable", i1 true|parallel_accesses", !\d+)\}', re.MULTILINE
)
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


class _Parts(Struct, frozen=True):
    """Where the functions of a program run: `inside` regions of it, and `outside`; `entered` are the regions, and
    `copied` is what runs in both and speaks of OpenMP or does something atomically, or leads to that."""

    entered: frozenset[str]
    inside: frozenset[str]
    outside: frozenset[str]
    copied: frozenset[str]


def applies(text: str) -> bool:
    """Does a text speak of OpenMP's run-time library?"""
    return "@__kmpc_" in text or "@omp_" in text


def alone(text: str) -> tuple[str, list[str], list[str]]:
    """The text with teams of one thread, the functions that are to be inlined, and all that have changed."""
    functions = {m[1]: m[0] for m in FUNCTION.finditer(text)}
    parts = _parts(text, functions)
    copies = {plain(name): f"{INSIDE}{plain(name)}" for name in parts.copied}
    within, used = parts.inside - parts.outside, dict[str, None]()
    made = [_edited(renamed(_local(functions[name]), copies), True, used) for name in functions if name in parts.copied]

    def edit(m: re.Match[str]) -> str:
        if m[1] in within:
            return _edited(renamed(m[0], copies), True, used)
        return _edited(m[0], False, used, forks=bool(parts.entered))

    changed = [name for name, body in functions.items() if _SPEAKS.search(body)]
    changed += [spelt(name) for name in copies.values()]
    text = _WISHES.sub(r"\1{}", FUNCTION.sub(edit, text))
    text = "\n".join([text, *made, *_helpers(text, used)])
    return text, sorted(map(plain, parts.entered)), list(map(plain, changed))


# --- what runs where -------------------------------------------------------------------------------------------------


def _parts(text: str, functions: dict[str, str]) -> _Parts:
    names = {f: {n for n in re.findall(NAME, body) if n in functions and n != f} for f, body in functions.items()}
    entered = {m[1] for body in functions.values() for m in _FORK.finditer(body)} & functions.keys()
    entered |= {f for f in functions if _REGION.fullmatch(f)}
    inside = _reached(entered, names)
    within = {n for f in inside for n in names[f]}
    rest = re.findall(NAME, FUNCTION.sub("", text))
    roots = {f for f, body in functions.items() if not re.match(r"define (?:internal|private) ", body)}
    roots = (roots | set(rest) | (functions.keys() - inside - within)) & functions.keys()
    outside = _reached(roots - entered, {f: found - entered for f, found in names.items()})
    users: dict[str, set[str]] = {f: set() for f in functions}
    for f, found in names.items():
        for n in found:
            users[n].add(f)
    speaking = _reached({f for f, body in functions.items() if _SPEAKS.search(body)}, users)
    return _Parts(*map(frozenset, (entered, inside, outside, inside & outside & speaking)))


def _reached(roots: Collection[str], names: dict[str, set[str]]) -> set[str]:
    found, work = set[str](), list(roots)
    while work:
        if (f := work.pop()) not in found:
            found.add(f)
            work += names[f]
    return found


def _local(body: str) -> str:
    """A definition with internal linkage, in no group."""
    head, rest = body.split("\n", 1)
    head = re.sub(r"^define (?:(?:linkonce|linkonce_odr|weak|weak_odr|internal|private|dso_local|hidden|protected) )*",
                  "define internal ", head)  # fmt: skip
    return f"{re.sub(r' comdat(?:[(][^)]*[)])?', '', head)}\n{rest}"


# --- one function ----------------------------------------------------------------------------------------------------


class _Task(Struct, frozen=True):
    """The function of a task, and the one that destroys what it has been given, if that is to be done."""

    entry: str
    destructor: str = ""


_ALLOCATED = re.compile(
    rf"^ *(%\S+) = [^\n]*@__kmpc_omp_task_alloc\(ptr [^,\n]*, i32 [^,\n]*, i32 (\d+), [^\n]*ptr (?:\w+ )*({NAME})\)",
    re.MULTILINE,
)
_DESTROYS = re.compile(rf"@__kmpc_omp_task_alloc\(|^ *store ptr ({NAME}), ptr %", re.MULTILINE)


def _made(m: re.Match[str], body: str) -> _Task | None:
    """The task that is allocated so; None where what destroys its copies is not found."""
    if not int(m[2]) & 8:
        return _Task(m[3])
    stored = _DESTROYS.search(body, m.end())
    found = stored and stored[1]
    return _Task(m[3], found) if found and "omp_task_destructor" in found else None


class _Edit(Struct, frozen=True):
    """One function being edited: does it run inside of regions, are there `forks` in the program, the `tasks` that it
    makes, by their blocks; `used` collects what calls are replaced by."""

    inside: bool
    forks: bool
    tasks: dict[str, _Task]
    used: dict[str, None]


def _edited(body: str, inside: bool, used: dict[str, None], *, forks: bool = True) -> str:
    """A function with the calls of the library replaced."""
    if not _SPEAKS.search(body):
        return body
    tasks = {m[1]: t for m in _ALLOCATED.finditer(body) if (t := _made(m, body)) is not None}
    edit, unique, lines = _Edit(inside, forks, tasks, used), count(), list[str]()
    sure = certain(body) if inside and (" = cmpxchg " in body or "@__atomic_compare" in body) else ()
    for line in body.split("\n"):
        if inside and _ATOMIC.search(line):
            lines += plain_access(line, f"%{OWN}atomic.{next(unique)}", sure)
        elif inside and "@__atomic_" in line:
            lines += large_access(line, sure)
        elif (m := _CALL.match(line)) is not None:
            lines += _call(m, edit)
        else:
            lines.append(line)
    if any(f"ptr {_STATE}" in line for line in lines):
        at = 1 if lines[1].startswith("  ") else 2  # a label
        lines.insert(at, f"  {_STATE} = alloca {{ i64, i64, i64, i32 }}, align 8")
    return "\n".join(lines)


def _call(m: re.Match[str], edit: _Edit) -> list[str]:
    """One call of the library, in the terms of one thread."""
    line, name = m[0], m[4]
    given, rest = split_arguments(m[5])
    if m[3] == "invoke" and name.startswith("__kmpc_"):
        return [line]
    if name in _FORKS:
        edit.used["thread"] = None
        words = ", ".join([f"ptr {THREAD}"] * 2 + given[_FORKS[name] :])
        return [f"{m[1]}call void {value_of(given[2])}({words}){rest}"]
    if name in _TASKS:
        return _task(m, given, rest, edit)
    if (found := _helper(name, given)) is not None:
        helper, passed, returned, divides = found
        edit.used[helper] = None
        own = f"{m[1]}{m[2]}call {returned} @{OWN}{helper}({', '.join(passed)}){rest}"
        return [*(_guard(m[1], edit) if divides else ()), own]
    outside = name in _ASKED or ("max_threads" in name and not edit.forks)
    if name not in _VALUES or (outside and not edit.inside):
        return [line]
    edit.used[f"value.{name}"] = None
    return [*(_guard(m[1], edit) if name in _DIVIDES else ()), line.replace(f"@{name}(", f"@{OWN}{name}(", 1)]


def _helper(name: str, given: list[str]) -> tuple[str, list[str], str, bool] | None:
    """The function that a call becomes one of, what it is passed and returns, and whether the call divides work."""
    m = re.fullmatch(r"__kmpc_(?:(dist_)?for_static_init|dispatch_(init|next))_([48]u?)", name)
    if m is not None and not any(a.endswith(" null") for a in given[3 if m[2] is None else 2 :]):
        if m[2] is None:
            return f"static.{m[3]}", [*given[3:6], *given[-3:-1]], "void", True
        if m[2] == "init":
            return f"begin.{m[3]}", [f"ptr {_STATE}", *given[3:6]], "void", True
        return f"next.{m[3][0]}", [f"ptr {_STATE}", *given[2:]], "i32", False
    others: dict[str, tuple[str, list[str], str, bool]] = {
        "__kmpc_omp_task_alloc": ("task", given[3:5], "ptr", False),
        "__kmpc_threadprivate_cached": ("private", given[2:3], "ptr", True),
        "__kmpc_masked": ("masked", given[2:3], "i32", True),
    }
    return others.get(name)


def _guard(space: str, edit: _Edit) -> list[str]:
    """What ends the program where a team would divide its work."""
    if edit.inside:
        return []
    edit.used["alone"] = None
    return [f"{space}call void @{OWN}alone()"]


def _task(m: re.Match[str], given: list[str], rest: str, edit: _Edit) -> list[str]:
    """A task runs at once; its block is made in the same function. What runs by itself is only ended here."""
    block, loop, alone = value_of(given[2]), "taskloop" in m[4], m[4].endswith("complete_if0")
    task = edit.tasks.get(block)
    if task is None:
        return [m[0]]
    edit.used.update(dict.fromkeys(["ended", *(["last"] if loop else [])]))
    lines = [f"{m[1]}call void @{OWN}last(ptr {block})"] if loop else []
    if not alone:
        returned = f"%{OWN}ran.{block[1:]} = " if loop else m[2]
        lines.append(f"{m[1]}{returned}call i32 {task.entry}(i32 0, ptr {block}){rest}")
    if task.destructor:
        name = f"%{OWN}destroyed.{block[1:]}{'.alone' if alone else ''}"
        lines.append(f"{m[1]}{name} = call i32 {task.destructor}(i32 0, ptr {block}){rest}")
    return [*lines, f"{m[1]}call void @{OWN}ended(ptr {block}){rest}"]


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
    "thread": f"{THREAD} = internal constant i32 0",
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


def _helpers(text: str, used: Collection[str]) -> Iterator[str]:
    """What the edited functions call, as far as the text has not got it."""
    declared = {m[2]: m for m in _DECLARED.finditer(text)}
    there = {plain(name) for _, name, _ in DEFINITION.findall(text)}
    known = there | {plain(m[1]) for m in re.finditer(rf"^declare [^@\n]*({NAME})\(", text, re.MULTILINE)}
    for helper in used:
        sort, _, which = helper.partition(".")
        name = f"{OWN}{which if sort == 'value' else helper}"
        if name in there or (helper == "thread" and f"\n{THREAD} = " in text):
            continue
        if sort == "value":
            result, types = declared[which][1], [a.split()[0] for a in split_arguments(f"{declared[which][3]})")[0]]
            parameters = ", ".join(f"{t} %{n}" for n, t in enumerate(types))
            back = "ret void" if result == "void" else f"ret {result} {_VALUES[which] or 0}"
            yield f"define internal {result} {spelt(name)}({parameters}) alwaysinline nounwind {{\n  {back}\n}}"
            continue
        form = {"static": _STATIC, "begin": _BEGIN, "next": _NEXT}.get(sort)
        t = "i64" if which[:1] == "8" else "i32"
        sign = "u" if which.endswith("u") else "s"
        flags = "" if sign == "u" else " nsw"
        body = form.format(own=OWN, sort=which, t=t, sign=sign, flags=flags) if form else _OTHERS[helper]
        kept = [line for line in body.split("\n") if not (m := re.match(rf"declare [^@]*({NAME})", line))
                or plain(m[1]) not in known]  # fmt: skip
        known |= {plain(m[1]) for line in kept if (m := re.match(rf"declare [^@]*({NAME})", line))}
        yield "\n".join(kept)
