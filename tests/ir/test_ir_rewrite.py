"""Edits that passes share: which bodies concern them, values put in another's place, names of globals."""

from __future__ import annotations

import pytest

from llgrad.ir.build import const_float
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.rewrite import before, bodies, called_instead, calls, erase, local_names, replaced
from llgrad.ir.symbols import called, copied, make_local, named, pointed_to, rename, use_elsewhere, use_instead
from llgrad.ir.types import DOUBLE
from llgrad.ir.values import Attribute, Call, GlobalValue
from llgrad.ir.verify import verify
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule

PROGRAM = """
@table = global [2 x ptr] [ptr @one, ptr @"two words"]
declare double @one(double)
declare double @"two words"(double)
define weak double @f(double %0) comdat($f) {
  %2 = call double @one(double %0)
  %3 = call double @one(double %2)
  ret double %3
}
define ptr @g() {
  ret ptr @one
}
define void @h(ptr %p) {
  call void %p()
  ret void
}
$f = comdat any
"""


def checked(module: Module) -> str:
    verify(module)
    text = write(module)
    LLVMModule.from_text(text)
    return text


def test_only_bodies_that_concern_are_read() -> None:
    module = parse(PROGRAM)
    assert [f.name for f in bodies(module, "@one(")] == ["f"] and len(calls(module, "on")) == 2
    assert module.function("f").unread is None and module.function("g").unread is not None
    assert calls(module, "nobody.") == []


def test_values_are_put_in_the_place_of_calls() -> None:
    module = parse(PROGRAM)
    first, second = calls(module, "one")
    b = before(second, local_names(module.function("f")))
    replaced(second, b.binary("fadd", first, first, "llgrad.sum"))
    replaced(first, module.function("f").arguments[0])
    assert "fadd double %0, %0" in checked(module) and calls(module, "one") == []


def test_an_instruction_leaves_its_debug_records() -> None:
    module = parse(PROGRAM)
    first, second = calls(module, "one")
    first.debug_records, second.operands[0] = ("#dbg_value(i32 1, !1, !2, !3)",), module.function("f").arguments[0]
    first.users.clear()
    erase(first)
    assert second.debug_records == ("#dbg_value(i32 1, !1, !2, !3)",)


def test_who_is_named_called_and_pointed_to() -> None:
    for read in (False, True):
        module = parse(PROGRAM)
        for f in module.functions if read else ():
            assert f.blocks is not None
        f, g, h = (module.function(name) for name in "fgh")
        assert named(f) == called(f) == {"one"} and named(g) == {"one"} and called(g) == set() and called(h) == {""}
        assert pointed_to(module) == {"one", "two words"}


def test_globals_get_other_names_everywhere() -> None:
    module = parse(PROGRAM)
    rename(module, {"one": "uno", "two words": "dos", "f": "new f", "nobody": "x"})
    text = checked(module)
    assert "@one" not in text and text.count("@uno") == 5 and 'double @"new f"(double %0) comdat($f)' in text
    assert "[ptr @uno, ptr @dos]" in text


def test_records_and_groups_name_what_is_renamed() -> None:
    module = parse(PROGRAM.replace("comdat($f)", "comdat align 16"))
    first = calls(module, "one")[0]
    first.debug_records = ("#dbg_value(ptr @f, !1, !2, !3)",)
    rename(module, {"f": "new f"})
    assert first.debug_records == ('#dbg_value(ptr @"new f", !1, !2, !3)',)
    assert module.function("new f").suffix.endswith("comdat($f) align 16")


def test_globals_are_used_in_the_place_of_others_but_where_they_are_kept() -> None:
    module = parse(PROGRAM)
    one, two = module.function("one"), module.function("two words")
    assert use_elsewhere(module, one, two, callees=False, keeps=lambda g: g.name == "table")
    text = checked(module)
    assert (
        text.count("call double @one(") == 2
        and "ptr @one" in text.partition("declare")[0]
        and 'ret ptr @"two words"' in text
    )
    assert not use_elsewhere(module, one, two, callees=False, keeps=lambda g: g.name == "table")


def test_a_call_takes_the_place_of_another() -> None:
    module = parse(PROGRAM)
    (call,) = [i for i in module.function("h").instructions() if isinstance(i, Call)]
    call.tail, f = "tail", module.function("f")
    new = called_instead(call, f, [const_float(DOUBLE, 2)], [(Attribute("noundef"),)], result=DOUBLE)
    new.name = "y"
    assert not new.tail and "call double @f(double noundef 2" in checked(module)


def test_globals_stand_for_others() -> None:
    module = parse(PROGRAM)
    use_instead(module, {"one": module.function("two words")})
    text = checked(module)
    assert "@one" not in text and text.count('@"two words"') == 6


def test_copies_are_functions_of_their_own() -> None:
    for read in (False, True):
        module = parse(PROGRAM)
        f = module.function("f")
        assert not read or f.blocks
        new = copied(f, "f.copy")
        make_local(new)
        assert {new.arguments[0].type, new.blocks[0].terminator.operands[0].type} == {DOUBLE}
        text = checked(module)
        assert "define internal double @f.copy(double %" in text and text.count("call double @one") == 4
        assert isinstance(module.globals["f.copy"], GlobalValue) and f.arguments[0] is not new.arguments[0]


@pytest.mark.parametrize("name", ["a$b", 'a"b', "a b", "1", "a\\b", "äb"])
def test_names_that_llvm_quotes_are_found_in_bodies_that_were_not_read(name: str) -> None:
    """LLVM quotes more names than we do: `$` is one of a plain name's characters to us, and is quoted by LLVM."""
    module = parse("define void @f() {\n  ret void\n}\ndefine void @g() {\n  call void @f()\n  ret void\n}\n")
    rename(module, {"f": name})
    again = parse(LLVMModule.from_text(write(module)).text())
    decoded = next(f.name for f in again.functions if f.name != "g")
    assert len(calls(again, decoded)) == 1
    rename(again, {decoded: "h"})
    assert "call void @h()" in write(again)
