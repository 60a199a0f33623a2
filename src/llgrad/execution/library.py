"""Load sources, hand out callable functions.

`load(paths)` compiles sources to one program (see `loaded`); `lib.name` is a `ForeignFunction`, called with NumPy
arrays.
"""

from __future__ import annotations

import difflib
import inspect
import keyword
import os
from collections.abc import Container, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import numpy as np
from msgspec.structs import replace

from llgrad.errors import ArgumentError, LlgradError, UnknownNameError, UnsupportedError, at_the_caller, without_frames
from llgrad.execution.arguments import Checker, integer_range, refuse_overlap
from llgrad.execution.llvmlite_module import is_module, written
from llgrad.execution.loaded import AnyCode, Facts, Loaded
from llgrad.execution.mpi import with_mpi
from llgrad.execution.passing import addresses_of_other_memory, spread
from llgrad.execution.size_checks import Test
from llgrad.signature import CType, Parameter, Pointer, Scalar, Signature, Void
from llgrad.signature.spelling import by_pointers
from llgrad.support.uncopied import Uncopied

if TYPE_CHECKING:
    from llvmlite.ir import Module

    from llgrad.execution.roles import Roles
    from llgrad.frontends import Flags

    Source: TypeAlias = str | os.PathLike[str] | Module


@at_the_caller
def load(
    paths: Source | Sequence[Source],
    *,
    flags: Flags = (),
    optimize: int = 2,
    libraries: Sequence[str] = (),
    isolate: bool = False,
    vector_math: bool = False,
    unchecked: bool = False,
    serial: bool = False,
    mpi: bool = False,
) -> Library:
    """Compile sources to one library: of any language in docs/languages.md, told apart by suffix, and mixed. An
    `llvmlite.ir.Module` is a source, too.

    flags        passed to the compiler (`-I…`, `-D…`, `-std=…`); for several, by language: `{"c++": […], "rust": […]}`
    optimize     0 to 3: how far LLVM optimises before differentiation; what is run is optimised fully in any case
    libraries    shared libraries the code needs: paths, or what follows -l
    isolate      run the compiled code in a child process: a crash becomes ForeignError
    unchecked    calls are not checked for accesses outside of the arrays that they are given (docs/memory-checks.md)
    serial       derivatives of functions with parallel regions of OpenMP run in one thread (docs/parallel.md)
    mpi          the sources are MPI's: compiled and linked as `mpicc` does ($MPICC, if that is set); docs/parallel.md
    vector_math  let loops call the vector versions of exp, log, sin, … (at most 4 ulp wrong)

    A file in CUDA's language, `kernels.cu`, is a library of kernels: docs/gpu.md.

    Raises SourceError, CompilerError (with the compiler's own words), ArgumentError.
    """
    if optimize not in range(4):
        raise ArgumentError(f"optimize={optimize!r} is not 0, 1, 2 or 3")
    if isinstance(flags, str):
        raise ArgumentError("flags must be a list of strings", fix=f"flags={flags.split()!r}")
    several: Any = [paths] if isinstance(paths, str | os.PathLike) or not isinstance(paths, Iterable) else paths
    if len(several) == 1 and str(several[0]).endswith(".cu"):
        from llgrad.gpu import launching

        kernels = launching.load(Path(several[0]), [f for f in flags if isinstance(f, str)])
        return cast(Library, kernels)  # as far as attributes go
    listed = [written(p) if is_module(p) else p for p in several]
    if bad := [p for p in listed if not isinstance(p, str | os.PathLike)]:
        raise ArgumentError(f"{bad[0]!r} is no path", fix='llgrad.load("file.c"), or a list of paths')
    kept = {k: tuple(v) for k, v in flags.items()} if isinstance(flags, Mapping) else tuple(flags)
    if mpi and isolate:
        raise ArgumentError("mpi=True with isolate=True", cause="a child process is no rank", fix="leave isolate out")
    if mpi:
        kept, libraries = with_mpi(kept, libraries)
    made = Loaded([Path(p) for p in listed], kept, optimize, tuple(libraries), isolate, vector_math)
    made.unchecked, made.serial = unchecked, serial or bool(os.environ.get("LLGRAD_SERIAL"))
    return Library(made)


class UnknownFunctionError(UnknownNameError, AttributeError, KeyError):
    """A library has no function of this name: `hasattr(lib, name)` is false."""


class Library(Uncopied):
    """Functions of compiled sources, as attributes; `lib["name"]` where a name is no Python attribute.

    It has no other attributes that a function could be named like.
    """

    def __init__(self, loaded: Loaded) -> None:
        """Use `load`."""
        self._loaded = loaded
        self._functions: dict[str, ForeignFunction] = {}

    @at_the_caller
    def __getattr__(self, name: str) -> ForeignFunction:
        if name.startswith("__") or "_loaded" not in self.__dict__:
            raise AttributeError(name)
        return self._function(name)

    @at_the_caller
    def __getitem__(self, name: str) -> ForeignFunction:
        return self._function(name)

    def _function(self, name: str) -> ForeignFunction:
        facts = self._find(name)
        symbol = facts.signature.symbol
        found = self._functions.get(symbol)
        return found or self._functions.setdefault(symbol, ForeignFunction(self._loaded, facts))

    def __reduce__(self) -> Any:
        return Library, (self._loaded,)

    def __dir__(self) -> list[str]:
        return sorted({f.signature.name for f in self._loaded.table.values() if f.signature.name.isidentifier()})

    def __repr__(self) -> str:
        lines = [f"<llgrad library of {', '.join(map(str, self._loaded.paths))}"]
        lines += [f"  {f.signature}" for f in self._loaded.table.values()]
        return "\n".join(lines) + ">"

    def _find(self, name: str) -> Facts:
        if name in self._loaded.table:  # what returns arrays in MLIR writes them to arguments of the one beside it
            return self._loaded.table.get(f"{name}.out", self._loaded.table[name])
        found = [f for f in self._loaded.table.values() if f.signature.name == name]
        if len(found) == 1:
            return found[0]
        if found:
            symbols = ", ".join(f'lib["{f.signature.symbol}"]: {f.signature}' for f in found)
            raise UnknownFunctionError(f"{name!r} is overloaded", cause=symbols, fix="use one of the symbols")
        names = self.__dir__()
        near = difflib.get_close_matches(name, names, n=3)
        fix = f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(names[:12])}" if names else ""
        raise UnknownFunctionError(
            f"{', '.join(str(p) for p in self._loaded.paths)} defines no function {name!r}",
            cause="" if near else "static functions cannot be called from outside, unused ones are dropped",
            fix=fix,
        )


def loaded(library: Library) -> Loaded:
    """What a library was loaded as."""
    return library._loaded


class ForeignFunction(Uncopied):
    """A compiled function; call it with NumPy arrays for pointers and numbers for scalars."""

    def __init__(self, library: Loaded, facts: Facts, constants: Mapping[str, int | float] | None = None) -> None:
        """Use the attributes of a `Library`. `constants`: parameters that are fixed, see `specialized`."""
        self.library, self.facts, self.signature = library, facts, facts.signature
        self.constants = dict(constants or {})
        if self.constants:
            chosen = [p for p in self.signature.parameters if p.name in self.constants]
            fixed = tuple((p.ir_arguments[0], self.constants[p.name]) for p in chosen)
            self.signature = replace(self.signature, symbol=library.specialised(self.signature.symbol, fixed))
        self.__name__ = self.signature.name
        self.__qualname__ = self.__name__
        self.__doc__ = _document(facts)
        self.__signature__ = _python_signature(self.signature)
        self.checker = Checker(self.signature, self.constants)
        self._result = _result_converter(self.signature.result)
        self._entry = facts.entry
        self._code: AnyCode | None = None
        self._test: Test | None = None
        self._roles: tuple[Roles | None] | None = None

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Run the function; arrays behind pointers are read and written in place."""
        try:
            return self._called(args, named)
        except LlgradError as error:
            without_frames(error)
            raise

    def _called(self, args: Sequence[Any], named: dict[str, Any]) -> Any:
        self.require_supported()
        values = self.values(args, named)
        if self.checker.restricts:
            refuse_overlap(self.signature, values, only_restrict=True)
        code = self._code
        if code is None:
            code = self.library.primal()
            at = [(n, 0) for n in range(len(self.facts.arguments))]
            self._test = self.library.test(self.facts.signature.symbol, at, False)
            self._code = code
        results, _ = code.call(self._entry, spread(self.signature, values), self._test)
        result = self.converted(results[0]) if results else None
        if len(args) + len(named) == len(values):
            return result
        made = [v if v.ndim else v.item() for v in (values[n] for n in self._made(args, named))]
        found = made if isinstance(self.signature.result, Void) else [result, *made]
        return tuple(found) if len(found) > 1 else found[0] if found else None

    def converted(self, result: Any) -> Any:
        """What compiled code returned, as Python has it."""
        return self._result(result)

    def values(self, args: Sequence[Any], named: Mapping[str, Any] = MappingProxyType({})) -> list[Any]:
        """A checked value for each parameter. Counts and outputs that a call leaves out follow from the rest."""
        if len(args) + len(named) < len(self.signature.parameters):
            args, named = self._completed(args, named), {}
        return self.checker.values(args, dict(named))

    @property
    def roles(self) -> Roles | None:
        """What each parameter is where arrays know their sizes; None where that is open."""
        if self._roles is None:
            from llgrad.execution.roles import ForeignSignatureError, roles

            try:
                self._roles = (roles(self, by_accesses=True),)
            except (ForeignSignatureError, UnsupportedError):
                self._roles = (None,)
        return self._roles[0]

    def _made(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[int]:
        """The outputs that a call which is not complete leaves out."""
        given = self._given(args, named)
        outputs = (m.parameter for m in self.roles.outputs) if self.roles else ()
        return [p.index for p in outputs if p is not None and p.name not in given]

    def _given(self, args: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of a call that leaves out counts or outputs, by name: what is left is passed in order."""
        if self.roles is None:
            return {}
        outputs = {m.name for m in self.roles.outputs}
        with_counts = [p.name for p in self.signature.parameters if p.name not in outputs]
        for names in ([i.name for i in self.roles.inputs], with_counts):
            if len(rest := [name for name in names if name not in named]) == len(args):
                return {**dict(zip(rest, args, strict=True)), **named}
        return {}

    def _completed(self, args: Sequence[Any], named: Mapping[str, Any]) -> list[Any]:
        """All arguments of such a call: in order, with counts from sizes and new arrays for outputs."""
        given, roles, parameters = self._given(args, named), self.roles, self.signature.parameters
        if roles is None or not {i.name for i in roles.inputs} <= given.keys() <= {p.name for p in parameters}:
            return self.checker.values(args, dict(named))  # which says what is missing
        shapes = [np.shape(given[i.name]) for i in roles.tensors]
        statics = [int(self.checker.value(i.parameter, given[i.name])) for i in roles.statics]
        try:
            found = roles.resolve(shapes, statics)
        except ArgumentError as error:  # which tells those who declare roles what to declare
            error.fix = "pass all arguments, with arrays for outputs"
            raise
        integers = roles.names(found.integers)
        for name in given.keys() & integers.keys():
            if given[name] != integers[name]:
                raise ArgumentError(
                    f"argument {name!r} of {self.signature.name} is {given[name]}, but arrays have {integers[name]}",
                    cause="what was left out follows from the sizes of arrays", fix="pass all arguments",
                )  # fmt: skip
        made = {m.name: (shape, m.dtype) for m, shape in zip(roles.outputs, found.outputs, strict=True)}
        whole = {**integers, **given}
        return [whole[p.name] if p.name in whole else np.zeros(*made[p.name]) for p in parameters]

    def __reduce__(self) -> Any:
        return _function_again, (self.library, self.facts.signature.symbol, self.constants)

    def specialized(self, **constants: int | float) -> ForeignFunction:
        """The function with some of its numbers fixed: `lib.gmm.specialized(d=10, k=25)`.

        It takes all arguments as before, and those that are fixed must be what was said. Derivatives of it are made for
        these values: loops of known length are unrolled and vectorised. The function itself runs as it did.
        Raises UnknownNameError, ArgumentError.
        """
        fixed: dict[str, int | float] = dict(self.constants)
        for name, value in constants.items():
            p = self.number(name)
            checked = Checker(self.facts.signature).value(p, value)
            fixed[name] = float(checked) if isinstance(p.type, Scalar) and p.type.kind == "float" else int(checked)
        return ForeignFunction(self.library, self.facts, fixed)

    def number(self, name: str) -> Parameter:
        """The parameter of that name, which is a number passed by value; or UnknownNameError, ArgumentError."""
        p = self.facts.signature.parameter(name)
        if not isinstance(p.type, Scalar):
            raise ArgumentError(
                f"{p.name} of {self.facts.signature.name} is no number",
                cause=f"it is declared {p.type.declare(p.name)}",
                fix="fix integers and floats that are passed by value",
            )
        return p

    def require_supported(self) -> None:
        """UnsupportedError if the function cannot be called from Python."""
        if self.facts.unsupported:
            raise UnsupportedError(
                f"{self.signature} cannot be called from Python",
                span=self.signature.source,
                cause=self.facts.unsupported,
                fix=by_pointers(self.signature) or "write a wrapper in C that takes pointers and scalars",
            )
        self._require_fixed_memory()
        if self.library.isolated and addresses_of_other_memory(self.signature):
            raise UnsupportedError(
                f"{self.signature.name} takes addresses of this process: of functions, in descriptors, or behind "
                "pointers to pointers",
                fix="load without isolate=True, or pass the arrays themselves, with their sizes",
            )

    def _require_fixed_memory(self) -> None:
        """UnsupportedError if the function may give an allocatable or pointer other memory than its caller's array."""
        moving = [p for p in self.signature.parameters if p.moves]
        if not moving:
            return
        access = self.library.effects(self.facts.signature.symbol).access
        for p in moving:
            if any(access[n] not in ("read", "none") for n in p.ir_arguments):
                raise UnsupportedError(
                    f"{self.signature} cannot be called from Python",
                    span=self.signature.source,
                    cause=f"{p.name} is an allocatable or pointer, and the function may give it other memory",
                    fix=f"declare {p.name} as an assumed shape ({p.type}), or intent(in); or write a wrapper",
                )

    def __repr__(self) -> str:
        fixed = ", ".join(f"{n}={v}" for n, v in self.constants.items())
        return f"<foreign function {self.signature}{f', {fixed}' if fixed else ''}>"


def _python_signature(signature: Signature) -> inspect.Signature:
    """What `help` and `inspect` show: a name that is a keyword of Python (`in`, `lambda`) stands there as `in_`."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    shown = {p.name: p for p in signature.parameters if p.name.isidentifier()}
    parameters = [
        inspect.Parameter(_shown(name, shown) if keyword.iskeyword(name) else name, kind, annotation=str(p.type))
        for name, p in shown.items()
    ]
    return inspect.Signature(parameters, return_annotation=str(signature.result))


def _shown(name: str, taken: Container[str]) -> str:
    """The name with underscores after it, so many that nothing else has it."""
    while name in taken or keyword.iskeyword(name):
        name += "_"
    return name


def with_parameters(signature: inspect.Signature, extra: Sequence[str]) -> inspect.Signature:
    """A signature with more parameters; of one that gives a value, for one that gives something else."""
    by_position, taken = inspect.Parameter.POSITIONAL_OR_KEYWORD, signature.parameters
    more = [
        inspect.Parameter(_shown(name, taken), by_position)
        if name == "direction"
        else inspect.Parameter(_shown(name, taken), inspect.Parameter.KEYWORD_ONLY, default=None)
        for name in extra
    ]
    return inspect.Signature([*signature.parameters.values(), *more])


def _function_again(library: Loaded, symbol: str, constants: Mapping[str, int | float]) -> ForeignFunction:
    """A function where it is unpickled."""
    function = Library(library)[symbol]
    return function.specialized(**constants) if constants else function


def _document(facts: Facts) -> str:
    s = facts.signature
    lines = [f"{s};", ""]
    lines += [f"defined in {s.source}"] if s.source else []
    lines += [f"symbol {s.symbol}"] if s.symbol != s.name else []
    lines += [f"cannot be called from Python: {facts.unsupported}"] if facts.unsupported else []
    for p in s.parameters:
        if isinstance(p.type, Pointer):
            to = p.type.innermost
            access = "read" if to.const else "read and written"
            what = "C-contiguous array" if to is p.type else "list of C-contiguous arrays"
            lines.append(f"  {p.name}: {what} of {'anything' if to.dtype is None else to.dtype}, {access}")
        else:
            lines.append(f"  {p.name}: {p.type}")
    return "\n".join(lines)


def _result_converter(t: CType) -> Any:
    match t:
        case Scalar(kind="bool"):
            return bool
        case Scalar(kind="int") if t.bits <= 64:
            low, high = integer_range(t)
            return lambda v: v - (1 << t.bits) if v > high else v
        case Pointer():
            return lambda v: v or None
    return lambda v: v
