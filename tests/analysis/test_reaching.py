"""Which writes may reach a read: readers of one place share what is found of the whole program."""

from __future__ import annotations

import pytest

from llgrad.analysis.memory import mod_ref
from llgrad.analysis.memory.mod_ref import Access, Memory
from llgrad.analysis.memory.reaching_stores import Reaching
from llgrad.ir.parse import parse
from llgrad.ir.values import Load, Store

FUNCTIONS = 30


def program() -> str:
    """Functions that each move a word of one block to another place in it, by pointers of their own."""
    body = "\n".join(
        f"""define void @move{n}(ptr %b) noinline {{
  %from = getelementptr i8, ptr %b, i64 {8 * (n % 3)}
  %v = load i64, ptr %from
  %to = getelementptr i8, ptr %b, i64 {8 * ((n + 1) % 3)}
  store i64 %v, ptr %to
  ret void
}}"""
        for n in range(FUNCTIONS)
    )
    calls = "\n".join(f"  call void @move{n}(ptr %b)" for n in range(FUNCTIONS))
    return f"""{body}
declare noalias ptr @malloc(i64)
define void @f() {{
  %b = call ptr @malloc(i64 24)
{calls}
  ret void
}}
"""


def test_readers_of_one_place_share_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    compared = list[Access]()
    may_meet = Memory.may_meet

    def counted(memory: Memory, a: Access, b: Access) -> bool:
        compared.append(a)
        return may_meet(memory, a, b)

    monkeypatch.setattr(Memory, "may_meet", counted)
    module = parse(program())
    found = mod_ref.analyse(module, module.function("f"))
    reaching = Reaching(found)
    for function in found.functions:
        for i in function.instructions():
            if isinstance(i, Load):
                (read,) = found.reads(i)
                writers, older = reaching.writers(i, read)
                assert not older
                assert len(writers) == FUNCTIONS // 3
                assert all(found.places(w.pointer) == read.places for w in writers if isinstance(w, Store))
                assert reaching.writers(None, reaching.shared(i, read) or read) == (writers, older)
    assert 0 < len(compared) < 5 * FUNCTIONS


@pytest.mark.parametrize(("flags", "found"), [("inbounds nuw", 1), ("inbounds", 2)])
def test_elements_lie_behind_a_header(flags: str, found: int) -> None:
    """What is stored `n` elements further on, never back, leaves the number before them alone."""
    module = parse(
        f"""declare noalias ptr @malloc(i64)
define i64 @f(i64 %n, double %x, i1 %c) {{
  %p = call ptr @malloc(i64 80)
  store i64 9, ptr %p
  %data = getelementptr inbounds nuw i8, ptr %p, i64 8
  %element = getelementptr {flags} double, ptr %data, i64 %n
  store double %x, ptr %element
  %v = load i64, ptr %p
  ret i64 %v
}}
"""
    )
    root = module.function("f")
    known = mod_ref.analyse(module, root)
    load = next(i for i in root.instructions() if isinstance(i, Load))
    (read,) = known.reads(load)
    assert len(Reaching(known).writers(load, read)[0]) == found
