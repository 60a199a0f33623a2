"""Exceptions are thrown and caught in code of many engines, wherever their sections come to lie in memory.

libgcc looks for a frame among the registered objects by where each begins, and asks one of them only: objects whose
code interleaves would hide each other's frames, and a throw would end the process.
"""

from __future__ import annotations

import ctypes
import random

import pytest
from sandbox import isolated

from llgrad.llvm import Engine, LLVMModule

LIBRARY = "libstdc++.so.6"
HEAD = """
@_ZTIi = external constant ptr
declare ptr @__cxa_allocate_exception(i64)
declare void @__cxa_throw(ptr, ptr, ptr)
declare ptr @__cxa_begin_catch(ptr)
declare void @__cxa_end_catch()
declare i32 @__gxx_personality_v0(...)
"""
PAIR = """
$throws.{i} = comdat any
define linkonce_odr void @throws.{i}(i32 %x) noinline comdat {{
  %v = add i32 %x, {i}
  %memory = call ptr @__cxa_allocate_exception(i64 4)
  store i32 %v, ptr %memory
  call void @__cxa_throw(ptr %memory, ptr @_ZTIi, ptr null)
  unreachable
}}
$catches.{i} = comdat any
define i32 @catches.{i}(i32 %x) comdat personality ptr @__gxx_personality_v0 {{
  invoke void @throws.{i}(i32 %x) to label %normal unwind label %handler
normal:
  ret i32 0
handler:
  %thrown = landingpad {{ ptr, i32 }} catch ptr @_ZTIi
  %object = extractvalue {{ ptr, i32 }} %thrown, 0
  %value = call ptr @__cxa_begin_catch(ptr %object)
  %caught = load i32, ptr %value
  call void @__cxa_end_catch()
  ret i32 %caught
}}
"""


def throwing(pairs: int) -> bytes:
    """An object with that many functions that throw, and as many that catch, each in a section of its own."""
    text = HEAD + "".join(PAIR.format(i=i) for i in range(pairs))
    return Engine([LLVMModule.from_text(text)], libraries=[LIBRARY]).object_bytes()


def caught(seed: int) -> bool:
    """Loads sixty engines, closes about half of them on the way, and throws through all that are left."""
    choose = random.Random(seed)
    objects = {pairs: throwing(pairs) for pairs in (1, 30, 60)}
    engines: list[tuple[int, Engine]] = []
    for _ in range(60):
        pairs = choose.choice(list(objects))
        engines.append((pairs, Engine.from_object(objects[pairs], libraries=[LIBRARY])))
        if choose.random() < 0.5:
            engines.pop(choose.randrange(len(engines)))[1].close()
    calls = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)
    return all(calls(engine.address(f"catches.{i}"))(7) == 7 + i for pairs, engine in engines for i in range(pairs))


@pytest.mark.parametrize("seed", [1, 2])
def test_throws_reach_their_handlers(seed: int) -> None:
    try:
        ctypes.CDLL(LIBRARY)
    except OSError:
        pytest.skip(f"{LIBRARY} is not installed (Debian: libstdc++6)")
    assert isolated(caught, seed)  # a throw that nobody catches would end this process
