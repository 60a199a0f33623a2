"""Cycles that are entered at more than one block become loops, by one more block (as LLVM's fix-irreducible does).

All edges that enter such a cycle, or go to one of its entries within it, go through one new block, the *hub*, which
goes on to the entry that was meant; phis in it say to which, and with which values. Edges back to an entry from what
it dominates stay. Dominance stays: a block of the cycle that dominated another lies between that and every entry.

A derivative has such cycles where the primal had a loop with two exits: its reverse sweep enters the loop at both.
"""

from __future__ import annotations

from llgrad.analysis.cfg.flow import Flow, flow
from llgrad.ir.build import Names, const_int
from llgrad.ir.types import I32
from llgrad.ir.values import Block, Branch, Call, Function, IndirectBranch, Phi, Switch, Undef, put_instead


def make_reducible(f: Function) -> bool:
    """Give cycles of `f` a single entry; False where nothing was to be done, or could be."""
    found = flow(f)
    names = Names()
    cycles = [c for c in found.irreducible_cycles if all(_may_move(p, e) for p, e in _edges(found, c))]
    if cycles:
        names = Names([b.name for b in f.blocks] + [v.name for v in (*f.arguments, *f.instructions())])
    for entries in cycles:
        _through_hub(f, found, entries, names)
    return bool(cycles)


def _edges(found: Flow, entries: tuple[Block, ...]) -> list[tuple[Block, Block]]:
    """The edges to the entries, but for those of loops whose headers the entries are."""
    return [(p, e) for e in entries for p in found.predecessors[e] if not found.dominates(e, p)]


def _may_move(source: Block, entry: Block) -> bool:
    """Can the edge have another target?"""
    if isinstance(source.terminator, IndirectBranch):
        return False
    return not (isinstance(source.terminator, Call) and entry in source.terminator.targets[1:])


def _through_hub(f: Function, found: Flow, entries: tuple[Block, ...], names: Names) -> None:
    hub = Block(names.fresh("cycle"), f)
    f._blocks.insert(f._blocks.index(entries[0]), hub)
    choice = _phi(hub, Phi(I32), "cycle.entry", names)
    chosen = {phi: _phi(hub, Phi(phi.type), f"{phi.name}.entry", names) for e in entries for phi in e.phis()}
    for source, entry in dict.fromkeys(_edges(found, entries)):
        way = Block(names.fresh(f"{source.name}.{entry.name}"), f)
        f._blocks.insert(f._blocks.index(hub), way)
        way.append(Branch([hub]))
        end = source.terminator
        for n, target in enumerate(end.targets):
            if target is entry:
                end.targets[n] = way
                entry.users.remove(end)
                way.users.append(end)
        choice.add(const_int(I32, entries.index(entry)), way)
        for phi, made in chosen.items():
            made.add(phi.incoming_from(source) if phi.block is entry else Undef(phi.type, True), way)
    for phi, made in chosen.items():
        kept = [(v, b) for v, b in phi.incoming() if found.dominates(phi.block, b)]
        new = Phi(phi.type, [*kept, (made, hub)], phi.name)
        put_instead(phi, new)
    hub.append(Switch(choice, entries[0], [(const_int(I32, n), e) for n, e in enumerate(entries) if n]))


def _phi(block: Block, phi: Phi, name: str, names: Names) -> Phi:
    phi.name = names.fresh(name)
    block.append(phi)
    return phi
