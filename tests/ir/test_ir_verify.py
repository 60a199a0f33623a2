"""Each invariant of `ir.verify`, broken by hand: the error must name the function and what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from ir_corpus import llvm_print

from llgrad.errors import VerifyError
from llgrad.ir import types as T
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.values import (
    Attribute,
    Binary,
    Branch,
    Cast,
    Compare,
    ConstFloat,
    ConstInt,
    Function,
    GlobalVariable,
    Instruction,
    MDRef,
    Phi,
    Return,
    Undef,
    Unreachable,
    Value,
)
from llgrad.ir.verify import Dominators, verify, verify_function

TEXT = """
@g = global i32 0
declare i32 @callee(i32, double)
define i32 @f(i32 %x, ptr %p, double %d) {
entry:
  %a = add i32 %x, 1
  %c = icmp slt i32 %a, 0
  br i1 %c, label %left, label %right

left:
  %l = mul i32 %a, 2
  br label %join

right:
  %r = call i32 @callee(i32 %a, double %d)
  store i32 %r, ptr @g, align 4
  br label %join

join:
  %m = phi i32 [ %l, %left ], [ %r, %right ]
  %w = load i32, ptr %p, align 4
  %s = add i32 %m, %w
  ret i32 %s
}
"""


@pytest.fixture
def module() -> Module:
    module = parse(llvm_print(TEXT))
    verify_function(module.function("f"))
    return module


def find(module: Module, name: str) -> Any:
    f = module.function("f")
    return next(v for v in [*f.arguments, *f.blocks, *f.instructions()] if v.name == name)


def replace(module: Module, name: str, new: Instruction) -> None:
    old = find(module, name)
    new.block = old.block
    old.block.instructions[old.block.instructions.index(old)] = new


def expect(module: Module, message: str) -> None:
    with pytest.raises(VerifyError) as caught:
        verify(module)
    assert message in str(caught.value)
    assert "@f" in str(caught.value) or "@g" in str(caught.value)


def breakage(change: Callable[[Module], object], message: str) -> Any:
    return pytest.param(change, message, id=message)


def _set(name: str, index: int, value: Callable[[Module], object]) -> Callable[[Module], object]:
    return lambda m: find(m, name).set_operand(index, value(m))


def _attribute(name: str, attribute: str, value: object) -> Callable[[Module], object]:
    return lambda m: setattr(find(m, name), attribute, value)


def _swap_blocks(m: Module) -> None:
    entry = find(m, "entry")
    entry.instructions[0], entry.instructions[1] = entry.instructions[1], entry.instructions[0]


def _foreign_operand(m: Module) -> None:
    other = Function("other", T.FunctionType(T.VOID, (T.I32,)))
    find(m, "l").set_operand(1, other.arguments[0])


def _jump_to_entry(m: Module) -> None:
    find(m, "left").instructions[-1].drop()
    find(m, "left").append(Branch([find(m, "entry")]))


def _phi_in_the_middle(m: Module) -> None:
    join = find(m, "join")
    join.instructions.insert(0, join.instructions.pop(1))


def _second_terminator(m: Module) -> None:
    stop = Unreachable()
    stop.block = find(m, "left")
    find(m, "left").instructions.insert(0, stop)


def _missing_edge(m: Module) -> None:
    phi = find(m, "m")
    phi.operands.pop().users.remove(phi)
    phi.blocks.pop().users.remove(phi)


def _undominated(m: Module) -> None:
    find(m, "s").set_operand(1, find(m, "l"))


BREAKAGES = [
    breakage(lambda m: find(m, "a").users.append(find(m, "s")), "counted 1 times as a user of %a, used 0 times"),
    breakage(lambda m: find(m, "a").users.pop(), "counted 0 times as a user of %a, used 1 times"),
    breakage(lambda m: find(m, "left").users.pop(), "as a user of %left"),
    breakage(lambda m: m.globals["g"].users.clear(), "@g does not know this user"),
    breakage(lambda m: m.globals["g"].users.append(find(m, "s")), "as a user of @g"),
    breakage(lambda m: find(m, "left").instructions.pop(), "does not end in a terminator"),
    breakage(lambda m: find(m, "left").instructions.clear(), "%left is empty"),
    breakage(_second_terminator, "a terminator in the middle"),
    breakage(_phi_in_the_middle, "a phi that is not at the head"),
    breakage(lambda m: m.function("f")._blocks.append(find(m, "left")), "a block is entered twice"),
    breakage(_attribute("l", "block", None), "does not say so"),
    breakage(_attribute("left", "function", None), "belongs to another function"),
    breakage(_jump_to_entry, "the entry block %entry has predecessors"),
    breakage(_attribute("l", "name", "r"), "%r is defined twice"),
    breakage(_attribute("l", "name", ""), "a value without a name"),
    breakage(_foreign_operand, "%arg0 is no argument of this function"),
    breakage(_set("l", 1, lambda m: GlobalVariable("h", T.I32, None)), "@h is not in the module"),
    breakage(_missing_edge, "0 values for 1 edges from %right"),
    breakage(_undominated, "%l does not dominate this use"),
    breakage(_swap_blocks, "%a does not dominate this use"),
    breakage(lambda m: find(m, "l").metadata.update(tbaa=MDRef(99)), "metadata !99 does not exist"),
    breakage(_set("a", 1, lambda m: ConstInt(T.I64, 1)), "the second operand has type i64, not i32"),
    breakage(_set("m", 0, lambda m: ConstFloat(T.DOUBLE, 0)), "an incoming value has type double, not i32"),
    breakage(_set("r", 1, lambda m: ConstFloat(T.FLOAT, 0)), "argument 1 has type float, not double"),
    breakage(_set("w", 0, lambda m: ConstInt(T.I64, 0)), "the address of load has type i64"),
    breakage(_attribute("w", "align", 3), "alignment 3 is no power of two"),
    breakage(_attribute("a", "flags", frozenset(["fast"])), "add may not carry 'fast'"),
    breakage(_attribute("a", "type", T.I64), "the result has type i64, not i32"),
    breakage(_attribute("c", "predicate", "olt"), "unknown predicate 'olt'"),
    breakage(_attribute("r", "argument_attributes", [(Attribute("noundef"),)]), "attributes of 1 arguments for 2"),
    breakage(lambda m: find(m, "join").terminator.set_operand(0, find(m, "d")), "the returned value has type double"),
    breakage(lambda m: find(m, "entry").terminator.set_operand(0, find(m, "x")), "the condition has type i32, not i1"),
    breakage(lambda m: setattr(m.globals["g"], "name", "h"), "is entered as @g"),
]


@pytest.mark.parametrize(("change", "message"), BREAKAGES)
def test_broken_invariants_are_found(module: Module, change: Callable[[Module], object], message: str) -> None:
    change(module)
    expect(module, message)


def test_the_error_names_function_block_and_instruction(module: Module) -> None:
    find(module, "l").set_operand(1, ConstInt(T.I64, 1))
    with pytest.raises(VerifyError) as caught:
        verify_function(module.function("f"))
    assert "@f, %left" in caught.value.message
    assert caught.value.cause == "in the instruction: %l = mul i32 %a, 1"


CASTS = [
    ("trunc", T.I32, T.I64),
    ("zext", T.I32, T.I32),
    ("fpext", T.DOUBLE, T.FLOAT),
    ("fptosi", T.I32, T.I64),
    ("bitcast", T.I32, T.DOUBLE),
    ("ptrtoint", T.I64, T.I64),
    ("sitofp", T.I32, T.VectorType(T.FLOAT, 2)),
]


@pytest.mark.parametrize(("opcode", "source", "target"), CASTS)
def test_casts_that_are_none(module: Module, opcode: str, source: T.Type, target: T.Type) -> None:
    cast = Cast(opcode, target, [Undef(source)], "cast")
    cast.block = find(module, "left")
    find(module, "left").instructions.insert(0, cast)
    expect(module, opcode)


def test_the_result_of_an_invoke_is_defined_on_its_normal_edge() -> None:
    text = """
declare i32 @may()
declare i32 @__gxx_personality_v0(...)
define i32 @f() personality ptr @__gxx_personality_v0 {
entry:
  %v = invoke i32 @may()
          to label %fine unwind label %pad

fine:
  %p = phi i32 [ %v, %entry ]
  ret i32 %v

pad:
  %e = landingpad { ptr, i32 }
          cleanup
  ret i32 1
}
"""
    module = parse(llvm_print(text))
    verify(module)
    f = module.function("f")
    f.blocks[2].terminator.set_operand(0, f.entry.terminator)
    expect(module, "%v does not dominate this use")


def test_unreachable_code_may_use_anything() -> None:
    module = parse(
        llvm_print("define void @f() {\n  ret void\n\nb:\n  %x = add i32 %y, 1\n  %y = add i32 %x, 1\n  br label %b\n}")
    )
    verify(module)


def test_dominators_of_a_diamond(module: Module) -> None:
    entry, left, right, join = module.function("f").blocks
    tree = Dominators([entry, left, right, join])
    assert [tree.immediate[b] for b in (left, right, join)] == [entry] * 3
    assert tree.dominates(entry, join) and tree.dominates(join, join) and not tree.dominates(left, join)


def test_phi_values_of_one_block_must_agree() -> None:
    text = """
define i32 @f(i32 %x) {
entry:
  switch i32 %x, label %b [
    i32 1, label %a
    i32 2, label %a
  ]

a:
  %p = phi i32 [ 3, %entry ], [ 3, %entry ]
  ret i32 %p

b:
  ret i32 0
}
"""
    module = parse(llvm_print(text))
    verify(module)
    f = module.function("f")
    phi = f.blocks[1].instructions[0]
    assert isinstance(phi, Phi)
    phi.set_operand(1, ConstInt(T.I32, 4))
    expect(module, "different values from %entry")


def test_a_function_without_faults_made_of_new_parts(module: Module) -> None:
    f = module.function("f")
    left = find(module, "left")
    extra: list[Instruction] = [Binary("fadd", T.DOUBLE, [find(module, "d")] * 2, "e")]
    extra.append(Compare("fcmp", "olt", extra[0], extra[0], name="lt"))
    for i in extra:
        i.block = left
    left.instructions[0:0] = extra
    verify_function(f)
    assert isinstance(f.blocks[-1].terminator, Return) and all(isinstance(u, Value) for u in extra[0].users)
