"""What LLVM computes on each way to a block alike, computed there once: a sum is a sum again, and not a choice of two.

Where a loop's body stands behind `if (0 < n)` and uses `t + 1`, LLVM (the elimination of partial redundancies) computes
`t + 1` on the other way, too, and lets a phi choose between equals. As the step of `t`, that phi hides how often the
loop runs and where its accesses lie. The operands of what all ways compute are computed before the ways part, and have
the same values where they meet.

Where it knows which way an iteration goes on from the test that ends the loop, it copies that test for this way (jump
threading): `for (t …) { for (i < n) … } for (i < n) …` tests whether the last `t` is reached twice, where there is an
`i` and where there is none. Such a loop is optimised again without (`tests_whole`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from llgrad.analysis.cfg.flow import Loop, flow
from llgrad.ir.module import Module
from llgrad.ir.values import AnyValue, Binary, Branch, Compare, ConstInt

_LOCAL = r'%(?:[-\w.$]+|"[^"\n]*")'
_BODY = re.compile(r"^define [^\n]*\{\n.*?^\}\n", re.MULTILINE | re.DOTALL)
_PHI = re.compile(rf"^  ({_LOCAL}) = phi (?:i\d+|ptr) (\[ {_LOCAL}, [^\n]*?\])(?:, ![^\n]*)?\n", re.MULTILINE)
_WAY = re.compile(r"\[ ([^\[\]\n]*), %[^\[\]\n]* \]")
_PURE = "add|sub|mul|shl|and|or|xor|sext|zext|trunc|getelementptr"
_MADE = re.compile(
    rf"^  ({_LOCAL}) = ({_PURE}) ((?:(?:nuw|nsw|disjoint|nneg|inbounds|nusw) )*)([^\n]*?)(?:, ![a-zA-Z][^\n]*)?\n",
    re.MULTILINE,
)
_FIRST = re.compile(  # what a block begins with: phis, and what catches, of which the clauses are lines of their own
    rf"(?:  {_LOCAL} = phi [^\n]*\n)*"
    rf"(?:(?: +#dbg_[^\n]*\n)*  {_LOCAL} = (?:landingpad|catchpad|cleanuppad) [^\n]*\n(?: {{6,}}[^\n]*\n)*)?"
)


def merged(text: str) -> str:
    """The text, each phi of equal expressions being that expression."""
    return _BODY.sub(lambda m: _merged(m[0]), text)


def _merged(body: str) -> str:
    while (found := next(_equal(body), None)) is not None:
        phi, made = found
        others = _FIRST.match(body, phi.end())
        assert others is not None
        body = f"{body[: phi.start()]}{others[0]}  {phi[1]} = {made}\n{body[others.end() :]}"
    return body


def _equal(body: str) -> Iterator[tuple[re.Match[str], str]]:
    """Phis whose ways compute the same, and what they compute: with the flags that it has on all ways."""
    phis = [(phi, _WAY.findall(phi[2])) for phi in _PHI.finditer(body)]
    wanted = {name for _, names in phis for name in names if len(set(names)) > 1}
    made = {m[1]: m for m in _MADE.finditer(body) if m[1] in wanted} if wanted else {}
    for phi, names in phis:
        ways = [made[name] for name in names if name in made]
        if len(ways) == len(names) > 1 and len({(way[2], way[4]) for way in ways}) == 1:
            flags = [flag for flag in ways[0][3].split() if all(flag in way[3].split() for way in ways)]
            yield phi, " ".join([ways[0][2], *flags, ways[0][4]])


def has_split_tests(module: Module) -> bool:
    """Does a loop end at several places by the same test?"""
    functions = (f for f in module.functions if not f.is_declaration and any(".thread" in b.name for b in f.blocks))
    return any(map(_is_split, (loop for f in functions for loop in flow(f).loops)))


def _is_split(loop: Loop) -> bool:
    ends = [block.terminator for block in dict.fromkeys(block for block, _ in loop.exits)]
    tests = [end.condition for end in ends if isinstance(end, Branch)]
    made = [(c.predicate, _told(c.lhs), _told(c.rhs)) for c in tests if isinstance(c, Compare)]
    return len(set(made)) < len(made)


def _told(v: AnyValue) -> object:
    """What tells a number from others, however often it is computed."""
    if isinstance(v, Binary):
        return v.opcode, _leaf(v.lhs), _leaf(v.rhs)
    return _leaf(v)


def _leaf(v: AnyValue) -> object:
    return v.value if isinstance(v, ConstInt) else id(v)
