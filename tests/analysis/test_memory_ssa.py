"""Memory in SSA form: where definitions meet, and what clobbers a read, beside what runs of the program show."""

from __future__ import annotations

import random

import pytest
from compiled import ll, named

from llgrad.analysis.memory.memory_ssa import LiveOnEntry, MemoryDef, MemoryPhi
from llgrad.analysis.memory.mod_ref import Memory, analyse
from llgrad.ir.module import Module
from llgrad.ir.values import Block, ConstInt, Function, Instruction, Load, Store

RUNS, STEPS = 60, 40


def of(module: Module, root: str = "f") -> tuple[Memory, Function]:
    function = module.function(root)
    return analyse(module, function), function


def clobbers(memory: Memory, load: Instruction) -> tuple[set[int | str], bool]:
    """The numbers that may have been stored where a load reads, and whether it may be what the function found."""
    found = memory.ssa.clobbers(load, memory.reads(load)[0])
    return {_number(i) for i in found.writers}, found.live_on_entry


def _number(i: Instruction) -> int | str:
    return i.value.value if isinstance(i, Store) and isinstance(i.value, ConstInt) else i.opcode


def test_definitions_meet_in_a_phi_and_the_walker_passes_it() -> None:
    memory, f = of(ll("""
        define i32 @f(i1 %c) {
        entry:
          %p = alloca i32
          %q = alloca i32
          store i32 1, ptr %p
          br label %loop
        loop:
          %v = load i32, ptr %p
          store i32 %v, ptr %q
          br i1 %c, label %loop, label %end
        end:
          %w = load i32, ptr %q
          ret i32 %w
        }"""))
    chain = memory.ssa.chain(f)
    phi, last = chain.before(named(f, "v")), chain.before(named(f, "w"))
    assert isinstance(phi, MemoryPhi) and phi.block.name == "loop"
    assert isinstance(last, MemoryDef) and last.defining is phi
    first, around = phi.incoming
    assert around is last and isinstance(first, MemoryDef) and isinstance(first.defining, LiveOnEntry)
    (one,) = memory.ssa.clobbers(named(f, "v"), memory.reads(named(f, "v"))[0]).writers
    assert one is first.instruction
    assert memory.ssa.clobbers(named(f, "w"), memory.reads(named(f, "w"))[0]).writers == (last.instruction,)


def test_no_phi_where_nothing_is_defined() -> None:
    memory, f = of(ll("""
        define i32 @f(ptr %p, i1 %c) {
        entry:
          store i32 1, ptr %p
          br i1 %c, label %left, label %right
        left:
          br label %end
        right:
          br label %end
        end:
          %v = load i32, ptr %p
          ret i32 %v
        }"""))
    at = memory.ssa.chain(f).before(named(f, "v"))
    assert isinstance(at, MemoryDef) and isinstance(at.instruction, Store)
    assert clobbers(memory, named(f, "v")) == ({1}, False)


@pytest.mark.parametrize(("base", "stored", "older"), [("%p", {1, 2}, False), ("%walked", {1, 2}, True)])
def test_a_base_that_moves_in_a_loop_ends_no_walk_around_it(base: str, stored: set[int], older: bool) -> None:
    """`%walked` is another address in each iteration: what was stored through it in the last one is elsewhere."""
    memory, f = of(ll(f"""
        define i32 @f(ptr %p, i1 %c) {{
        entry:
          br label %loop
        loop:
          %walked = phi ptr [ %p, %entry ], [ %next, %end ]
          %v = load i32, ptr {base}
          store i32 1, ptr {base}
          br i1 %c, label %end, label %other
        other:
          store i32 2, ptr {base}
          br label %end
        end:
          %w = load i32, ptr {base}
          %next = getelementptr i8, ptr %walked, i64 4
          br i1 %c, label %loop, label %out
        out:
          ret i32 %w
        }}"""))
    assert clobbers(memory, named(f, "v")) == (stored, True)
    assert clobbers(memory, named(f, "w")) == (stored, older)


def test_a_store_in_the_same_run_of_a_block_ends_the_walk() -> None:
    memory, f = of(ll("""
        define i32 @f(ptr %p, i1 %c) {
        entry:
          br label %loop
        loop:
          %walked = phi ptr [ %p, %entry ], [ %next, %loop ]
          store i32 1, ptr %walked
          %behind = getelementptr i8, ptr %walked, i64 2
          %v = load i32, ptr %walked
          %h = load i16, ptr %behind
          %over = load i32, ptr %behind
          %next = getelementptr i8, ptr %walked, i64 4
          br i1 %c, label %loop, label %out
        out:
          ret i32 %v
        }"""))
    assert clobbers(memory, named(f, "v")) == ({1}, False)
    assert clobbers(memory, named(f, "h")) == ({1}, False)
    assert clobbers(memory, named(f, "over")) == ({1}, True)


def test_calls_clobber_what_they_write() -> None:
    memory, f = of(ll("""
        define void @g(ptr %p) noinline {
          store i32 2, ptr %p
          ret void
        }
        define i32 @f() {
          %p = alloca i32
          %q = alloca i32
          store i32 1, ptr %p
          store i32 3, ptr %q
          call void @g(ptr %q)
          %v = load i32, ptr %p
          %w = load i32, ptr %q
          %s = add i32 %v, %w
          ret i32 %s
        }"""))
    assert clobbers(memory, named(f, "v")) == ({1}, False)
    assert clobbers(memory, named(f, "w")) == ({3, "call"}, False)


def program(chance: random.Random) -> str:
    """Blocks that go anywhere, with loads and stores of words, halves and pairs of two local arrays."""
    count = chance.randint(3, 7)
    lines = ["define void @f(i1 %c) {", "entry:", "  %a = alloca [16 x i8]", "  %b = alloca [16 x i8]"]
    for base in "ab":
        lines += [f"  %{base}{at} = getelementptr i8, ptr %{base}, i64 {at}" for at in (0, 2, 4, 8)]
    lines.append("  br label %n0")
    for n in range(count):
        lines.append(f"n{n}:")
        for k in range(chance.randint(0, 4)):
            pointer, width = f"%{chance.choice('ab')}{chance.choice((0, 2, 4, 8))}", chance.choice((16, 32, 64))
            access = f"%v{n}.{k} = load i{width}" if chance.random() < 0.5 else f"store i{width} 0"
            lines.append(f"  {access}, ptr {pointer}")
        to = [chance.randint(0, count) for _ in range(2)]
        names = ["out" if t == count else f"n{t}" for t in to]
        lines.append(f"  br i1 %c, label %{names[0]}, label %{names[1]}")
    return "\n".join([*lines, "out:", "  ret void", "}"])


def seen(chance: random.Random, memory: Memory, function: Function) -> dict[Load, set[Instruction | None]]:
    """Who wrote the bytes of each load last, in runs that turn anywhere; None: nobody."""
    found: dict[Load, set[Instruction | None]] = {}
    for _ in range(RUNS):
        block: Block | None = function.entry
        bytes_: dict[tuple[object, int], Instruction] = {}
        for _ in range(STEPS):
            if block is None:
                break
            for i in block.instructions:
                if isinstance(i, Load | Store):
                    base, at = memory.decompose(i.pointer)
                    size = memory.module.layout.size(i.type if isinstance(i, Load) else i.value.type)
                    spots = [(base, at + n) for n in range(size)]
                    if isinstance(i, Store):
                        bytes_.update(dict.fromkeys(spots, i))
                    else:
                        found.setdefault(i, set()).update(bytes_.get(s) for s in spots)
            block = chance.choice(block.successors()) if block.successors() else None
    return found


def test_what_runs_of_random_programs_show_is_found() -> None:
    narrow = 0
    for seed in range(60):
        chance = random.Random(seed)
        memory, f = of(ll(program(chance)))
        stores = sum(isinstance(i, Store) for i in f.instructions())
        for load, writers in seen(chance, memory, f).items():
            found = memory.ssa.clobbers(load, memory.reads(load)[0])
            assert writers - {None} <= set(found.writers), seed
            assert found.live_on_entry or None not in writers, seed
            narrow += len(found.writers) < stores
    assert narrow > 100
