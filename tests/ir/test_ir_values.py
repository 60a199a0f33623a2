"""The data structure itself: editing keeps use lists exact; sizes and offsets are LLVM's; places in the source."""

from __future__ import annotations

import llvmlite.binding as llvm
import pytest
from ir_corpus import llvm_print
from test_ir_parse import LOOP, named
from test_ir_write import RECORDS

from llgrad.errors import Span
from llgrad.ir import types as T
from llgrad.ir.build import Names
from llgrad.ir.parse import parse
from llgrad.ir.values import Block, ConstFloat, replace_uses
from llgrad.ir.verify import verify, verify_function


def test_replace_uses_of_a_block_reaches_phis() -> None:
    f = parse(llvm_print(LOOP)).function("power")
    entry, loop, _ = f.blocks
    split = Block("split", f)
    f._blocks.insert(1, split)
    for i in list(entry.instructions):
        entry.instructions.remove(i)
        split.append(i)
    replace_uses(entry, split)
    f._blocks.remove(entry)
    verify_function(f)
    assert entry.users == [] and named(f, "p").blocks == [split, loop]


def test_replace_uses_of_a_value_with_a_constant() -> None:
    f = parse(llvm_print(LOOP)).function("power")
    r = named(f, "r")
    replace_uses(r, ConstFloat(T.DOUBLE, 0))
    r.drop()
    verify_function(f)
    assert named(f, "twice").operands == [ConstFloat(T.DOUBLE, 0)] * 2


def test_a_dropped_phi_leaves_no_trace() -> None:
    f = parse(llvm_print(LOOP)).function("power")
    i = named(f, "i")
    replace_uses(i, f.arguments[1])
    i.drop()
    verify_function(f)
    assert i.blocks == [] and i not in f.entry.users


LAYOUTS = {
    "x86-64": "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128",
    "aarch64": "e-m:e-p270:32:32-p271:32:32-p272:64:64-i8:8:32-i16:16:32-i64:64-i128:128-n32:64-S128-Fn32",
}
SIZED = [
    "i1",
    "i8",
    "i16",
    "i24",
    "i32",
    "i48",
    "i64",
    "i65",
    "i128",
    "i256",
    "half",
    "float",
    "double",
    "fp128",
    "ptr",
]
SIZED += [
    "x86_fp80",
    "<2 x float>",
    "<3 x float>",
    "<4 x double>",
    "<8 x i1>",
    "<5 x i8>",
    "<2 x ptr>",
    "[3 x i24]",
    "{}",
]
SIZED += [
    "{ i8, double, i8 }",
    "<{ i8, double, i8 }>",
    "{ i8, { i16, x86_fp80 }, [3 x i8] }",
    "[0 x i64]",
    "{ i8, <3 x float> }",
]
SIZED += ["{ [7 x i8], i128 }", "{ i1, <{ i32, i8 }>, i16 }", "[2 x { ptr, i8 }]"]


@pytest.mark.parametrize("target", LAYOUTS)
def test_sizes_and_offsets_are_llvms(target: str) -> None:
    lines = "".join(f"@g{n} = external global {t}\n" for n, t in enumerate(SIZED))
    text = f'target datalayout = "{LAYOUTS[target]}"\n{lines}'
    module = parse(llvm_print(text))
    theirs = llvm.parse_assembly(text, context=llvm.create_context())
    data = llvm.create_target_data(LAYOUTS[target])
    for ours, their in zip(module.variables, theirs.global_variables, strict=True):
        t, layout = ours.value_type, module.layout
        assert layout.alloc_size(t) == data.get_abi_size(their.global_value_type), str(t)
        assert layout.align(t) == data.get_abi_alignment(their.global_value_type), str(t)
        if isinstance(t, T.StructType):
            found = [data.get_element_offset(their.global_value_type, i) for i in range(len(t.fields or ()))]
            assert list(layout.offsets(t)) == found, str(t)


def test_a_span_comes_from_the_location() -> None:
    module = parse(llvm_print(RECORDS.replace("mul i32 %x, 3", "mul i32 %x, 3, !dbg !7")))
    verify(module)
    f = module.function("f")
    assert module.span(named(f, "y")) == Span("a.c", 2, 3)
    assert module.span(f.entry.terminator) is None


def test_functions_are_found_through_aliases() -> None:
    text = (
        "define void @f() {\n  ret void\n}\n@a = alias void (), ptr @f\n@b = alias void (), ptr @a\n@v = global i32 0"
    )
    module = parse(llvm_print(text))
    assert module.function("b") is module.globals["f"]
    for name in ("v", "nothing"):
        with pytest.raises(KeyError):
            module.function(name)


def test_fresh_names_are_short_enough_for_llvm() -> None:
    """Inlining makes names of a thousand characters; LLVM cuts longer ones."""
    names = Names(["x" * 1020])
    made = [names.fresh("x" * 1020 + ".again") for _ in range(3)]
    assert len(set(made)) == 3 and max(map(len, made)) < 600
