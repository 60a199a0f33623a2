"""A C program around one of the corpus, that asks for its derivatives by `__enzyme_autodiff` and `__enzyme_fwddiff`.

Every buffer is memory of its own from malloc, of exactly the size the program may touch; in shadows only floats and
pointers are written, so that a derivative that reads anything else reads uninitialised memory. Both derivatives run
twice, are released, printed, and compared: ⟨v, J u⟩ = ⟨Jᵀ v, u⟩.
"""

from __future__ import annotations

from cases import Parameter, Program

_C = {"double": "double", "float": "float", "x86_fp80": "long double", "void": "void", "f8": "double", "f4": "float",
      "f16": "long double", "i8": "char", "i16": "short", "i32": "int", "i64": "long"}  # fmt: skip

_HEAD = """
#ifdef __cplusplus
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <cmath>
extern "C" {
#else
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#endif
extern int enzyme_dup, enzyme_const, enzyme_out;
"""
_CLOSE = """
#ifdef __cplusplus
}
#endif
"""


def driver(program: Program, tolerance: float) -> str:
    """The source: the program itself, and a main that ends with 0 if the two modes agree."""
    lines = [f'#include "{program.path.resolve()}"', _HEAD, _adjoints(program)]
    lines += [f"{_C[program.result]} __enzyme_fwddiff_of(void *, ...);", "RESULT __enzyme_autodiff_of(void *, ...);"]
    lines += [_CLOSE, *_accessors(), *_setup(program), *_forward(program), *_reverse(program)]
    return "\n".join([*lines, _main(program, tolerance), ""])


def _adjoints(program: Program) -> str:
    """RESULT, what the reverse derivative returns: the adjoints of float arguments."""
    if not program.scalars:
        return "#define RESULT void"
    if len(program.scalars) == 1:
        return f"typedef {_C[program.scalars[0].type]} RESULT;"
    return f"typedef struct {{ {' '.join(f'{_C[p.type]} {p.name};' for p in program.scalars)} }} RESULT;"


def _accessors() -> list[str]:
    lines = []
    for kind in ("f8", "f4", "f16"):
        c = _C[kind]
        lines.append(f"static void our_put_{kind}(void *p, long at, {c} v) {{ memcpy((char *)p + at, &v, sizeof v); }}")
        body = f"{c} v; memcpy(&v, (char *)p + at, sizeof v); return v;"
        lines.append(f"static {c} our_get_{kind}(void *p, long at) {{ {body} }}")
    lines.append("static void our_put_ptr(void *p, long at, void *v) { memcpy((char *)p + at, &v, sizeof v); }")
    lines.append("static double our_seed(int i, int salt) { return 0.25 + (double)((7 * i + 3 * salt) % 11) / 11.0; }")
    return lines


def _setup(program: Program) -> list[str]:
    """C functions that make buffers and shadows with seeds, release them, and collect the floats of a shadow."""
    index = {b.name: n for n, b in enumerate(program.buffers)}
    lines = []
    for b, n in ((b, index[b.name]) for b in program.buffers):
        lines.append(f"static const unsigned char our_initial{n}[] = {{{', '.join(map(str, b.initial)) or '0'}}};")
    pointers = [
        f"    our_put_ptr(b[{index[b.name]}], {offset}, (char *)b[{index[target]}] + {at});"
        for b in program.buffers
        for offset, target, at in b.pointers
    ]
    sizes = [(index[b.name], len(b.initial)) for b in program.buffers]
    lines += ["static void our_make(void **b) {", *(f"    b[{n}] = malloc({size});" for n, size in sizes)]
    lines += [f"    memcpy(b[{n}], our_initial{n}, {size});" for n, size in sizes] + [*pointers, "}"]
    lines += ["static void our_shadow(void **b, int salt) {", *(f"    b[{n}] = malloc({size});" for n, size in sizes)]
    lines += [
        f"    our_put_{kind}(b[{index[name]}], {offset}, ({_C[kind]})our_seed({i}, salt));"
        for i, (name, offset, kind) in enumerate(program.leaves)
    ]
    lines += [*pointers, "}", "static void our_drop(void **b) {", *(f"    free(b[{n}]);" for n, _ in sizes), "}"]
    lines += ["static void our_floats(void **b, long double *out) {"]
    lines += [
        f"    out[{i}] = our_get_{kind}(b[{index[name]}], {offset});"
        for i, (name, offset, kind) in enumerate(program.leaves)
    ]
    return [*lines, "}"]


def _arguments(program: Program, forward: bool) -> str:
    index = {b.name: n for n, b in enumerate(program.buffers)}
    number = iter(range(len(program.leaves), program.inputs))

    def one(p: Parameter) -> str:
        if p.kind == "buffer":
            name, offset = program.alias.get(p.name, (p.name, 0))
            primal, shadow = (f"(char *){x}[{index[name]}] + {offset}" for x in ("b", "d"))
            return f"enzyme_dup, {primal}, {shadow}" if p.active else f"enzyme_const, {primal}"
        if p.kind == "integer":
            return f"enzyme_const, ({_C[p.type]}){int(p.value)}"
        value = f"({_C[p.type]}){p.value!r}"
        return f"enzyme_dup, {value}, ({_C[p.type]})our_seed({next(number)}, 1)" if forward else f"enzyme_out, {value}"

    return "".join(f", {one(p)}" for p in program.parameters)


def _forward(program: Program) -> list[str]:
    call = f"__enzyme_fwddiff_of((void *){program.name}{_arguments(program, True)})"
    keep = "" if program.result == "void" else f"out[{len(program.leaves)}] = "
    return [
        "static void our_forward(long double *out) {", _pointers(program), "    our_make(b), our_shadow(d, 1);",
        f"    {keep}{call};", "    our_floats(d, out);", "    our_drop(b), our_drop(d);", "}",
    ]  # fmt: skip


def _reverse(program: Program) -> list[str]:
    call = f"__enzyme_autodiff_of((void *){program.name}{_arguments(program, False)})"
    scalars, floats = program.scalars, len(program.leaves)
    lines = ["static void our_reverse(long double *out) {"]
    lines += [_pointers(program), "    our_make(b), our_shadow(d, 2);"]
    lines.append(f"    {'RESULT r = ' if scalars else ''}{call};")
    fields = [""] if len(scalars) == 1 else [f".{p.name}" for p in scalars]
    lines += [f"    out[{floats + n}] = r{name};" for n, name in enumerate(fields[: len(scalars)])]
    return [*lines, "    our_floats(d, out);", "    our_drop(b), our_drop(d);", "}"]


def _pointers(program: Program) -> str:
    return f"    void *b[{len(program.buffers) + 1}], *d[{len(program.buffers) + 1}];"


def _main(program: Program, tolerance: float) -> str:
    result = "" if program.result == "void" else f"    left += tangents[{len(program.leaves)}];"
    return f"""
int main(void) {{
    long double tangents[{program.outputs + 1}], adjoints[{program.inputs + 1}];
    for (int turn = 0; turn < 2; turn++)
        our_forward(tangents), our_reverse(adjoints);
    long double left = 0, right = 0, size = 1e-300L;
    for (int i = 0; i < {len(program.leaves)}; i++)
        left += our_seed(i, 2) * tangents[i];
{result}
    for (int i = 0; i < {program.inputs}; i++)
        right += our_seed(i, 1) * adjoints[i], size += fabsl(adjoints[i]);
    fprintf(stderr, "%.17Lg %.17Lg\\n", left, right);
    return !(fabsl(left - right) <= {tolerance!r}L * size);
}}"""
