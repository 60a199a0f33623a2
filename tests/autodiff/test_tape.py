"""The arena, both variants, against a model of it in Python; and how it fails.

Memory functions of the C library are replaced, so that what is allocated and freed is seen.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from harness import without_huge_pages
from sandbox import Crash, isolated

import llgrad
from llgrad.autodiff.emit import arena_build, arena_runtime, tape
from llgrad.drivers import drive
from llgrad.errors import CompilerError
from llgrad.frontends.c.clang import find_compiler
from llgrad.llvm import Engine, LLVMModule

VARIANTS = [False, True]
SEGMENTS, BLOCKS = VARIANTS  # values of `each_block_its_own`
FAILURE = 100  # exit status: this and llgrad_fail's code
_libc = ctypes.CDLL(None)
_libc.aligned_alloc.restype = ctypes.c_void_p
_libc.aligned_alloc.argtypes = [ctypes.c_size_t, ctypes.c_size_t]
_libc.free.argtypes = [ctypes.c_void_p]

_EXPORTED = """
define ptr @test.reserve(ptr %arena, i64 %bytes) {
  %p = call ptr @llgrad.tape.reserve(ptr %arena, i64 %bytes)
  ret ptr %p
}
define void @test.release(ptr %arena, ptr %block) {
  call void @llgrad.tape.release(ptr %arena, ptr %block)
  ret void
}
define void @test.defer(ptr %arena, ptr %block) {
  call void @llgrad.tape.defer(ptr %arena, ptr %block, ptr @free)
  ret void
}
define void @test.finish(ptr %arena) {
  call void @llgrad.tape.finish(ptr %arena)
  ret void
}
define i64 @test.hold(ptr %arena, ptr %block) {
  %n = call i64 @llgrad.tape.hold(ptr %arena, ptr %block, ptr @free)
  ret i64 %n
}
define i64 @test.keep(ptr %arena, ptr %block) {
  %n = call i64 @llgrad.tape.hold(ptr %arena, ptr %block, ptr null)
  ret i64 %n
}
define void @test.arm(ptr %arena, i64 %n) {
  call void @llgrad.tape.arm(ptr %arena, i64 %n, ptr null, ptr @free)
  ret void
}
define void @test.drop(ptr %arena, ptr %block) {
  call void @llgrad.tape.drop(ptr %arena, ptr %block)
  ret void
}
define void @test.end(ptr %arena) {
  call void @llgrad.tape.free(ptr %arena)
  ret void
}
"""
_HOOKED = {
    "malloc": ("ptr", "i64 %a"),
    "aligned_alloc": ("ptr", "i64 %a, i64 %b"),
    "realloc": ("ptr", "ptr %a, i64 %b"),
    "free": ("void", "ptr %a"),
    "llgrad_fail": ("void", "i32 %a, ptr %b"),
}
_DECLARED = re.compile(rf"^declare [^\n]*@({'|'.join(_HOOKED)})\(.*$", re.MULTILINE)
_EXPORTS = ("reserve", "release", "defer", "finish", "hold", "keep", "arm", "drop", "end")


class Heap:
    """What the arena asked the C library for; addresses to sizes."""

    def __init__(self) -> None:
        self.live: dict[int, int] = {}
        self.freed: list[int] = []
        self.allocations = 0

    def allocate(self, alignment: int, size: int) -> int:
        address = _libc.aligned_alloc(alignment, -(-size // alignment) * alignment) if size < 1 << 40 else None
        if address:
            self.allocations += 1
            self.live[address] = size
        return address or 0

    def reallocate(self, address: int, size: int) -> int:
        made = self.allocate(16, size)
        if address:
            ctypes.memmove(made, address, min(size, self.live[address]))
            self.free(address)
        return made

    def free(self, address: int) -> None:
        if not address:
            return
        del self.live[address]
        self.freed.append(address)
        _libc.free(address)


def _fail(code: int, detail: int) -> None:
    os._exit(FAILURE + code)


FAIL = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_void_p)(_fail)


class Arena:
    """An arena in machine code. `peak` and `used` are read from the struct."""

    def __init__(self, variant: bool, level: int = 2) -> None:
        self.heap = Heap()
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        self._hooks = (
            ctypes.CFUNCTYPE(pointer, size)(lambda n: self.heap.allocate(16, n)),
            ctypes.CFUNCTYPE(pointer, size, size)(self.heap.allocate),
            ctypes.CFUNCTYPE(pointer, pointer, size)(self.heap.reallocate),
            ctypes.CFUNCTYPE(None, pointer)(self.heap.free),
        )
        text = _DECLARED.sub("", LLVMModule.from_bitcode(arena_runtime.shipped(variant).read_bytes()).text())
        module = LLVMModule.from_text(text + _EXPORTED + self._hook_text())
        module.internalize([f"test.{name}" for name in _EXPORTS])
        module.optimise(level, vectorize=False, unroll=False)
        self.engine = Engine([module], opt_level=level)
        self.memory = np.zeros(tape.ARENA_BYTES, np.uint8)
        self._call = {
            name: ctypes.CFUNCTYPE(pointer if name in ("reserve", "hold", "keep") else None, pointer, ctypes.c_uint64)(
                self.engine.address(f"test.{name}")
            )
            for name in _EXPORTS
        }

    def _hook_text(self) -> str:
        """Definitions of what the runtime calls, which call Python."""
        out = []
        for (name, (result, parameters)), hook in zip(_HOOKED.items(), (*self._hooks, FAIL), strict=True):
            call = f"call {result} %hook({parameters})"
            body = f"{call}\n  ret void" if result == "void" else f"%r = {call}\n  ret {result} %r"
            address = ctypes.cast(hook, ctypes.c_void_p).value
            head = f"define {result} @{name}({parameters}) noinline"
            out.append(f"{head} {{\n  %hook = inttoptr i64 {address} to ptr\n  {body}\n}}\n")
        return "".join(out)

    def _run(self, name: str, value: int = 0) -> int:
        return self._call[name](self.memory.ctypes.data, value) or 0

    def reserve(self, size: int) -> int:
        return self._run("reserve", size)

    def release(self, block: int) -> None:
        self._run("release", block)

    def defer(self, block: int) -> None:
        self._run("defer", block)

    def finish(self) -> None:
        self._run("finish")

    def hold(self, block: int, free: bool = True) -> int:
        return self._run("hold" if free else "keep", block)

    def arm(self, held: int) -> None:
        self._run("arm", held)

    def drop(self, block: int) -> None:
        self._run("drop", block)

    def end(self) -> None:
        self._run("end")

    @property
    def peak(self) -> int:
        return int(self.memory.view(np.uint64)[4])


def padded(size: int) -> int:
    return -(-size // 64) * 64


@dataclass
class Model:
    """A stack of blocks, each filled with a pattern of its own."""

    arena: Arena
    blocks: list[tuple[int, int, int]] = field(default_factory=list)  # address, size, pattern
    largest: int = 0  # bytes in use, at most
    most: int = 0  # blocks at once, at most
    patterns: Iterator[int] = field(default_factory=lambda: (n * 37 % 251 + 1 for n in range(1 << 30)))

    def reserve(self, size: int) -> None:
        address, pattern = self.arena.reserve(size), next(self.patterns)
        assert address
        assert not [b for b in self.blocks if address < b[0] + b[1] and b[0] < address + size], "blocks overlap"
        ctypes.memset(address, pattern, size)
        self.blocks.append((address, size, pattern))
        self.largest = max(self.largest, sum(self.counted(s) for _, s, _ in self.blocks))
        self.most = max(self.most, len(self.blocks))

    def counted(self, size: int) -> int:
        return padded(size)

    def release(self, index: int) -> None:
        """Drop block `index` and all above it."""
        for block in self.blocks[index:]:
            self.check(block)
        self.arena.release(self.blocks[index][0])
        del self.blocks[index:]

    def check(self, block: tuple[int, int, int]) -> None:
        address, size, pattern = block
        assert ctypes.string_at(address, size) == bytes([pattern]) * size, "contents changed"


def sizes(r: random.Random) -> int:
    return r.choice([64 * r.randint(1, 40), *(r.randint(1, most) for most in (64, 5000, 1 << 17, 3 << 20))])


def play(variant: bool, seed: int, steps: int = 300) -> None:
    """Random reserves and releases, then everything is given back."""
    r = random.Random(seed)
    arena = Arena(variant, level=seed % 4)
    model = Model(arena)
    for _ in range(steps):
        if model.blocks and (r.random() < 0.48 or len(model.blocks) > 60):
            last = len(model.blocks) - 1
            model.release(last if r.random() < 0.8 else r.randint(0, last))
        else:
            model.reserve(sizes(r))
            if variant is SEGMENTS:
                assert model.blocks[-1][0] % 64 == 0
        if model.blocks:
            model.check(r.choice(model.blocks))
    if model.blocks:
        model.release(0)
    payload = model.largest if variant is SEGMENTS else 0
    assert payload <= arena.peak <= model.largest + 64 * (model.most + 1)
    arena.end()
    assert not arena.heap.live, "memory is lost"


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("seed", range(8))
def test_against_the_model(variant: bool, seed: int) -> None:
    isolated(play, variant, seed)


def grow() -> None:
    arena = Arena(SEGMENTS)
    model = Model(arena)
    sizes = [100, 700_000, 700_000, 64, 5_000_000, 1 << 20, 8]
    for size in sizes:
        model.reserve(size)
    assert arena.heap.allocations >= 3
    first, count = [b[0] for b in model.blocks], arena.heap.allocations
    model.release(0)
    for size in sizes:
        model.reserve(size)
    assert [b[0] for b in model.blocks] == first, "segments are kept for the next time"
    assert arena.heap.allocations == count
    model.release(0)
    for size in (100, 1 << 24, 8):  # kept segments that are too small are dropped
        model.reserve(size)
    model.release(2)
    model.release(0)
    arena.end()
    assert not arena.heap.live
    model.reserve(10)  # an arena that was given back may be used again
    model.release(0)
    arena.end()
    assert not arena.heap.live


def test_growth_by_segments() -> None:
    isolated(grow)


def exact_peak() -> None:
    arena = Arena(SEGMENTS)
    model = Model(arena)
    for size in (64, 100, 1):
        model.reserve(size)
    model.release(1)
    model.reserve(70)
    model.release(0)
    assert arena.peak == 64 + 64 + 128 + 64  # the segment's header counts
    arena.end()


def test_peak() -> None:
    isolated(exact_peak)


def defer(variant: bool) -> None:
    arena = Arena(variant)
    given = [arena.heap.allocate(16, n) for n in (8, 100, 5000)]
    for block in given:
        arena.defer(block)
    ctypes.memset(given[1], 7, 100)
    assert not arena.heap.freed
    assert ctypes.string_at(given[1], 100) == b"\7" * 100
    arena.finish()
    assert set(given) <= set(arena.heap.freed)
    assert not arena.heap.live, "cells of the list are lost"
    arena.finish()
    arena.defer(arena.heap.allocate(16, 1))
    arena.finish()
    assert not arena.heap.live


@pytest.mark.parametrize("variant", VARIANTS)
def test_deferred_frees(variant: bool) -> None:
    isolated(defer, variant)


def held(variant: bool) -> None:
    """Mirrors release what was held after their block, too; what is left goes with the arena."""
    code = Arena(variant)
    blocks = [code.heap.allocate(16, 32) for _ in range(200)]
    for n, b in enumerate(blocks):
        assert code.hold(b, free=n % 2 == 0) == n
    code.drop(blocks[197])  # the last and the one before are even and odd: the odd ones are not armed
    assert code.heap.freed[-1:] == blocks[198:199] and blocks[199] in code.heap.live and blocks[197] in code.heap.live
    code.arm(195)
    code.drop(blocks[194])
    assert code.heap.freed[-2:] == [blocks[195], blocks[194]]
    assert blocks[196] in code.heap.freed and blocks[193] in code.heap.live
    code.defer(blocks[193])
    code.end()
    assert not any(b in code.heap.live for b in (*blocks[:194:2], blocks[193]))
    for b in [b for b in blocks if b in code.heap.live]:
        code.heap.free(b)
    assert not code.heap.live


@pytest.mark.parametrize("variant", VARIANTS)
def test_what_is_held(variant: bool) -> None:
    isolated(held, variant)


def test_the_bitcode_is_that_of_the_source() -> None:
    """Where this fails, `make runtime` has not run since arena.c was changed."""
    said = f'@{arena_build.SOURCE} = linkonce_odr hidden constant [64 x i8] c"{arena_build.source_hash()}"'
    for variant in VARIANTS:
        found = LLVMModule.from_bitcode(arena_runtime.shipped(variant).read_bytes())
        assert said in found.text()
        assert found.hazards == arena_runtime._tape_runtime(variant).hazards
        for word in ("target-cpu", "ssp", "uwtable", "!tbaa", "!dbg", "llvm.module.flags", "noundef %"):
            assert word not in found.text()
    bits = tape.ASKED_FROM.bit_length() - 1
    assert f"ASKED_FROM = 1 << {bits}," in (arena_runtime.FOLDER / "arena.c").read_text()


def _of_clang_22() -> bool:
    with contextlib.suppress(CompilerError):
        return "clang version 22." in find_compiler().identity
    return False


@pytest.mark.skipif(not _of_clang_22(), reason="clang 22, which made the bitcode that is shipped")
def test_the_compiler_makes_the_same_again() -> None:
    for variant in VARIANTS:
        shipped = LLVMModule.from_bitcode(arena_runtime.shipped(variant).read_bytes())
        assert LLVMModule.from_bitcode(arena_build.built(variant)).text() == shipped.text()


def test_derivatives_do_not_hold_the_hash(source: Callable[[str], Path]) -> None:
    path = source("double f(double x, int n) { for (int i = 0; i < n; i++) x = x * x; return x; }")
    text = llgrad.grad(llgrad.load(path).f, wrt="x").ir
    assert "llgrad.tape.grow" in text and arena_build.SOURCE not in text


def two_arenas() -> None:
    code = Arena(SEGMENTS)
    other = np.zeros(tape.ARENA_BYTES, np.uint8)
    a = code.reserve(1000)
    first, code.memory = code.memory, other
    b = code.reserve(1000)
    assert abs(a - b) >= 1000
    code.release(b)
    code.end()
    code.memory = first
    ctypes.memset(a, 1, 1000)
    code.release(a)
    code.end()
    assert not code.heap.live


def test_arenas_are_independent() -> None:
    isolated(two_arenas)


def ask(variant: bool, size: int, before: int = 0) -> None:
    arena = Arena(variant)
    if before:
        arena.reserve(before)
    arena.reserve(size)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("before", [0, 100])
@pytest.mark.parametrize("size", [1 << 41, (1 << 47) + 1, 1 << 63, (1 << 64) - 100])
def test_too_much(variant: bool, size: int, before: int) -> None:
    with pytest.raises(Crash, match=rf"exit status {FAILURE + tape.FAIL_MEMORY}$"):
        isolated(ask, variant, size, before)


def release_nonsense(variant: bool) -> None:
    arena = Arena(variant)
    arena.reserve(100)
    arena.release(arena.heap.allocate(64, 64))


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_block_that_is_not_there(variant: bool) -> None:
    with pytest.raises(Crash, match=rf"exit status {FAILURE + 2}$"):
        isolated(release_nonsense, variant)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("size", [(1 << 64) - 1, (1 << 64) - 63])
def test_sizes_that_wrap_around(variant: bool, size: int) -> None:
    with pytest.raises(Crash, match=rf"exit status {FAILURE + tape.FAIL_MEMORY}$"):
        isolated(ask, variant, size, 100)


def nothing(variant: bool) -> None:
    arena = Arena(variant)
    first = arena.reserve(0)
    assert first
    second = arena.reserve(8)
    assert second
    ctypes.memset(second, 1, 8)
    arena.release(second)
    arena.release(first)
    arena.end()
    assert not arena.heap.live


@pytest.mark.parametrize("variant", VARIANTS)
def test_blocks_of_no_bytes(variant: bool) -> None:
    isolated(nothing, variant)


def align(variant: bool) -> None:
    arena = Arena(variant)
    assert all(arena.reserve(n) % 64 == 0 for n in (1, 8, 100, 24, 4096, 16, 40))


@pytest.mark.parametrize("variant", VARIANTS)
def test_alignment(variant: bool) -> None:
    """`reserve` is declared to return blocks aligned to 64 bytes."""
    isolated(align, variant)


FAULTS = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
int enzyme_const;
double __enzyme_autodiff(void *, ...);
double steps(double x, int n)
{
    for (int i = 0; i < n; i++) x = x * x * (1 - x) * 3;
    return x;
}
int main(void)
{
    long before = 0;
    for (int i = 0; i < 3; i++) {
        __enzyme_autodiff((void *)steps, 0.3, enzyme_const, 1000000);
        struct rusage use;
        getrusage(RUSAGE_SELF, &use);
        printf("%ld ", use.ru_minflt - before);
        before = use.ru_minflt;
    }
}
"""


def test_tapes_are_kept_up_to_what_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """8 MB: hardly a page is touched for the first time in the second call, unless the tape is not to be kept."""
    source, made = tmp_path / "steps.c", tmp_path / "steps"
    source.write_text(FAULTS)
    without_huge_pages(monkeypatch)
    assert drive(["-O1", "-w", str(source), "-o", str(made)], cxx=False) == 0

    def faults(**environment: str) -> list[int]:
        done = subprocess.run([made], env=environment, capture_output=True, text=True, check=True)
        return [int(n) for n in done.stdout.split()]

    first, *later = faults()
    assert first > 1000 and all(n < first / 10 for n in later)
    assert faults(LLGRAD_TAPE_KEEP="100")[1] < first / 10
    assert faults(LLGRAD_TAPE_KEEP="2")[1] > first / 2


OF_PYTHON = """
import os, resource, sys
import llgrad
derivative = llgrad.grad(llgrad.load(sys.argv[1]).steps, wrt="x")
for keep in (None, "100", "1"):
    if keep is not None:
        os.environ["LLGRAD_TAPE_KEEP"] = keep
    for _ in range(2):
        before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
        derivative(0.3, 200_000)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def test_tapes_of_threads_of_python(source: Callable[[str], Path]) -> None:
    path = source("double steps" + FAULTS.split("double steps")[1].split("int main")[0])
    # glibc gives large blocks back at once only until it has learnt not to
    environment = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "65536", "PYTHONPATH": str(Path(llgrad.__file__).parents[1])}
    command = [sys.executable, "-c", OF_PYTHON, str(path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    found = [int(line) for line in done.stdout.split()]
    assert max(found[:2]) < 100 < 300 < found[2], found
