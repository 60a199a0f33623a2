"""Checks the invariants of the IR as data; LLVM's own verifier sees the text afterwards.

A function holds if
 1. every block is entered in its function once, has instructions, phis first, and one terminator, which is last;
 2. the entry block has no predecessors and no phis;
 3. names of locals are unique, and every value that can be used has one;
 4. operands are constants, globals of the module, or arguments and instructions of the function; targets and the blocks
    of phis are blocks of the function;
 5. use lists are exact: the users of an argument, block or instruction are the instructions that name it, as often as
    they name it;
 6. a phi has one value for each edge into its block, and equal values for edges from one block;
 7. a definition dominates its uses (in reachable code; the result of an invoke is defined on its normal edge only);
 8. types, flags and counts of operands are what the opcode table and `ir.verify_types` say;
 9. attached metadata exists.
A module holds if its functions do (those whose bodies were never asked for are LLVM's own text and are not looked at),
every global is entered under its name, and the users of globals are exact.
"""

from __future__ import annotations

from collections import Counter

from llgrad.errors import VerifyError
from llgrad.ir.module import Module
from llgrad.ir.values import (
    AnyValue,
    Argument,
    Block,
    Call,
    Function,
    GlobalValue,
    Instruction,
    MDRef,
    MetadataValue,
    Phi,
    Value,
)
from llgrad.ir.verify_types import complaints
from llgrad.ir.write import write_instruction


def verify(module: Module) -> None:
    """VerifyError for the first invariant that does not hold in the module."""
    uses: Counter[tuple[GlobalValue, Instruction]] = Counter()
    for name, value in module.globals.items():
        if value.name != name:
            raise VerifyError(f"@{value.name} is entered as @{name}")
        if value.module is not module:
            raise VerifyError(f"@{name} belongs to another module")
        if isinstance(value, Function) and value._body is None:
            verify_function(value)
            uses.update((v, i) for i in value.instructions() for v in i.operands if isinstance(v, GlobalValue))
    for value in module.globals.values():
        _compare_users(value, {i: n for (g, i), n in uses.items() if g is value} if value.users else {}, None)
    for value, instruction in uses:
        if instruction not in value.users:
            raise _error(instruction, f"@{value.name} does not know this user")


def verify_function(f: Function) -> None:
    """VerifyError for the first invariant that does not hold in the function; its body is parsed if it was not."""
    if f.is_declaration:
        return
    _Verifier(f).run()


class _Verifier:
    """The facts of one function that several checks need."""

    def __init__(self, f: Function) -> None:
        self.function = f
        self.blocks = f.blocks
        self.block_set = set(self.blocks)
        self.locals: set[Value] = {*f.arguments, *f.instructions()}

    def run(self) -> None:
        self.structure()
        self.names()
        self.operands()
        self.use_lists()
        for block in self.blocks:
            for i in block.instructions:
                for text in complaints(i, self.function):
                    raise _error(i, text)
        self.phis()
        self.dominance()

    def fail(self, message: str) -> VerifyError:
        return VerifyError(f"@{self.function.name}: {message}")

    # --- 1, 2, 3 ---

    def structure(self) -> None:
        if len(self.block_set) != len(self.blocks):
            raise self.fail("a block is entered twice")
        if len(self.locals) != len(self.function.arguments) + sum(len(b.instructions) for b in self.blocks):
            raise self.fail("an instruction stands in two places")
        for block in self.blocks:
            self.block_structure(block)
        if any(self.blocks[0] in user.targets for user in self.blocks[0].users):
            raise self.fail(f"the entry block %{self.blocks[0].name} has predecessors")

    def block_structure(self, block: Block) -> None:
        where = f"block %{block.name}"
        if block.function is not self.function:
            raise self.fail(f"{where} belongs to another function")
        if not block.instructions:
            raise self.fail(f"{where} is empty")
        if not block.instructions[-1].is_terminator:
            raise _error(block.instructions[-1], f"{where} does not end in a terminator")
        phis = sum(1 for _ in block.phis())
        for n, i in enumerate(block.instructions):
            if i.block is not block:
                raise _error(i, f"stands in {where} but does not say so", self.function)
            if i.is_terminator and n + 1 < len(block.instructions):
                raise _error(i, f"a terminator in the middle of {where}")
            if isinstance(i, Phi) and (n >= phis or block is self.blocks[0]):
                raise _error(i, "a phi that is not at the head of a block with predecessors")

    def names(self) -> None:
        seen: set[str] = set()
        for value in [*self.function.arguments, *self.blocks, *self.function.instructions()]:
            if not value.name:
                if isinstance(value, Instruction) and str(value.type) != "void":
                    raise _error(value, "a value without a name")
                continue
            if value.name in seen:
                raise self.fail(f"%{value.name} is defined twice")
            seen.add(value.name)

    # --- 4, 9 ---

    def operands(self) -> None:
        module = self.function.module
        for i in self.function.instructions():
            for v in i.operands:
                self.operand(i, v.value if isinstance(v, MetadataValue) and v.value is not None else v, module)
            for b in [*i.targets, *(i.blocks if isinstance(i, Phi) else [])]:
                if b not in self.block_set:
                    raise _error(i, f"goes to %{b.name}, which is no block of this function")
            for ref in i.metadata.values():
                self.metadata(i, ref, module)

    def operand(self, i: Instruction, v: AnyValue, module: Module | None) -> None:
        if isinstance(v, GlobalValue):
            if module is not None and module.globals.get(v.name) is not v:
                raise _error(i, f"@{v.name} is not in the module")
        elif isinstance(v, Value) and v not in self.locals:
            what = "argument" if isinstance(v, Argument) else "value"
            raise _error(i, f"%{v.name} is no {what} of this function")

    def metadata(self, i: Instruction, ref: MDRef, module: Module | None) -> None:
        if module is not None and not ref.text and ref.id not in module.raw_metadata and ref.id not in module.nodes:
            raise _error(i, f"metadata !{ref.id} does not exist")

    # --- 5 ---

    def use_lists(self) -> None:
        uses: dict[Value, Counter[Instruction]] = {}
        for i in self.function.instructions():
            for v in [*i.operands, *i.targets, *(i.blocks if isinstance(i, Phi) else [])]:
                if isinstance(v, Value) and not isinstance(v, GlobalValue):
                    uses.setdefault(v, Counter())[i] += 1
        for value in [*self.locals, *self.blocks]:
            _compare_users(value, uses.get(value, {}), self.function)

    # --- 6 ---

    def phis(self) -> None:
        predecessors: dict[Block, Counter[Block]] = {b: Counter() for b in self.blocks}
        for block in self.blocks:
            for target in block.terminator.targets:
                predecessors[target][block] += 1
        for block in self.blocks:
            for phi in block.phis():
                self.phi(phi, predecessors[block])

    def phi(self, phi: Phi, wanted: Counter[Block]) -> None:
        found = Counter(phi.blocks)
        if found != wanted:
            odd = next(iter((found - wanted) + (wanted - found)))
            raise _error(phi, f"{found[odd]} values for {wanted[odd]} edges from %{odd.name}")
        values: dict[Block, AnyValue] = {}
        for value, block in phi.incoming():
            if values.setdefault(block, value) != value:
                raise _error(phi, f"different values from %{block.name}")

    # --- 7 ---

    def dominance(self) -> None:
        tree = Dominators(self.blocks)
        position = {i: n for b in self.blocks for n, i in enumerate(b.instructions)}
        for block in self.blocks:
            if block not in tree.number:
                continue
            for i in block.instructions:
                for n, v in enumerate(i.operands):
                    v = v.value if isinstance(v, MetadataValue) else v
                    if isinstance(v, Instruction) and not self.available(tree, position, v, i, n):
                        raise _error(i, f"%{v.name} does not dominate this use")

    def available(
        self, tree: Dominators, position: dict[Instruction, int], v: Instruction, i: Instruction, n: int
    ) -> bool:
        """Is `v` defined wherever operand `n` of `i` is read?"""
        edge = i.blocks[n] if isinstance(i, Phi) else None
        if edge is not None and edge not in tree.number:
            return True
        at = i.block if edge is None else edge
        if isinstance(v, Call) and v.opcode != "call":
            return self.available_after_invoke(tree, v, at, i.block if edge is not None else None)
        if v.block is at:
            return edge is not None or position[v] < position[i]
        return tree.dominates(v.block, at)

    def available_after_invoke(self, tree: Dominators, v: Call, at: Block, phi_block: Block | None) -> bool:
        normal = v.targets[0]
        if phi_block is normal and at is v.block:
            return True
        if not tree.dominates(normal, at):
            return False
        others = [b for b in tree.predecessors[normal] if b is not v.block]
        return all(tree.dominates(normal, b) for b in others) and v.targets.count(normal) == 1


class Dominators:
    """Immediate dominators of the blocks that the first one reaches (Cooper, Harvey, Kennedy 2001)."""

    def __init__(self, blocks: list[Block]) -> None:
        order = _reverse_postorder(blocks[0])
        self.number = {b: n for n, b in enumerate(order)}
        self.predecessors: dict[Block, list[Block]] = {b: [] for b in order}
        for b in order:
            for s in b.successors():
                self.predecessors[s].append(b)
        self.immediate = self._solve(order)
        self.depth = {order[0]: 0}
        for b in order[1:]:
            self.depth[b] = self.depth[self.immediate[b]] + 1

    def _solve(self, order: list[Block]) -> dict[Block, Block]:
        immediate = {order[0]: order[0]}
        changed = True
        while changed:
            changed = False
            for b in order[1:]:
                known = [p for p in self.predecessors[b] if p in immediate]
                new = known[0]
                for p in known[1:]:
                    new = self._meet(immediate, new, p)
                if immediate.get(b) is not new:
                    immediate[b] = new
                    changed = True
        return immediate

    def _meet(self, immediate: dict[Block, Block], a: Block, b: Block) -> Block:
        while a is not b:
            while self.number[a] > self.number[b]:
                a = immediate[a]
            while self.number[b] > self.number[a]:
                b = immediate[b]
        return a

    def dominates(self, a: Block, b: Block) -> bool:
        """Does every path to `b` pass through `a`? Both are reachable, or the answer is no for an unreachable `a`."""
        if a not in self.number or b not in self.number:
            return False
        while self.depth[b] > self.depth[a]:
            b = self.immediate[b]
        return a is b


def _reverse_postorder(entry: Block) -> list[Block]:
    seen, order = {entry}, []
    stack = [(entry, iter(entry.successors()))]
    while stack:
        block, successors = stack[-1]
        for s in successors:
            if s not in seen:
                seen.add(s)
                stack.append((s, iter(s.successors())))
                break
        else:
            stack.pop()
            order.append(block)
    return order[::-1]


def _compare_users(value: Value, wanted: Counter[Instruction] | dict[Instruction, int], f: Function | None) -> None:
    """The users of `value` are exactly `wanted`."""
    if len(value.users) == sum(wanted.values()) and Counter(value.users) == wanted:
        return
    found = Counter(value.users)
    for i in {*found, *wanted}:
        if found[i] != wanted.get(i, 0):
            what = "@" if isinstance(value, GlobalValue) else "%"
            raise _error(
                i, f"counted {found[i]} times as a user of {what}{value.name}, used {wanted.get(i, 0)} times", f
            )


def _error(i: Instruction, message: str, f: Function | None = None) -> VerifyError:
    """The error that names function, block and instruction."""
    block = i.block
    f = f or (block.function if block is not None else None)
    places = [f"@{f.name}" if f else "", f"%{block.name}" if block is not None else ""]
    try:
        text = write_instruction(i)
    except (KeyError, IndexError, AttributeError, AssertionError, ValueError, TypeError):
        text = repr(i)
    module = f.module if f is not None else None
    span = module.span(i) if module is not None and _has_location(module, i) else None
    return VerifyError(
        f"{', '.join(p for p in places if p)}: {message}", span=span, cause=f"in the instruction: {text}"
    )


def _has_location(module: Module, i: Instruction) -> bool:
    ref = i.metadata.get("dbg")
    return ref is not None and (ref.id in module.raw_metadata or ref.id in module.nodes)


__all__ = ["Dominators", "verify", "verify_function"]
