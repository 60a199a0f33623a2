"""Random C and C++ programs with derivatives that can be checked, and a reducer for those that go wrong.

    python tests/random_check.py --seed 7 --count 100       generate and check; what fails is reduced and printed
    python tests/random_check.py --seed 7 --print           only print the program

A program is a tree of statements (`Node`). It is well-defined by construction: every variable is initialised where it
is declared, every index is reduced modulo the smallest array, loops have small bounds, and values stay bounded because
what is assigned passes through sin, tanh, x / (1 + x²) and the like. So any statement may be deleted: the reducer does.

Each program draws a few of the table `features` and a few of the rarer statements; what one opens, others stand in.
"""

from __future__ import annotations

import copy
import random
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

from features import FEATURES, Feature

SMALLEST = 5  # elements that every array has
S_MARK = '[("k", "i4"), ("v", "f8"), ("h", "i2"), ("z", "f8", (2,))] 3 k=2,0,1 h=1,2,3'
T_MARK = '[("w", "f4"), ("k", "i4"), ("v", "f8")] 3 k=1,2,0'


@dataclass
class Node:
    """A statement: heads with the statements that follow each, and what closes the last. `fixed`: never deleted."""

    parts: list[tuple[str, list[Node]]]
    end: str = ""
    fixed: bool = False

    def lines(self, indent: int = 0) -> Iterator[str]:
        for head, body in self.parts:
            yield "    " * indent + head
            for node in body:
                yield from node.lines(indent + 1)
        if self.end:
            yield "    " * indent + self.end


def simple(text: str, fixed: bool = False) -> Node:
    return Node([(text, [])], "", fixed)


@dataclass
class Source:
    """A generated program: functions, the last of which is the one to differentiate, and what to pass."""

    name: str
    marks: list[str]
    functions: list[Node]
    cxx: bool = False

    def text(self) -> str:
        """One section of a file: everything is named after the program."""
        body = "\n".join("\n".join(f.lines()) for f in self.functions)
        return "\n".join([f"// == {self.name}", *self.marks, body, ""])


@dataclass
class Scope:
    """What may be named at a place, by type; how to leave the function from there; how often it runs at most."""

    doubles: list[str]
    ints: list[str]
    arrays: list[str]
    floats: list[str] = field(default_factory=list)
    float_arrays: list[str] = field(default_factory=list)
    longs: list[str] = field(default_factory=list)
    int_arrays: list[str] = field(default_factory=list)
    set_ints: list[str] = field(default_factory=list)
    structs: list[str] = field(default_factory=list)
    float_structs: list[str] = field(default_factory=list)
    pointers: list[str] = field(default_factory=list)
    tables: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    leave: str = ""
    throws: bool = False
    runs: int = 1
    depth: int = 0
    loops: int = 0

    def inside(self, times: int = 1, **more: str | tuple[str, ...]) -> Scope:
        """The scope of a nested body that runs `times` as often; `more` are names to add to its lists."""
        made = copy.deepcopy(self)
        made.runs, made.depth = self.runs * times, self.depth + 1
        for kind, names in more.items():
            getattr(made, kind).extend([names] if isinstance(names, str) else names)
        return made


# Statements that a program has or has not: how often they run at most.
RARE = dict.fromkeys(("swap", "copy", "move", "clear", "scoped", "register", "vector", "struct_copy"), 60)
RARE |= {"functions": 24, "list": 12, "chain": 12, "grow": 12, "sort": 12, "long": 1}


class Generator:
    """Makes the program `name` from a seed."""

    def __init__(self, name: str, seed: int, cxx: bool | None = None) -> None:
        self.name, self.random = name, random.Random(seed)
        self.cxx = self.random.random() < 0.4 if cxx is None else cxx
        self.floats = self.random.random() < 0.2
        self.longs = not self.floats and self.random.random() < 0.1
        self.features = self._drawn()
        self.rare = [n for n in RARE if self.random.random() < 0.3]
        self.helpers: list[tuple[str, str]] = []  # name, kind
        self.headers: list[str] = []
        self.functions: list[Node] = []
        self.once: set[str] = set()
        self.fresh = 0

    def _drawn(self) -> list[Feature]:
        """Some of the table; a program of C++ has more of what C lacks."""
        fit = [f for f in FEATURES if f.cxx <= self.cxx and f.single <= self.floats]
        weights = [2 if f.cxx else 1 for f in fit]
        drawn = self.random.choices(fit, weights, k=self.random.randint(2, 6))
        return [f for f in drawn if f.available]

    # --- the whole

    def make(self) -> Source:
        kinds = ("value", "value", "pointers", "recursive", "struct", "result", "pick", "make", "view")
        for kind in self.random.sample(kinds, self.random.choice((0, 0, 1, 1, 2, 3))):
            self._helper(kind)
        marks = [f"// s: {S_MARK}"] + ([f"// t: {T_MARK}"] if self.floats else [])
        alias = self.random.choice(("", "", "// alias: y = x", "// alias: y = x + 1"))
        marks += [f"// y: {SMALLEST}", "// w: 5", f"// k: {self.random.randint(0, 6)}"] + ([alias] if alias else [])
        parameters = "double *x, int n, double *y, struct S *s, int k, double c"
        parameters += ", float *w, struct T *t" if self.floats else ""
        scope = Scope(["a", "b", "c"], ["n", "k", "e"], ["x", "y"], set_ints=["k", "e"], leave="goto done;")
        scope.structs, scope.calls, result = ["s"], ["TABLE[<at>]"], "a + 0.5 * b - c + y[3] + s[1].v"
        head = 'extern "C" ' * self.cxx + f"double {self.name}({parameters}) {{"
        opening = [head, "    double a = x[0], b = y[1];", "    int e = 1;"]
        for chance, lines, more, part in self._locals():
            if self.random.random() < chance:
                opening += [f"    {line}" for line in lines]
                for kind, names in more.items():
                    getattr(scope, kind).extend(names)
                result += part
        body = self._body(scope, self.random.randint(2, 4))
        closing = [simple("done:;", True), simple(f"double result = {result};", True)]
        closing += [simple("free(H);", True)] if "H" in scope.arrays else []
        main = Node([("\n".join(opening), body + closing)], "    return result;\n}")
        return Source(self.name, marks, [*map(self._fixed, self.headers), *self.functions, main], self.cxx)

    def _fixed(self, text: str) -> Node:
        return simple(text, True)

    def _locals(self) -> list[tuple[float, list[str], dict[str, list[str]], str]]:
        """What the function declares: how likely, how, names by kind, and what the result gets from it."""
        heap = ["double *H = NEW(double, 7);", "for (int i = 0; i < 7; i++) H[i] = 0.1 * i;"]
        structs = ["struct S S[3];", "for (int i = 0; i < 3; i++) S[i] = s[i];"]
        floats = ["float f = 0.5f, g = w[1], F[5];", "for (int i = 0; i < 5; i++) F[i] = w[i] * 0.5f;"]
        given: dict[str, list[str]] = {"floats": ["f", "g"], "float_arrays": ["w", "F"], "float_structs": ["t"]}
        still = ["static double G[5];", "for (int i = 0; i < 5; i++) G[i] = 0.2 * i - x[i] * 0.1;"]
        return [
            (0.5, ["double A[6];", "for (int i = 0; i < 6; i++) A[i] = x[i] * 0.5;"], {"arrays": ["A"]}, " + A[2]"),
            (0.5, heap, {"arrays": ["H"]}, " + H[3]"),
            (0.3, ["int K[5];", "for (int i = 0; i < 5; i++) K[i] = ORDER[i];"], {"int_arrays": ["K"]}, ""),
            (0.4, structs, {"structs": ["S"]}, " + S[1].v"),
            (0.5, ["double *p = x, *q = y;"], {"pointers": ["p", "q"]}, " + p[1]"),
            (1.0 * self.floats, floats, given, " + f * g + F[1]"),
            (0.2, ["double *P[3] = {x, y, x};"], {"tables": ["P"]}, ""),
            (0.2, still, {"arrays": ["G"]}, " + G[2]"),
            (1.0 * self.longs, ["long double l = 0.25L;"], {"longs": ["l"]}, " + (double)l"),
        ]

    def _helper(self, kind: str) -> None:
        name = f"{self.name}_{len(self.helpers)}"
        how = self.random.choice(("NOINLINE ", "NOINLINE ", "static "))
        scope = Scope(["u", "v", "r"], ["j"], [], set_ints=["j"], runs=6, depth=1, leave="return WRAP(r);")
        start, end = "double r = u;", "    return WRAP(r + 0.3 * v);\n}"
        match kind:
            case "value":
                head = f"{how}double {name}(double u, double v, int j) {{\n    {start}"
            case "pointers":
                head = f"{how}double {name}(double *X, double *Y, int j) {{\n    double r = *X, u = X[1], v = Y[2];"
                scope.arrays, end = ["X", "Y"], "    *Y = WRAP(*Y + r * u);\n" + end
            case "recursive":
                call = f"{name}(X, WRAP(u * v + X[AT(j)]), v * 0.9, j - 1)"
                head = f"{how}double {name}(double *X, double u, double v, int j) {{\n    if (j <= 0) return u * v;"
                head += f"\n    double r = {call};"
                scope.arrays = ["X"]
            case "pick":
                head = f"{how}double *{name}(double *X, double *Y, int j) {{\n    double r = *X, u = X[1], v = Y[2];"
                scope.arrays, scope.leave = ["X", "Y"], "return Y;"
                end = f"    return {self._condition(scope)} ? X : Y;\n}}"
            case "make":
                head = f"{how}double *{name}(double *X, double u, int j) {{\n    double r = *X, v = X[3];"
                head += "\n    double *M = NEW(double, 5);\n    for (int i = 0; i < 5; i++) M[i] = u * X[i];"
                scope.arrays, scope.leave, end = ["X", "M"], "return M;", "    M[2] = WRAP(r + v);\n    return M;\n}"
            case "view":
                head = f"{how}double {name}(struct V *Z, double u, int j) {{\n    double r = Z->s, v = Z->d[1];"
                scope.arrays, end = ["Z->d"], "    Z->s = WRAP(r * v);\n    Z->d += Z->n > 9;\n" + end
            case "struct":
                head = f"{how}double {name}(struct S *Z, double u, int j) {{\n    double r = Z->v, v = Z[1].z[0];"
                scope.structs, end = ["Z"], "    Z->z[1] = r * 0.5;\n" + end
            case _:
                head = f"{how}struct S {name}(double u, double v, int j) {{\n    {start}"
                head += "\n    struct S Z[3] = {{j, u, 2, {v, 0.5}}};\n    Z[1] = Z[2] = Z[0];"
                scope.structs, scope.leave = ["Z"], "return Z[1];"
                end = "    Z->v = WRAP(r + v);\n    return *Z;\n}"
        self.functions.append(Node([(head, self._body(scope, self.random.randint(1, 2)))], end))
        self.helpers.append((name, kind))

    # --- statements

    def _body(self, scope: Scope, count: int) -> list[Node]:
        return [self._statement(scope) for _ in range(count)]

    def _statement(self, scope: Scope) -> Node:
        nested = scope.depth < 3 and scope.runs < 60
        choices: list[tuple[int, Callable[[Scope], Node]]] = [(7, self._assign), (3, self._update), (2, self._integer)]
        if nested:
            choices += [(2, self._counted), (1, self._while), (1, self._do), (3, self._if), (1, self._switch)]
            fit = [f for f in self.features if self._fits(f, scope)]
            choices += [(3, partial(self._feature, f)) for f in fit]
        choices += [(2, getattr(self, f"_{name}")) for name in self.rare if self._possible(name, scope, nested)]
        choices += [(2, self._pointer)] if scope.pointers else []
        choices += [(2, self._table)] if scope.tables else []
        choices += [(1, self._leave)] if scope.depth > 0 else []
        choices += [(1, self._jump)] if scope.loops and scope.depth < 4 else []
        choices += [(3, self._throw)] if scope.throws else []
        if self.helpers and scope.runs <= 12 and scope.arrays and scope.pointers and scope.structs:
            choices.append((4, self._call))
        return self.random.choices([c for _, c in choices], [w for w, _ in choices])[0](scope)

    def _possible(self, name: str, scope: Scope, nested: bool) -> bool:
        most = RARE[name]
        return scope.runs <= most and len(scope.arrays) > 1 and (nested or name != "scoped") and bool(scope.structs)

    def _fits(self, f: Feature, scope: Scope) -> bool:
        asked = set(re.findall("<(array|elem|lasting|struct|A)>", "".join((f.start, f.end, *f.doubles, *f.calls))))
        there = bool(scope.arrays) and all(self._outlives(a) for a in scope.arrays[:1])
        needs = (there or not asked - {"struct"}) and (bool(scope.structs) or "struct" not in asked)
        return needs and scope.runs <= f.most and f.name not in self.once

    def _feature(self, f: Feature, scope: Scope) -> Node:
        """A block of the table, with statements in it."""
        self.fresh += 1
        names = {"<t>": f"q{self.fresh}", "<T>": f"T{self.fresh}", "<p>": self.name}
        names["<A>"] = self._array(scope) if scope.arrays else ""

        def bind(text: str) -> str:
            return re.sub("<[tTpA]>", lambda m: names[m[0]], text)

        for header in filter(None, (f.needs and f"#include <{f.needs}>", bind(f.header))):
            self.headers += [header] if header not in self.headers else []
        self.once |= {f.name} if f.once else set()
        start = self._filled(bind(f.start), scope)
        more = {kind: tuple(map(bind, getattr(f, kind))) for kind in ("doubles", "arrays", "calls", "ints")}
        inner = scope.inside(f.times, **more)
        inner.throws |= f.throws
        if f.loop:
            inner.loops += 1
        elif f.times > 1 or f.frees or f.leave:
            inner.loops = 0
        if f.frees or f.leave:
            inner.leave, inner.throws = f.leave, False
        body = self._body(inner, self.random.randint(1, 2))
        return Node([(start, body)], self._filled(bind(f.end), scope))

    def _filled(self, text: str, scope: Scope) -> str:
        """The text with its holes filled (see `features`)."""
        fill: dict[str, Callable[[], str]] = {
            "leaf": lambda: self._leaf(scope), "value": lambda: self._bounded(scope), "at": lambda: self._at(scope),
            "cond": lambda: self._condition(scope), "array": lambda: self._array(scope),
            "lasting": lambda: self._lasting(scope), "elem": lambda: self._element(scope),
            "target": lambda: self._target(scope), "n": lambda: str(self.random.randint(2, 4)),
            "struct": lambda: f"{self.random.choice(scope.structs or ['s'])}",
        }  # fmt: skip
        return re.sub(f"<({'|'.join(fill)})>", lambda m: fill[m[1]](), text)

    def _throw(self, scope: Scope) -> Node:
        return simple(f"if ({self._condition(scope)}) throw 1;")

    def _assign(self, scope: Scope) -> Node:
        return simple(f"{self._target(scope)} = {self._bounded(scope)};")

    def _update(self, scope: Scope) -> Node:
        target = self._target(scope)
        if self.random.random() < 0.6:
            return simple(f"{target} += 0.2 * {self._bounded(scope)};")
        return simple(f"{target} *= 0.6 + 0.3 * {self._bounded(scope)};")

    def _integer(self, scope: Scope) -> Node:
        value = f"(int)((unsigned)({self._index(scope, 2)}) % {self.random.randint(3, 7)}u)"
        if scope.int_arrays and self.random.random() < 0.4:
            return simple(f"K[AT({self._index(scope, 1)})] = {value};")
        if self.random.random() < 0.15:
            value = f"(int)({self._leaf(scope)} * 3.1 + 20.0)"
        return simple(f"{self.random.choice(scope.set_ints)} = {value};")

    def _counted(self, scope: Scope) -> Node:
        i, n = self._name("i"), self.random.randint(2, 4)
        some = self.random.choice(scope.ints)
        bound = self.random.choice((str(n), str(n), f"1 + {self._at(scope)} % {n}", f"{some} % {n}"))
        up, down = f"for (int {i} = 0; {i} < {bound}; {i}++) {{", f"for (int {i} = {bound}; {i} > 0; {i}--) {{"
        head = self.random.choice((up, down))
        inner = scope.inside(n, ints=i)
        inner.loops += 1
        return Node([(head, self._body(inner, self.random.randint(1, 2)))], "}")

    def _while(self, scope: Scope) -> Node:
        i = self._name("i")
        test = f"{self._leaf(scope)} < {self.random.uniform(0.2, 1.2):.3f}"
        inner = scope.inside(4, ints=i)
        inner.loops += 1
        body = self._body(inner, self.random.randint(1, 2))
        return Node([(f"for (int {i} = 0; {test} && {i} < 4; {i}++) {{", body)], "}")

    def _long(self, scope: Scope) -> Node:
        """More trips than a chunk of the tape has, their number unknown beforehand."""
        i, t = self._name("i"), self._target(scope)
        inner = scope.inside(70, ints=i)
        inner.leave, inner.loops = "", 1
        test = f"{i} < {self.random.choice((60, 64, 65, 70))} && fabs({t}) < {self.random.choice((50, 50, 1.5))}"
        first = simple(f"{t} = 0.98 * {t} + 0.02 * {self._bounded(inner)};")
        body = [first, *self._body(inner, self.random.randint(0, 2))]
        return Node([(f"for (int {i} = 0; {test}; {i}++) {{", body)], "}")

    def _table(self, scope: Scope) -> Node:
        """Pointers in memory that change."""
        one, two = f"P[{self._at(scope)} % 3]", f"P[{self._at(scope)} % 3]"
        if self.random.random() < 0.5:
            t = self._name("t")
            return simple(f"{{ double *{t} = {one}; {one} = {two}; {two} = {t}; }}")
        return simple(f"{one} = {self._lasting(scope)};")

    def _do(self, scope: Scope) -> Node:
        i = self._name("i")
        inner = scope.inside(3, ints=i)
        inner.loops += 1
        body = self._body(inner, self.random.randint(1, 2))
        bump = f"}} while (++{i} < {self.random.randint(1, 3)} && {self._leaf(scope)} > -0.9); }}"
        return Node([(f"{{ int {i} = 0; do {{", body)], bump)

    def _if(self, scope: Scope) -> Node:
        parts = [(f"if ({self._condition(scope)}) {{", self._body(scope.inside(), self.random.randint(1, 2)))]
        if self.random.random() < 0.5:
            parts.append(("} else {", self._body(scope.inside(), self.random.randint(1, 2))))
        return Node(parts, "}")

    def _switch(self, scope: Scope) -> Node:
        inner = scope.inside()
        inner.loops = 0
        through = self.random.choice(("break; ", "break; ", ""))
        heads = [f"switch ({self._at(scope)}) {{ case 0: {{", f"}} {through}case 2: case 4: {{", "} break; default: {"]
        return Node([(head, self._body(inner, self.random.randint(1, 2))) for head in heads], "} }")

    def _swap(self, scope: Scope) -> Node:
        t, one, two = self._name("t"), self._element(scope), self._element(scope)
        return simple(f"{{ double {t} = {one}; {one} = {two}; {two} = {t}; }}")

    def _copy(self, scope: Scope) -> Node:
        """Between different places of one array or different arrays: x and y may alias, so memmove."""
        one, two = self._array(scope), self._array(scope)
        exact = {one, two} <= {"A", "H"} and one != two
        call = "memcpy" if exact else "memmove"
        count = self.random.choice((str(SMALLEST), "3", f"({self._at(scope)})"))
        return simple(f"{call}({one}, {two}, {count} * sizeof(double));")

    def _move(self, scope: Scope) -> Node:
        one = self._array(scope)
        to, from_ = self.random.choice((("", " + 1"), (" + 1", ""), (" + 2", " + 1"), ("", " + 2")))
        return simple(f"memmove({one}{to}, {one}{from_}, 3 * sizeof(double));")

    def _clear(self, scope: Scope) -> Node:
        array = self._array(scope)
        return simple(f"memset({array} + 1, 0, {self.random.randint(1, 3)} * sizeof(double));")

    def _scoped(self, scope: Scope) -> Node:
        """An array that lives here only: on the stack, of variable length, or on the heap."""
        t = self._name("T")
        fill = f"for (int i = 0; i < 5; i++) {t}[i] = {self._leaf(scope)} * (0.2 + 0.1 * i);"
        inner = scope.inside(arrays=t)
        inner.loops, inner.leave = 0, ""  # free must be reached
        body = self._body(inner, self.random.randint(1, 2))
        body.append(simple(f"{self._target(scope)} = WRAP({t}[{self._at(scope)}]);"))
        match self.random.randint(0, 3):
            case 0:
                return Node([(f"{{ double {t}[5]; {fill}", body)], "}")
            case 1:
                return Node([(f"{{ double {t}[5 + {self._at(scope)}]; {fill}", body)], "}")
            case 2:
                return Node([(f"{{ double *{t} = (double *)calloc(5, sizeof *{t});", body)], f"free({t}); }}")
            case _:
                return Node([(f"{{ double *{t} = NEW(double, 5); {fill}", body)], f"free({t}); }}")

    def _list(self, scope: Scope) -> Node:
        """A linked list, built, walked, and freed."""
        h = self._name("h")
        build = f"struct N *{h} = 0; for (int i = 0; i < {self.random.randint(1, 4)}; i++) {{"
        build += " struct N *o = NEW(struct N, 1);"
        build += f" o->v = {self._bounded(scope.inside(ints='i'))}; o->next = {h}; {h} = o; }}"
        walk = f"for (struct N *o = {h}; o; o = o->next) {self._target(scope)} += 0.2 * o->v * {self._leaf(scope)};"
        drop = f"while ({h}) {{ struct N *o = {h}->next; free({h}); {h} = o; }}"
        return simple(f"{{ {build} {walk} {drop} }}")

    def _chain(self, scope: Scope) -> Node:
        """The same by functions, turned around on the way."""
        h = self._name("h")
        value = self._bounded(scope.inside(ints="i"))
        build = f"struct N *{h} = 0; for (int i = 0; i < {self.random.randint(1, 4)}; i++) {h} = cons({value}, {h});"
        build += f" {h} = turned({h});" if self.random.random() < 0.6 else ""
        walk = f"for (struct N *o = {h}; o; o = o->next) {{ o->v *= 0.5; {self._target(scope)} += o->v * 0.3;"
        return simple(f"{{ {build} {walk} if (o->next) o->next->v += o->v; }} drop({h}); }}")

    def _grow(self, scope: Scope) -> Node:
        """A vector that grows by `realloc`, and shrinks."""
        t, i = self._name("TR"), self._name("i")
        room = f"int {t}n = 0, {t}m = {self.random.randint(1, 3)}; double *{t} = NEW(double, {t}m);"
        more = self.random.choice((f"{t}m *= 2", f"{t}m++", f"{t}m += 3"))
        push = f"if ({t}n == {t}m) {{ {more}; {t} = (double *)realloc({t}, {t}m * sizeof *{t}); }}"
        value = self._bounded(scope.inside(ints=i))
        loop = f"for (int {i} = 0; {i} < {self.random.randint(5, 7)}; {i}++) {{ {push} {t}[{t}n++] = {value}; }}"
        inner = scope.inside(arrays=t)
        inner.loops, inner.leave = 0, ""
        body = [*self._body(inner, self.random.randint(0, 2))]
        if self.random.random() < 0.3:
            body.append(simple(f"{t} = (double *)realloc({t}, 5 * sizeof *{t});"))
        body.append(simple(f"{self._target(scope)} = WRAP({t}[{self._at(scope)}]);"))
        return Node([(f"{{ {room} {loop}", body)], f"free({t}); }}")

    def _sort(self, scope: Scope) -> Node:
        if scope.structs and self.random.random() < 0.3:
            return simple(f"qsort({self.random.choice(scope.structs)}, 3, sizeof(struct S), by_v);")
        return simple(f"qsort({self._array(scope)}, {SMALLEST}, sizeof(double), up);")

    def _functions(self, scope: Scope) -> Node:
        """Functions in a table, or in structs beside a number."""
        element, target = f"&{self._element(scope)}", self._target(scope)
        if self.random.random() < 0.5:
            return simple(f"{target} = WRAP(FUNCTIONS[{self._at(scope)} % 3]({self._leaf(scope)}, {element}));")
        t = self._name("f")
        table = f"struct F {t}[2] = {{{{square, {self._leaf(scope)}}}, {{wave, {self._leaf(scope)}}}}};"
        call = f"{t}[{self._at(scope)} % 2].f({t}[1].w, {self.random.choice((element, f'&{t}[0].w'))})"
        return simple(f"{{ {table} {target} = WRAP({call} * {t}[0].w); }}")

    def _register(self, scope: Scope) -> Node:
        """Structs that are passed and returned in registers."""
        t, target, at, leaf = self._name("o"), self._target(scope), self._at(scope), self._leaf(scope)
        if self.floats and self.random.random() < 0.7:
            first = f"struct Q {t} = counted((struct Q){{{at}, (float){leaf}}});"
            mixed = f"{target} = WRAP({t}r.v * {t}r.k + {t}r.w + {t}.w);"
            return simple(f"{{ {first} struct R {t}r = wide({t}); {mixed} }}")
        first = f"struct D {t} = more((struct D){{{leaf}, {at}}});"
        return simple(f"{{ {first} struct E {t}e = other({t}); {target} = WRAP({t}e.v * {t}e.k - {t}.v); }}")

    def _vector(self, scope: Scope) -> Node:
        t, target = self._name("v"), self._target(scope)
        made = f"v2 {t} = {{{self._leaf(scope)}, {self._leaf(scope)}}};"
        change = f"{t} = {t} * {t}[1] + crossed({t}); {t}[{self._at(scope)} & 1] -= 0.3;"
        return simple(f"{{ {made} {change} {target} = WRAP({t}[0] - {t}[{self._at(scope)} & 1]); }}")

    def _struct_copy(self, scope: Scope) -> Node:
        one, two = self.random.choice(scope.structs), self.random.choice(scope.structs)
        if one != two and self.random.random() < 0.3:
            return simple(f"memcpy({one}, {two}, {self.random.randint(1, 3)} * sizeof(struct S));")
        return simple(f"{one}[{self._at(scope)} % 3] = {two}[{self._at(scope)} % 3];")

    def _pointer(self, scope: Scope) -> Node:
        p = self.random.choice(scope.pointers)
        return simple(f"{p} = {self._condition(scope)} ? {self._lasting(scope)} : {self._lasting(scope)};")

    def _lasting(self, scope: Scope) -> str:
        """An array that lives as long as the function does."""
        return self._filled(self.random.choice([a for a in scope.arrays if self._outlives(a)]), scope)

    def _outlives(self, array: str) -> bool:
        return array.lstrip("(&")[0] != "T"

    def _leave(self, scope: Scope) -> Node:
        if not scope.leave:
            return self._assign(scope)
        return Node([(f"if ({self._condition(scope)}) {{", [self._assign(scope), simple(scope.leave)])], "}")

    def _jump(self, scope: Scope) -> Node:
        return simple(f"if ({self._condition(scope)}) {self.random.choice(('break', 'continue'))};")

    def _call(self, scope: Scope) -> Node:
        name, kind = self.random.choice(self.helpers)
        index = self._at(scope)
        match kind:
            case "pointers":
                call = f"{name}({self._array(scope)}, {self._array(scope)}, {index})"
            case "recursive":
                call = f"{name}({self._array(scope)}, {self._leaf(scope)}, {self._leaf(scope)}, {index} % 4)"
            case "pick":
                call = f"{name}({self._lasting(scope)}, {self._lasting(scope)}, {index})"
                return simple(f"{self.random.choice(scope.pointers)} = {call};")
            case "make":
                t = self._name("T")
                inner = scope.inside(arrays=t)
                inner.loops, inner.leave = 0, ""
                head = f"{{ double *{t} = {name}({self._array(scope)}, {self._leaf(scope)}, {index});"
                body = [*self._body(inner, 1), simple(f"{self._target(scope)} = WRAP({t}[{self._at(scope)}]);")]
                return Node([(head, body)], f"free({t}); }}")
            case "view":
                head = f"{{ struct V o = {{{self._array(scope)}, {index}, {self._leaf(scope)}}};"
                call = f"{self._target(scope)} = {name}(&o, {self._leaf(scope)}, {index});"
                return simple(f"{head} {call} {self._target(scope)} = WRAP(o.s); }}")
            case "value" if self.random.random() < 0.3 and len(values := [n for n, k in self.helpers if k == kind]) > 1:
                choice = f"({self._condition(scope)} ? {values[0]} : {values[1]})"
                call = f"{choice}({self._leaf(scope)}, {self._leaf(scope)}, {index})"
            case "value":
                call = f"{name}({self._leaf(scope)}, {self._leaf(scope)}, {index})"
            case "struct":
                call = f"{name}({self.random.choice(scope.structs)}, {self._leaf(scope)}, {index})"
            case _:
                target = f"{self.random.choice(scope.structs)}[{index} % 3]"
                return simple(f"{target} = {name}({self._leaf(scope)}, {self._leaf(scope)}, {index});")
        return simple(f"{self._target(scope)} = {call};")

    # --- expressions

    def _name(self, stem: str) -> str:
        self.fresh += 1
        return f"{stem}{self.fresh}"

    def _array(self, scope: Scope) -> str:
        return self._filled(self.random.choice(scope.arrays), scope)

    def _element(self, scope: Scope) -> str:
        return f"{self._array(scope)}[{self._at(scope)}]"

    def _target(self, scope: Scope) -> str:
        recent = scope.doubles[-1:] if scope.depth else scope.doubles
        options: list[Callable[[], str]] = [lambda: self._filled(self.random.choice(scope.doubles + recent), scope)] * 4
        options += [lambda: self._element(scope)] * 4 if scope.arrays else []
        options += [lambda: f"{self.random.choice(scope.pointers)}[{self._at(scope)}]"] * 2 if scope.pointers else []
        options += [lambda: self._member(scope)] * 2 if scope.structs else []
        options += [lambda: f"P[{self._at(scope)} % 3][{self._at(scope)}]"] * 2 if scope.tables else []
        if scope.floats:
            options += [lambda: self.random.choice(scope.floats), lambda: self._float_place(scope)] * 2
        options += [lambda: self.random.choice(scope.longs)] if scope.longs else []
        return self.random.choice(options)()

    def _member(self, scope: Scope) -> str:
        place = f"{self.random.choice(scope.structs)}[{self._at(scope)} % 3]"
        return place + self.random.choice((".v", f".z[{self._at(scope)} % 2]"))

    def _float_place(self, scope: Scope) -> str:
        if scope.float_structs and self.random.random() < 0.3:
            return f"t[{self._at(scope)} % 3].{self.random.choice('wv')}"
        return f"{self.random.choice(scope.float_arrays)}[{self._at(scope)}]"

    def _leaf(self, scope: Scope) -> str:
        pick = self.random.random()
        if pick < 0.12:
            return f"({self.random.uniform(-1.2, 1.2):.2f})"
        if pick < 0.18:
            return f"(0.1 * {self.random.choice(scope.ints)})"
        if pick < 0.3 and scope.calls and scope.runs <= 24:
            return self._filled(self.random.choice(scope.calls), scope)
        return f"(double){self._target(scope)}" if scope.longs else self._target(scope)

    def _expression(self, scope: Scope, depth: int) -> str:
        if depth == 0:
            return self._leaf(scope)
        left, right = self._expression(scope, depth - 1), self._expression(scope, self.random.randint(0, depth - 1))
        forms = (
            *(["({0} {2} {1})"] * 6), "({0} / (1.7 + SQ({1})))", "sin({0})", "cos({0})", "exp(-SQ({0}))",
            "sqrt(1.0 + SQ({0}))", "log(2.0 + SQ({0}))", "({3} ? {0} : {1})", "fmax({0}, {1})", "fmin({0}, {1})",
            "fabs({0})", "tanh({0})", "pow(1.5 + SQ({0}), {1})", "atan2({0}, 2.0 + SQ({1}))",
            "hypot({0}, 1.0 + {1})",
        )  # fmt: skip
        return self.random.choice(forms).format(left, right, self.random.choice("+-**"), self._condition(scope))

    def _bounded(self, scope: Scope) -> str:
        inner = self._expression(scope, self.random.randint(1, 2))
        return self.random.choice(("sin({})", "tanh({})", "WRAP({})", "atan({})", "cos({})")).format(inner)

    def _condition(self, scope: Scope) -> str:
        if self.random.random() < 0.6:
            test = f"{self.random.choice(('==', '!=', '>'))} {self.random.randint(0, 1)}"
            return f"({self._index(scope, 1)}) % {self.random.randint(2, 4)} {test}"
        return f"{self._leaf(scope)} {self.random.choice('<>')} {self.random.uniform(-1, 1):.3f}"

    def _index(self, scope: Scope, depth: int) -> str:
        if depth == 0:
            pick = self.random.random()
            if pick < 0.2:
                return str(self.random.randint(0, 6))
            if pick < 0.35 and scope.int_arrays:
                return f"K[{self.random.randint(0, 4)}]"
            if pick < 0.45 and scope.structs:
                return f"{self.random.choice(scope.structs)}[{self.random.randint(0, 2)}].{self.random.choice('kh')}"
            return self.random.choice(scope.ints)
        return f"{self._index(scope, depth - 1)} {self.random.choice('+*-+')} {self._index(scope, 0)}"

    def _at(self, scope: Scope) -> str:
        return f"AT({self._index(scope, self.random.randint(0, 1))})"


def generate(seed: int, cxx: bool | None = None) -> Source:
    """The program of a seed; by itself it chooses the language, too."""
    return Generator(f"random_{seed}", seed, cxx).make()


# --- reducing ----------------------------------------------------------------------------------------------------


def reduced(source: Source, fails: Callable[[Source], bool], tries: int = 400) -> Source:
    """Delete and unwrap statements for as long as `fails` holds."""
    progress = True
    while progress and tries > 0:
        progress = False
        for body in _bodies(source):
            at = len(body) - 1
            while at >= 0 and tries > 0:
                kept = list(body)
                for smaller in _smaller(kept[at]):
                    tries -= 1
                    body[at : at + 1] = smaller
                    if fails(source):
                        progress = True
                        break
                    body[:] = kept
                at -= 1
    return source


def _bodies(source: Source) -> list[list[Node]]:
    found: list[list[Node]] = []
    waiting = [body for f in source.functions for _, body in f.parts]
    while waiting:
        body = waiting.pop(0)
        found.append(body)
        waiting += [b for node in body for _, b in node.parts]
    return found


def _smaller(node: Node) -> Iterator[list[Node]]:
    """What a statement may be replaced by."""
    if node.fixed:
        return
    yield []
    for _, body in node.parts:
        if body:
            yield list(body)
