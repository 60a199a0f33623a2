"""The order of requests: a derivative is made of code in which no request is left.

The derivative of `f` has copies of all code that may run in it. These are the functions that `f` names, directly or
not; the rules of those that have rules, in the mode that is asked for; what frees what an allocator of the user's gave;
and the functions that calls through pointers may meet (`symbols.address_taken`), by their types. A request in
any of them is replaced before the request for `f` is: `innermost` gives what can be replaced now.

Types say little of pointers: where they alone close a cycle, they are not followed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from llgrad.analysis.memory.call_effects import met_functions, virtual_functions
from llgrad.autodiff.enzyme.calls import CallSite
from llgrad.autodiff.requests.registrations import Registrations
from llgrad.autodiff.requests.registrations import read as read_registrations
from llgrad.autodiff.requests.request import Mode
from llgrad.errors import UnsupportedError
from llgrad.ir.module import Module
from llgrad.ir.parse_types import decode_name
from llgrad.ir.types import FunctionType
from llgrad.ir.values import Alias, Call, Function, GlobalVariable, InlineAsm, Instruction, parts
from llgrad.llvm.assembly import names_in
from llgrad.transforms.symbols.address_taken import called_types, may_call

_Nested = Mapping[int, Sequence[CallSite]]  # by the identity of a site: those that come first


def innermost(module: Module, sites: Sequence[CallSite], logged: Collection[str] = ()) -> list[CallSite]:
    """The sites that no other site has to be replaced before; UnsupportedError where there are none.

    `logged`: functions that are replayed (`autodiff.enzyme.fwdsplit`), which nothing that is differentiated may ask
    for.
    """
    nesting = Nesting(module, sites)
    strict = {id(s): nesting.within(s, pointers=False) for s in sites}
    for s in sites:
        if any(inner.function.name in logged for inner in strict[id(s)]):
            raise UnsupportedError(
                f"{s.function.name} itself asks for __enzyme_fwdsplit", span=s.span,
                cause="what that tape holds has no shadow", fix="ask for __enzyme_fwddiff in what is differentiated",
            )  # fmt: skip
    whole = {id(s): nesting.within(s, pointers=True) for s in sites}
    ordered = _ordered(sites, whole)
    found = [s for s in sites if not (whole if id(s) in ordered else strict)[id(s)]]
    if sites and not found:
        raise _circular(sites[0], strict[id(sites[0])])
    return found


def _ordered(sites: Sequence[CallSite], nested: _Nested) -> set[int]:
    """The sites that can be replaced after those that come first."""
    done: set[int] = set()
    while more := {id(s) for s in sites if id(s) not in done and all(id(n) in done for n in nested[id(s)])}:
        done |= more
    return done


def _circular(site: CallSite, nested: Iterable[CallSite]) -> UnsupportedError:
    """`site` waits for others, each of which waits for one."""
    askers = {s.call.block.function.name for s in nested if s.call.block.function is not None}
    return UnsupportedError(
        f"{site.function.name} asks for a derivative of a function that calls it", span=site.span,
        cause=f"the derivative would contain itself: it is asked for in {', '.join(sorted(askers))}, which runs in it",
        fix="differentiate a function that does not ask for itself; let a rule ask for a function without that rule",
    )


class Nesting:
    """What may run in derivatives of a module's functions."""

    def __init__(self, module: Module, sites: Sequence[CallSite]) -> None:
        self.module, self.registered = module, read_registrations(module)
        self.asking: dict[Function, list[CallSite]] = {}
        for s in sites:
            if s.call.block.function is not None:
                self.asking.setdefault(s.call.block.function, []).append(s)
        pointed = dict.fromkeys([*met_functions(module), *virtual_functions(module)])
        self.met = {f: _spelt(f.function_type) for f in pointed if not f.is_declaration}
        self.known: dict[tuple[Function, bool, bool], set[Function]] = {}

    def within(self, site: CallSite, *, pointers: bool) -> list[CallSite]:
        """The sites in code that may run in the derivative that `site` asks for."""
        forward = site.request is None or site.request.mode is Mode.FORWARD
        key = site.function, forward, pointers
        if key not in self.known:
            self.known[key] = self._reached(site.function, forward, pointers)
        return [s for f, asked in self.asking.items() if f in self.known[key] for s in asked]

    def _reached(self, root: Function, forward: bool, pointers: bool) -> set[Function]:
        rules = _rules(self.module, self.registered, forward)
        found, seen = set[Function](), set[int]()
        work: list[object] = [root]
        while work:
            while work:
                v = work.pop()
                if id(v) not in seen:
                    seen.add(id(v))
                    found |= {v} if isinstance(v, Function) else set()
                    work += [*self._named(v), *(rules.get(v, ()) if isinstance(v, Function) else ())]
            called = {t for f in found for t in _called(f)} if pointers and self.met else set[str]()
            work += [f for f, t in self.met.items() if f not in found and may_call(called, t)]
        return found

    def _named(self, v: object) -> Iterable[object]:
        """What stands in a body, an initial value or a constant; a body that is not read yet is looked at as text."""
        match v:
            case Function(unread=str() as body):
                names = map(decode_name, dict.fromkeys(names_in(body)))
                return [self.module.globals[name] for name in names if name in self.module.globals]
            case Function():
                return [o for i in v.instructions() for o in i.operands if not isinstance(o, Instruction)]
            case GlobalVariable(initializer=value):
                return [value]
            case Alias():
                return [v.aliasee]
            case _:
                return parts(v)


def _rules(module: Module, found: Registrations, forward: bool) -> dict[Function, list[Function]]:
    """What runs in derivatives in the place of a function, or beside it."""
    rules: dict[Function, list[Function]] = {}

    def add(name: str, *others: str) -> None:
        rules.setdefault(module.function(name), []).extend(map(module.function, filter(None, others)))

    for name, tangent in found.tangents.items() if forward else ():
        add(name, tangent)
    for name, pair in [*(() if forward else found.gradients.items()), *found.splits.items()]:
        add(name, *pair)
    for name, others in found.routines.items():
        add(name, *others)
    for name, (_, release, _) in found.allocators.items():
        add(name, release)
    return rules


def _called(f: Function) -> set[str]:
    """The types that a function calls through pointers, as `address_taken.called_types` spells them."""
    if f.unread is not None:
        return called_types(f.unread)
    calls = [i for i in f.instructions() if isinstance(i, Call) and i.called_function is None]
    return {_spelt(i.function_type) for i in calls if not isinstance(i.callee, InlineAsm)}


def _spelt(t: FunctionType) -> str:
    return "" if t.vararg else f"{t.result}({', '.join(map(str, t.params))})"
