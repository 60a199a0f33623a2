"""Control flow of one function: order, dominators, postdominators, control dependence, loops, reachability.

`flow(function)` is a fact about the function as it is now: change its blocks and it is stale. Only blocks that the
entry reaches take part; the others never run, and queries say so (dominated by everything, followed by nothing).

Postdominance and control dependence are *given that the function returns*: edges to blocks from which no `ret` can be
reached (`unreachable`, endless loops, unwinding) decide nothing for the others. Such a block has no postdominator, and
each edge that enters it controls it.

Dominators: Cooper, Harvey, Kennedy, "A Simple, Fast Dominance Algorithm". Loops: natural loops as LLVM's LoopInfo has
them, one per header. A cycle without a dominating header is irreducible: what is left cyclic when the back edges of
natural loops are gone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import TypeVar

from msgspec import Struct, field

from llgrad.ir.values import AnyValue, Block, Call, Function, Instruction

N = TypeVar("N")
Graph = Sequence[Sequence[int]]


class Loop(Struct, eq=False):
    """A natural loop; compared by identity, complete when `flow` returns it. `order` lists `blocks`, header first."""

    header: Block
    latches: tuple[Block, ...]
    parent: Loop | None = None
    children: tuple[Loop, ...] = ()
    depth: int = 1  # 1 is outermost
    order: tuple[Block, ...] = ()
    blocks: frozenset[Block] = field(default_factory=frozenset)
    preheader: Block | None = None  # the only way in, and it goes nowhere else
    exits: tuple[tuple[Block, Block], ...] = ()  # (exiting block inside, exit block outside), each edge once
    dedicated_exits: bool = False  # exit blocks are entered from this loop only

    @property
    def latch(self) -> Block | None:
        """The only source of back edges, or None."""
        return self.latches[0] if len(self.latches) == 1 else None

    @property
    def is_simplified(self) -> bool:
        """LLVM's loop-simplify form: preheader, one latch, dedicated exits."""
        return self.preheader is not None and self.latch is not None and self.dedicated_exits

    def __contains__(self, value: AnyValue) -> bool:
        """Is this block in the loop, or this value computed in it?"""
        block = value.block if isinstance(value, Instruction) else value
        return isinstance(block, Block) and block in self.blocks

    def encloses(self, other: Loop | None) -> bool:
        """Is `other` this loop or within it?"""
        while other is not None and other.depth > self.depth:
            other = other.parent
        return other is self

    def __repr__(self) -> str:
        return f"<Loop %{self.header.name} depth {self.depth}, {len(self.blocks)} blocks>"


class Flow:
    """See the module. `order` is a reverse postorder; all tuples and dicts are in that order."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.order: tuple[Block, ...] = tuple(_reverse_postorder(function.entry, Block.successors))
        self._index = {b: i for i, b in enumerate(self.order)}
        self._successors: Graph = [[self._index[s] for s in b.successors()] for b in self.order]
        self._predecessors: Graph = _transpose(self._successors)
        self._idom = _immediate_dominators(self._predecessors)
        self._first, self._last = _tree_intervals(self._idom)
        self._positions: dict[Block, dict[Instruction, int]] = {}

    def __contains__(self, block: Block) -> bool:
        return block in self._index

    # --- dominance -------------------------------------------------------------------------------------------------

    @cached_property
    def predecessors(self) -> dict[Block, tuple[Block, ...]]:
        """The reachable predecessors of each block, each once."""
        return {b: tuple(self.order[p] for p in ps) for b, ps in zip(self.order, self._predecessors, strict=True)}

    @cached_property
    def idom(self) -> dict[Block, Block | None]:
        """The immediate dominator of each block; None for the entry."""
        return {b: self.order[d] if i else None for i, (b, d) in enumerate(zip(self.order, self._idom, strict=True))}

    def dominates(self, a: Block, b: Block) -> bool:
        """Does every path from the entry to `b` pass `a`? (A block dominates itself.)"""
        if b not in self._index:
            return True
        return a in self._index and self._dominates(self._index[a], self._index[b])

    def dominates_instruction(self, a: Instruction, b: Instruction) -> bool:
        """Has `a` been executed, and its result been defined, whenever `b` is reached? Not for `a` itself.

        A phi uses its operands at the end of the incoming block: ask about that block's terminator.
        """
        if a.block is b.block:
            return a.block not in self or self.position(a) < self.position(b)
        if isinstance(a, Call) and a.targets:  # defined on the normal edge only
            return self.dominates_edge(a.block, a.targets[0], b.block)
        return self.dominates(a.block, b.block)

    def dominates_edge(self, source: Block, target: Block, block: Block) -> bool:
        """Does every path from the entry to `block` take the edge `source` to `target`?"""
        if block not in self:
            return True
        if source not in self or not self.dominates(target, block):
            return False
        others = [p for p in self.predecessors[target] if p is not source]
        return source.terminator.targets.count(target) == 1 and all(self.dominates(target, p) for p in others)

    def position(self, instruction: Instruction) -> int:
        """Index of an instruction in its block."""
        block = instruction.block
        if block not in self._positions:
            self._positions[block] = {x: i for i, x in enumerate(block.instructions)}
        return self._positions[block][instruction]

    # --- postdominance, given that the function returns ------------------------------------------------------------

    @cached_property
    def _returning(self) -> frozenset[Block]:
        ends = [b for b in self.order if b.terminator.opcode == "ret"]
        return frozenset(_closure(ends, lambda b: self.predecessors[b]))

    def reaches_return(self, block: Block) -> bool:
        """Can `block` be followed by, or is it, a block that returns?"""
        return block in self._returning

    @cached_property
    def ipdom(self) -> dict[Block, Block | None]:
        """The immediate postdominator of each block; None for the function's end, and where no `ret` is reached."""
        exits = [b for b in self.order if b.terminator.opcode == "ret"]

        def backwards(block: Block | None) -> Sequence[Block]:
            return exits if block is None else self.predecessors[block]

        order: list[Block | None] = _reverse_postorder(None, backwards)
        index = {b: i for i, b in enumerate(order)}
        followers = [[] if b is None else [index[s] for s in b.successors() if s in index] for b in order]
        for b in exits:
            followers[index[b]].append(0)
        found = _immediate_dominators(followers)
        return {b: order[found[index[b]]] if b in index else None for b in self.order}

    def postdominates(self, a: Block, b: Block) -> bool:
        """Does every path from `b` to a return pass `a`? (A block postdominates itself.)"""
        at: Block | None = b
        while at is not None and at is not a:
            at = self.ipdom.get(at)
        return at is a

    @cached_property
    def _controls(self) -> dict[Block, list[tuple[Block, int]]]:
        controls: dict[Block, list[tuple[Block, int]]] = {b: [] for b in self.order}
        for b in self.order:
            for edge, target in enumerate(b.terminator.targets):
                at: Block | None = target
                while at is not None and at is not self.ipdom[b]:
                    controls[at].append((b, edge))
                    at = self.ipdom[at]
        return controls

    def controls(self, block: Block) -> tuple[tuple[Block, int], ...]:
        """The edges (block, index into its terminator's targets) that decide whether `block` runs (Ferrante et al.)."""
        return tuple(self._controls.get(block, ()))

    # --- reachability ----------------------------------------------------------------------------------------------

    @cached_property
    def _reach(self) -> tuple[list[int], list[int]]:
        """The strong component of each block, and the components (as bits) that the edges of a component reach."""
        components = _strong_components(self._successors)
        of = [0] * len(self.order)
        for c, members in enumerate(components):
            for i in members:
                of[i] = c
        bits: list[int] = []
        for members in components:  # successors first
            seen = 0
            for c in {of[s] for i in members for s in self._successors[i]}:
                seen |= 1 << c | (bits[c] if c < len(bits) else 0)
            bits.append(seen)
        return of, bits

    def reachable(self, a: Block, b: Block) -> bool:
        """Is there a path of one edge or more from `a` to `b`?"""
        if a not in self._index or b not in self._index:
            return False
        of, bits = self._reach
        return bool(bits[of[self._index[a]]] >> of[self._index[b]] & 1)

    def may_follow(self, a: Instruction, b: Instruction) -> bool:
        """May `b` be executed after `a`, in this call of the function, around back edges too?"""
        later = a.block is b.block and a.block in self and self.position(a) < self.position(b)
        return later or self.reachable(a.block, b.block)

    # --- loops -----------------------------------------------------------------------------------------------------

    @cached_property
    def _innermost(self) -> dict[Block, Loop]:
        return _find_loops(self)

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """The natural loops, an outer one before those in it."""
        return tuple(loop for b in self.order if (loop := self._innermost.get(b)) is not None and loop.header is b)

    def loop_of(self, block: Block) -> Loop | None:
        """The innermost loop that `block` is in."""
        return self._innermost.get(block)

    @cached_property
    def _irreducible(self) -> tuple[tuple[tuple[Block, ...], ...], frozenset[Block]]:
        rest = [[s for s in ss if not self._dominates(s, i)] for i, ss in enumerate(self._successors)]
        before = _transpose(rest)
        headers: list[list[int]] = []
        inside: set[int] = set()
        for members in map(set, _strong_components(rest)):
            if len(members) > 1:
                inside |= members
                headers.append(sorted(i for i in members if any(p not in members for p in before[i])))
        cycles = tuple(tuple(self.order[i] for i in found) for found in sorted(headers))
        return cycles, frozenset(self.order[i] for i in inside)

    @property
    def irreducible_cycles(self) -> tuple[tuple[Block, ...], ...]:
        """The entries, two or more each, of each of the largest cycles that no header dominates."""
        return self._irreducible[0]

    @property
    def irreducible(self) -> tuple[Block, ...]:
        """The entries of those cycles, all together."""
        return tuple(block for cycle in self.irreducible_cycles for block in cycle)

    @property
    def irreducible_blocks(self) -> frozenset[Block]:
        """All blocks of those cycles."""
        return self._irreducible[1]

    def _dominates(self, a: int, b: int) -> bool:
        return self._first[a] <= self._first[b] <= self._last[a]

    def __repr__(self) -> str:
        return f"<Flow @{self.function.name}: {len(self.order)} blocks, {len(self.loops)} loops>"

    def __str__(self) -> str:
        """A line a block: name, immediate dominator, loop header and depth."""
        lines = []
        for b in self.order:
            dominator, loop = self.idom[b], self.loop_of(b)
            above = f" under %{dominator.name}" if dominator else ""
            lines.append(f"%{b.name}{above}" + (f" in %{loop.header.name} depth {loop.depth}" if loop else ""))
        return "\n".join(lines)


def flow(function: Function) -> Flow:
    """The control flow of a function that has a body."""
    return Flow(function)


_BLOCK = re.compile(r'^([-\w.$]+|"[^"]*"):', re.MULTILINE)
_GOES_TO = re.compile(r'\blabel %([-\w.$]+|"[^"]*")')


def may_go_round(function: Function) -> bool:
    """False where it has no cycles, by its text if it was not read yet: no block goes to one that stands before it."""
    if (text := function.unread) is None:
        return not function.is_declaration
    if "label %" not in text:
        return False
    starts = {m[1]: m.start() for m in _BLOCK.finditer(text)}
    return any(starts.get(m[1], 0) < m.start() for m in _GOES_TO.finditer(text))


# --- loops -----------------------------------------------------------------------------------------------------------


def _find_loops(f: Flow) -> dict[Block, Loop]:
    """The innermost loop of each block that is in one."""
    innermost: dict[Block, Loop] = {}
    found: list[Loop] = []
    for header in reversed(f.order):  # a dominated header comes later in the order: inner loops first
        latches = tuple(p for p in f.predecessors[header] if f.dominates(header, p))
        if latches:
            found.append(Loop(header, latches))
            _claim_blocks(f, found[-1], innermost)
    found.reverse()
    for loop in found:
        loop.depth = loop.parent.depth + 1 if loop.parent else 1
    _complete(f, found, innermost)
    return innermost


def _claim_blocks(f: Flow, loop: Loop, innermost: dict[Block, Loop]) -> None:
    """Walk backwards from the latches to the header; loops met on the way, claimed earlier, become children."""
    work = list(loop.latches)
    while work:
        block = work.pop()
        inner = innermost.get(block)
        if inner is None:
            innermost[block] = loop
            if block is not loop.header:
                work.extend(f.predecessors[block])
            continue
        while inner.parent is not None:
            inner = inner.parent
        if inner is not loop:
            inner.parent = loop
            work.extend(p for p in f.predecessors[inner.header] if p not in inner.latches)


def _complete(f: Flow, loops: list[Loop], innermost: dict[Block, Loop]) -> None:
    """Fill in blocks, children, preheader and exits; `loops` has outer before inner ones."""
    members: dict[Loop, list[Block]] = {loop: [] for loop in loops}
    children: dict[Loop, list[Loop]] = {loop: [] for loop in loops}
    for b in f.order:
        at = innermost.get(b)
        while at is not None:
            members[at].append(b)
            at = at.parent
    for loop in loops:
        if loop.parent:
            children[loop.parent].append(loop)
    for loop in loops:
        loop.order, loop.children = tuple(members[loop]), tuple(children[loop])
        loop.blocks = frozenset(loop.order)
        loop.exits = tuple((b, s) for b in loop.order for s in b.successors() if s not in loop.blocks)
        loop.dedicated_exits = all(p in loop.blocks for _, s in loop.exits for p in f.predecessors[s])
        entering = [p for p in f.predecessors[loop.header] if p not in loop.blocks]
        alone = len(entering) == 1 and len(entering[0].successors()) == 1
        loop.preheader = entering[0] if alone else None


# --- graphs: adjacency lists over 0..n-1, iterative throughout -----------------------------------------------------


def _reverse_postorder(root: N, successors: Callable[[N], Iterable[N]]) -> list[N]:
    seen, postorder = {root}, []
    stack = [(root, iter(successors(root)))]
    while stack:
        node, rest = stack[-1]
        following = next((s for s in rest if s not in seen), None)
        if following is None:
            postorder.append(node)
            stack.pop()
        else:
            seen.add(following)
            stack.append((following, iter(successors(following))))
    return postorder[::-1]


def _closure(roots: Iterable[N], step: Callable[[N], Iterable[N]]) -> set[N]:
    seen = set(roots)
    work = list(seen)
    while work:
        fresh = [n for n in step(work.pop()) if n not in seen]
        seen.update(fresh)
        work.extend(fresh)
    return seen


def _transpose(successors: Graph) -> list[list[int]]:
    predecessors: list[list[int]] = [[] for _ in successors]
    for i, targets in enumerate(successors):
        for t in targets:
            predecessors[t].append(i)
    return predecessors


def _immediate_dominators(predecessors: Graph) -> list[int]:
    """Nodes are numbered in reverse postorder from root 0, which is its own dominator."""
    idom = [-1] * len(predecessors)
    idom[0] = 0
    changed = True
    while changed:
        changed = False
        for node in range(1, len(predecessors)):
            known = [p for p in predecessors[node] if idom[p] >= 0]
            best = known[0]
            for p in known[1:]:
                best = _meet(idom, best, p)
            if idom[node] != best:
                idom[node], changed = best, True
    return idom


def _meet(idom: list[int], a: int, b: int) -> int:
    while a != b:
        while a > b:
            a = idom[a]
        while b > a:
            b = idom[b]
    return a


def _tree_intervals(parent: list[int]) -> tuple[list[int], list[int]]:
    """Preorder number of each node and of the last node below it; parents are numbered before their children."""
    size = [1] * len(parent)
    for node in range(len(parent) - 1, 0, -1):
        size[parent[node]] += size[node]
    first, free = [0] * len(parent), [1] * len(parent)  # free: the next number to give below a node
    for node in range(1, len(parent)):
        first[node] = free[parent[node]]
        free[parent[node]] += size[node]
        free[node] = first[node] + 1
    return first, [f + s - 1 for f, s in zip(first, size, strict=True)]


def _strong_components(successors: Graph) -> list[list[int]]:
    """Tarjan's algorithm: a component comes after those that it reaches."""
    number, low = [-1] * len(successors), [0] * len(successors)
    done = [False] * len(successors)
    components: list[list[int]] = []
    path: list[int] = []  # visited, component not yet known
    count = 0
    for root in range(len(successors)):
        stack = [(root, 0)] if number[root] < 0 else []
        while stack:
            node, edge = stack.pop()
            if edge == 0:
                number[node] = low[node] = count
                count += 1
                path.append(node)
            else:
                low[node] = min(low[node], low[successors[node][edge - 1]])
            edge = _next_unvisited(successors[node], edge, number, low, node, done)
            if edge < len(successors[node]):
                stack += [(node, edge + 1), (successors[node][edge], 0)]
            elif low[node] == number[node]:
                components.append([])
                while not done[node]:
                    components[-1].append(member := path.pop())
                    done[member] = True
    return components


def _next_unvisited(
    targets: Sequence[int], edge: int, number: list[int], low: list[int], node: int, done: list[bool]
) -> int:
    """Pass over edges to visited nodes, lowering `low[node]`; the index of the first edge to follow."""
    while edge < len(targets) and number[targets[edge]] >= 0:
        if not done[targets[edge]]:
            low[node] = min(low[node], number[targets[edge]])
        edge += 1
    return edge
