"""Control flow facts against their definitions, computed naively on random graphs, and on graphs with known answers."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

import pytest
from work import calls

from llgrad.analysis.cfg.flow import Flow, flow, may_go_round
from llgrad.ir.parse import parse
from llgrad.ir.types import I1, I32, VOID, FunctionType
from llgrad.ir.values import (
    Binary,
    Block,
    Branch,
    Call,
    ConstInt,
    Function,
    Instruction,
    Return,
    Switch,
    Unreachable,
)
from llgrad.llvm import LLVMModule

ONE = ConstInt(I32, 1)


def function_of(edges: Mapping[str, Sequence[str]], unreachable: Iterable[str] = ()) -> Function:
    """A function with these blocks and edges; blocks without edges return, or are `unreachable`."""
    f = Function("f", FunctionType(VOID, (I1, I32)))
    blocks = {name: Block(name, f) for name in edges}
    f._blocks = list(blocks.values())
    for name, targets in edges.items():
        to = [blocks[t] for t in targets]
        blocks[name].append(Binary("add", I32, [f.arguments[1], ONE]))
        blocks[name].append(Binary("mul", I32, [f.arguments[1], ONE]))
        blocks[name].append(_terminator(f, to, name in unreachable))
    return f


def _terminator(f: Function, to: list[Block], unreachable: bool) -> Instruction:
    if not to:
        return Unreachable() if unreachable else Return()
    if len(to) <= 2:
        return Branch(to, f.arguments[0] if len(to) == 2 else None)
    return Switch(f.arguments[1], to[0], [(ConstInt(I32, i), b) for i, b in enumerate(to[1:])])


def named(f: Function) -> dict[str, Block]:
    return {b.name: b for b in f.blocks}


def random_function(rng: random.Random, size: int) -> Function:
    """Any graph: irreducible, endless, with dead blocks, repeated edges and unreachable ends."""
    edges = {"b0": [f"b{rng.randrange(1, size)}" for _ in range(rng.choice([1, 2, 2, 3]))]} if size > 1 else {"b0": []}
    for i in range(1, size):
        near = [max(1, min(size - 1, i + rng.randint(-3, 4))) for _ in range(rng.choice([0, 1, 1, 2, 2, 2, 3]))]
        edges[f"b{i}"] = [f"b{n}" for n in near]
    return function_of(edges, [n for n in edges if rng.random() < 0.3])


def closure(starts: Iterable[Block], blocked: Block | None = None) -> set[Block]:
    """Everything on a path from `starts` (inclusive) that avoids `blocked`."""
    seen: set[Block] = set()
    work = [s for s in starts if s is not blocked]
    while work:
        b = work.pop()
        if b not in seen:
            seen.add(b)
            work += [s for s in b.successors() if s is not blocked]
    return seen


GRAPHS = [random_function(random.Random(seed), 1 + seed % 14) for seed in range(150)]


@pytest.mark.parametrize("f", GRAPHS, ids=lambda f: f"{len(f.blocks)}")
def test_random_graphs_agree_with_the_definitions(f: Function) -> None:
    fl = flow(f)
    live = closure([f.entry])
    assert set(fl.order) == live and len(fl.order) == len(live) and fl.order[0] is f.entry
    for b in live:
        assert sorted(p.name for p in fl.predecessors[b]) == sorted(p.name for p in live if b in p.successors())
    check_dominators(fl, live)
    check_postdominators(fl, live)
    check_reachability(fl, live)
    check_control_dependence(fl, live)
    check_loops(fl, live)
    check_irreducible(fl)


def check_dominators(fl: Flow, live: set[Block]) -> None:
    above = {b: {a for a in live if b not in closure([fl.function.entry], a)} for b in live}
    for b in live:
        assert {a for a in live if fl.dominates(a, b)} == above[b]
        dominator = fl.idom[b]
        assert (dominator is None) == (b is fl.function.entry)
        assert dominator is None or above[dominator] == above[b] - {b}


def returning_from(starts: Iterable[Block], blocked: Block | None = None) -> bool:
    return any(b.terminator.opcode == "ret" for b in closure(starts, blocked))


def check_postdominators(fl: Flow, live: set[Block]) -> None:
    for b in live:
        assert fl.reaches_return(b) == returning_from([b])
        if not fl.reaches_return(b):
            assert fl.ipdom[b] is None
            continue
        below = {a for a in live if not returning_from([b], a)}
        assert {a for a in live if fl.postdominates(a, b)} == below
        nearest = fl.ipdom[b]
        assert (nearest is None) == (below == {b})
        assert nearest is None or all(fl.postdominates(a, nearest) for a in below - {b})


def check_reachability(fl: Flow, live: set[Block]) -> None:
    for a in live:
        after = closure(a.successors())
        assert {b for b in fl.function.blocks if fl.reachable(a, b)} == after
        for b in after:
            assert fl.may_follow(a.instructions[0], b.instructions[1])
        assert fl.may_follow(a.instructions[0], a.instructions[1])
        assert fl.may_follow(a.instructions[1], a.instructions[0]) == (a in after)


def check_control_dependence(fl: Flow, live: set[Block]) -> None:
    for b in live:
        expected = set()
        for a in live:
            for edge, target in enumerate(a.terminator.targets):
                if not fl.reaches_return(b):
                    decides = target is b
                else:
                    after = fl.reaches_return(target) and fl.postdominates(b, target)
                    decides = after and not (b is not a and fl.postdominates(b, a))
                if decides:
                    expected.add((a, edge))
        assert set(fl.controls(b)) == expected
        assert len(fl.controls(b)) == len(expected)


def check_loops(fl: Flow, live: set[Block]) -> None:
    bodies: dict[Block, set[Block]] = {}
    for h in live:
        for latch in [p for p in live if h in p.successors() and fl.dominates(h, p)]:
            reaches = {b for b in live if latch in closure([b], h)}
            bodies[h] = bodies.get(h, {h}) | reaches
    assert {loop.header: set(loop.blocks) for loop in fl.loops} == bodies
    seen: list[Block] = []
    for loop in fl.loops:
        around = [o for o in fl.loops if loop.header in o.blocks]
        assert loop.depth == len(around)
        assert loop.parent is (max(around[:-1], key=lambda o: o.depth) if len(around) > 1 else None)
        assert loop.parent is None or (loop in loop.parent.children and loop.parent.header in seen)
        assert all(o.encloses(loop) == (o in around) for o in fl.loops)
        seen.append(loop.header)
        leaving = {(b, s) for b in loop.blocks for s in b.successors() if s not in loop.blocks}
        assert set(loop.exits) == leaving and len(loop.exits) == len(leaving)
        assert loop.order[0] is loop.header and set(loop.order) == set(loop.blocks)
        assert loop.dedicated_exits == all(p in loop for _, s in leaving for p in fl.predecessors[s])
        outside = [p for p in fl.predecessors[loop.header] if p not in loop]
        wanted = outside[0] if len(outside) == 1 and outside[0].successors() == [loop.header] else None
        assert loop.preheader is wanted
    for b in live:
        around = [o for o in fl.loops if b in o]
        assert fl.loop_of(b) is (max(around, key=lambda o: o.depth) if around else None)


def check_irreducible(fl: Flow) -> None:
    """A block of an irreducible cycle reaches itself without a back edge; T1 and T2 collapse all other graphs."""
    forward = {b: [s for s in b.successors() if not fl.dominates(s, b)] for b in fl.order}

    def after(b: Block) -> set[Block]:
        seen: set[Block] = set()
        work = list(forward[b])
        while work:
            if (x := work.pop()) not in seen:
                seen.add(x)
                work += forward[x]
        return seen

    cyclic = {b for b in fl.order if b in after(b)}
    assert fl.irreducible_blocks == cyclic
    for b in fl.order:
        mates = {x for x in after(b) if b in after(x)}
        entered = any(b in forward[p] and p not in mates for p in fl.order)
        assert (b in fl.irreducible) == (b in cyclic and entered)
    assert len(fl.irreducible) != 1 and (not fl.irreducible) == collapses(fl)


def collapses(fl: Flow) -> bool:
    """Is the graph reducible by T1 (drop self loops) and T2 (merge a node into its only predecessor)?"""
    before = {b: set(fl.predecessors[b]) - {b} for b in fl.order}
    while single := next((b for b in before if len(before[b]) == 1), None):
        (into,) = before.pop(single)
        for b, ps in before.items():
            if single in ps:
                ps.remove(single)
                ps |= {into} - {b}
    return len(before) == 1


def test_nested_loops_with_a_break() -> None:
    f = function_of(
        {
            "entry": ["outer"], "outer": ["pre", "done"], "pre": ["inner"], "inner": ["inner", "after"],
            "after": ["latch", "broken"], "latch": ["outer"], "broken": ["done"], "done": [],
        }
    )  # fmt: skip
    b, fl = named(f), flow(f)
    outer, inner = fl.loops
    assert (outer.header, inner.header, inner.parent) == (b["outer"], b["inner"], outer)
    assert outer.children == (inner,) and (outer.depth, inner.depth) == (1, 2)
    assert (outer.latch, inner.latch, inner.preheader) == (b["latch"], b["inner"], b["pre"])
    assert b["broken"] not in outer and b["after"] in outer and b["after"] not in inner
    assert set(outer.exits) == {(b["outer"], b["done"]), (b["after"], b["broken"])}
    assert inner.is_simplified and not outer.is_simplified  # %done is entered from %broken too
    assert b["inner"].instructions[0] in inner and f.arguments[0] not in inner and ONE not in inner
    assert fl.loop_of(b["broken"]) is None
    assert "%inner under %pre in %inner depth 2" in str(fl)


def test_two_entry_cycle_is_irreducible_and_no_loop() -> None:
    f = function_of({"entry": ["a", "b"], "a": ["b", "end"], "b": ["a"], "end": []})
    fl = flow(f)
    assert fl.loops == () and {x.name for x in fl.irreducible} == {"a", "b"}


def test_irreducible_cycle_inside_a_natural_loop() -> None:
    f = function_of({"entry": ["h"], "h": ["a", "b"], "a": ["b", "l"], "b": ["a"], "l": ["h", "end"], "end": []})
    fl = flow(f)
    assert [x.header.name for x in fl.loops] == ["h"] and len(fl.loops[0].blocks) == 4
    assert {x.name for x in fl.irreducible} == {"a", "b"}


def test_a_check_that_aborts_decides_nothing_else() -> None:
    f = function_of({"entry": ["ok", "abort"], "ok": [], "abort": []}, ["abort"])
    b, fl = named(f), flow(f)
    assert fl.ipdom[b["entry"]] is b["ok"] and fl.postdominates(b["ok"], b["entry"])
    assert fl.controls(b["ok"]) == () and fl.controls(b["abort"]) == ((b["entry"], 1),)
    assert not fl.reaches_return(b["abort"])


def test_endless_loop_has_no_postdominators() -> None:
    f = function_of({"entry": ["a", "end"], "a": ["b"], "b": ["a"], "end": []})
    b, fl = named(f), flow(f)
    assert fl.ipdom[b["a"]] is None and fl.ipdom[b["b"]] is None and not fl.reaches_return(b["a"])
    never = flow(function_of({"entry": ["a"], "a": ["a"]}))
    assert set(never.ipdom.values()) == {None}


def test_instruction_dominance() -> None:
    f = function_of({"entry": ["a", "b"], "a": ["end"], "b": ["end"], "end": []})
    b, fl = named(f), flow(f)
    first, second = b["a"].instructions[:2]
    assert fl.dominates_instruction(first, second) and not fl.dominates_instruction(second, first)
    assert not fl.dominates_instruction(first, first)
    assert not fl.dominates_instruction(first, b["end"].instructions[0])
    assert fl.dominates_instruction(b["entry"].instructions[0], b["end"].instructions[0])


def test_invoke_defines_its_result_on_the_normal_edge_only() -> None:
    f = function_of({"entry": ["x"], "x": ["n", "u"], "n": ["end"], "u": ["end"], "end": []})
    b = named(f)
    old = b["x"].terminator
    old.drop()
    callee = Function("g", FunctionType(I32, ()))
    invoke = Call(callee.function_type, callee, [], opcode="invoke", targets=[b["n"], b["u"]])
    b["x"].append(invoke)
    fl = flow(f)
    assert fl.dominates_instruction(invoke, b["n"].instructions[0])
    assert not fl.dominates_instruction(invoke, b["u"].instructions[0])
    assert not fl.dominates_instruction(invoke, b["end"].instructions[0])


def test_dead_blocks_never_run() -> None:
    f = function_of({"entry": ["end"], "dead": ["end"], "end": []})
    b, fl = named(f), flow(f)
    assert b["dead"] not in fl and fl.predecessors[b["end"]] == (b["entry"],)
    assert fl.dominates(b["end"], b["dead"]) and not fl.dominates(b["dead"], b["end"])
    assert not fl.reachable(b["dead"], b["end"]) and fl.controls(b["dead"]) == () and fl.loop_of(b["dead"]) is None
    assert not fl.may_follow(b["dead"].instructions[0], b["dead"].instructions[1])


def test_large_functions_take_linear_work_and_do_not_recurse() -> None:
    work = [calls(partial(asked_of_loops, n)) for n in (1250, 5000)]
    assert work[1] < 6 * work[0]


def asked_of_loops(n: int) -> None:
    edges = {f"b{i}": [f"b{i + 1}"] + ([f"b{i - i % 50}"] if i % 10 == 9 and i > 50 else []) for i in range(n)}
    f = function_of({**edges, f"b{n}": []})
    fl = flow(f)
    assert len(fl.loops) == n // 50 - 1 and len(fl.loops[0].latches) == 5
    assert fl.reachable(f.blocks[0], f.blocks[n]) and not fl.reachable(f.blocks[n], f.blocks[0])
    assert fl.postdominates(f.blocks[n], f.blocks[0]) and fl.controls(f.blocks[n]) == ()


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("ret void", False),
        ("br i1 %c, label %a, label %b\na:\n  br label %b\nb:\n  ret void", False),
        ("br label %a\na:\n  br i1 %c, label %a, label %b\nb:\n  ret void", True),
        ('br label %"a b"\n"a b":\n  br label %b\nb:\n  br i1 %c, label %"a b", label %e\ne:\n  ret void', True),
        ("br label %2\n1:\n  ret void\n2:\n  switch i32 0, label %1 [ i32 1, label %3 ]\n3:\n  br label %2", True),
    ],
)
def test_cycles_are_seen_in_text(body: str, expected: bool) -> None:
    """Of a function that nobody has read, and of one that was."""
    text = LLVMModule.from_text(f"define void @f(i1 %c) {{\n  {body}\n}}\n").text()
    f = parse(text).function("f")
    assert f.unread is not None
    assert may_go_round(f) == expected
    assert bool(flow(f).loops) == expected
    assert may_go_round(f)  # what was read is not looked through
