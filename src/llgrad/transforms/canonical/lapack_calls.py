"""Calls of LAPACK, and of BLAS that have no rule, in a program that is prepared to be differentiated: they get bodies.

The bodies (`runtime/lapack/lapack.c`) call BLAS routines, whose rules are `llgrad.transforms.canonical.blas_calls`'s,
so this comes first. A routine is known by its name and its type: Fortran's names with everything by address, hidden
lengths of characters behind, or those of CBLAS and LAPACKE. Integers have 32 bits; what is declared otherwise is left
alone, and refused where active values reach it.

    call void @dpotrf_(ptr %uplo, ptr %n, ptr %a, ptr %lda, ptr %info, i64 1)
    ->
    call void @llgrad.lapack.dpotrf_(…)    ; which calls @llgrad_lapack_dpotrf_, whose body is linked
"""

from __future__ import annotations

import functools

from llgrad.ir.module import Module
from llgrad.ir.parse import parse, parse_function_text
from llgrad.ir.symbols import rename
from llgrad.ir.types import I32, PTR, VOID, IntType, Type
from llgrad.ir.values import Attribute, Function
from llgrad.ir.write import write
from llgrad.llvm import LLVMModule
from llgrad.support.lazy_pattern import lazy_pattern
from llgrad.transforms.canonical.runtime_routines import compiled, linked

OWN = "llgrad_lapack_"
_FACTORS = (
    "potrf|potrs|posv|potri|getrf|getrs|gesv|getri|trtrs|trtri|geqrf|orgqr|ormqr|gels[ds]?|sytr[fsi]|sysv|ges(?:vd|dd)|syevd?|geev|lan(?:ge|sy)|(?:ge|po)con"
)
_FORTRAN = "sytf2|lan(?:tr|gb|sb)|(?:tr|gb)con|[gp]b(?:trf|trs|sv)|[gp]tsv|(?:ge|po|gb)svx"
_COMPLEX = "potrf|potrs|posv|getrf|getrs|gesv|heevd?"
_LOOPS = (
    "[ds](?:gbmv|sbmv|spmv|spr2?|t[bp][ms]v)|[cz](?:axpy|scal|copy|swap|gemv|ger[uc]|gemm)|zdscal|csscal|"
    "(?:dz|sc)(?:nrm2|asum)"
)
_SYMBOL = (
    rf"LAPACKE_[cz](?:{_COMPLEX})|[cz](?:{_COMPLEX})_|LAPACKE_[ds](?:{_FACTORS})|[ds](?:{_FACTORS}|{_FORTRAN})_|cblas_(?:{_LOOPS}|[cz]dot[uc]_sub)|(?:{_LOOPS}|[cz]dot[uc])_"
)
_NAME = lazy_pattern(_SYMBOL)


def lowered(module: Module) -> Module | None:
    """The module with bodies for the routines that it declares; None where it declares none."""
    found = [f for f in module.functions if f.is_declaration and _NAME.fullmatch(f.name)]
    adapters = {f.name: made for f in found if (made := _adapter(f)) is not None}
    if not adapters:
        return None
    rename(module, {symbol: f"llgrad.lapack.{symbol}" for symbol in adapters})
    bodies = sorted(f"{OWN}{symbol}" for symbol in adapters)
    parse_function_text(module, "".join([*map(_declaration, bodies), *adapters.values()]))
    part = _routines().clone()
    part.cut(bodies)
    return linked(module, part, OWN)


def _declaration(own: str) -> str:
    given, result = _types()[own]
    return f"declare {result} @{own}({', '.join(map(str, given))})\n"


def _adapter(f: Function) -> str | None:
    """The function with the type of the program's that calls its body; None where the type is another."""
    given, result = f.function_type.params, f.function_type.result
    wanted, returned = _types()[f"{OWN}{f.name}"]
    in_c = not f.name.endswith("_")
    lengths = given[len(wanted) :]
    if f.function_type.vararg or given[: len(wanted)] != wanted or (in_c and lengths):
        return None
    wants_none = not in_c and returned == VOID  # (C may have declared it as an int that nobody looks at)
    results = (returned, I32) if wants_none else (returned,)
    if any(not isinstance(t, IntType) for t in lengths) or result not in results:
        return None
    head = ", ".join(f"{t} %a{n}" for n, t in enumerate(given))
    passed = ", ".join(f"{t} %a{n}" for n, t in enumerate(wanted))
    call = f"call {returned} @{OWN}{f.name}({passed})"
    body = (
        f"  {call}\n  ret {result}{' 0' * (result != VOID)}"
        if returned == VOID
        else (f"  %r = {call}\n  ret {returned} %r")
    )
    return f"define internal {result} @llgrad.lapack.{f.name}({head}) alwaysinline {{\n{body}\n}}\n"


_LIBRARYS = lazy_pattern(r"[ds](?:syev|(?:ge|po|tr|gb)con|gesdd|gesvd|geev|(?:ge|po|gb)svx)_|[cz]heev_")
_INACTIVE = lazy_pattern(
    rf"{OWN}(?:[ds](?:eigen|estimated|estimated_band|bases|bounds|triples|eigenvectors)|[cz]hermitian)|\x01.*"
)
_KNOWN = (
    Attribute("enzyme_inactive", string=True), Attribute("noinline"), Attribute("nounwind"), Attribute("willreturn"),
    Attribute("memory", "argmem: readwrite, inaccessiblemem: readwrite"),
)  # fmt: skip


@functools.cache
def _routines() -> LLVMModule:
    module = parse(compiled("lapack/lapack.c", "-fno-strict-aliasing", "-fno-math-errno").text())
    rename(module, {f.name: f"\x01{f.name}" for f in module.functions if _LIBRARYS.fullmatch(f.name)})
    for f in module.functions:
        if _INACTIVE.fullmatch(f.name):
            _say_inactive(f)
    return LLVMModule.from_text(write(module))


def _say_inactive(f: Function) -> None:
    """What the library computes counts as constant; it reads and writes what it is given, and keeps nothing of it.

    Its name begins with a character that has it looked for nowhere here.
    """
    f.attributes = _KNOWN
    for a in f.arguments:
        if a.type == PTR:
            a.attributes = (Attribute("captures", "none"), *(x for x in a.attributes if x.name != "captures"))


@functools.cache
def _types() -> dict[str, tuple[tuple[Type, ...], Type]]:
    """The types of the bodies' parameters and results."""
    return {f.name: (f.function_type.params, f.function_type.result) for f in parse(_routines().text()).functions}
