"""Calls that a team makes become parallel regions of OpenMP again, and a team's constructs calls of its library.

    call void @f.omp_outlined(ptr %x, double %k)                           ; "llgrad.fork"
    ->
    store ptr %x, ptr %pack
    store double %k, …
    call void @llgrad.team.fork(ptr @f.omp_outlined.team, ptr %pack)       ; which calls @__kmpc_fork_call

    define internal void @f.omp_outlined.team(ptr %thread, ptr %bound, ptr %pack) {
      %0 = load ptr, ptr %pack …
      call void @f.omp_outlined(ptr %0, double %1)
      ret void
    }

The last of the passes over what llgrad wrote: until then these are plain calls (`canonical.teams`), to derivatives of
derivatives, too. The bodies of the constructs are here; each asks the library which thread it is.
"""

from __future__ import annotations

from llgrad.ir.build import Builder, Names, const_int, declare
from llgrad.ir.module import Module
from llgrad.ir.rewrite import at_start, before, bodies, calling, erase, local_names
from llgrad.ir.types import I32, PTR, VOID, FunctionType, StructType
from llgrad.ir.values import Attribute, Block, Call, Function
from llgrad.llvm.assembly import joined
from llgrad.transforms.canonical.teams import FORK, TEAM, is_fork
from llgrad.transforms.pass_manager import IR, Unit

LOC = f"{TEAM}loc"


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
    wanted = sorted(f.name for f in module.functions if f.is_declaration and f.name.startswith(TEAM))
    if functions or wanted:
        unit.put(joined([unit.text(), _COMMON, *(_body(name.removeprefix(TEAM)) for name in wanted)]))
    return bool(functions or wanted)


def _fork(module: Module, f: Function) -> None:
    """Open a team where a function is called, each of whose threads calls it."""
    f.attributes = tuple(a for a in f.attributes if a.name not in (FORK, "noinline"))
    if f.is_declaration:
        return
    pack, micro = StructType(tuple(a.type for a in f.arguments)), _micro(module, f)
    opens = declare(module, f"{TEAM}fork", VOID, [PTR, PTR])
    for g in bodies(module, *calling(f.name)):
        if g is micro:
            continue
        names, made = local_names(g), None
        for i in [i for i in g.instructions() if isinstance(i, Call) and i.called_function is f]:
            made = made or at_start(g, names).alloca(pack, "llgrad.pack", 16)
            b = before(i, names)
            for n, v in enumerate(i.arguments):
                b.store(v, b.gep(pack, made, [const_int(I32, 0), const_int(I32, n)]))
            b.call(opens, [micro, made])
            erase(i)


def _micro(module: Module, f: Function) -> Function:
    """What each thread of a team runs: the call, with what lies in the pack."""
    made = Function(f"{f.name}.team", FunctionType(VOID, (PTR, PTR, PTR)), ["thread", "bound", "pack"])
    made.linkage, made.attributes = "internal", (Attribute("nounwind"),)
    module.add(made)
    names = Names(a.name for a in made.arguments)
    b = Builder(Block(names.fresh("entry"), made), names)
    made._blocks.append(b.block)
    pack = StructType(tuple(a.type for a in f.arguments))
    zero = const_int(I32, 0)
    given = [
        b.load(a.type, b.gep(pack, made.arguments[2], [zero, const_int(I32, n)]), "", 1)
        for n, a in enumerate(f.arguments)
    ]
    b.call(f, given).calling_convention = f.calling_convention
    b.ret()
    return made


# --- the constructs --------------------------------------------------------------------------------------------------

_COMMON = f"""@{TEAM}source = linkonce_odr hidden unnamed_addr constant [23 x i8] c";unknown;unknown;0;0;;\\00"
@{LOC} = linkonce_odr hidden constant {{ i32, i32, i32, i32, ptr }} {{ i32 0, i32 2, i32 0, i32 22, ptr @{TEAM}source }}
@{TEAM}mutex = linkonce_odr hidden global [8 x i32] zeroinitializer, align 8
declare i32 @__kmpc_global_thread_num(ptr)"""
_THREAD = f"  %thread = call i32 @__kmpc_global_thread_num(ptr @{LOC})"
_HEAD = "linkonce_odr hidden"


_WRITTEN = {
    "fork": f"""declare void @__kmpc_fork_call(ptr, i32, ptr, ...)
define {_HEAD} void @{TEAM}fork(ptr %region, ptr %pack) alwaysinline nounwind {{
  call void (ptr, i32, ptr, ...) @__kmpc_fork_call(ptr @{LOC}, i32 1, ptr %region, ptr %pack)
  ret void
}}""",
    "push": f"""declare void @__kmpc_push_num_threads(ptr, i32, i32)
define {_HEAD} void @{TEAM}push(i32 %count) nounwind {{
  %says = icmp sgt i32 %count, 0
  br i1 %says, label %push, label %end
push:
{_THREAD}
  call void @__kmpc_push_num_threads(ptr @{LOC}, i32 %thread, i32 %count)
  br label %end
end:
  ret void
}}""",
    "thread": f"""define {_HEAD} i32 @{TEAM}thread() alwaysinline nounwind {{
{_THREAD}
  ret i32 %thread
}}""",
    "flush": f"""define {_HEAD} void @{TEAM}flush() alwaysinline nounwind {{
  fence seq_cst
  ret void
}}""",
}
_HANDED_ON: dict[str, tuple[str, str, list[str], str]] = {
    "critical": ("critical", "void", ["ptr %lock"], "ptr"),
    "end_critical": ("end_critical", "void", ["ptr %lock"], "ptr"),
    "masked": ("masked", "i32", ["i32 %filter"], "i32"),
    "single": ("single", "i32", [], ""),
    "master": ("master", "i32", [], ""),
    "deinit": ("dispatch_deinit", "void", [], ""),
    "lock": ("critical", "void", [], "ptr"),
    "unlock": ("end_critical", "void", [], "ptr"),
}
"""What is called, what that returns, the construct's parameters, and the types of what follows the thread there."""


def _body(name: str) -> str:
    """The definition of a construct."""
    verb, _, sort = name.partition(".")
    if name in _WRITTEN:
        return _WRITTEN[name]
    if sort:
        return _of_loop(verb, sort, "i64" if sort[0] == "8" else "i32")
    return _plain(name, *_HANDED_ON.get(name, (name, "void", [], "")))


def _of_loop(verb: str, sort: str, t: str) -> str:
    name = f"{verb}.{sort}"
    match verb:
        case "static":
            call = f"""  call void @__kmpc_for_static_init_{sort}(ptr @{LOC}, i32 %thread, i32 %schedule,
    ptr %at.0, ptr %at.1, ptr %at.2, ptr %at.3, {t} %step, {t} %chunk)
  call void @__kmpc_for_static_fini(ptr @{LOC}, i32 %thread)"""
            known = f"""declare void @__kmpc_for_static_init_{sort}(ptr, i32, i32, ptr, ptr, ptr, ptr, {t}, {t})
declare void @__kmpc_for_static_fini(ptr, i32)"""
            return known + _of_values(name, t, "i32 %schedule, ", f", {t} %step, {t} %chunk", call, [])
        case "next":
            call = f"""  %more = call i32 @__kmpc_dispatch_next_{sort}(ptr @{LOC}, i32 %thread,
    ptr %at.0, ptr %at.1, ptr %at.2, ptr %at.3)"""
            known = f"declare i32 @__kmpc_dispatch_next_{sort}(ptr, i32, ptr, ptr, ptr, ptr)"
            return known + _of_values(name, t, "", "", call, ["i32 %more"])
        case "begin":
            given = [f"i32 %schedule, {t} %from, {t} %to, {t} %step, {t} %chunk"]
            return _plain(name, f"dispatch_init_{sort}", "void", given, f"i32, {t}, {t}, {t}, {t}")
    return _plain(name, f"dispatch_fini_{sort}", "void", [], "")


def _plain(name: str, called: str, result: str, given: list[str], types: str) -> str:
    """A construct that hands on what it is given."""
    passed = "".join(f", {g}" for g in given) or (f", ptr @{TEAM}mutex" if types else "")
    first, last = ("", "  ret void") if result == "void" else ("%found = ", f"  ret {result} %found")
    return f"""declare {result} @__kmpc_{called}(ptr, i32{", " if types else ""}{types})
define {_HEAD} {result} @{TEAM}{name}({", ".join(given)}) nounwind {{
{_THREAD}
  {first}call {result} @__kmpc_{called}(ptr @{LOC}, i32 %thread{passed})
{last}
}}"""


def _of_values(name: str, t: str, first: str, last: str, call: str, found: list[str]) -> str:
    """A construct that takes and returns what the library looks for in memory: `last`, `lower`, `upper`, `stride`."""
    types = ["i32", t, t, t]
    results = [*(f.partition(" ")[0] for f in found), *types]
    values = [*found, *(f"{u} %now.{n}" for n, u in enumerate(types))]
    result = f"{{ {', '.join(results)} }}"
    lines = [f"  %at.{n} = alloca {u}" for n, u in enumerate(types)]
    lines += [f"  store {u} %was.{n}, ptr %at.{n}" for n, u in enumerate(types)]
    lines += [_THREAD, call]
    lines += [f"  %now.{n} = load {u}, ptr %at.{n}" for n, u in enumerate(types)]
    whole = "poison"
    for n, value in enumerate(values):
        lines.append(f"  %whole.{n} = insertvalue {result} {whole}, {value}, {n}")
        whole = f"%whole.{n}"
    given = f"{first}{', '.join(f'{u} %was.{n}' for n, u in enumerate(types))}{last}"
    head = f"\ndefine {_HEAD} {result} @{TEAM}{name}({given}) alwaysinline nounwind {{"
    return "\n".join([head, *lines, f"  ret {result} {whole}", "}"])
