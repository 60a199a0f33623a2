"""What is put in simpler terms before a program is analysed, so that nothing after it knows of it.

* OpenMP's regions run in one thread (`openmp`).
* Library routines that move or call back get bodies (`models.libc`).
* So do the trees and lists that are compiled inside libstdc++ (`runtime/cxx/containers.c`). They are inlined, as are
those
  of libc++: each place links nodes of one kind.
* Reductions of vectors and masked accesses are written out (`transforms.intrinsics.expansions`); earlier still, before
anything is
  optimised, matrices and what `immintrin.h` leaves (`transforms.intrinsics.x86`).
* Routines of LAPACK get bodies that call BLAS, some of BLAS are loops (`lapack_calls`). Other calls of BLAS become
calls of
  routines that have rules (`blas_calls`).
* A pointer to a library function that has a derivative rule points to a function that calls it.
* Variable arguments are passed as a struct, and calls through pointers without a prototype have one (`varargs`).
* A struct passed `byval` to a function with a body is copied by that function: then it is memory of its own.
* Small functions that return what they allocate are inlined: each place that calls one has memory of its own. So are
  those that return an address in what they are given.
* Addresses of thread-local variables are taken without an intrinsic.
* Empty inline assembly, a barrier for optimisers, goes (`transforms.intrinsics.asm_barriers`); that of one instruction
of SSE, AVX or FMA
  becomes what it computes (`transforms.intrinsics.inline_asm`). Functions of Eigen's packets get plain bodies
  (`models.eigen`).

All are edits of LLVM assembly as LLVM prints it, on a module whose values have names.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterator, Mapping
from itertools import count
from pathlib import Path

from llgrad.analysis.objects import is_mixture
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.types import Type
from llgrad.ir.values import Argument, Attribute, Call, Compare, GetElementPtr, Load, Value
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule
from llgrad.models import libc
from llgrad.models.eigen import known
from llgrad.rules import library
from llgrad.support.brackets import listed
from llgrad.transforms.canonical import blas_calls, lapack_calls, openmp, varargs
from llgrad.transforms.canonical.atomics import private
from llgrad.transforms.intrinsics.asm_barriers import opened
from llgrad.transforms.intrinsics.expansions import expansion, name_of, pointer_lanes
from llgrad.transforms.intrinsics.inline_asm import spelt

_NAME = r'@(?:[-\w.$]+|"[^"]*")'
_DEFINITION = re.compile(rf"^define [^@\n]*({_NAME})\([^\n]*\{{\n.*?^\}}\n", re.MULTILINE | re.DOTALL)
_DECLARED = re.compile(rf"^declare [^@\n]*({_NAME})\([^\n]*\n", re.MULTILINE)
_CALL = re.compile(rf"\b(?:call|invoke) [^@%\n]*(?:%[\w.$]+ \([^\n]*\) )?({_NAME}|%[-\w.$]+)\(")
_LOCAL = re.compile(r"^define (?:internal|private|linkonce_odr|linkonce) ")
_BYVAL = re.compile(r"byval\(((?:[^()]|\([^()]*\))*)\) (?:align (\d+) )?")
_ATTRIBUTES = r'(?:[^,%()"]|\((?:[^()]|\([^()]*\))*\)|"[^"]*")*'  # some hold commas: `initializes((0, 8))`
_THREAD_LOCAL = "@llvm.threadlocal.address"
_ADDRESS = re.compile(
    rf"^( *(%[-\w.$]+) = (?:tail )?call [^\n]*{_THREAD_LOCAL}\.p0\(ptr [^@\n]*({_NAME})\).*\n)", re.MULTILINE
)  # fmt: skip
_PAIR_OF_LONG = "{ x86_fp80, x86_fp80 }"
_SCALAR = r"(?:half|bfloat|float|double|x86_fp80|fp128|i\d+)"
_GROUP = re.compile(r" #\d+ ")
_WITH_OPERAND = re.compile(r"(?<= )[a-z]+\([^()]*\)")  # an attribute such as `nofpclass(nan inf)`
_SIMPLER = ("sroa", "sccp", "simplify_cfg")
_FOLDED = ("sroa", "instruction_combine", "sccp", "dce", "sroa", "sccp", "dce")
_RUNTIME_BODY = re.compile(r"^define [^@\n]*@(_FortranA\w+)\(", re.MULTILINE)
_RUNTIME_CALL = re.compile(r"@(_FortranA\w+)\(")
_LARGEST_WRAPPER = 60  # lines
_LARGEST_ACCESSOR = 25


def lower(module: LLVMModule, keep: Collection[str] = ()) -> None:
    """Apply all that the module needs; functions in `keep` are inlined nowhere."""
    if openmp.applies(module.text()):
        in_one_thread(module)
    text = known(spelt(opened(switched(module.text()))))
    text = expanded(text, _PREDICATED) if ".vp." in text else text  # by masked accesses and reductions
    text = varargs.prototyped(plain_calls(small_copies(expanded(text))))
    declared = {_plain(m[1]) for m in _DECLARED.finditer(text) if "extern_weak" not in m[0]}
    found = libc.needed(declared)
    variable = varargs.applies(text)
    if variable or "byval(" in text or _THREAD_LOCAL in text:
        module.replace_text(text)
        module.run(["instruction_namer"])
        text = varargs.without_variables(module.text(), keep) if variable else module.text()
        text = plain_addresses(own_structs(text))
    if found:
        text = with_routines(text, found, declared)
    text = in_parts(pointed_rules(text))
    text = blas_calls.lowered(lapack_calls.lowered(text))
    if declared & CONTAINERS.keys():
        text = with_containers(text, declared & CONTAINERS.keys())
    text = inlined_wrappers(inlined_mixtures(inlined_links(text)), frozenset(keep))
    if text != module.text():
        module.replace_text(text)
        module.run(["always_inliner", "global_dce"])
    for name in sorted(set(varargs.converted(text)) & set(module.definitions())) if variable else ():
        module.run(["sroa", "sccp", "simplify_cfg"], function=name)  # what `va_arg` does with registers goes


def in_one_thread(module: LLVMModule) -> None:
    """OpenMP's teams have one thread (`openmp`)."""
    text, regions, changed = openmp.alone(module.text())
    module.replace_text(text)
    module.mark(["alwaysinline"], regions)
    module.run(["always_inliner", "global_dce"])
    for name in sorted(set(changed).intersection(module.definitions())):
        module.run(_SIMPLER, function=name)


def fold_runtime(module: LLVMModule) -> bool:
    """Inline the bodies of flang's runtime, and fold what they ask of types and ranks, where nothing is optimised.

    What a body cannot do goes to a function without one. That call is refused where active data reaches it, unless its
    branch is folded: `type == REAL(8) ? loop : _FortranAAssignTemporary(…)`. Other functions stay as they are.
    """
    text = module.text()
    bodies = set(_RUNTIME_BODY.findall(text)) if "@_FortranA" in text else set()
    if not bodies:
        return False
    callers = {_plain(m[1]) for m in _DEFINITION.finditer(text) if bodies.intersection(_RUNTIME_CALL.findall(m[0]))}
    module.run(["always_inliner", "global_dce"])
    for name in sorted(callers.intersection(module.definitions())):
        module.run(_FOLDED, function=name)
    return True


def unshared(module: LLVMModule) -> bool:
    """Make atomic operations on variables that no other thread sees ordinary ones; are there any?"""
    text, changed = private(module.text())
    if changed:
        module.replace_text(text)
        for name in changed:
            module.run(_SIMPLER, function=name)
    return bool(changed)


# --- library routines ------------------------------------------------------------------------------------------------


def with_routines(text: str, found: dict[str, str], declared: set[str]) -> str:
    """The text with bodies for the routines `found`, under names of llgrad's."""
    for name in found:
        text = re.sub(rf"^declare [^@\n]*@{name}\([^\n]*\n", "", text, flags=re.MULTILINE)
        text = re.sub(rf"@{name}(?![-\w.$])", f"@{libc.PREFIX}{name}", text)
    defined = {_plain(m[1]) for m in _DEFINITION.finditer(text)}
    known = (declared - found.keys()) | defined
    uses = [d for d in libc.DECLARATIONS if d.partition("@")[2].partition("(")[0] not in known]
    return "\n".join([text, *uses, *found.values()])


_COUNT = "_ZNSt3__119__shared_weak_count"
_NODE, _LIST = "St18_Rb_tree_node_base", "_ZNSt8__detail15_List_node_base"
CONTAINERS = {
    **dict.fromkeys((f"_ZSt18_Rb_tree_incrementP{_NODE}", f"_ZSt18_Rb_tree_incrementPK{_NODE}"), "tree_increment"),
    **dict.fromkeys((f"_ZSt18_Rb_tree_decrementP{_NODE}", f"_ZSt18_Rb_tree_decrementPK{_NODE}"), "tree_decrement"),
    f"_ZSt29_Rb_tree_insert_and_rebalancebP{_NODE}S0_RS_": "tree_insert_and_rebalance",
    f"_ZSt28_Rb_tree_rebalance_for_eraseP{_NODE}RS_": "tree_rebalance_for_erase",
    f"{_LIST}7_M_hookEPS0_": "list_hook", f"{_LIST}9_M_unhookEv": "list_unhook",
    f"{_LIST}11_M_transferEPS0_S1_": "list_transfer", f"{_LIST}10_M_reverseEv": "list_reverse",
    f"{_LIST}4swapERS0_S1_": "list_swap",
    **{f"_ZNSt3__16__sortIRNS_6__lessI{t}{t}EEP{t}EEvT0_S5_T_": f"sort_{t}" for t in "fdeijlm"},
    f"{_COUNT}14__release_weakEv": "shared_release_weak", f"{_COUNT}4lockEv": "shared_lock",
    **dict.fromkeys((f"{_COUNT}D2Ev", f"{_COUNT}D1Ev", "_ZNSt3__114__shared_countD2Ev"), "shared_end"),
    "__dynamic_cast": "cast",
}  # fmt: skip
"""What is compiled inside libstdc++ and libc++, and its name in `runtime/cxx/containers.c`."""


def with_containers(text: str, names: set[str]) -> str:
    """The text with bodies for these functions of libstdc++ and libc++."""
    for name in names:
        text = re.sub(rf"^declare [^@\n]*@{name}\([^\n]*\n", "", text, flags=re.MULTILINE)
        text = re.sub(rf"@{name}(?![-\w.$])", f"@llgrad_{CONTAINERS[name]}", text)
    used = {CONTAINERS[name] for name in names}
    missing = "".join(f"declare {_signature(own)}\n" for own in sorted(used))
    whole = LLVMModule.from_text(text + missing)
    whole.link(_containers())
    own = re.compile(r"^define (?:dso_local )?([^@\n]*@llgrad_(?:tree_|list_|sort_|shared_|cast\b))", re.MULTILINE)
    return own.sub(r"define internal \1", whole.text())


@functools.cache
def _containers() -> LLVMModule:
    from llgrad.frontends import compile_sources

    path = Path(__file__).parents[2] / "runtime" / "cxx" / "containers.c"
    return LLVMModule.read(compile_sources([path], ["-fno-strict-aliasing", "-w", "-g0"]).modules[0])


def _signature(own: str) -> str:
    """`ptr @llgrad_tree_increment(ptr)`."""
    found = re.search(rf"^define [^@\n]*?\b(ptr|void) (@llgrad_{own})\(([^\n]*)", _containers().text(), re.MULTILINE)
    assert found is not None
    types = re.findall(r"(?:^|, )(ptr|i1)\b", found[3])
    return f"{found[1]} {found[2]}({', '.join(types)})"


def pointed_rules(text: str) -> str:
    """Let pointers to functions that have rules, allocate or free point to functions with bodies, which call them."""
    made = []
    for m in _DECLARED.finditer(text):
        bare = _WITH_OPERAND.sub("", m[0])
        head = re.fullmatch(rf"declare [^@]*?\b({_SCALAR}|ptr|void) +{re.escape(m[1])}\(([^()]*)\)[^()]*\n", bare)
        if head is None or not library.is_differentiated(_plain(m[1])) or not _is_taken(m[1], text):
            continue
        types = [p.split()[0] for p in head[2].split(", ") if p]
        own = f"@llgrad.called.{_plain(m[1])}"
        text = re.sub(rf"{re.escape(m[1])}(?![-\w.$(])", own, text)
        if re.search(rf"^define [^@\n]*{re.escape(own)}\(", text, re.MULTILINE):
            continue  # a derivative in the text has brought it
        parameters = ", ".join(f"{t} %{n}" for n, t in enumerate(types))
        result = f"{head[1]} {m[1]}({parameters})"
        body = f"  call {result}\n  ret void" if head[1] == "void" else f"  %r = call {result}\n  ret {head[1]} %r"
        made.append(f"define internal {head[1]} {own}({parameters}) {{\n{body}\n}}\n")
    return "\n".join([text, *made]) if made else text


# --- computed gotos --------------------------------------------------------------------------------------------------

_LABEL = re.compile(r"blockaddress\((@[-\w.$]+|@\"[^\"]*\"), (%[-\w.$]+|%\"[^\"]*\")\)")
_GOTO = re.compile(r"^  indirectbr ptr (%[-\w.$]+|%\"[^\"]*\"), \[([^\]]*)\]", re.MULTILINE)


def switched(text: str) -> str:
    """Computed gotos as switches: the address of a label is its number in its function."""
    if " indirectbr " not in text:
        return text
    numbers: dict[tuple[str, str], int] = {}
    for m in _LABEL.finditer(text):
        numbers.setdefault((m[1], m[2]), 1 + sum(f == m[1] for f, _ in numbers))
    unique, left = count(), set[str]()

    def goto(f: str, m: re.Match[str]) -> str:
        targets = [t.strip().removeprefix("label ") for t in m[2].split(",")]
        if any((f, t) not in numbers for t in targets):
            left.add(f)
            return m[0]
        name = f"%llgrad.goto.{next(unique)}"
        met = [targets[:n].count(t) for n, t in enumerate(targets)]  # named again: phis have an entry for each
        values = [-n if again else numbers[f, t] for n, (t, again) in enumerate(zip(targets, met, strict=True))]
        cases = "\n".join(f"    i64 {v}, label {t}" for v, t in list(zip(values, targets, strict=True))[1:])
        first = f"  {name} = ptrtoint ptr {m[1]} to i64\n  switch i64 {name}, label {targets[0]}"
        return f"{first} [\n{cases}\n  ]"

    def function(d: re.Match[str]) -> str:
        made = _GOTO.sub(lambda m: goto(d[1], m), d[0])
        return d[0] if d[1] in left else made

    made = _DEFINITION.sub(function, text)
    return _LABEL.sub(lambda m: m[0] if m[1] in left else f"inttoptr (i64 {numbers[m[1], m[2]]} to ptr)", made)


# --- structs by value ------------------------------------------------------------------------------------------------


_EXPANDED = (
    r"vector\.(?:partial\.)?reduce\.f|experimental\.vector\.compress\.|masked\.|sincos\.|modf\.|frexp\.|"
    r"convert\.(?:to|from)\.fp16\.|mem(?:cpy|move|set)\.element\.|"
    r"experimental\.memset\.pattern\."
)
_PREDICATED = r"(?:experimental\.)?vp\."


def expanded(text: str, which: str = _EXPANDED) -> str:
    """Intrinsics that have one get the body of `transforms.intrinsics.expansions`."""
    bodies: dict[str, str] = {}
    for line in re.findall(rf"^declare [^\n]*@llvm\.(?:{which})[^\n]*$", text, re.MULTILINE):
        f = next(iter(parse(f"{line.split(' #')[0]}\n").functions))
        types, result = [str(t) for t in f.function_type.params], str(f.function_type.result)
        body = expansion(f.name, types, result)
        if body is not None:
            bodies[f.name] = body
            text = text.replace(line, "").replace(f"@{f.name}(", f"@{name_of(f.name)}(")
    return _with_bodies(pointer_lanes(text) if " x ptr" in text else text, bodies)


def _with_bodies(text: str, bodies: dict[str, str]) -> str:
    if not bodies:
        return text
    lines = dict.fromkeys(line for body in bodies.values() for line in body.split("\n") if line.startswith("declare "))
    known = [line for line in lines if f"{line.split('(')[0].split()[-1]}(" not in text]
    defined = ["\n".join(line for line in b.split("\n") if not line.startswith("declare ")) for b in bodies.values()]
    return "\n".join([text, *known, *defined, ""])


def spelt_out(text: str) -> str:
    """Intrinsics of x86 get bodies that any processor can run, as functions lose what they say about theirs; those of
    matrices get bodies for the sizes that they are called with: nothing else knows them."""
    text = expanded(text, r"x86\.") if "@llvm.x86." in text else text
    bodies: dict[str, str] = {}
    for line in re.findall(r"^declare [^\n]*@llvm\.matrix\.[^\n]*$", text, re.MULTILINE):
        f = next(iter(parse(f"{line.split(' #')[0]}\n").functions))
        types, result = [str(t) for t in f.function_type.params], str(f.function_type.result)
        text = _by_size(text, f.name, types, result, bodies)
    return _with_bodies(text, bodies)


_SIZES = re.compile(r"(?:, i32 \d+)+\)")


def _by_size(text: str, name: str, types: list[str], result: str, bodies: dict[str, str]) -> str:
    """The text with calls of functions for the sizes that an intrinsic of matrices is given last."""

    def edit(m: re.Match[str]) -> str:
        found = _SIZES.search(m[2])
        sizes = [int(n) for n in re.findall(r"i32 (\d+)", found[0])] if found else []
        own = name_of(name, sizes)
        body = bodies.get(own) or expansion(name, types, result, sizes)
        if body is None:
            return m[0]
        bodies[own] = body
        return f"{m[1]}@{own}({m[2]}"

    return re.sub(rf"^( [^\n]*\bcall [^\n]*)@{re.escape(name)}\(([^\n]*)$", edit, text, flags=re.MULTILINE)


def own_structs(text: str) -> str:
    """Make functions with bodies copy the structs that they are passed `byval`; their callers pass the address.

    Others may call some: these go on to be passed structs `byval`, and copy what they may write. (The shadow of such a
    struct is what the caller has: it is neither a result of the function, nor to be written.)
    """
    definitions = {m[1]: m[0] for m in _DEFINITION.finditer(text)}
    passing = [name for name, body in definitions.items() if "byval(" in body.partition("\n")[0]]
    foreign = {m[1] for m in _DECLARED.finditer(text) if "byval(" in m[0]}
    foreign |= {name for name in passing if not _LOCAL.match(definitions[name])}
    through = not any(_is_taken(name, text) for name in foreign)  # whether calls through pointers reach our own only
    own = {name for name in passing if name not in foreign and (through or not _is_taken(name, text))}
    calls = (line for line in text.split("\n") if own and "@" in line and not line.startswith(("define", "declare")))
    own -= {m[1] for line in calls if "byval(" not in line and (m := _CALL.search(line))}  # called as of another type

    def edit(line: str) -> str:
        if "byval(" not in line or line.startswith(("define", "declare")) or (m := _CALL.search(line)) is None:
            return line
        ours = m[1] in own or (m[1][0] == "%" and through)
        return _BYVAL.sub(lambda b: f"align {b[2]} " if b[2] else "", _untailed(line)) if ours else line

    parsed = parse(text) if passing else None
    for name in passing:
        assert parsed is not None
        f = parsed.function(_plain(name))
        assert f.blocks is not None  # reads the body, and so its uses
        passed = [(a, n) for a in f.arguments if (n := _struct_size(parsed, a)) is not None]
        copied = [name in own or not _only_read(a) for a, _ in passed]
        made = _copying(definitions[name], [n for _, n in passed], copied, name not in own)
        text = text.replace(definitions[name], made)
    return "\n".join(edit(line) for line in text.split("\n"))


def in_parts(text: str) -> str:
    """The text in which functions of `long double complex`, which pass it in memory, call those that have its parts."""
    made = []
    for m in list(_DECLARED.finditer(text)):
        entry = library.lookup(name := _plain(m[1]))
        if entry is None or entry.shape != "byval" or name.startswith(library.LIKE):
            continue
        new, operands = f"{library.PARTS}of.{name}", m[0].count("byval(")
        taken, _ = listed(m[0][m.end(1) + 1 - m.start() :])
        if 2 * operands != len(entry.rule.operands) or len(taken) != operands:  # declared in another way
            continue
        call = re.compile(rf"^(.*\b(?:call|invoke) .*)@{re.escape(name)}\((.*)$", re.MULTILINE)
        text = call.sub(functools.partial(_by_parts, new), text)
        made.append(_parts_of(new, f"{library.PARTS}{name}", _result(m[0]), operands))
    return "\n".join([text, *made]) if made else text


def _by_parts(new: str, call: re.Match[str]) -> str:
    return f"{_untailed(call[1])}@{new}({_BYVAL.sub('', call[2])}"


def _untailed(call: str) -> str:
    """A call that may look at its caller's stack: a struct is copied before a tail call, an address is not."""
    return re.sub(r"\btail call\b", "call", call, count=1)


def _result(declaration: str) -> str:
    return _PAIR_OF_LONG if "{" in declaration.partition("@")[0] else "x86_fp80"


def _parts_of(name: str, callee: str, result: str, operands: int) -> str:
    """A function that takes addresses of complex numbers, and hands their parts on."""
    lines, parts = [], []
    for n in range(operands):
        lines += [
            f"  %re.{n} = load x86_fp80, ptr %z.{n}, align 16",
            f"  %at.{n} = getelementptr i8, ptr %z.{n}, i64 16",
            f"  %im.{n} = load x86_fp80, ptr %at.{n}, align 16",
        ]
        parts += [f"x86_fp80 %re.{n}", f"x86_fp80 %im.{n}"]
    given = ", ".join(f"ptr %z.{n}" for n in range(operands))
    types = ", ".join(["x86_fp80"] * len(parts))
    body = "\n".join([*lines, f"  %r = call {result} @{callee}({', '.join(parts)})", f"  ret {result} %r"])
    return f"""define internal {result} @{name}({given}) alwaysinline nounwind {{
{body}
}}
declare {result} @{callee}({types}) nounwind willreturn memory(none)
"""


def _is_taken(name: str, text: str) -> bool:
    """Is the address of a function used other than in calls of it?"""
    return re.search(rf"{re.escape(name)}(?![-\w.$(])", text) is not None


def _struct_size(module: Module, argument: Argument) -> int | None:
    """The bytes of what an argument passes by value."""
    by_value = argument.attribute("byval")
    return module.layout.alloc_size(by_value.value) if by_value and isinstance(by_value.value, Type) else None


def _only_read(pointer: Value) -> bool:
    """Is memory read through a pointer, and nothing else?"""
    for user in pointer.users:
        match user:
            case Load() | Compare():
                continue
            case GetElementPtr() if user.pointer is pointer and _only_read(user):
                continue
            case Call() if _is_copied_from(user, pointer):
                continue
        return False
    return True


def _is_copied_from(call: Call, pointer: Value) -> bool:
    name = call.called_function.name if call.called_function is not None else ""
    return name.startswith("llvm.memcpy.") and [n for n, v in enumerate(call.operands) if v is pointer] == [1]


def _copying(definition: str, sizes: list[int], copied: list[bool], passed: bool) -> str:
    """The definition, copying those structs of these sizes that it is passed; it still is, or is passed addresses."""
    head, label, rest = definition.split("\n", 2)
    copies: list[str] = []
    left = iter(zip(sizes, copied, strict=True))

    def edit(m: re.Match[str]) -> str:
        type, align, name = m[1], m[2] or "1", m[4]
        size, copy = next(left)
        if not copy:
            return m[0]
        copies.append(f"  {name} = alloca {type}, align {align}")
        copies.append(f"  call void @llvm.memcpy.p0.p0.i64(ptr {name}, ptr {name}.byval, i64 {size}, i1 false)")
        return f"{m[0]}.byval" if passed else f"ptr {name}.byval"

    head = re.sub(rf"ptr {_ATTRIBUTES}?{_BYVAL.pattern}({_ATTRIBUTES})(%[-\w.$]+)", edit, head)
    return "\n".join([head, label, *copies, rest])


_SMALL_COPY = re.compile(
    r"^  (?:tail )?call void @llvm\.mem(?:cpy|move)\.p0\.p0\.i\d+\(ptr ([^%@,]*)([%@][\w.$-]+), "
    r"ptr ([^%@,]*)([%@][\w.$-]+), i\d+ ([24]), i1 false\)[^\n]*?(, !dbg ![0-9]+)?(?:, ![^\n]*)?$",
    re.MULTILINE,
)


def small_copies(text: str) -> str:
    """Copies of two or four bytes become a load and a store, as LLVM makes of them where it optimises: of what may be a
    part of a float."""
    numbers = count()

    def edit(m: re.Match[str]) -> str:
        to, target, of, source, size, where = m.groups(default="")
        name, bits = f"%llgrad.copied.{next(numbers)}", 8 * int(size)
        aligned = (re.search(r"align (\d+)", a) for a in (of, to))
        read, written = (a[1] if a else "1" for a in aligned)
        load = f"  {name} = load i{bits}, ptr {source}, align {read}{where}"
        return f"{load}\n  store i{bits} {name}, ptr {target}, align {written}{where}"

    return _SMALL_COPY.sub(edit, text)


_MUST = re.compile(r"\bmusttail (call [^\n]*(?<!\.\.\.)\)[^()\n]*)$", re.MULTILINE)
_SAME = re.compile(
    r"^( *%[^=\n]* = )(?:tail )?call [^@\n]*@llvm\.(?:(?:launder|strip)\.invariant\.group|ptr\.annotation\.p\d+)\.p\d+"
    r"\(ptr (?:[a-z_]+(?:\([^()\n]*\)| \d+)? )*([%@][^ ,()\n]+)[,)][^\n]*$", re.MULTILINE,
)  # fmt: skip
_COUNTING = re.compile(r"^ *(?:tail )?call void @llvm\.instrprof\.[^\n]*\n", re.MULTILINE)
_MASKED = re.compile(
    r"^( *)(%[^=\n]*) = (?:tail )?call [^@\n]*@llvm\.ptrmask\.p0\.i64"
    r"\(ptr (?:[a-z_]+(?:\([^()\n]*\)| \d+)? )*([%@][^ ,()\n]+), i64 (?:noundef )?([^ ,()\n]+)\)[^\n]*$", re.MULTILINE,
)  # fmt: skip


def plain_calls(text: str) -> str:
    """Calls that must be the last thing are calls, as derivatives go on after them; a pointer whose virtual table LLVM
    is to forget, or that is annotated, is that pointer (and nothing says any longer that tables stay the same); one
    whose last bits are cleared lies so many bytes before it, and its shadow as many before the shadow.
    Swift's register for errors is a pointer like others. A profile counts what the program itself runs."""
    if "@llvm.instrprof." in text:
        text = _COUNTING.sub("", text)
    if "musttail " in text:
        text = _MUST.sub(r"tail \1", text)
    if ".invariant.group." in text:
        text = re.sub(r", !invariant\.group !\d+", "", text)
    if ".invariant.group." in text or "@llvm.ptr.annotation." in text:
        text = _SAME.sub(r"\1getelementptr i8, ptr \2, i64 0", text)
    if "swifterror " in text and not re.search(r"^declare [^\n]*\bswifterror\b", text, re.MULTILINE):
        # a register that is the caller's alone: the functions here are copies
        text = re.sub(r"(?<![%@\w.\"])swifterror ", "", text)
    return _masked(text) if "@llvm.ptrmask." in text else text


def _masked(text: str) -> str:
    number = count()

    def edit(m: re.Match[str]) -> str:
        space, result, pointer, mask = m.groups()
        address, cleared, by = (f"%llgrad.masked.{next(number)}" for _ in range(3))
        lines = (
            f"{address} = ptrtoint ptr {pointer} to i64", f"{cleared} = and i64 {address}, {mask}",
            f"{by} = sub i64 {cleared}, {address}", f"{result} = getelementptr i8, ptr {pointer}, i64 {by}",
        )  # fmt: skip
        return "\n".join(space + line for line in lines)

    return _MASKED.sub(edit, text)


# --- numbers in the place of floats -----------------------------------------------------------------------------------

_BITS = re.compile(r"^  (%[-\w.$]+) = bitcast (double|float) (%[-\w.$]+) to (i64|i32)[^\n]*\n", re.MULTILINE)
_PART = re.compile(r"  (%[-\w.$]+) = trunc ")
_COUNTED = re.compile(r"  %[-\w.$]+ = (?:uitofp|sitofp|add|sub|mul|shl) ")


_TINY = re.compile(r"^(  store) double 0x([0-9A-F]{1,13}), (?=ptr )", re.MULTILINE)


def stored_as_bits(text: str) -> str:
    """Store constants below all normal doubles as integers, which tell nothing of what the memory holds.

    LLVM makes such of a float or a number and what is beside it (D's `struct { double d; float f; }` begins as two
    NaNs, the second of which is `0x7FC00000`).
    """
    return _TINY.sub(lambda m: f"{m[1]} i64 {int(m[2], 16)}, ", text)


def loaded_apart(text: str) -> str:
    """Load numbers that LLVM reads as the low bits of a float (of a union, say) as integers, which they then may be.

    Where a float is only looked at, its bits are let alone: such numbers are counted with.
    """
    text = stored_as_bits(text)
    apart = _DEFINITION.sub(lambda m: _loaded_apart(m[0]), text) if _BITS.search(text) else text
    return _DEFINITION.sub(lambda m: _words_apart(m[0]), apart) if _WORD.search(apart) else apart


_WORD = re.compile(r"^  (%[-\w.$]+) = ptrtoint ptr (%[-\w.$]+) to (i64)[^\n]*\n", re.MULTILINE)
_OF_POINTERS = re.compile(r", !(?:tbaa|nonnull|align|dereferenceable(?:_or_null)?|range) !\d+")


def _words_apart(body: str) -> str:
    """What is loaded once, and is a pointer, a float and a number by turns (of a union), loaded as each of them."""
    for m in _WORD.finditer(body):
        name, source, integer = m.groups()
        load = re.search(rf"^  {re.escape(source)} = load ptr, ([^\n]*)\n", body, re.MULTILINE)
        made = rf"^(  (%[-\w.$]+) = bitcast {integer} {re.escape(name)} to (double)[^\n]*\n)"
        floats = re.findall(made, body, re.MULTILINE)
        if load is None or not floats:
            continue
        place, loads = _OF_POINTERS.sub("", load[1]), load[0]
        for line, value, t in [(m[0], name, integer), *floats]:
            body = body.replace(line, "")
            loads += f"  {value} = load {t}, {place}\n"
        body = body.replace(load[0], loads)
    return body


def _loaded_apart(body: str) -> str:
    for m in _BITS.finditer(body):
        name, t, source, integer = m.groups()
        load = re.search(rf"^  {re.escape(source)} = load {t}, ([^\n]*)\n", body, re.MULTILINE)
        if load is not None and _is_counted(body, name):
            body = body.replace(m[0], "").replace(load[0], f"{load[0]}  {name} = load {integer}, {load[1]}\n")
    return body


def _is_counted(body: str, name: str) -> bool:
    """Are low bits of a value taken and nothing else, and used as numbers?"""
    parts = [_PART.match(line) for line in _uses(body, name)]
    return bool(parts) and all(p and all(map(_COUNTED.match, _uses(body, p[1]))) for p in parts)


def _uses(body: str, name: str) -> list[str]:
    found = re.findall(rf"^[^\n]*{re.escape(name)}(?![-\w.$])[^\n]*$", body, re.MULTILINE)
    return [line for line in found if not line.startswith(f"  {name} = ") and "#dbg_" not in line]


# --- thread-local variables -------------------------------------------------------------------------------------------


def plain_addresses(text: str) -> str:
    """Use thread-local variables directly, as there are no coroutines: an address is then the variable itself."""
    if _THREAD_LOCAL not in text:
        return text

    def edit(m: re.Match[str]) -> str:
        body = m[0]
        for line, name, variable in _ADDRESS.findall(body):
            body = re.sub(rf"{re.escape(name)}(?![-\w.$])", variable.replace("\\", r"\\"), body.replace(line, ""))
        return body

    return _DEFINITION.sub(edit, text)


# --- allocation wrappers ---------------------------------------------------------------------------------------------


def inlined_wrappers(text: str, keep: Collection[str]) -> str:
    """Have small functions that return a pointer inlined wherever they are called.

    Those that allocate, so that each call makes memory of its own; and those that call nothing else: what they point
    into in one call is not taken for what they point into in another.
    """
    wrappers = dict(_candidates(text, keep))
    calls = {name: _calls(body) for name, body in wrappers.items()}
    allocating = {f"@{m[1]}" for m in re.finditer(r"@([-\w.$]+)\(", text) if _allocates(m[1])}
    chosen: dict[str, str] = {}
    while more := {
        name: body for name, body in wrappers.items() if name not in chosen and calls[name] & (allocating | {*chosen})
    }:
        chosen |= more
    small = {name: body for name, body in wrappers.items() if body.count("\n") <= _LARGEST_ACCESSOR}
    while more := {
        name: body for name, body in small.items()
        if name not in chosen and all(f.startswith("@llvm.") or f in chosen for f in calls[name])
    }:  # fmt: skip
        chosen |= more
    inner = {name: calls[name] & chosen.keys() for name in chosen}
    return _inlined(text, {name for name in chosen if not _reaches(name, name, inner)})


_LINKS = re.compile(
    r"@_ZNSt3__1\d+__tree_(?:balance_after_insert|remove|(?:left|right)_rotate|(?:next|prev)(?:_iter)?|min|max)(?:B|I)"
)


def inlined_links(text: str) -> str:
    """Have functions of libc++ inlined that link the nodes of all trees, whatever these hold: in each place, of one."""
    return _inlined(text, {m[1] for m in _DEFINITION.finditer(text) if _LINKS.match(m[1])})


def _inlined(text: str, names: Collection[str]) -> str:
    """The text with functions that are inlined wherever they are called."""

    def edit(m: re.Match[str]) -> str:
        head, rest = m[0].split("\n", 1)
        return f"{re.sub(_GROUP, ' alwaysinline ', head, count=1)}\n{rest}" if m[1] in names else m[0]

    return _DEFINITION.sub(edit, text) if names else text


_AGGREGATE = re.compile(r'^define [^@\n]*@[^\n]*?[(,] ?(?:[{\[]|%[-\w.$":]+ (?:noundef )?%)', re.MULTILINE)


def inlined_mixtures(text: str) -> str:
    """Have functions inlined that are passed floats and pointers in one struct, which clang passes in parts: a shadow
    for them would have to come in, and an adjoint go out."""
    if not _AGGREGATE.search(text):
        return text
    module = parse(text)
    found = []
    for f in module.functions:
        if f.is_declaration or not any(is_mixture(a.type, module.layout) for a in f.arguments):
            continue
        recursive = any(isinstance(c, Call) and c.called_function is f for c in f.instructions())
        if not recursive and not any(a.name.startswith("enzyme_") for a in f.attributes):
            kept = tuple(a for a in f.attributes if a.name not in ("noinline", "optnone"))
            f.attributes = (*kept, Attribute("alwaysinline"))
            found.append(f)
    return write(module) if found else text


def _candidates(text: str, keep: Collection[str]) -> Iterator[tuple[str, str]]:
    said = {m[1] for m in re.finditer(r"^attributes (#\d+) = \{[^\n]*enzyme", text, re.MULTILINE)}
    for m in _DEFINITION.finditer(text):
        head = m[0].partition("\n")[0]
        if (group := _GROUP.search(head)) is None or group[0].strip() in said:
            continue
        small = m[0].count("\n") <= _LARGEST_WRAPPER
        if f" ptr {m[1]}(" in head and small and _LOCAL.match(head) and _plain(m[1]) not in keep:
            yield m[1], m[0]


def _allocates(name: str) -> bool:
    known = library.effects(name)
    return (known is not None and known.allocator is not None) or name == f"{libc.PREFIX}realloc"


def _calls(body: str) -> set[str]:
    return {m[1] for m in _CALL.finditer(body)}


def _reaches(start: str, goal: str, calls: Mapping[str, set[str]]) -> bool:
    """Does a function, through others of these, call `goal`?"""
    seen: set[str] = set()
    work = [start]
    while work:
        for called in calls[work.pop()] - seen:
            if called == goal:
                return True
            seen.add(called)
            work.append(called)
    return False


def _plain(name: str) -> str:
    return name[1:].strip('"')
