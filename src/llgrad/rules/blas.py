"""BLAS: the routines that have derivatives, and how a program's calls of them become calls by value, and back.

A program calls `cblas_dgemm` (rows or columns first, enumerations) or `dgemm_` (Fortran: everything by address). Both
become calls of `llgrad_blas_dgemm`, which takes numbers by value, flags that are 0 or 1, and matrices by columns; a
matrix by rows is its transposed by columns. Rules (`runtime/blas/blas.c`) are written once, for that, and call routines
themselves. `called` writes the function that a call of the program's is led through, `bridge` the one that calls the
user's library in the end: in the way in which the program calls it.

Sizes are passed as 64 bits. A library whose integers have 32 reads the lower half, in registers and, by address, on a
little-endian machine.
"""

from __future__ import annotations

from msgspec import Struct

from llgrad.support.lazy_pattern import lazy_pattern

OWN = "llgrad_blas_"
RULED = "llgrad.registered.routine."
"""Before the name of a routine: a variable that lists the functions of its rule
(`autodiff.custom_rules.library_routines.WORDS`)."""
TYPES = {"d": "double", "s": "float"}
_FLAGS = {  # what the flag's letter is where it is set, in Fortran; its value there, and where it is not, in C
    "trans": ("T", 112, 111), "transa": ("T", 112, 111), "transb": ("T", 112, 111),
    "uplo": ("U", 121, 122), "diag": ("U", 132, 131), "side": ("L", 141, 142),
}  # fmt: skip
_CLEAR = {"trans": "N", "transa": "N", "transb": "N", "uplo": "L", "diag": "N", "side": "R"}
_REALS = ("alpha", "beta", "cos", "sin")


class Routine(Struct, frozen=True):
    """`parameters` in the order of BLAS: `*x` is read, `&x` written; flags, floats and, all others, integers by name.

    `rows`: the arguments that do the same with matrices by rows; `~` is the other value of a flag.
    """

    parameters: tuple[str, ...]
    rows: tuple[str, ...] = ()
    returns: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(p.lstrip("*&") for p in self.parameters)


def _routine(parameters: str, rows: str = "", returns: bool = False) -> Routine:
    return Routine(tuple(parameters.split()), tuple(rows.split()), returns)


_RANK = "*x incx *y incy &a lda"
_TRIANGLE = "*a lda &x incx", "a lda x incx"
_PRODUCT = "*a lda *b ldb beta &c ldc", "a lda b ldb beta c ldc"
ROUTINES: dict[str, Routine] = {
    "dot": _routine("n *x incx *y incy", returns=True),
    "nrm2": _routine("n *x incx", returns=True),
    "asum": _routine("n *x incx", returns=True),
    "axpy": _routine("n alpha *x incx &y incy"),
    "scal": _routine("n alpha &x incx"),
    "copy": _routine("n *x incx &y incy"),
    "swap": _routine("n &x incx &y incy"),
    "rot": _routine("n &x incx &y incy cos sin"),
    "gemv": _routine("trans m n alpha *a lda *x incx beta &y incy", "~trans n m alpha a lda x incx beta y incy"),
    "ger": _routine(f"m n alpha {_RANK}", "n m alpha y incy x incx a lda"),
    "symv": _routine("uplo n alpha *a lda *x incx beta &y incy", "~uplo n alpha a lda x incx beta y incy"),
    "syr": _routine("uplo n alpha *x incx &a lda", "~uplo n alpha x incx a lda"),
    "syr2": _routine(f"uplo n alpha {_RANK}", "~uplo n alpha x incx y incy a lda"),
    "trmv": _routine(f"uplo trans diag n {_TRIANGLE[0]}", f"~uplo ~trans diag n {_TRIANGLE[1]}"),
    "trsv": _routine(f"uplo trans diag n {_TRIANGLE[0]}", f"~uplo ~trans diag n {_TRIANGLE[1]}"),
    "gemm": _routine(f"transa transb m n k alpha {_PRODUCT[0]}", "transb transa n m k alpha b ldb a lda beta c ldc"),
    "symm": _routine(f"side uplo m n alpha {_PRODUCT[0]}", f"~side ~uplo n m alpha {_PRODUCT[1]}"),
    "syrk": _routine("uplo trans n k alpha *a lda beta &c ldc", "~uplo ~trans n k alpha a lda beta c ldc"),
    "syr2k": _routine(f"uplo trans n k alpha {_PRODUCT[0]}", f"~uplo ~trans n k alpha {_PRODUCT[1]}"),
    "trmm": _routine("side uplo transa diag m n alpha *a lda &b ldb", "~side ~uplo transa diag n m alpha a lda b ldb"),
    "trsm": _routine("side uplo transa diag m n alpha *a lda &b ldb", "~side ~uplo transa diag n m alpha a lda b ldb"),
}

_CALLED = lazy_pattern(rf"cblas_([ds])({'|'.join(ROUTINES)})|([ds])({'|'.join(ROUTINES)})_")
_OWN = lazy_pattern(rf"{OWN}([ds])({'|'.join(ROUTINES)})(?:\.\d+)?")


def is_routine(symbol: str) -> bool:
    """Does a program call a routine by this name?"""
    return _CALLED.fullmatch(symbol) is not None


def is_own(symbol: str) -> bool:
    """Is this a routine that takes its arguments by value?"""
    return _OWN.fullmatch(symbol) is not None


def family(symbol: str) -> str:
    return "cblas" if symbol.startswith("cblas_") else "fortran"


def own_name(symbol: str) -> str:
    """The routine that does what `symbol` does: "llgrad_blas_dgemm"."""
    m = _CALLED.fullmatch(symbol)
    assert m is not None
    return f"{OWN}{m[1] or m[3]}{m[2] or m[4]}"


def routine_of(own: str) -> str:
    """"gemm" of "llgrad_blas_dgemm.3"."""
    m = _OWN.fullmatch(own)
    assert m is not None
    return m[2]


def parts(own: str) -> tuple[str, Routine]:
    """The type of the floats, and the routine."""
    m = _OWN.fullmatch(own)
    assert m is not None
    return TYPES[m[1]], ROUTINES[m[2]]


def unit(own: str) -> int:
    """The bytes of one number."""
    return 8 if parts(own)[0] == "double" else 4


def pointees(own: str) -> dict[int, str]:
    """What the pointers of a routine point to, by position."""
    t, routine = parts(own)
    return {n: t for n, p in enumerate(routine.parameters) if p[0] in "*&"}


def _type(name: str, t: str) -> str:
    if name in _FLAGS:
        return "i32"
    return "ptr" if name[0] in "*&" else t if name in _REALS else "i64"


def declaration(own: str) -> str:
    t, routine = parts(own)
    given = [_type(p, t) + {"*": " readonly captures(none)", "&": " captures(none)"}.get(p[0], "")
             for p in routine.parameters]  # fmt: skip
    access = "readwrite" if any(p[0] == "&" for p in routine.parameters) else "read"
    result = t if routine.returns else "void"
    return f'declare {result} @{own}({", ".join(given)}) nounwind willreturn nofree memory(argmem: {access})\n'


class _Body:
    """Lines of a function, and names for what they compute."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.count = 0

    def value(self, what: str) -> str:
        self.count += 1
        self.lines.append(f"  %v{self.count} = {what}")
        return f"%v{self.count}"

    def call(self, result: str, name: str, given: list[str]) -> None:
        """Call a function and return what it returns."""
        call = f"call {result} @{name}({', '.join(given)})"
        if result == "void":
            self.lines += [f"  {call}", "  ret void"]
        else:
            self.lines.append(f"  ret {result} {self.value(call)}")


def called(symbol: str, types: list[str], result: str, name: str, own: str) -> str | None:
    """The function `name` with the type of the program's `symbol`: it calls `own`. None where the type is another.

    Hidden lengths of Fortran's characters may follow.
    """
    t, routine = parts(own)
    in_c = family(symbol) == "cblas"
    wanted = (["order"] if in_c and routine.rows else []) + list(routine.parameters)
    if len(types) < len(wanted) or (in_c and len(types) > len(wanted)) or result != (t if routine.returns else "void"):
        return None
    if any(not x.startswith("i") for x in types[len(wanted) :]):
        return None
    body = _Body()
    values: dict[str, str] = {}
    for n, (parameter, given) in enumerate(zip(wanted, types, strict=False)):
        pointer = parameter[0] in "*&"
        fits = given == "ptr" if pointer or not in_c else given == t if parameter in _REALS else given in ("i32", "i64")
        if not fits:
            return None
        read = _by_value if in_c else _by_address
        values[parameter.lstrip("*&")] = f"%a{n}" if pointer else read(body, parameter, given, f"%a{n}", t)
    if "order" in values:
        body.lines += [f"  br i1 {values['order']}, label %rows, label %columns", "rows:"]
        body.call(result, own, _given(body, routine, routine.rows, values, t))
        body.lines.append("columns:")
    body.call(result, own, _given(body, routine, routine.names, values, t))
    head = ", ".join(f"{x} %a{n}" for n, x in enumerate(types))
    lines = "\n".join(body.lines)
    return f"define internal {result} @{name}({head}) alwaysinline nounwind {{\nentry:\n{lines}\n}}\n"


def _given(body: _Body, routine: Routine, names: tuple[str, ...], values: dict[str, str], t: str) -> list[str]:
    given = []
    for name, parameter in zip(names, routine.parameters, strict=True):
        value = values[name.lstrip("~")]
        value = body.value(f"xor i32 {value}, 1") if name[0] == "~" else value
        given.append(f"{_type(parameter, t)} {value}")
    return given


def _by_value(body: _Body, name: str, given: str, v: str, t: str) -> str:
    if name == "order":
        return body.value(f"icmp eq {given} {v}, 101")
    if name in _FLAGS:
        set_, clear = _FLAGS[name][1:]
        test = f"ne {given} {v}, {clear}" if name.startswith("trans") else f"eq {given} {v}, {set_}"
        return body.value(f"zext i1 {body.value(f'icmp {test}')} to i32")
    if name in _REALS or given == "i64":
        return v
    return body.value(f"sext i32 {v} to i64")


def _by_address(body: _Body, name: str, given: str, v: str, t: str) -> str:
    if name in _FLAGS:
        letter = body.value(f"and i8 {body.value(f'load i8, ptr {v}, align 1')}, -33")
        test = f"ne i8 {letter}, {ord('N')}" if name.startswith("trans") else f"eq i8 {letter}, {ord(_FLAGS[name][0])}"
        return body.value(f"zext i1 {body.value(f'icmp {test}')} to i32")
    if name in _REALS:
        return body.value(f"load {t}, ptr {v}, align {8 if t == 'double' else 4}")
    return body.value(f"sext i32 {body.value(f'load i32, ptr {v}, align 4')} to i64")


def bridge(own: str, way: str) -> tuple[str, str]:
    """The definition of a routine, which calls the user's library; and the declaration of that."""
    t, routine = parts(own)
    m = _OWN.fullmatch(own)
    assert m is not None
    result = t if routine.returns else "void"
    body, given = _Body(), []
    if way == "cblas":
        symbol = f"cblas_{m[1]}{m[2]}"
        given = ["i32 102"] if routine.rows else []
    else:
        symbol = f"{m[1]}{m[2]}_"
    for n, parameter in enumerate(routine.parameters):
        kind = _type(parameter, t)
        if parameter in _FLAGS:
            letter, set_, clear = _FLAGS[parameter]
            values = (set_, clear) if way == "cblas" else (ord(letter), ord(_CLEAR[parameter]))
            kind = "i32" if way == "cblas" else "i8"
            v = body.value(f"select i1 {body.value(f'icmp ne i32 %a{n}, 0')}, {kind} {values[0]}, {kind} {values[1]}")
        else:
            v = f"%a{n}"
        if way == "cblas" or kind == "ptr":
            given.append(f"{kind} {v}")
        else:
            place = body.value(f"alloca {kind}")
            body.lines.append(f"  store {kind} {v}, ptr {place}")
            given.append(f"ptr {place}")
    if way != "cblas":
        given += ["i64 1"] * sum(p in _FLAGS for p in routine.parameters)
    body.call(result, symbol, given)
    head = ", ".join(f"{_type(p, t)} %a{n}" for n, p in enumerate(routine.parameters))
    lines = "\n".join(body.lines)
    types = ", ".join(g.split()[0] for g in given)
    return (
        f"define internal {result} @{own}({head}) nounwind {{\n{lines}\n}}\n",
        f"declare {result} @{symbol}({types})\n",
    )
