"""Functions with variable arguments become functions that are passed the address of one struct with all of them.

    define internal double @f(i32 %n, ...) {                define internal double @f(i32 %n, ptr %llgrad.variable) {
      call void @llvm.va_start.p0(ptr %list)            ->    store i32 48, ptr %list …    ; no registers are left
    call double (i32, ...) @f(i32 1, double %x)               store double %x, ptr (member of %llgrad.variables)
                                                              call double @f(i32 1, ptr %llgrad.variables)

A `va_list` of x86-64 (System V ABI, section 3.5.7) says how many registers of each sort are used up, where they were
saved, and where the arguments in memory lie. Here all of them are in memory: the caller lays them out as if no register
were left, `va_start` says so, and clang's `va_arg`, or a `vprintf` that is handed the list, reads on from there.
So nothing after this knows of variable arguments; memory, activity and kinds are those of a struct.

Left alone: functions whose address is taken, those that the program shares with others, those that pass on their own
`...`, and pairs of registers that are 128-bit integers (their alignment is not seen).
"""

from __future__ import annotations

from collections.abc import Collection

from llgrad.ir.build import Builder, const_int, i64, zero
from llgrad.ir.module import Module
from llgrad.ir.rewrite import at_start, before, bodies, called_instead, calls, calls_at, erase, local_names, replaced
from llgrad.ir.symbols import is_local, pointed_to, read_where_named
from llgrad.ir.types import I32, I64, PTR, ArrayType, FloatType, FunctionType, IntType, StructType, Type, VectorType
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Call,
    Function,
    GlobalValue,
    Instruction,
    Other,
    Value,
)
from llgrad.transforms.canonical.atomics import copy_bytes

AREA = "llgrad.variable"
_START, _END, _COPY = "llvm.va_start.p0", "llvm.va_end.p0", "llvm.va_copy.p0"
_USED_UP = (48, 176)  # offsets past all general and all vector registers
_TAKES_EIGHT = ArrayType(I64, 0)  # members that only align
_TAKES_SIXTEEN = ArrayType(FloatType("x86_fp80"), 0)


def applies(text: str) -> bool:
    """May a text have functions with variable arguments?"""
    return "@llvm.va_start" in text or " = va_arg " in text or "...)" in text


def without_variables(module: Module, keep: Collection[str] = ()) -> bool:
    """Put a struct in the place of variable arguments. `keep`: functions to leave."""
    if not module.triple.startswith("x86_64-") or "windows" in module.triple:
        return False  # a target whose lists are not known
    taken = [
        i for f in bodies(module, " va_arg ") for i in f.instructions()
        if isinstance(i, Other) and i.opcode == "va_arg" and _is_word(i.type)
    ]  # fmt: skip
    for i in taken:
        _take(i)
    found = [f for f in module.functions if f.function_type.vararg and f.name not in keep and _may_change(f)]
    if not found:
        return bool(taken)
    read_where_named(module, *(f.name for f in found))
    pointed, wide = pointed_to(module), _has_wide_integers(module)
    found = [f for f in found if f.name not in pointed and _are_plain(f, wide) and _all_started(f)]
    for f in found:
        for c in dict.fromkeys(f.users):
            assert isinstance(c, Call)
            _pass_struct(module, c, f)
    for f in found:
        _be_passed_struct(f)
    for c in calls(module, _END) if found else ():
        erase(c)
    if found and not calls(module, _START):  # all lists are of this kind
        for c, b in calls_at(module, _COPY):
            to, source = c.arguments
            _fill(b, to, b.load(PTR, b.offset(source, 8, "llgrad.list.from"), "llgrad.list.rest", 8))
            erase(c)
    return bool(taken or found)


def passed(module: Module) -> list[str]:
    """The functions that are passed such a struct."""
    return [f.name for f in module.functions if f.arguments and f.arguments[-1].name == AREA]


def _may_change(f: Function) -> bool:
    """May this definition change, as all of its calls are seen?"""
    if f.is_declaration or not is_local(f) or f.attribute("naked") is not None:
        return False
    return not any(isinstance(i, Call) and i.tail == "musttail" for i in f.instructions())


def _all_started(f: Function) -> bool:
    """Are all lists begun where this knows how? (Not behind null, nor in a variable.)"""
    return all(isinstance(c.arguments[0], Value) and not isinstance(c.arguments[0], GlobalValue) for c in _starts(f))


def _starts(f: Function) -> list[Call]:
    found = (i for i in f.instructions() if isinstance(i, Call) and i.called_function is not None)
    return [i for i in found if i.called_function is not None and i.called_function.name == _START]


def _take(i: Other) -> None:
    """LLVM's instruction `va_arg` as clang writes it: the next register of its sort, or the next place in memory."""
    assert i.block.function is not None
    b, place = before(i, local_names(i.block.function)), i.operands[0]
    at, step, last = (4, 16, 160) if isinstance(i.type, FloatType) else (0, 8, 40)
    at_memory = b.offset(place, 8, "llgrad.taken.place")
    memory = b.load(PTR, at_memory, "llgrad.taken.memory", 8)
    counter = b.offset(place, at, "llgrad.taken.count")
    used = b.load(I32, counter, "llgrad.taken.used", 4)
    left = b.icmp("ule", used, const_int(I32, last), "llgrad.taken.left")
    saved = b.load(PTR, b.offset(place, 16, "llgrad.taken.area"), "llgrad.taken.saved", 8)
    source = b.select(left, b.offset(saved, used, "llgrad.taken.register"), memory, "llgrad.taken.from")
    more = b.binary("add", used, const_int(I32, step), "llgrad.taken.more")
    b.store(b.select(left, more, used, "llgrad.taken.now"), counter, 4)
    after = b.select(left, memory, b.offset(memory, 8, "llgrad.taken.after"), "llgrad.taken.next")
    value = b.load(i.type, source, "llgrad.taken", 0)
    b.store(after, at_memory, 8)
    replaced(i, value)


def prototyped(module: Module) -> bool:
    """Calls through pointers without a prototype (`void *(*create)()`), for clang of functions with variable arguments
    of which there are none, as calls by the types of their arguments; unless such a function may be what is called."""
    variable = {f.function_type.params for f in module.functions if f.function_type.vararg}
    changed = False
    for f in bodies(module, "...) %"):
        for i in f.instructions():
            if not isinstance(i, Call) or not i.function_type.vararg or isinstance(i.callee, GlobalValue):
                continue
            t = i.function_type
            if isinstance(i.callee, Value) and t.params not in variable and i.arity == len(t.params):
                i.function_type, changed = FunctionType(t.result, t.params), True
    return changed


def _be_passed_struct(f: Function) -> None:
    t = f.function_type
    f.value_type = FunctionType(t.result, (*t.params, PTR))
    area = Argument(PTR, AREA, len(f.arguments))
    f.arguments.append(area)
    names = local_names(f)
    for c in _starts(f):
        _fill(before(c, names), c.arguments[0], area)
        erase(c)


def _fill(b: Builder, place: AnyValue, area: AnyValue) -> None:
    """Fill in the list at `place`: no registers are left, what there is begins at `area`."""
    b.store(const_int(I32, _USED_UP[0]), place, 8)
    b.store(const_int(I32, _USED_UP[1]), b.offset(place, 4, "llgrad.list.vectors"), 4)
    b.store(area, b.offset(place, 8, "llgrad.list.memory"), 8)
    b.store(zero(PTR), b.offset(place, 16, "llgrad.list.saved"), 8)


# --- calls -----------------------------------------------------------------------------------------------------------


def _are_plain(f: Function, wide: bool) -> bool:
    """Is each use of a function a call whose variable arguments can be laid out?"""
    return all(_is_plain(c, f, wide) for c in f.users)


def _is_plain(i: Instruction, f: Function, wide: bool) -> bool:
    if not isinstance(i, Call) or i.callee is not f or i.function_type != f.function_type or i.tail == "musttail":
        return False
    first = len(f.arguments)
    types = [v.type for v in i.arguments[first:]]
    if wide and any(a == b == I64 for a, b in zip(types, types[1:], strict=False)):
        return False
    return all(_is_passed_plainly(i, n) for n in range(first, i.arity))


def _is_passed_plainly(call: Call, n: int) -> bool:
    """Is an argument passed as it stands, or a struct by value that is aligned to no more than 16 bytes?"""
    t = call.arguments[n].type
    vector = isinstance(t, VectorType) and str(t) in ("<2 x float>", "<4 x float>", "<2 x double>")
    return (vector or _is_word(t) or str(t) == "x86_fp80") and _alignment(call, n) <= 16


def _is_word(t: Type) -> bool:
    return t == PTR or str(t) in ("float", "double") or (isinstance(t, IntType) and t.bits <= 64)


def _alignment(call: Call, n: int) -> int:
    said = next((a.value for a in call.argument_attributes[n] if a.name == "align"), 0)
    return said if isinstance(said, int) else 0


def _has_wide_integers(module: Module) -> bool:
    """Does the module speak of integers of 128 bits?"""
    said = any("i128" in (f.unread or "") or "i128" in str(f.function_type) for f in module.functions)
    return said or any(_computes_wide(f) for f in module.functions)


def _computes_wide(f: Function) -> bool:
    if f.unread is not None:
        return False
    return any("i128" in str(t) for i in f.instructions() for t in (i.type, *(v.type for v in i.operands)))


def _pass_struct(module: Module, call: Call, f: Function) -> None:
    """Have a call pass a struct on the stack, with the arguments as the ABI has them in memory."""
    caller = call.block.function
    assert caller is not None
    fixed, names = len(f.function_type.params), local_names(caller)
    members: list[Type] = []
    for n in range(fixed, call.arity):
        struct = _struct_passed(call, n)
        sixteen = struct is not None and _alignment(call, n) == 16
        members += [_TAKES_SIXTEEN if sixteen else _TAKES_EIGHT, struct or call.arguments[n].type]
    whole = StructType((*members, _TAKES_EIGHT))
    area = at_start(caller, names).alloca(whole, "llgrad.variables", 16)
    b = before(call, names)
    for n, v in enumerate(call.arguments[fixed:]):
        place = b.gep(whole, area, [const_int(I32, 0), const_int(I32, 2 * n + 1)], "llgrad.variables")
        if (t := _struct_passed(call, fixed + n)) is not None:
            copy_bytes(b, place, v, i64(module.layout.alloc_size(t)))
        else:
            b.store(v, place, 0)
    called_instead(call, f, [*call.arguments[:fixed], area], [*call.argument_attributes[:fixed], ()])


def _struct_passed(call: Call, n: int) -> Type | None:
    """The type of the struct that an argument passes by value."""
    found = next((a.value for a in call.argument_attributes[n] if a.name == "byval"), None)
    return found if isinstance(found, Type) else None
