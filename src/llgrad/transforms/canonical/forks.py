"""Calls that a team makes become parallel regions of OpenMP again, and a team's constructs calls of its library.

    call void @f.omp_outlined(ptr %x, double %k)                              ; "llgrad.fork"
    ->
    call void @f.omp_outlined.forked(ptr %x, double %k)

    define internal void @f.omp_outlined.forked(ptr %a.0, double %a.1) {
      store ptr %a.0, ptr %pack …
      call void @llgrad.team.fork(ptr @f.omp_outlined.team, ptr %pack)        ; which calls @__kmpc_fork_call
      ret void
    }
    define internal void @f.omp_outlined.team(ptr %thread, ptr %bound, ptr %pack) {
      %a.0 = load ptr, ptr %pack …
      call void @f.omp_outlined(ptr %a.0, double %a.1)
      ret void
    }

The last of the passes over what llgrad wrote: until then these are plain calls (`canonical.teams`).

Of the two sweeps of a region, the forward one (`"llgrad.fork"="AUGMENTED"`) returns a block of the caller's tape, which
has the arena and the frame of each thread. The reverse one opens a team of as many threads, each of which takes its own
from there. The adjoints that threads return are summed in the order of the threads. `runtime/arena/team.h` has what is
called.
"""

from __future__ import annotations

from llgrad.ir.module import Module
from llgrad.ir.parse import parse_function_text
from llgrad.ir.rewrite import bodies, calling
from llgrad.ir.types import VOID, ArrayType, StructType, Type, is_float
from llgrad.ir.values import Call, Function
from llgrad.ir.write_values import encode_name
from llgrad.llvm.assembly import joined
from llgrad.transforms.canonical.teams import FORK, TEAM, is_fork
from llgrad.transforms.pass_manager import IR, Unit


def concerns(text: str) -> bool:
    """Is there anything of a team in a text?"""
    return FORK in text or TEAM in text


def forked(unit: Unit, _: object) -> bool:
    """Make teams of the calls that are marked; constructs get bodies."""
    if not unit.concerns(concerns):
        return False
    module = unit.ir()
    functions = [f for f in module.functions if is_fork(f)]
    for f in functions:
        _fork(module, f)
    unit.changed(IR)
    declared = [f.name.removeprefix(TEAM) for f in module.functions if f.is_declaration and f.name.startswith(TEAM)]
    if loops := sorted(name for name in declared if name.startswith(("static.", "next."))):
        unit.put(joined([unit.text(), _HERE, *map(_loop, loops)]))
    return True


def _fork(module: Module, f: Function) -> None:
    """Call a function that opens a team, each of whose threads calls `f`, in the place of `f`."""
    mark = f.attribute(FORK)
    f.attributes = tuple(a for a in f.attributes if a.name not in (FORK, "noinline"))
    callers = bodies(module, *calling(f.name))
    calls = [i for g in callers for i in g.instructions() if isinstance(i, Call) and i.called_function is f]
    if f.is_declaration or not calls:
        return
    for text in _texts(f, str(mark.value if mark is not None else "")):
        parse_function_text(module, _with_declarations(text))
    opens = module.function(f"{f.name}.forked")
    for i in calls:
        i.set_operand(i.arity, opens)
        i.calling_convention, i.tail = "", ""
        i.attributes = tuple(a for a in i.attributes if a.name == "nounwind")  # the rest was said of a plain call
        i.argument_attributes = [() for _ in i.arguments]


def _with_declarations(text: str) -> str:
    """The text with declarations of what of llgrad's runtime it calls."""
    return "\n".join([text, *(known for name, known in _RUNTIME.items() if f"@{name}(" in text)])


_RUNTIME = {
    f"{TEAM}fork": f"declare void @{TEAM}fork(ptr, ptr)",
    f"{TEAM}push": f"declare void @{TEAM}push(i32)",
    f"{TEAM}enter": f"declare ptr @{TEAM}enter(ptr, ptr)",
    f"{TEAM}leave": f"declare void @{TEAM}leave(ptr, ptr)",
    f"{TEAM}again": f"declare ptr @{TEAM}again(ptr)",
    f"{TEAM}frame": f"declare ptr @{TEAM}frame(ptr)",
    f"{TEAM}number": f"declare i32 @{TEAM}number()",
    f"{TEAM}done": f"declare void @{TEAM}done(ptr)",
    f"{TEAM}check": f"declare void @{TEAM}check(ptr)",
    "llgrad.tape.release": "declare void @llgrad.tape.release(ptr, ptr)",
}


def _texts(f: Function, mode: str) -> tuple[str, str]:
    """What each thread runs, and what opens the team, by the mode of the derivative (see `runtime/arena/team.h`)."""
    types, result = [str(a.type) for a in f.arguments], f.function_type.result
    names, count = [f"%a.{n}" for n in range(len(types))], len(types)
    more = ["ptr"] if mode in ("AUGMENTED", "REVERSE") else []
    pack, last = f"{{ {', '.join([*types, *more, 'i1'])} }}", f"%at.{count}"
    places = [f"  %at.{n} = getelementptr {pack}, ptr %pack, i32 0, i32 {n}" for n in range(count + len(more))]
    run = [*places, *(f"  %a.{n} = load {t}, ptr %at.{n}" for n, t in enumerate(types))]
    opens = [f"  %pack = alloca {pack}", *places, *(f"  store {t} %a.{n}, ptr %at.{n}" for n, t in enumerate(types))]
    fork = f"  call void @{TEAM}fork(ptr @{encode_name(f.name + '.team')}, ptr %pack)"

    def called(given: list[str]) -> str:
        passed = ", ".join(f"{t} {v}" for t, v in zip(types, given, strict=True))
        made = "%made = " if result != VOID else ""
        return f"  {made}call {f.calling_convention} {result} @{encode_name(f.name)}({passed})"

    match mode:
        case "AUGMENTED":
            run += [
                f"  %own = call ptr @{TEAM}enter(ptr %a.0, ptr {last})", called(["%own", *names[1:]]),
                f"  %frame = extractvalue {result} %made, 0", f"  call void @{TEAM}leave(ptr {last}, ptr %frame)",
            ]  # fmt: skip
            opens += [
                f"  store ptr null, ptr {last}", fork, f"  %block = load ptr, ptr {last}",
                f"  %made = insertvalue {result} poison, ptr %block, 0", f"  ret {result} %made",
            ]  # fmt: skip
        case "REVERSE":
            run += [
                f"  %own = call ptr @{TEAM}again(ptr {names[-1]})", "  %is = icmp ne ptr %own, null",
                "  br i1 %is, label %run, label %end", "run:", f"  %frame = call ptr @{TEAM}frame(ptr {names[-1]})",
                called(["%own", *names[1:-1], "%frame"]),
            ]  # fmt: skip
            if result != VOID:
                run += [
                    f"  %results = load ptr, ptr {last}", f"  %number = call i32 @{TEAM}number()",
                    f"  %slot = getelementptr {result}, ptr %results, i32 %number",
                    f"  store {result} %made, ptr %slot",
                ]  # fmt: skip
            run += [f"  call void @{TEAM}done(ptr {names[-1]})", "  br label %end", "end:"]
            opens += _reversed(result, names[-1], last, fork)
        case _:
            run.append(called(names))
            opens += [fork, "  ret void"]
    head = f"define internal void @{encode_name(f.name + '.team')}(ptr %thread, ptr %bound, ptr %pack) nounwind {{"
    given = ", ".join(f"{t} {v}" for t, v in zip(types, names, strict=True))
    outer = f"define internal {result} @{encode_name(f.name + '.forked')}({given}) nounwind {{"
    return "\n".join([head, "entry:", *run, "  ret void", "}"]), "\n".join([outer, "entry:", *opens, "}"])


def _reversed(result: Type, block: str, place: str, fork: str) -> list[str]:
    """A team of as many threads as before; the adjoints of arguments are summed in the order of the threads."""
    lines = [f"  %count = load i64, ptr {block}", "  %threads = trunc i64 %count to i32"]
    lines += [f"  call void @{TEAM}push(i32 %threads)"]
    if result != VOID:
        lines += [f"  %results = alloca {result}, i64 %count", f"  store ptr %results, ptr {place}"]
    lines += [fork, f"  call void @{TEAM}check(ptr {block})"]
    released = f"  call void @llgrad.tape.release(ptr %a.0, ptr {block})"
    if result == VOID:
        return [*lines, released, "  ret void"]
    lines += [
        f"  %first = load {result}, ptr %results", "  br label %head", "head:",
        "  %n = phi i64 [ 1, %entry ], [ %next, %body ]",
        f"  %sum = phi {result} [ %first, %entry ], [ %total, %body ]",
        "  %more = icmp ult i64 %n, %count", "  br i1 %more, label %body, label %end", "body:",
        f"  %slot = getelementptr {result}, ptr %results, i64 %n", f"  %one = load {result}, ptr %slot",
    ]  # fmt: skip
    whole, floats = "%sum", _floats(result)
    for n, (path, t) in enumerate(floats):
        at, made = ", ".join(map(str, path)), "%total" if n == len(floats) - 1 else f"%whole.{n}"
        lines += [f"  %had.{n} = extractvalue {result} %sum, {at}", f"  %more.{n} = extractvalue {result} %one, {at}"]
        lines.append(f"  %float.{n} = fadd {t} %had.{n}, %more.{n}")
        lines.append(f"  {made} = insertvalue {result} {whole}, {t} %float.{n}, {at}")
        whole = made
    return [*lines, "  %next = add i64 %n, 1", "  br label %head", "end:", released, f"  ret {result} %sum"]


def _floats(t: Type, path: tuple[int, ...] = ()) -> list[tuple[tuple[int, ...], Type]]:
    """The floats of an aggregate, or vectors of them."""
    match t:
        case StructType(fields) if fields is not None:
            return [x for n, u in enumerate(fields) for x in _floats(u, (*path, n))]
        case ArrayType(element, count):
            return [x for n in range(count) for x in _floats(element, (*path, n))]
    return [(path, t)] if is_float(t) else []

# --- loops: the library looks for their bounds in memory -------------------------------------------------------------

_IDENT = "{ i32, i32, i32, i32, ptr }"
_HERE = f"""@{TEAM}source = linkonce_odr hidden unnamed_addr constant [23 x i8] c";unknown;unknown;0;0;;\\00"
@{TEAM}here = linkonce_odr hidden constant {_IDENT} {{ i32 0, i32 2, i32 0, i32 22, ptr @{TEAM}source }}
declare i32 @__kmpc_global_thread_num(ptr)"""


def _loop(name: str) -> str:
    """The definition of a construct that takes and returns bounds: `static.4`, `next.8u`."""
    verb, _, sort = name.partition(".")
    t, places = "i64" if sort[0] == "8" else "i32", "ptr %at.0, ptr %at.1, ptr %at.2, ptr %at.3"
    if verb == "next":
        call = f"  %more = call i32 @__kmpc_dispatch_next_{sort}(ptr @{TEAM}here, i32 %thread, {places})"
        known = f"declare i32 @__kmpc_dispatch_next_{sort}(ptr, i32, ptr, ptr, ptr, ptr)"
        return known + _of_values(name, t, "", "", call, ["i32 %more"])
    call = f"""  call void @__kmpc_for_static_init_{sort}(ptr @{TEAM}here, i32 %thread, i32 %schedule,
    {places}, {t} %step, {t} %chunk)
  call void @__kmpc_for_static_fini(ptr @{TEAM}here, i32 %thread)"""
    known = f"""declare void @__kmpc_for_static_init_{sort}(ptr, i32, i32, ptr, ptr, ptr, ptr, {t}, {t})
declare void @__kmpc_for_static_fini(ptr, i32)"""
    return known + _of_values(name, t, "i32 %schedule, ", f", {t} %step, {t} %chunk", call, [])


def _of_values(name: str, t: str, first: str, last: str, call: str, found: list[str]) -> str:
    """A construct that takes and returns what the library looks for in memory: `last`, `lower`, `upper`, `stride`."""
    types = ["i32", t, t, t]
    results = [*(f.partition(" ")[0] for f in found), *types]
    values = [*found, *(f"{u} %now.{n}" for n, u in enumerate(types))]
    result = f"{{ {', '.join(results)} }}"
    lines = [f"  %at.{n} = alloca {u}" for n, u in enumerate(types)]
    lines += [f"  store {u} %was.{n}, ptr %at.{n}" for n, u in enumerate(types)]
    lines += [f"  %thread = call i32 @__kmpc_global_thread_num(ptr @{TEAM}here)", call]
    lines += [f"  %now.{n} = load {u}, ptr %at.{n}" for n, u in enumerate(types)]
    whole = "poison"
    for n, value in enumerate(values):
        lines.append(f"  %whole.{n} = insertvalue {result} {whole}, {value}, {n}")
        whole = f"%whole.{n}"
    given = f"{first}{', '.join(f'{u} %was.{n}' for n, u in enumerate(types))}{last}"
    head = f"\ndefine linkonce_odr hidden {result} @{TEAM}{name}({given}) alwaysinline nounwind {{"
    return "\n".join([head, *lines, f"  ret {result} {whole}", "}"])
