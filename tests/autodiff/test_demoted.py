"""Values in registers that become memory: what is written is valid, and does what it did."""

from __future__ import annotations

import re

from llgrad.ir.parse import parse
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule
from llgrad.transforms.legalize.mixed_to_memory import demote

PASSED = """
define internal ptr @chosen(ptr %first, ptr %second, ptr %third) {
  %a = load i8, ptr %first
  %b = load i8, ptr %third
  ret ptr %second
}
define void @root(ptr %p, ptr %q) {
  %one = load ptr, ptr %p
  %two = load ptr, ptr %q
  %r = call ptr @chosen(ptr %one, ptr %two, ptr %two)
  store ptr %r, ptr %p
  store ptr %one, ptr %q
  ret void
}
"""


def test_a_call_whose_result_is_in_memory_reads_what_it_is_passed_by_value() -> None:
    module = parse(PASSED)
    root, chosen = module.function("root"), module.function("chosen")
    demote(module, [*(i for i in root.instructions() if i.name in ("one", "two", "r")), chosen.arguments[1]])
    text = LLVMModule.from_text(write(module)).text()
    call = next(line for line in text.splitlines() if "call void @chosen(" in line)
    assert re.search(r"\(ptr %one[.\d]*, ptr %word[.\d]*, ptr %two[.\d]*, ptr %word[.\d]*\)", call), call


MADE_BY_INVOKE = """
declare ptr @made()
declare i32 @__gxx_personality_v0(...)
define ptr @root(i1 %c, ptr %q) personality ptr @__gxx_personality_v0 {
  br i1 %c, label %one, label %two
one:
  %a = invoke ptr @made() to label %both unwind label %thrown
two:
  br label %both
both:
  %p = phi ptr [ %a, %one ], [ %q, %two ]
  %s = phi i32 [ 1, %one ], [ 2, %two ]
  ret ptr %p
thrown:
  %t = landingpad { ptr, i32 } cleanup
  resume { ptr, i32 } %t
}
"""


def test_a_phi_in_memory_takes_what_an_invoke_makes_behind_the_invoke() -> None:
    module = parse(MADE_BY_INVOKE)
    root = module.function("root")
    demote(module, [i for i in root.instructions() if i.name == "p"])
    made = LLVMModule.from_text(write(module))
    made.verify()
    assert re.search(r"one\.both:\s*; preds = %one\n  store ptr %a, ptr %word", made.text())
    assert "%s = phi i32 [ 1, %one.both ], [ 2, %two ]" in made.text()
