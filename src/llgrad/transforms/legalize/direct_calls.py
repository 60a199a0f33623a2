"""Calls through pointers that may be left by a throw, as calls by name: `transforms.legalize.exceptions_to_results`
copies what is called.

The pointer is compared with the functions of the program whose address is taken and that may throw; what is none of
them is called through the pointer, and throws nothing.
"""

from __future__ import annotations

from collections.abc import Callable

from llgrad.analysis.call_shapes import may_mean
from llgrad.analysis.cfg.flow import flow
from llgrad.analysis.solver import reach
from llgrad.ir.build import Builder, Names
from llgrad.ir.module import Module
from llgrad.ir.types import VOID
from llgrad.ir.values import (
    AnyValue,
    Attribute,
    Block,
    Call,
    Function,
    InlineAsm,
    Instruction,
    parts,
    replace_uses,
)

_MOST = 16  # functions that a call is compared with


def dispatch(module: Module, raising: set[Function]) -> bool:
    """Rewrite the calls through pointers under handlers that go on, and in what is called there; true if there are."""
    taken = [f for f in _address_taken(module) if f in raising]
    if not taken:
        return False

    def meant(call: Call) -> list[Function]:
        by_name = isinstance(call.callee, InlineAsm) or call.called_function is not None
        if by_name or call.bundles or call.tail == "musttail":
            return []
        found = [f for f in taken if may_mean(call, f)]
        return found if len(found) <= _MOST else []

    def called(f: Function) -> list[Function]:
        return [g for c in _calls(f) for g in ([c.called_function] if c.called_function else meant(c)) if g in raising]

    handling = [f for f in module.functions if not f.is_declaration and _handles(f, raising, meant)]
    found = [c for f in reach(handling, called) for c in _calls(f) if meant(c) and not _is_silent(c)]
    for call in found:
        _compare(call, meant(call))
    return bool(found)


def _handles(f: Function, raising: set[Function], meant: Callable[[Call], list[Function]]) -> bool:
    invokes = [c for c in _calls(f) if c.opcode == "invoke" and (c.called_function in raising or meant(c))]
    returns = flow(f).reaches_return if invokes else None
    return returns is not None and any(returns(c.targets[1]) for c in invokes)


def _calls(f: Function) -> list[Call]:
    return [i for i in f.instructions() if isinstance(i, Call)]


def _is_silent(call: Call) -> bool:
    return any(a.name == "nounwind" for a in call.attributes)


def _address_taken(module: Module) -> list[Function]:
    used: list[AnyValue] = [v.initializer for v in module.variables if v.initializer is not None]
    for f in module.functions:
        for i in f.instructions():
            used += [v for n, v in enumerate(i.operands) if not (isinstance(i, Call) and n == i.arity)]
    return [v for v in reach([v for v in used if not isinstance(v, Instruction)], parts) if isinstance(v, Function)]


def _compare(call: Call, meant: list[Function]) -> None:
    """The call by name for each function that may be meant, and the call that is left."""
    f, first = call.block.function, call.block
    assert f is not None
    names = Names([b.name for b in f.blocks] + [v.name for v in (*f.arguments, *f.instructions())])

    def block(name: str) -> Block:
        made = Block(names.fresh(name), f)
        f._blocks.append(made)
        return made

    at = first.instructions.index(call)
    rest, after = first.instructions[at + 1 :], block("met")
    del first.instructions[at + 1 :]
    b = Builder(first, names)
    results: list[tuple[AnyValue, Block]] = []
    ways: list[Block] = []
    for g in meant:
        yes, no = block("is"), block("or")
        b.branch_if(b.icmp("eq", call.callee, g), yes, no)
        b.at_end(yes)
        normal = block("called") if call.opcode == "invoke" else after
        made = _like(call, g, [normal, call.targets[1]] if call.opcode == "invoke" else [])
        b.insert(made, call.name)
        ways += [yes] if call.opcode == "invoke" else []
        if call.opcode == "invoke":
            b.at_end(normal)
        b.branch(after)
        results.append((made, b.block))
        b.at_end(no)
    left = _like(call, call.callee, [])
    left.attributes = (*left.attributes, Attribute("nounwind"))
    b.insert(left, call.name)
    b.branch(after)
    results.append((left, b.block))
    b.at_end(after)
    result = b.phi(call.type, results, call.name) if call.type != VOID and call.users else None
    if call.opcode == "invoke":
        b.branch(call.targets[0])
        _enter(call.targets[0], first, [after])
        _enter(call.targets[1], first, ways)
    else:
        for i in rest:
            i.block = after
            after.instructions.append(i)
        for target in dict.fromkeys(after.terminator.targets):
            _enter(target, first, [after])
    if result is not None:
        replace_uses(call, result)
    call.drop()


def _like(call: Call, callee: AnyValue, targets: list[Block]) -> Call:
    made = Call(call.function_type, callee, call.arguments, "", "invoke" if targets else "call", targets)
    made.calling_convention, made.attributes = call.calling_convention, call.attributes
    made.result_attributes, made.argument_attributes = call.result_attributes, list(call.argument_attributes)
    made.metadata = {k: v for k, v in call.metadata.items() if k == "dbg"}
    return made


def _enter(target: Block, old: Block, new: list[Block]) -> None:
    """`target` is entered from other blocks than before, with the same values."""
    for phi in target.phis():
        value = phi.incoming_from(old)
        n = phi.blocks.index(old)
        phi.blocks[n] = new[0]
        old.users.remove(phi)
        new[0].users.append(phi)
        for b in new[1:]:
            phi.add(value, b)


