"""Reading, linking, optimising: what a module promises."""

from __future__ import annotations

import gc

import pytest

from llgrad.errors import ArgumentError, ParseError, UnknownNameError, UnsupportedError, VerifyError
from llgrad.llvm import LLVMModule, host_layout, host_triple, pass_names

STACK = """
define i32 @pick(i32 %c) #0 {
  %slot = alloca i32
  store i32 %c, ptr %slot
  %v = load i32, ptr %slot
  %w = add i32 %v, 0
  ret i32 %w
}
attributes #0 = { noinline nounwind optnone "target-cpu"="x86-64" "target-features"="+sse2" }
"""


def test_a_module_gets_the_hosts_target(square: LLVMModule) -> None:
    assert f'target triple = "{host_triple()}"' in square.text()
    assert f'target datalayout = "{host_layout()}"' in square.text()


def test_text_and_bitcode_round_trip(square: LLVMModule) -> None:
    again = LLVMModule.from_bitcode(square.bitcode())
    assert "fmul double %x, %x" in again.text()
    assert LLVMModule.read(again.bitcode()).functions() == LLVMModule.read(square.text().encode()).functions()


def test_reading_twice_gives_the_same_text() -> None:
    text = "%pair = type { double, double }\ndefine void @f(ptr %p) {\n  %x = load %pair, ptr %p\n  ret void\n}\n"
    first = LLVMModule.from_text(text)
    assert first.text() == LLVMModule.from_text(text).text() == first.clone().text()


def test_old_layout_of_the_same_machine_is_accepted() -> None:
    old = 'target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128"\n'
    module = LLVMModule.from_text(old + 'target triple = "x86_64-pc-linux-gnu"\n')
    assert host_layout() in module.text()


@pytest.mark.parametrize(
    "head",
    [
        'target triple = "aarch64-unknown-linux-gnu"',
        'target triple = "i686-pc-linux-gnu"',
        'target datalayout = "e-m:e-i32:64:64-n8"',
        'target datalayout = "E"',
        'target datalayout = "e-p:32:32"',
        'target datalayout = "e-m:o-i64:64"',
    ],
)
def test_another_machine_is_refused(head: str) -> None:
    with pytest.raises(UnsupportedError, match="another machine"):
        LLVMModule.from_text(head)


@pytest.mark.parametrize(
    "text", ["hello", "define i32 @f() {\n  ret i32 %x\n}", "define void @f() {\n  ret void\n}\n\0 more"]
)
def test_text_that_does_not_parse(text: str) -> None:
    with pytest.raises(ParseError):
        LLVMModule.from_text(text)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("define i32 @f(i1 %c) {\n br i1 %c, label %a, label %b\na:\n %x = add i32 1, 2\n"
         " br label %b\nb:\n ret i32 %x\n}", "dominate"),
        ("define token @f() {\n ret token none\n}", "token"),
        ("@a = alias i32, ptr @b\n@b = alias i32, ptr @a", "cycle"),
        ("define void @f(ptr sret(i32) %a, ptr sret(i32) %b) {\n ret void\n}", "sret"),
    ],
)  # fmt: skip
def test_text_that_does_not_verify(text: str, word: str) -> None:
    with pytest.raises(VerifyError) as caught:
        LLVMModule.from_text(text)
    assert word in caught.value.cause


def test_what_llvm_reads_of_older_assembly_only_as_bitcode() -> None:
    text = "@g = global i8 0\ndefine i64 @f() {\n  ret i64 mul (i64 ptrtoint (ptr @g to i64), i64 4)\n}\n"
    with pytest.raises(ParseError) as caught:
        LLVMModule.read(text.encode())
    assert "llvm-as" in caught.value.fix


def test_bytes_that_are_neither() -> None:
    with pytest.raises(ParseError):
        LLVMModule.read(b"\xff\xfe\x00")
    with pytest.raises(ParseError):
        LLVMModule.from_bitcode(b"define void @f()")


def test_damaged_bitcode(square: LLVMModule) -> None:
    data = square.bitcode()
    with pytest.raises((ParseError, UnsupportedError)):
        LLVMModule.from_bitcode(data[: len(data) // 2], trusted=False)
    assert LLVMModule.from_bitcode(data, trusted=False).functions()


def test_cpu_attributes_are_dropped_and_unblock_frees_the_passes() -> None:
    module = LLVMModule.from_text(STACK)
    assert "target-cpu" not in module.text() and "optnone" in module.text()
    module.run(["sroa"])
    assert "alloca" in module.text()
    module.unblock()
    assert "optnone" not in module.text() and "noinline" not in module.text() and "nounwind" in module.text()
    module.run(["sroa", "instruction_combine"])
    assert "alloca" not in module.text() and "ret i32 %c" in module.text()


def test_unblock_keeps_the_programmers_noinline() -> None:
    module = LLVMModule.from_text("define void @f() noinline {\n  ret void\n}\n")
    module.unblock()
    assert "noinline" in module.text()


def test_strip_attributes_that_leaves_nothing() -> None:
    module = LLVMModule.from_text("define void @f() nounwind {\n  ret void\n}\n")
    module.strip_attributes(["nounwind"])
    assert "nounwind" not in module.text()


def test_linking_joins_and_leaves_the_others(square: LLVMModule) -> None:
    user = LLVMModule.from_text(
        "declare double @square(double)\ndefine double @f(double %x) {\n"
        "  %y = call double @square(double %x)\n  ret double %y\n}\n"
    )
    user.link(square)
    assert {(f.name, f.is_declaration) for f in user.functions()} == {("square", False), ("f", False)}
    assert [f.name for f in square.functions()] == ["square"]
    user.optimise(2)
    assert "call" not in user.text()


def test_linking_a_symbol_twice_is_an_error_that_changes_nothing(square: LLVMModule) -> None:
    before = square.text()
    with pytest.raises(VerifyError, match="linked"):
        square.link(square.clone())
    assert square.text() == before


def test_linked_of_nothing() -> None:
    with pytest.raises(ArgumentError):
        LLVMModule.linked([])


def test_internalize_drops_what_nothing_reaches() -> None:
    module = LLVMModule.from_text(
        "@unused = global i32 1\n@used = global i32 2\n"
        "define i32 @keep() {\n  %v = load i32, ptr @used\n  %w = call i32 @helper(i32 %v)\n  ret i32 %w\n}\n"
        "define i32 @helper(i32 %v) {\n  ret i32 %v\n}\ndefine void @dead() {\n  ret void\n}\n"
    )
    module.internalize({"keep"})
    assert {(f.name, f.linkage) for f in module.functions()} == {("keep", "external"), ("helper", "internal")}
    assert "@unused" not in module.text() and "@used = internal" in module.text()
    with pytest.raises(UnknownNameError, match="nothing_here"):
        module.internalize({"nothing_here"})


def test_optimise_vectorises_only_on_demand() -> None:
    text = (
        "define void @f(ptr noalias %a, ptr noalias %b, i64 %n) {\nentry:\n  br label %l\nl:\n"
        "  %i = phi i64 [ 0, %entry ], [ %k, %l ]\n  %p = getelementptr double, ptr %b, i64 %i\n"
        "  %x = load double, ptr %p\n  %y = fmul double %x, 3.0\n  %q = getelementptr double, ptr %a, i64 %i\n"
        "  store double %y, ptr %q\n  %k = add i64 %i, 1\n  %c = icmp slt i64 %k, %n\n"
        "  br i1 %c, label %l, label %d\nd:\n  ret void\n}\n"
    )
    plain, vector = LLVMModule.from_text(text), LLVMModule.from_text(text)
    plain.optimise(3)
    vector.optimise(3, vectorize=True)
    assert " x double>" not in plain.text() and " x double>" in vector.text()


@pytest.mark.parametrize("level", [-1, 4, 7])
def test_wrong_levels(square: LLVMModule, level: int) -> None:
    with pytest.raises(ArgumentError):
        square.optimise(level)


def test_unknown_cpu(square: LLVMModule) -> None:
    with pytest.raises(ArgumentError, match="unknown CPU"):
        square.optimise(2, cpu="pdp11")
    square.optimise(2, cpu="skylake")


def test_every_pass_name_runs(square: LLVMModule) -> None:
    for name in pass_names():
        copy = square.clone()
        copy.run([name])
        copy.verify()


def test_unknown_pass(square: LLVMModule) -> None:
    with pytest.raises(ArgumentError, match="licm"):
        square.run(["licm"])


def test_a_pass_on_one_function_leaves_the_others() -> None:
    two = STACK.replace("noinline nounwind optnone", "nounwind")
    module = LLVMModule.from_text(two + two.split("attributes")[0].replace("@pick", "@other"))
    module.run(["sroa"], function="pick")
    assert module.text().count("alloca") == 1
    with pytest.raises(UnknownNameError):
        module.run(["sroa"], function="nobody")


def test_modules_in_reference_cycles_are_collected() -> None:
    for _ in range(20):
        cycle: list[object] = [LLVMModule.from_text("define void @f() {\n  ret void\n}\n")]
        cycle.append(cycle)
        del cycle
        gc.collect()


def test_broken_debug_info_is_dropped_and_the_code_kept() -> None:
    text = "define i32 @f() {\n  ret i32 1, !dbg !1\n}\n!1 = !DILocation(line: 3, column: 2, scope: !2)\n!2 = !{}\n"
    module = LLVMModule.from_text(text)
    assert "ret i32 1" in module.text() and "!dbg" not in module.text()


def test_attributes_are_not_given_to_functions_that_say_the_contrary() -> None:
    words = {"f": "nounwind", "g": "noinline optnone", "h": "optdebug", "i": "alwaysinline", "j": "noinline"}
    text = "".join(f"define internal void @{name}() {said} {{\n  ret void\n}}\n" for name, said in words.items())
    cases = (("optsize", ["nounwind optsize", "noinline optsize"]), ("alwaysinline", ["alwaysinline nounwind"]))
    for given, marked in cases:
        module = LLVMModule.from_text(text)
        module.mark([given])
        module.verify()
        found = [line for line in module.text().split("\n") if line.startswith("; Function Attrs: ")]
        said = [line.removeprefix("; Function Attrs: ") for line in found]
        assert [line for line in said if line not in words.values()] == marked
