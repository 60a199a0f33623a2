"""Pointers to nested procedures: who is called with one calls the procedure itself, and is given its frame.

    call void @llvm.init.trampoline(ptr %r, ptr @inner, ptr %frame)
    %p = call ptr @llvm.adjust.trampoline(ptr %r)
    call void @f(ptr %p)                                        ; define void @f(ptr %g) { call void %g() … }
    ->
    call void @f.with.inner.0(ptr null, ptr %frame)             ; … { call void @inner(ptr nest %llgrad.frame.0) … }

LLVM makes such a pointer by writing machine code beside the frame, which wants a stack that may be executed, and which
no derivative could know. So a function that is called with one gets a copy, in which the parameter is the procedure and
one parameter more is its frame; the copy's own calls follow. A pointer that is stored is left to LLVM, which resolves
most of them when it inlines.
"""

from __future__ import annotations

from collections.abc import Mapping

from llgrad.ir.build import i64, zero
from llgrad.ir.module import Module
from llgrad.ir.parse import parse_function_text
from llgrad.ir.rewrite import bodies, called_instead, calls, erase
from llgrad.ir.symbols import copied, make_local
from llgrad.ir.types import I8, PTR, FunctionType
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Attribute,
    Call,
    Function,
    GetElementPtr,
    Value,
    put_instead,
)

INIT, ADJUST = "llvm.init.trampoline", "llvm.adjust.trampoline"
TRAMPOLINE = f"@{ADJUST}"
NEST = (Attribute("nest"),)
_FAILING = """
declare void @llgrad_fail(i32, ptr)
define internal void @llgrad.nested() noinline {
  call void @llgrad_fail(i32 6, ptr null)
  unreachable
}
"""

Closure = tuple[Function, AnyValue]
"""A procedure and the value of its frame, where it is called."""
Closures = Mapping[Value, Closure]


def has_trampolines(text: str) -> bool:
    """Does a text take pointers to nested procedures?"""
    return TRAMPOLINE in text


def without_trampolines(module: Module) -> bool:
    """Give the program copies of the functions that are called with nested procedures."""
    if not any(name.startswith(ADJUST) for name in module.globals):
        return False
    program = _Program(module)
    for f in bodies(module, TRAMPOLINE):
        program.edit(f, _closures(f))
    return program.changed


class _Program:
    """The functions of a program, and the copies that are made of them."""

    def __init__(self, module: Module) -> None:
        self.module, self.changed = module, False
        self._copies: dict[tuple[Function, tuple[tuple[int, Function], ...]], Function] = {}

    def edit(self, f: Function, closures: Closures) -> None:
        """Have the calls of a function call the nested procedures that are values there, or copies for them."""
        for i in list(f.instructions()) if closures else ():
            if isinstance(i, Call):
                self._edit_call(i, closures)

    def _edit_call(self, call: Call, closures: Closures) -> None:
        if isinstance(call.callee, Value) and (found := closures.get(call.callee)) is not None:
            procedure, frame = found
            call = called_instead(call, procedure, [*call.arguments, frame], [*call.argument_attributes, NEST])
            self.changed = True
        passed = {n: closures[v] for n, v in enumerate(call.arguments) if isinstance(v, Value) and v in closures}
        callee = call.callee
        if not passed or not isinstance(callee, Function) or callee.is_declaration or callee.function_type.vararg:
            return
        copy = self._copy(callee, tuple((n, procedure) for n, (procedure, _) in passed.items()))
        idle = {n for n in passed if not self._escapes(callee, n, set())}
        given = [zero(PTR) if n in idle else v for n, v in enumerate(call.arguments)]
        frames = [frame for _, frame in passed.values()]
        called_instead(call, copy, [*given, *frames], [*call.argument_attributes, *(() for _ in frames)])
        self.changed = True

    def _copy(self, callee: Function, procedures: tuple[tuple[int, Function], ...]) -> Function:
        """The function's copy for these procedures as arguments."""
        key = callee, procedures
        if key in self._copies:
            return self._copies[key]
        name = f"{callee.name}.with.{'.'.join(p.name for _, p in procedures)}.{len(self._copies)}"
        self._copies[key] = new = copied(callee, name)
        make_local(new)
        closures = dict(_closures(new))
        for n, procedure in procedures:
            frame = Argument(PTR, f"llgrad.frame.{n}", len(new.arguments))
            new.arguments.append(frame)
            closures[new.arguments[n]] = procedure, frame
        t = new.function_type
        new.value_type = FunctionType(t.result, (*t.params, *(PTR for _ in procedures)))
        self.edit(new, closures)
        return new

    def _escapes(self, f: Function, number: int, seen: set[Argument]) -> bool:
        """Does a function do more with a procedure it is given than call it and pass it on?"""
        if f.is_declaration or number >= len(f.arguments):
            return True
        assert f.blocks is not None  # reads the body, and so its uses
        if (argument := f.arguments[number]) in seen:
            return False
        seen.add(argument)
        for user in argument.users:
            if not isinstance(user, Call) or any(v is argument for v in user.operands[user.arity + 1 :]):
                return True
            passed = [n for n, v in enumerate(user.arguments) if v is argument]
            other = user.callee
            if passed and (not isinstance(other, Function) or any(self._escapes(other, n, seen) for n in passed)):
                return True
        return False


def failing_trampolines(module: Module) -> None:
    """Have pointers to nested procedures that LLVM has left point to a function that fails."""
    nested = parse_function_text(module, _FAILING)[-1]
    for call in calls(module, INIT):
        erase(call)
    for call in calls(module, ADJUST):
        new = GetElementPtr(I8, nested, [i64(0)], name=call.name)
        new.metadata, new.debug_records = call.metadata, call.debug_records
        put_instead(call, new)


def _closures(f: Function) -> Closures:
    """The pointers to nested procedures that a function makes."""
    assert f.blocks is not None
    inits: dict[AnyValue, list[Closure]] = {}
    made: list[Call] = []
    for i in f.instructions():
        if isinstance(i, Call) and i.called_function is not None:
            name = i.called_function.name
            if name.startswith(INIT) and isinstance(procedure := i.arguments[1], Function):
                inits.setdefault(i.arguments[0], []).append((procedure, i.arguments[2]))
            elif name.startswith(ADJUST):
                made.append(i)
    return {i: inits[i.arguments[0]][0] for i in made if len(inits.get(i.arguments[0], ())) == 1}
