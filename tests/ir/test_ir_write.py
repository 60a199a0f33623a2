"""What the writer makes of functions built by hand, of renamed values, and of records and bodies that no longer fit."""

from __future__ import annotations

import pytest
from ir_corpus import llvm_print

from llgrad.ir import types as T
from llgrad.ir import write as W
from llgrad.ir.module import Module
from llgrad.ir.parse import parse, parse_function_text
from llgrad.ir.values import (
    Attribute,
    Binary,
    Block,
    Branch,
    Call,
    Compare,
    ConstFloat,
    ConstInt,
    Function,
    GlobalVariable,
    Load,
    MDNode,
    MDRef,
    MDString,
    Phi,
    Return,
    Store,
)
from llgrad.ir.verify import verify
from llgrad.ir.write import operand, reference, write, write_function


def built() -> Module:
    """`sum` adds `n` doubles from memory; every part made by hand."""
    module = Module()
    sink = module.add(GlobalVariable("a sink", T.DOUBLE, ConstFloat(T.DOUBLE, 0)))
    fabs = Function("llvm.fabs.f64", T.FunctionType(T.DOUBLE, (T.DOUBLE,)))
    f = Function("sum", T.FunctionType(T.DOUBLE, (T.PTR, T.I64)), ["p", "n"])
    f.arguments[0].attributes = (Attribute("noundef"), Attribute("align", 8), Attribute("captures", "none"))
    f.attributes = (Attribute("nounwind"), Attribute("alignstack", 16), Attribute("key", 'a"b', string=True))
    f.linkage, f.calling_convention = "internal", "fastcc"
    for g in (fabs, f):
        module.add(g)
    entry, loop, done = (Block(n, f) for n in ("entry", "the loop", "done"))
    f._blocks = [entry, loop, done]
    p, n = f.arguments
    entry.append(Branch([loop]))
    i = Phi(T.I64, name="i")
    s = Phi(T.DOUBLE, name="s")
    x = Load(T.DOUBLE, p, 8, "x")
    x.metadata["tbaa"] = module.add_metadata("!{!1, !1, i64 0}")
    module.add_metadata('!{!"double", !2}')
    module.nodes[2] = MDNode("", (MDString("root"),))
    size = Call(fabs.function_type, fabs, [x], "size")
    size.attributes = (Attribute("memory", "none"),)
    t = Binary("fadd", T.DOUBLE, [s, size], "t")
    t.flags = frozenset(("reassoc", "nnan"))
    k = Binary("add", T.I64, [i, ConstInt(T.I64, 1)], "k")
    c = Compare("icmp", "ult", k, n, name="c")
    for instruction in (i, s, x, size, t, k, c, Branch([loop, done], c)):
        loop.append(instruction)
    for phi, start, again in ((i, ConstInt(T.I64, 0), k), (s, ConstFloat(T.DOUBLE, 0), t)):
        phi.add(start, entry)
        phi.add(again, loop)
    done.append(Store(t, sink, 8))
    done.append(Return(t))
    return module


def test_a_function_built_by_hand() -> None:
    module = built()
    verify(module)
    text = llvm_print(write(module))
    for line in (
        "define internal fastcc double @sum(ptr noundef align 8 captures(none) %p, i64 %n)",
        '"the loop":',
        '%i = phi i64 [ 0, %entry ], [ %k, %"the loop" ]',
        "%x = load double, ptr %p, align 8, !tbaa !0",
        "%size = call double @llvm.fabs.f64(double %x) #",
        "%t = fadd reassoc nnan double %s, %size",
        'store double %t, ptr @"a sink", align 8',
        '= { nounwind alignstack=16 "key"="a\\22b" }',
        '!2 = !{!"root"}',
    ):
        assert line in text
    assert write_function(module.function("sum")) in write(module)


def test_operands() -> None:
    f = built().function("sum")
    assert operand(f.arguments[0]) == "ptr %p" and reference(f.arguments[0]) == "%p"
    assert operand(f) == "ptr @sum" and operand(f.blocks[1]) == 'label %"the loop"'
    assert operand(ConstInt(T.I8, 255)) == "i8 -1" and operand(ConstInt(T.I1, 1)) == "i1 true"


NUMBERED = """
define i32 @f(i32 %0) {
  %v2 = add i32 %0, 1
  %2 = add i32 %v2, 2
  %3 = add i32 %2, 3
  br label %4

4:
  ret i32 %3
}
"""


def test_numbers_are_kept_while_they_count_upwards() -> None:
    module = parse(llvm_print(NUMBERED))
    f = module.function("f")
    f.entry.instructions.insert(1, named_add(f, "fresh"))
    text = write(module)
    assert "%3 = add i32 %2, 3" in text and "%fresh = add" in text
    assert "%fresh" in llvm_print(text)


def test_numbers_out_of_order_are_renamed_without_clash() -> None:
    module = parse(llvm_print(NUMBERED))
    f = module.function("f")
    one, two, *_ = (i for i in f.entry.instructions if i.name != "v2")
    two.set_operand(0, f.arguments[0])
    one.set_operand(0, two)
    f.entry.instructions.remove(two)
    f.entry.instructions.insert(0, two)
    verify(module)
    text = llvm_print(write(module))
    assert "%v3 = add i32 %v0, 3" in text and "%v2.1 = add i32 %v3, 2" in text and "%v2 = add i32 %v0, 1" in text
    assert one.name == "2", "writing changes no name"


def named_add(f: Function, name: str) -> Binary:
    instruction = Binary("add", T.I32, [f.arguments[0], f.arguments[0]], name)
    instruction.block = f.entry
    return instruction


RECORDS = """
define i32 @f(i32 %x) !dbg !1 {
  %1 = add i32 %x, 1
    #dbg_value(i32 %1, !5, !DIExpression(), !7)
    #dbg_value(!DIArgList(i32 %x, i32 %1), !5, !DIExpression(DW_OP_LLVM_arg, 0), !7)
  %y = mul i32 %x, 3
  ret i32 %y
}
!llvm.module.flags = !{!0}
!llvm.dbg.cu = !{!2}
!0 = !{i32 2, !"Debug Info Version", i32 3}
!1 = distinct !DISubprogram(name: "f", scope: !3, file: !3, line: 1, type: !4, spFlags: DISPFlagDefinition, unit: !2)
!2 = distinct !DICompileUnit(language: DW_LANG_C, file: !3, emissionKind: FullDebug)
!3 = !DIFile(filename: "a.c", directory: "")
!4 = !DISubroutineType(types: !{})
!5 = !DILocalVariable(name: "v", scope: !1, file: !3, line: 1, type: !6)
!6 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!7 = !DILocation(line: 2, column: 3, scope: !1)
"""


def test_records_of_values_that_are_gone_say_poison() -> None:
    module = parse(llvm_print(RECORDS))
    f = module.function("f")
    f.entry.instructions[0].drop()
    verify(module)
    text = llvm_print(write(module))
    assert "#dbg_value(i32 poison, " in text and "i32 %x, i32 poison" in text


def test_records_follow_renamed_values() -> None:
    module = parse(llvm_print(RECORDS))
    f = module.function("f")
    f.entry.name = "5"
    assert "#dbg_value(i32 %v1, " in llvm_print(write(module))


def test_a_raw_body_is_given_up_when_its_arguments_are_renamed() -> None:
    module = parse(llvm_print(NUMBERED))
    f = module.function("f")
    assert "%3 = add i32 %2, 3\n  br label %4" in write(module)
    f.arguments[0].name = "first"
    assert "%v2 = add i32 %first, 1" in llvm_print(write(module))


def test_musttail_in_a_variadic_function_passes_the_rest_on() -> None:
    text = (
        "declare i32 @g(ptr, ...)\ndefine i32 @f(ptr %p, ...) {\n"
        "  %r = musttail call i32 (ptr, ...) @g(ptr %p, ...)\n  ret i32 %r\n}\n"
    )
    module = parse(llvm_print(text))
    assert len(module.function("f").blocks) == 1
    assert "@g(ptr %p, ...)" in llvm_print(write(module))


def test_text_of_functions_and_groups_do_not_mix() -> None:
    """Bodies that are still text keep their attribute groups; new functions carry attributes inline."""
    module = parse(llvm_print("declare void @g()\ndefine void @f() {\n  call void @g() nounwind\n  ret void\n}"))
    parse_function_text(module, "define void @h() cold {\n  call void @g() noreturn\n  ret void\n}")
    text = llvm_print(write(module))
    assert "{ nounwind }" in text and "{ noreturn }" in text and "{ cold }" in text


def test_every_shape_has_a_writer() -> None:
    from llgrad.ir.opcodes import OPCODES

    assert {row.shape for row in OPCODES.values()} == set(W._WRITERS)


@pytest.mark.parametrize("name", ["plain", "1", '"1"', 'a"b', "back\\slash", "é", "\x01x", "sp ace", "-a.b$_"])
def test_any_name_is_read_back(name: str) -> None:
    module = Module()
    module.add(GlobalVariable(name, T.I32, ConstInt(T.I32, 1)))
    assert list(parse(llvm_print(write(module))).globals) in ([name], ["0"] if name == "1" else [name])


def test_attachments_carry_inline_text() -> None:
    module = built()
    store = module.function("sum").blocks[2].instructions[0]
    store.metadata["nontemporal"] = MDRef(-1, "!{i32 1}")
    assert "!nontemporal !" in llvm_print(write(module))
