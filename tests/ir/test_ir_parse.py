"""What the parser makes of text: types, values, use lists, laziness, errors."""

from __future__ import annotations

from collections import Counter
from typing import Any, cast

import pytest
from ir_corpus import llvm_print

from llgrad.errors import ParseError
from llgrad.ir import types as T
from llgrad.ir.metadata import parse_inline
from llgrad.ir.module import Module
from llgrad.ir.parse import parse, parse_function_text
from llgrad.ir.values import (
    Attribute,
    BlockAddress,
    Call,
    ConstAggregate,
    ConstExpr,
    ConstFloat,
    ConstInt,
    Function,
    GlobalVariable,
    MDRef,
    MDString,
    MetadataValue,
    Other,
    Phi,
    RawConstant,
    ShuffleVector,
    Switch,
    Undef,
)
from llgrad.ir.verify import verify
from llgrad.ir.write import write

LOOP = """
define double @power(double %x, i32 %n) {
entry:
  %none = icmp eq i32 %n, 0
  br i1 %none, label %done, label %loop

loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %p = phi double [ 1.0, %entry ], [ %q, %loop ]
  %q = fmul fast double %p, %x
  %next = add nuw i32 %i, 1
  %more = icmp ult i32 %next, %n
  br i1 %more, label %loop, label %done

done:
  %r = phi double [ 1.0, %entry ], [ %q, %loop ]
  %twice = fadd double %r, %r
  ret double %twice
}
"""


def functions(text: str) -> dict[str, Function]:
    module = parse(llvm_print(text))
    return {f.name: f for f in module.functions}


def named(f: Function, name: str) -> Any:
    return next(v for v in [*f.arguments, *f.blocks, *f.instructions()] if v.name == name)


def test_use_lists_count_every_use_also_through_forward_references() -> None:
    f = functions(LOOP)["power"]

    def users(name: str) -> Counter[str]:
        return Counter(u.name or u.opcode for u in named(f, name).users)

    assert users("q") == {"p": 1, "r": 1}
    assert users("r") == {"twice": 2}
    assert users("n") == {"none": 1, "more": 1}
    assert users("loop") == {"br": 2, "i": 1, "p": 1, "r": 1}
    assert users("entry") == {"i": 1, "p": 1, "r": 1}
    assert named(f, "next").users == [named(f, "i"), named(f, "more")]
    loop = named(f, "loop")
    assert [b.name for b in loop.successors()] == ["loop", "done"]
    assert isinstance(named(f, "p"), Phi) and named(f, "p").incoming_from(loop) is named(f, "q")


def test_bodies_are_parsed_when_asked_for() -> None:
    module = parse(llvm_print(LOOP))
    f = module.function("power")
    assert not f.is_declaration and f._blocks == []
    assert write(module).count("fmul") == 1 and f._blocks == []
    assert len(f.blocks) == 3 and f._body is None


def test_unnamed_values_keep_their_numbers() -> None:
    f = functions("define i32 @f(i32, i32 %x, i32) {\n  %4 = add i32 %0, %1\n  br label %5\n\n5:\n  ret i32 %4\n}")["f"]
    assert [a.name for a in f.arguments] == ["0", "x", "1"]
    assert [b.name for b in f.blocks] == ["2", "4"]
    assert f.entry.instructions[0].name == "3"


def test_a_quoted_number_is_not_the_unnamed_value() -> None:
    f = functions('define i32 @f(i32 %0) {\n  %"1" = add i32 %0, 1\n  ret i32 %"1"\n}')["f"]
    assert [i.name for i in f.instructions()][:1] == ['"1"']
    assert [b.name for b in f.blocks] == ["1"]


def test_names_are_unescaped() -> None:
    module = parse(llvm_print('@"a\\22 \\C3\\A9" = global i32 1\n@"\\01_raw" = global ptr @"a\\22 \\C3\\A9"'))
    assert set(module.globals) == {'a" é', "\x01_raw"}
    assert cast(Any, module.globals["\x01_raw"]).initializer is module.globals['a" é']


CONSTANTS = """
%pair = type { i32, %inner }
%inner = type { [2 x double] }
@a = global <4 x float> splat (float 0.5)
@b = constant [4 x i8] c"a\\00\\FFz"
@c = global i8 -1
@d = global ptr getelementptr inbounds (%pair, ptr @a, i64 1, i32 1)
@e = global %pair { i32 poison, %inner zeroinitializer }
@f = global i64 sub (i64 ptrtoint (ptr @a to i64), i64 ptrtoint (ptr @b to i64))
@g = global x86_fp80 0xK4000C90FDAA22168C235
@h = external addrspace(2) global i128
@i = global ptr blockaddress(@fun, %"the block")
@j = global ptr no_cfi @fun
@k = common hidden thread_local global i32 0, align 16
@l = private unnamed_addr constant i1 true, section "s", align 1
define void @fun() {
  br label %"the block"

"the block":
  ret void
}
"""


def test_constants() -> None:
    module = parse(llvm_print(CONSTANTS))
    value: dict[str, Any] = {v.name: v.initializer for v in module.variables}
    half = ConstFloat(T.FLOAT, 0x3F000000)
    assert value["a"] == ConstAggregate(T.VectorType(T.FLOAT, 4), (half,) * 4)
    assert [e.value for e in value["b"].elements] == [97, 0, 255, 122]
    assert value["c"] == ConstInt(T.I8, 255) and value["c"].signed == -1
    gep = value["d"]
    assert isinstance(gep, ConstExpr) and gep.flags == {"inbounds"} and str(gep.source_type) == "%pair"
    assert gep.operands[0] is module.globals["a"] and gep.operands[1:] == (ConstInt(T.I64, 1), ConstInt(T.I32, 1))
    assert value["e"].elements[0] == Undef(T.I32, True)
    assert str(value["e"].type.fields[1].fields[0]) == "[2 x double]"
    assert value["f"].opcode == "sub" and value["f"].operands[1].opcode == "ptrtoint"
    assert value["g"].bits == 0x4000C90FDAA22168C235
    h: Any = module.globals["h"]
    assert value["h"] is None and h.is_declaration
    assert module.globals["h"].type == T.PointerType(2)
    assert value["i"] == BlockAddress(T.PTR, "fun", "the block")
    assert value["j"] == RawConstant(T.PTR, "no_cfi @fun")
    k, last = module.globals["k"], cast(Any, module.globals["l"])
    assert isinstance(k, GlobalVariable) and (k.linkage, k.align, set(k.prefix)) == (
        "common",
        16,
        {"hidden", "thread_local"},
    )
    assert (last.constant, last.suffix, last.align) == (True, ', section "s"', 1)


ATTRIBUTES = """
%s = type { i64 }
define internal fastcc noundef align 8 ptr @f(ptr byval(%s) align 8 %o, ptr captures(none) dereferenceable(16) %p) #0 {
  %r = call nonnull ptr @g(i32 signext range(i32 -1, 5) 3, ptr %p) #1
  ret ptr %r
}
declare ptr @g(i32, ptr, ...) memory(argmem: read)
attributes #0 = { nounwind alignstack=16 "key"="value" "alone" }
attributes #1 = { nounwind "site" }
"""


def test_attributes_are_resolved() -> None:
    f = parse(llvm_print(ATTRIBUTES.replace("call nonnull ptr @g", "call nonnull ptr (i32, ptr, ...) @g"))).function(
        "f"
    )
    assert f.calling_convention == "fastcc" and f.linkage == "internal"
    assert Attribute("align", 8) in f.result_attributes
    byval = f.arguments[0].attribute("byval")
    assert byval is not None and isinstance(byval.value, T.StructType) and byval.value.name == "%s"
    assert f.arguments[1].attribute("captures") == Attribute("captures", "none")
    assert f.arguments[1].attribute("dereferenceable") == Attribute("dereferenceable", 16)
    assert f.attribute("alignstack") == Attribute("alignstack", 16)
    assert f.attribute("key") == Attribute("key", "value", string=True)
    call = f.entry.instructions[0]
    assert isinstance(call, Call) and call.function_type.vararg and call.arity == 2
    assert call.result_attributes == (Attribute("nonnull"),)
    assert set(call.argument_attributes[0]) == {Attribute("signext"), Attribute("range", "i32 -1, 5")}
    assert set(call.attributes) == {Attribute("nounwind"), Attribute("site", string=True)}
    assert f.module and call.called_function is f.module.function("g")


SHAPES = """
declare void @use(metadata)
declare i1 @llvm.type.test(ptr, metadata)
define i32 @f(ptr %p, <4 x i32> %v, i32 %x) {
entry:
  %w = shufflevector <4 x i32> %v, <4 x i32> poison, <2 x i32> <i32 3, i32 poison>
  %old = atomicrmw volatile umax ptr %p, i32 1 syncscope("agent") acquire, align 4
  %cx = cmpxchg weak ptr %p, i32 %x, i32 %old seq_cst monotonic, align 4
  %g = getelementptr i32, ptr %p, <4 x i32> %v
  %m = call i1 @llvm.type.test(ptr %p, metadata !"enzyme_const")
  switch i32 %x, label %a [
    i32 -1, label %b
    i32 5, label %a
  ]

a:
  %l = load atomic volatile i32, ptr %p syncscope("x") acquire, align 4, !range !0, !noundef !1
  ret i32 %l

b:
  unreachable
}
!0 = !{i32 0, i32 9}
!1 = !{}
""".replace("declare void @use(metadata)\n", "")


def test_instruction_shapes() -> None:
    f = functions(SHAPES)["f"]
    shuffle = named(f, "w")
    assert isinstance(shuffle, ShuffleVector) and shuffle.mask == (3, -1) and shuffle.type == T.VectorType(T.I32, 2)
    old = named(f, "old")
    assert isinstance(old, Other) and old.flags == {"volatile"}
    assert old.detail == {"operation": "umax", "ordering": "acquire", "syncscope": "agent", "align": 4}
    assert named(f, "cx").type == T.StructType((T.I32, T.I1))
    assert named(f, "cx").detail["failure"] == "monotonic"
    assert named(f, "g").type == T.VectorType(T.PTR, 4)
    text = named(f, "m").arguments[1]
    assert isinstance(text, MetadataValue) and text.text == '!"enzyme_const"'
    switch = f.entry.terminator
    assert isinstance(switch, Switch) and [v.signed for v in switch.values] == [-1, 5]
    assert [b.name for b in switch.targets] == ["a", "b", "a"]
    assert Counter(named(f, "a").users) == {switch: 2}
    load = named(f, "l")
    assert (load.flags, load.ordering, load.syncscope, load.align) == ({"atomic", "volatile"}, "acquire", "x", 4)
    assert set(load.metadata) == {"range", "noundef"}
    assert f.module and f.module.node(load.metadata["range"]).operands == (ConstInt(T.I32, 0), ConstInt(T.I32, 9))


METADATA = """
@g = global i32 0, !type !0, !type !1, !dbg !2
!llvm.module.flags = !{!7}
!llvm.dbg.cu = !{!4}
!0 = !{i64 0, !"a \\22 b"}
!1 = !{i64 8, !"c"}
!2 = !DIGlobalVariableExpression(var: !3, expr: !DIExpression(DW_OP_plus_uconst, 4))
!3 = distinct !DIGlobalVariable(name: "g", scope: !4, file: !5, line: 3, type: !6, isLocal: false, isDefinition: true)
!4 = distinct !DICompileUnit(language: DW_LANG_C11, file: !5, emissionKind: FullDebug)
!5 = !DIFile(filename: "f.c", directory: "")
!6 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed, flags: DIFlagArtificial | DIFlagVector)
!7 = !{i32 2, !"Debug Info Version", i32 3}
"""


def test_metadata_nodes() -> None:
    module = parse(llvm_print(METADATA))
    attached = module.globals["g"].metadata
    assert set(attached) == {"type", "type 2", "dbg"}
    assert module.node(attached["type"]).operands == (ConstInt(T.I64, 0), MDString('a " b'))
    expression = module.node(attached["dbg"])
    variable = module.node(expression.fields["var"])
    assert variable.distinct and variable.kind == "DIGlobalVariable"
    assert variable.fields["name"] == MDString("g") and variable.fields["line"] == 3
    assert variable.fields["isLocal"] is False
    basic = module.node(variable.fields["type"])
    assert basic.fields["flags"] == "DIFlagArtificial | DIFlagVector" and basic.fields["encoding"] == "DW_ATE_signed"
    inline = expression.fields["expr"]
    assert isinstance(inline, MDRef) and inline.id == -1
    assert parse_inline(module, inline).operands == ("DW_OP_plus_uconst", 4)
    assert module.node(attached["dbg"]) is expression


def test_debug_records_stay_on_the_instruction_that_follows() -> None:
    text = (
        "define void @f(i32 %x) {\n    #dbg_value(i32 %x, !1, !DIExpression(), !2)\n"
        "    #dbg_label(!3, !2)\n  ret void\n}\n"
    )
    ret = parse(text).function("f").entry.terminator
    assert ret.debug_records == ("#dbg_value(i32 %x, !1, !DIExpression(), !2)", "#dbg_label(!3, !2)")


# --- functions into a module that exists ---


def test_function_text_completes_a_declaration() -> None:
    module = parse(
        llvm_print(
            "declare double @f(double)\n"
            "define double @g(double %x) {\n  %y = call double @f(double %x)\n  ret double %y\n}"
        )
    )
    declared = module.function("f")
    assert len(module.function("g").blocks) == 1
    (f,) = parse_function_text(
        module,
        """
        define internal double @f(double %a) #7 {
        entry:
          ; comments may stand here
          %b = call double @llvm.sqrt.f64(double %a)   ; and here
          ret double %b
        }
        declare double @llvm.sqrt.f64(double)
        attributes #7 = { alwaysinline }
        """,
    )[:1]
    assert f is declared and f.linkage == "internal" and f.attribute("alwaysinline")
    assert 7 not in module.attribute_groups
    verify(module)
    assert "declare double @llvm.sqrt.f64(double)" in llvm_print(write(module))


def test_function_text_refuses_what_does_not_fit() -> None:
    module = parse(llvm_print("declare double @f(double)\ndefine void @g() {\n  ret void\n}"))
    with pytest.raises(ParseError, match="exists already"):
        parse_function_text(module, "define float @f(float %x) {\n  ret float %x\n}")
    with pytest.raises(ParseError, match="has a body already"):
        parse_function_text(module, "define void @g() {\n  ret void\n}")
    with pytest.raises(ParseError, match="only functions"):
        parse_function_text(module, "@x = global i32 0")
    with pytest.raises(ParseError, match="lines of its own"):
        parse_function_text(module, "define void @h() { ret void }\n\ndefine void @i() {\n  ret void\n}\n")


# --- errors ---

BROKEN = [
    ("  %x = frobnicate i32 1", "unknown instruction 'frobnicate'"),
    ("  %x = add i32 %y, 1\n  ret void", "%y is used but not defined"),
    ("  br label %nowhere", "%nowhere is used but not defined"),
    ("  %x = add i32 1, 2\n  %x = add i32 1, 2\n  ret void", "%x is defined twice"),
    ("  call void @missing()\n  ret void", "@missing is not declared"),
    ("  %x = add i32 1, 2\n  %y = fadd float %x, 1.0\n  ret void", "%x has type i32, but is used as float"),
    ("  %y = fadd float %x, 1.0\n  %x = add i32 1, 2\n  ret void", "%x has type i32, but was used as float"),
    ("  store i32 1.5, ptr null\n  ret void", "expected a value of type i32"),
    ("  store float 0x3FB999999999999A, ptr null\n  ret void", "not exactly a float"),
    ("  %x = load frob, ptr null\n  ret void", "expected a type, found 'frob'"),
    ("  %x = load %unknown, ptr null\n  ret void", "type %unknown is not defined"),
    ("  call void @f() #9\n  ret void", "attribute group #9 is not defined"),
    ("  %x = extractvalue { i32 } undef, 1\n  ret void", "index 1 into { i32 }"),
    ("  fence sometimes\n  ret void", "expected an ordering"),
    ("  %x = store i32 1, ptr null\n  ret void", "names an instruction without a value"),
]


@pytest.mark.parametrize(("body", "message"), BROKEN, ids=[m for _, m in BROKEN])
def test_errors_name_the_cause(body: str, message: str) -> None:
    module = parse(f"define void @f() {{\n{body}\n}}\n")
    with pytest.raises(ParseError) as caught:
        assert module.function("f").blocks
    assert message in str(caught.value) and "@f" in str(caught.value)


def test_an_error_shows_the_line() -> None:
    module = parse("define void @f() {\n  %a = add i32 1, 2 ; fine\n  %b = frob i32 %a\n  ret void\n}\n")
    with pytest.raises(ParseError) as caught:
        assert module.function("f").blocks
    assert caught.value.cause == "in the line: %b = frob i32 %a"


@pytest.mark.parametrize(
    "text",
    [
        "@x = what i32 0",
        "define void @f() {\n  ret void\n",
        "frobnicate 3",
        "%x = typo i32",
        "@x = global i32 0\n@x = global i32 0",
    ],
)
def test_errors_at_top_level(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)


def test_new_metadata_gets_a_free_number() -> None:
    module = Module()
    module.raw_metadata = {0: "!{}", 7: "!{!0}"}
    assert [module.add_metadata("!{!1}"), module.add_metadata("!{}")] == [MDRef(8), MDRef(9)]
