"""Calls of LAPACK, and of BLAS that have no rule, in a program that is prepared to be differentiated: they get bodies.

The bodies (`runtime/lapack/lapack.c`) call BLAS routines, whose rules are `llgrad.transforms.canonical.blas_calls`'s,
so this comes first. A routine is known by its name and its type: Fortran's names with everything by address, hidden
lengths of characters behind, or those of CBLAS and LAPACKE. Integers have 32 bits; what is declared otherwise is left
alone, and refused where active values reach it.
"""

from __future__ import annotations

import functools
import re
from pathlib import Path

from llgrad.ir.parse import parse
from llgrad.llvm import LLVMModule

OWN = "llgrad_lapack_"
_FACTORS = (
    "potrf|potrs|posv|potri|getrf|getrs|gesv|getri|trtrs|trtri|geqrf|orgqr|ormqr|gelsd?|ges(?:vd|dd)|syevd?|geev|lan(?:ge|sy)|(?:ge|po)con"
)
_FORTRAN = "lan(?:tr|gb|sb)|(?:tr|gb)con|[gp]b(?:trf|trs|sv)|[gp]tsv|(?:ge|po|gb)svx"
_COMPLEX = "potrf|potrs|posv|getrf|getrs|gesv"
_LOOPS = (
    "[ds](?:gbmv|sbmv|spmv|spr2?|t[bp][ms]v)|[cz](?:axpy|scal|copy|swap|gemv|ger[uc]|gemm)|zdscal|csscal|"
    "(?:dz|sc)(?:nrm2|asum)"
)
_SYMBOL = (
    rf"LAPACKE_[cz](?:{_COMPLEX})|[cz](?:{_COMPLEX})_|LAPACKE_[ds](?:{_FACTORS})|[ds](?:{_FACTORS}|{_FORTRAN})_|cblas_(?:{_LOOPS}|[cz]dot[uc]_sub)|(?:{_LOOPS}|[cz]dot[uc])_"
)
_DECLARED = re.compile(rf"^declare [^@\n]*@({_SYMBOL})\([^\n]*$", re.MULTILINE)


def lowered(text: str) -> str:
    """The text with bodies for the routines that it declares."""
    adapters = {m[1]: made for m in _DECLARED.finditer(text) if (made := _adapter(m[1], m[0])) is not None}
    if not adapters:
        return text
    for symbol in adapters:
        text = re.sub(rf"^declare [^@\n]*@{symbol}\([^\n]*\n", "", text, flags=re.MULTILINE)
        text = re.sub(rf"@{symbol}(?![-\w.$])", f"@llgrad.lapack.{symbol}", text)
    bodies = {f"{OWN}{symbol}" for symbol in adapters}
    heads = [f"declare {_types()[own][1]} @{own}({', '.join(_types()[own][0])})\n" for own in sorted(bodies)]
    whole = LLVMModule.from_text("\n".join([text, *adapters.values(), *heads]))
    part = _routines().clone()
    part.cut(bodies)
    whole.link(part)
    return re.sub(rf"^define (?:dso_local )?(?!internal|weak)([^@\n]*@{OWN}\w+\()", r"define internal \1", whole.text(),
                  flags=re.MULTILINE)  # fmt: skip


def _adapter(symbol: str, declaration: str) -> str | None:
    """The function with the type of the program's `symbol` that calls its body; None where the type is another."""
    f = next(iter(parse(f"{re.sub(r' #[0-9]+.*', '', declaration)}\n").functions))
    given, result = [str(t) for t in f.function_type.params], str(f.function_type.result)
    wanted, returned = _types()[f"{OWN}{symbol}"]
    in_c = not symbol.endswith("_")
    lengths = given[len(wanted) :]
    if f.function_type.vararg or given[: len(wanted)] != wanted or (in_c and lengths):
        return None
    wants_none = not in_c and returned == "void"  # (C may have declared it as an int that nobody looks at)
    if any(not t.startswith("i") for t in lengths) or result not in ((returned, "i32") if wants_none else (returned,)):
        return None
    head = ", ".join(f"{t} %a{n}" for n, t in enumerate(given))
    passed = ", ".join(f"{t} %a{n}" for n, t in enumerate(wanted))
    call = f"call {returned} @{OWN}{symbol}({passed})"
    body = f"  {call}\n  ret {result}{' 0' * (result != 'void')}" if returned == "void" else (
        f"  %r = {call}\n  ret {returned} %r"
    )
    return f"define internal {result} @llgrad.lapack.{symbol}({head}) alwaysinline {{\n{body}\n}}\n"


@functools.cache
def _routines() -> LLVMModule:
    from llgrad.frontends import compile_sources

    path = Path(__file__).parents[2] / "runtime" / "lapack" / "lapack.c"
    read = LLVMModule.read(compile_sources([path], ["-fno-strict-aliasing", "-fno-math-errno", "-w"]).modules[0])
    text = re.sub(_CALLED, r'@"\\01\1"', read.text())  # the library's: such a name is not looked for here
    return LLVMModule.from_text(_LIBRARYS.sub(_inactive, text))


_CALLED = r"@([ds](?:syev|(?:ge|po|tr|gb)con|gesdd|gesvd|geev|(?:ge|po|gb)svx)_)\b"
_INACTIVE = "eigen|estimated|estimated_band|bases|bounds|triples|eigenvectors"
_LIBRARYS = re.compile(
    rf'^(define [^@\n]*@{OWN}[ds](?:{_INACTIVE})|declare [^@\n]*@"\\01\w+")\(([^\n]*)\) [^\n{{]*(\{{?)$',
    re.MULTILINE,
)


def _inactive(m: re.Match[str]) -> str:
    """What the library computes counts as constant; it reads and writes what it is given, and keeps nothing of it."""
    given = re.sub(r"\bptr\b", "ptr captures(none)", m[2])
    words = '"enzyme_inactive" noinline nounwind willreturn memory(argmem: readwrite, inaccessiblemem: readwrite)'
    return f"{m[1]}({given}) {words} {m[3]}"


@functools.cache
def _types() -> dict[str, tuple[list[str], str]]:
    """The types of the bodies' parameters and results."""
    functions = parse(_routines().text()).functions
    return {f.name: ([str(t) for t in f.function_type.params], str(f.function_type.result)) for f in functions}
