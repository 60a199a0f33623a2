"""What `load` keeps of sources: their program, its functions, the code of both and of derivatives, all of it on disk.

The program is compiled when one of its functions is first called; a derivative when it is asked for. With a warm cache
neither a compiler nor LLVM's optimiser nor the IR parser runs.
"""

from __future__ import annotations

import contextlib
import re
import threading
import time
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from msgspec import Struct
from msgspec.structs import replace

from llgrad.analysis.memory.symbolic_sizes import Sum, Written
from llgrad.autodiff.requests.request import Constants, Request, special_name
from llgrad.errors import ArgumentError, LlgradError, SourceError, UnsupportedError, recorded, warn_again
from llgrad.execution import cache
from llgrad.execution.arguments import holds_addresses
from llgrad.execution.entry import (
    CXX_TAKER,
    HOOK,
    TAPE_FREE,
    Code,
    Entry,
    entry_text,
    fail_text,
    slot_bytes,
    support_text,
)
from llgrad.execution.passing import parts
from llgrad.execution.size_checks import Check, Test
from llgrad.models.mpi import sends
from llgrad.signature import Opaque, Pointer, Scalar, Signature, View, Void
from llgrad.support.uncopied import Uncopied
from llgrad.transforms.guard.denormals import refuse_jumps

if TYPE_CHECKING:
    from llgrad.execution.worker import Worker
    from llgrad.frontends import Flags
    from llgrad.ir.module import Module
    from llgrad.llvm import LLVMModule
    from llgrad.programs.derivatives import Derived
    from llgrad.programs.stages import Prepared


class AnyCode(Protocol):
    """Loaded code, here or in a child process."""

    def call(
        self, entry: Entry, values: Sequence[Any], test: Test | None = None
    ) -> tuple[tuple[Any, ...], int]:
        """Results and peak of the tape in bytes."""


class Facts(Struct, frozen=True):
    """What is known of a function: signature, IR types of its arguments and result, how small integers are extended."""

    signature: Signature
    arguments: tuple[str, ...]
    extensions: tuple[str, ...]
    result: str
    unsupported: str = ""

    @property
    def entry(self) -> Entry:
        """The entry of the function itself."""
        results = () if self.result == "void" else (self.result,)
        return Entry(f"llgrad.entry.{self.signature.symbol}", self.arguments, results)


_PANIC_TAKER = re.compile(r"_R\w+3std9panicking12catch_unwind7cleanup")


class Effects(Struct, frozen=True):
    """What a function does to memory. As LLVM finds it: `access` (read, write, both, none) through each IR argument
    that is a pointer, and whether it is `stateful`: uses variables that may change.

    As `analysis.memory.output_arguments` finds it, if no arguments overlap: which IR arguments are `filled`, written
    before they are read, if all of these sums are at least 0; and what is `written` through those of which that is
    known.
    """

    access: tuple[str, ...]
    stateful: bool
    filled: dict[int, tuple[Sum, ...]]
    written: dict[int, Written]


class Compiled(Struct, frozen=True):
    """A compiled derivative."""

    code: AnyCode
    entry: Entry
    seconds: float
    packed_ir: bytes

    @property
    def ir(self) -> str:
        """The optimised IR, entry and tape included."""
        from llgrad.llvm import LLVMModule

        return LLVMModule.from_bitcode(zlib.decompress(self.packed_ir)).text()


EVERYWHERE: dict[str, str] = {}
"""What is said of functions by name, whatever library has them: registrations, and the name each speaks of."""


class Loaded(Uncopied):
    """Sources that were loaded: the table of their functions, their code, derivatives made of them."""

    def __init__(
        self, paths: Sequence[Path], flags: Flags, level: int, libraries: tuple[str, ...], isolate: bool,
        vector_math: bool,
    ) -> None:  # fmt: skip
        """Use `load`."""
        self._worker: Worker | None
        self._begin(paths, flags, level, libraries, vector_math)
        self.table = self._recalled() or self._compiled()
        if isolate:
            from llgrad.execution.worker import Worker

            self._worker = Worker(self._libraries)

    def _begin(
        self, paths: Sequence[Path], flags: Flags, level: int, libraries: tuple[str, ...], vector_math: bool
    ) -> None:
        self._paths, self._flags, self._level, self._libraries = list(paths), flags, level, libraries
        self._places = tuple(str(p.absolute()) for p in paths)
        self._vector_math = vector_math
        self._lock = threading.RLock()
        self._derived: dict[tuple[tuple[Request, ...], tuple[str, ...]], tuple[Compiled, ...]] = {}
        self._prepared: dict[tuple[str, tuple[str, ...], bool, int, bool], Prepared] = {}
        self._resolved: dict[tuple[str, ...], LLVMModule] = {}
        self._special: dict[str, tuple[str, Constants]] = {}  # what has arguments fixed
        self._said: dict[str, None] = {}
        self._checks: dict[tuple[str, tuple[str, ...], bool], Check | None] = {}
        self.unchecked = self.serial = False
        self._names: frozenset[str] | None = None  # of all functions, declared ones too; made when they are asked for
        self._code: AnyCode | None = None
        self._program_: LLVMModule | None = None
        self._key = self._asked = ""
        self._worker = None

    def __reduce__(self) -> Any:
        """Pickled by content: where it is unpickled, the sources are loaded and must be what they were."""
        names = ", ".join(map(str, self._paths))
        if self.has_registrations:
            raise ArgumentError(
                f"{names} cannot be pickled", cause="what was registered of it is not pickled",
                fix="load and register in each process",
            )  # fmt: skip
        if not self._key or cache.recalled(self._asked) != self._key:
            raise ArgumentError(
                f"{names} cannot be pickled", cause="nothing tells whether the sources are those that were loaded",
                fix="load again, here; or set LLGRAD_CACHE to a folder, if it is empty",
            )  # fmt: skip
        content = cache.content(self._asked)
        return _unpickled, (self._places, tuple(self.options.items()), self.isolated, self.unchecked, content)

    @classmethod
    def of_modules(cls, name: str, modules: Sequence[bytes], table: dict[str, Facts]) -> Loaded:
        """IR that is there already, with functions that `table` describes."""
        from llgrad.programs import stages

        made = cls.__new__(cls)
        made._begin([Path(name)], (), 2, (), False)
        made._program_ = stages.program(modules)
        made._key = cache.key("modules", *modules, *cache.surroundings()) if cache.folder() else ""
        made.table = table
        return made

    def read_only(self, symbol: str) -> set[int]:
        """The IR arguments of a function through which it writes nothing, as far as LLVM knows."""
        with self._lock:  # a derivative takes the module and changes it
            arguments = self.ready(symbol).read().function(symbol).arguments
            return {a.index for a in arguments if a.attribute("readonly") or a.attribute("readnone")}

    @property
    def paths(self) -> list[Path]:
        """The sources."""
        return self._paths

    @property
    def level(self) -> int:
        """How far LLVM optimises before differentiation."""
        return self._level

    @property
    def options(self) -> dict[str, Any]:
        """How they were loaded: options of `load`."""
        return {
            "flags": self._flags, "optimize": self._level, "libraries": self._libraries,
            "vector_math": self._vector_math, "serial": self.serial,
        }  # fmt: skip

    @property
    def isolated(self) -> bool:
        """Does the code run in a child process?"""
        return self._worker is not None

    # --- compiling

    def _recalled(self) -> dict[str, Facts] | None:
        """The table of functions, from the cache."""
        self._asked = cache.asked(self._paths, self._flags)
        self._key = cache.recalled(self._asked) or ""
        found = cache.get(cache.key("library", self._key)) if self._key else None
        if found is None:
            return None
        table: dict[str, Facts]
        table, libraries = cache.loaded(found["table"])
        self._libraries += libraries
        return table

    def _compiled(self) -> dict[str, Facts]:
        from llgrad.autodiff.legality import leftover_calls
        from llgrad.frontends import compile_sources
        from llgrad.programs import stages

        started = time.time_ns()
        done = compile_sources(self._paths, self._flags)
        self._libraries += tuple(name for name in done.libraries if name not in self._libraries)
        trusted = all(p.suffix.lower() not in (".ll", ".bc", ".o", ".a") for p in self._paths)
        self._program_ = leftover_calls.spelt_right(stages.program(done.modules, trusted=trusted, names=done.names))
        table = _table(self._program_, self._paths)
        inputs = cache.Inputs(done.dependencies, done.consulted)
        self._asked = cache.asked(self._paths, self._flags)
        self._key = cache.remember(self._paths, self._flags, inputs, started) or ""
        if self._key:
            pieces = {"table": cache.dumped((table, done.libraries))}
            cache.put(cache.key("program", self._key), {"bitcode": self._program_.bitcode()})
            cache.put(cache.key("library", self._key), pieces)
        return table

    def _program(self) -> LLVMModule:
        if self._program_ is None:
            from llgrad.llvm import LLVMModule

            found = cache.get(cache.key("program", self._key)) if self._key else None
            if found:
                self._program_ = LLVMModule.from_bitcode(found["bitcode"])
            else:
                self._compiled_again()
        assert self._program_ is not None
        return self._program_

    def _compiled_again(self) -> None:
        """Compile what was in the cache and no longer is; SourceError if it is something else by now."""
        known, self._key = self._key, ""
        self._compiled()
        if self._key != known:
            self._program_, self._key = None, known
            raise SourceError(
                f"{', '.join(map(str, self._paths))} changed since it was loaded, and the cache has lost what it was",
                fix="load it again",
            )

    def primal(self) -> AnyCode:
        """The program's own code, compiled once: all its functions share their variables."""
        with self._lock:
            if self._code is None:
                name = cache.key("primal", self._key, str(self._vector_math))
                found = cache.get(name) if self._key else None
                data = found["object"] if found else self._primal_object(name)
                self._code = self.code(data, ())
            code: AnyCode = self._code
            return code

    def _primal_object(self, name: str) -> bytes:
        from llgrad.llvm.codegen import emit_jit_object
        from llgrad.programs import stages
        from llgrad.transforms.canonical.trampolines import TRAMPOLINE

        program = self._running()
        taker = self._taker(program.text())
        fails = "@llgrad_fail(" in program.text() or TRAMPOLINE in program.text()
        called = {f.entry.name: f for f in self.table.values() if not f.unsupported}  # aliases share one
        entries = [_entry(f, taker, fails) for f in called.values()]
        entries += [fail_text(taker)] if fails or taker == CXX_TAKER else []
        data = emit_jit_object(stages.primal(program, entries, vector_math=self._vector_math))
        if self._key:
            cache.put(name, {"object": data})
        return data

    @property
    def identity(self) -> str:
        """Names the content of the sources, how they were compiled, and what has been said of their functions."""
        compiled = f"{self._level} {self._libraries} {self._vector_math} {self._worker is not None}"
        return f"{self._key or id(self)} {compiled} {''.join(self._registrations())}"

    def addresses(self) -> dict[str, int]:
        """Where the loaded program's functions and variables are; valid as long as this lives."""
        code = self.primal()
        if not isinstance(code, Code):
            raise ArgumentError(
                "the library runs in a child process", cause="isolate=True", fix="load it without isolate=True"
            )
        return code.addresses

    def effects(self, symbol: str) -> Effects:
        """What the function does to memory."""
        with self._lock:
            name = cache.key("effects", self._key, symbol)
            found = cache.get(name) if self._key else None
            if found:
                known: Effects = cache.loaded(found["effects"])
                return known
            made = _effects(*self.optimised(symbol))
            if self._key:
                cache.put(name, {"effects": cache.dumped(made)})
            return made

    def optimised(self, symbol: str) -> tuple[str, str]:
        """The IR of a function as LLVM optimises it, nothing registered or fixed, and its name there."""
        from llgrad.programs import stages
        from llgrad.transforms.symbols import own_names

        general = self._special.get(symbol, (symbol, ()))[0]
        return stages.prepare(self._without_requests(())[0], [general], 2), own_names.own_name(general)

    # --- sizes of arrays

    def test(self, symbol: str, at: Sequence[tuple[int, int]], derived: bool) -> Test | None:
        """What a call of the function, or of a derivative of it, checks its arrays by; `at`: see `Test`."""
        if self.unchecked or symbol not in self.table:
            return None
        with self._lock:
            said = self._registrations() if derived else ()
            key = symbol, said, derived
            if key not in self._checks:
                self._checks[key] = self._check(symbol, said, derived)
            made = self._checks[key]
        return Test(made, at) if made is not None else None

    def _check(self, symbol: str, said: tuple[str, ...], derived: bool) -> Check | None:
        name = cache.key("check", self._key, symbol, str(self._level), "".join(said), str(derived))
        found = cache.get(name) if self._key else None
        if found is None:
            found = {"check": cache.dumped(_made_check(self, self.table[symbol], said, derived))}
            if self._key:
                cache.put(name, found)
        known: Check | None = cache.loaded(found["check"])
        return known

    def as_optimised(self, symbol: str, said: tuple[str, ...]) -> Module:
        """The IR of a function as LLVM optimises it, which nobody may change."""
        from llgrad.programs import stages

        if self._level and said == self._registrations():
            return self.ready(symbol).read()
        program, said = self._without_requests(said)
        return stages.prepared(program, [symbol], self._level or 2, said=said).read()

    def code(self, data: bytes, borrowed: Sequence[str]) -> AnyCode:
        shared = self.primal() if borrowed else None
        if self._worker is not None:
            return self._worker.load(data, shared, borrowed)
        symbols = {n: shared.addresses[n] for n in borrowed} if isinstance(shared, Code) else {}
        return Code(data, libraries=self._libraries, symbols=symbols)

    def derivative(self, request: Request) -> Compiled:
        """The compiled derivative that `request` asks for (its function is a symbol); made once."""
        return self.derivatives(request)[0]

    def derivatives(self, *requests: Request) -> tuple[Compiled, ...]:
        """The same for the sweeps of a split derivative, which share a plan and its tape."""
        with self._lock:
            said = self._registrations()
            if (requests, said) not in self._derived:
                self._derived[requests, said] = self._derive(requests, said)
            return self._derived[requests, said]

    def _derive(self, requests: tuple[Request, ...], said: tuple[str, ...]) -> tuple[Compiled, ...]:
        started = time.perf_counter()
        settings = (repr(requests), str(self._level), str(self._vector_math), str(self.serial))
        name = cache.key("derivative", self._key, *settings, "".join(said))
        found = cache.get(name) if self._key else None
        if found is None:
            with recorded() as told:
                found = self.derivative_pieces(requests)
            found["told"] = cache.dumped(tuple(dict.fromkeys(told)))
            if self._key:
                cache.put(name, found)
        else:
            warn_again(cache.loaded(found["told"]))
        entries, borrowed = cache.loaded(found["entries"])
        code = self.code(found["object"], borrowed)
        seconds = time.perf_counter() - started
        return tuple(Compiled(code, entry, seconds, found["ir"]) for entry in entries)

    def derivative_pieces(
        self, requests: tuple[Request, ...], change: Callable[[str], str] = str, more: Sequence[str] = (),
        kept: Sequence[str] = (),
    ) -> dict[str, bytes]:  # fmt: skip
        """The derivative as an object. `change` is made to its text; `more` is text beside it, of which `kept`
        can be called."""
        from llgrad.llvm.codegen import emit_jit_object, emit_own_object
        from llgrad.programs import stages
        from llgrad.support.elf import read_object

        requests = tuple(map(self.asked, requests))
        made = self._made(requests)
        entries = [Entry(f"llgrad.entry.{d.symbol}", d.parameters, d.results, guarded=True) for d in made]
        taker, flush = self._taker(made[0].text), requests[0].flush
        if flush:
            refuse_jumps(made[0].text)
        written = [
            entry_text(e, d.symbol, aggregate=d.aggregate, wide=d.wide, taker=taker, flush=flush)
            for e, d in zip(entries, made, strict=True)
        ]
        whole = stages.finish(
            change(made[0].text), [*written, support_text(taker), *more],
            [*(e.name for e in entries), *kept, TAPE_FREE, HOOK],
            vector_math=self._vector_math, jit=True,
        )  # fmt: skip
        data = emit_jit_object(whole) if "bfloat" in made[0].text else emit_own_object(whole)  # `jit` made it ready
        wanted = {s.name for s in read_object(data).symbols if not s.defined}
        borrowed = tuple(n for n in made[0].borrowed if n in wanted)
        ir = zlib.compress(whole.bitcode(), 1)
        return {"object": data, "entries": cache.dumped((entries, borrowed)), "ir": ir}

    def _made(self, requests: tuple[Request, ...]) -> list[Derived]:
        """The sweeps of one derivative; where they are refused, of code in which loops over bytes move blocks, and
        second derivatives of code that is not optimised, or is: what is merged there is merged in what the first keeps.
        """
        from llgrad.programs import noalias_versions, parallel

        def made(teams: bool) -> list[Derived]:
            if teams:
                return noalias_versions.derivatives_promised(self.ready(root, teams=True), requests, self._level)
            return self._made_alone(requests)

        root = requests[0].root
        return parallel.first(made, root, parallel.may_be(requests) and self._opens_teams())

    def _opens_teams(self) -> bool:
        """Does the program open teams of OpenMP, whose library is there, and may derivatives?"""
        from llgrad.llvm.libraries import Libraries
        from llgrad.programs import parallel

        is_asked = not self.serial and parallel.opens(self._program().text())
        return is_asked and Libraries(self._libraries).address("__kmpc_fork_call") != 0

    def _made_alone(self, requests: tuple[Request, ...]) -> list[Derived]:
        """The same in one thread."""
        from llgrad.programs import noalias_versions

        root = requests[0].root
        try:
            return noalias_versions.derivatives_promised(self.ready(root), requests, self._level)
        except UnsupportedError as refused:
            other = 0 if self._level else 2
            again = requests[0].inner is not None and (other or not refused.loses_bits)
            for level, blocks in ((self._level, True), *([(other, False)] if again else [])):
                if (found := self.ready(root, blocks, level)).text:
                    with contextlib.suppress(UnsupportedError):
                        return noalias_versions.derivatives_promised(found, requests, level)
            raise

    def asked(self, request: Request) -> Request:
        """What synthesis is asked for, if `request` is asked of this code."""
        return replace(request, vector_math=self._vector_math)

    def _taker(self, text: str) -> str:
        """What takes an exception that comes to an entry: C++'s runtime, wherever there is the library that this takes,
        or, for Rust that catches panics itself (others do not unwind), what its library catches them with."""
        from llgrad.llvm.libraries import Libraries

        if "@__gxx_personality_v0" in text or "@__cxa_" in text:
            return CXX_TAKER
        suffixes = {p.suffix for p in self._paths}
        if suffixes & {".rs", ".toml"}:
            return next((n for n in self._functions() if _PANIC_TAKER.fullmatch(n)), "")
        cxx = suffixes & {".cc", ".cpp", ".cxx", ".C"}
        return CXX_TAKER if cxx and Libraries(self._libraries).address("__gxx_personality_v0") != 0 else ""

    def prepared(self, symbol: str) -> str:
        """The IR of a function from which derivatives are made."""
        return self.ready(symbol).text

    def ready(
        self, symbol: str, blocks: bool = False, level: int | None = None, *, teams: bool = False
    ) -> Prepared:
        """The same, at another level if one is given. `blocks`: where loops over bytes move blocks, or no text.

        `teams`: parallel regions stay parallel.
        """
        from llgrad.programs import stages

        at = self._level if level is None else level
        with self._lock:
            said = self._registrations()
            key = symbol, said, blocks, at, teams
            if key not in self._prepared:
                general, constants = self._special.get(symbol, (symbol, ()))
                program, said = self._without_requests(said)
                self._prepared[key] = stages.prepared(
                    program, [general], at, said=said, constants=constants, blocks=blocks, teams=teams
                )
            return self._prepared[key]

    def _without_requests(self, said: tuple[str, ...]) -> tuple[LLVMModule, tuple[str, ...]]:
        """The program with derivatives where it asks for some itself, and the registrations that it has not yet."""
        from llgrad.autodiff.legality.leftover_calls import is_call
        from llgrad.programs.program import resolved

        program = self._program()
        if not any(is_call(f.name) for f in program.functions()):
            return program, said
        if said not in self._resolved:
            self._resolved[said] = resolved(program, said, self._level)
        return self._resolved[said], ()

    def _running(self) -> LLVMModule:
        """The program as the user runs it."""
        from llgrad.programs.program import runnable

        program, _ = self._without_requests(())
        return program if program is self._program() else runnable(program)

    def promised(self, request: Request) -> str:
        """The same for what `request` asks for, which may say that no buffers overlap."""
        from llgrad.programs import noalias_versions

        return noalias_versions.promised(self.prepared(request.root), request, self._level)

    def specialised(self, symbol: str, constants: Constants) -> str:
        """The symbol of a function with arguments fixed."""
        name = special_name(symbol, constants)
        self._special[name] = (symbol, constants)
        return name

    def say(self, registration: str) -> None:
        """What holds for all derivatives that are made from now on (see `registering`)."""
        self._said[registration] = None

    def _registrations(self) -> tuple[str, ...]:
        """What has been said of this library's functions, and of functions of the names that it has."""
        if not EVERYWHERE:
            return tuple(self._said)
        return (*self._said, *(text for text, name in EVERYWHERE.items() if name in self._functions()))

    @property
    def has_registrations(self) -> bool:
        """Has anything been said of this library's functions, or of functions of the names that it has?"""
        return bool(self._registrations())

    @property
    def passes_messages(self) -> bool:
        """Does the program call functions of MPI whose rules take one direction at a time?"""
        return any(map(sends, self._functions()))

    def _functions(self) -> frozenset[str]:
        """The names of all functions."""
        if self._names is None:
            self._names = frozenset(f.name for f in self._program().functions())
        return self._names


def _made_check(library: Loaded, facts: Facts, said: tuple[str, ...], derived: bool) -> Check | None:
    """The check of a function; None where there is nothing to check, or it cannot be read."""
    from llgrad.analysis.memory.entry_polynomials import Refused
    from llgrad.llvm import LLVMModule
    from llgrad.llvm.codegen import emit_own_object
    from llgrad.programs.memory_checks import limits
    from llgrad.programs.noalias_versions import opaque
    from llgrad.transforms.symbols import own_names

    symbol = facts.signature.symbol
    try:
        module = library.as_optimised(symbol, said)
        root = module.function(own_names.own_name(symbol))
        found = limits(module, root, opaque(module) if derived else ())
    except (LlgradError, Refused):
        return None
    if not found.pointers and not found.unknown:
        return None
    names = {n: p.name for p in facts.signature.parameters for n in p.ir_arguments}
    strided = frozenset(
        n for p in facts.signature.parameters if isinstance(p.type, View) and p.type.order not in ("C", "F")
        for n in p.ir_arguments
    )  # fmt: skip
    to = [p.type.to for p in facts.signature.parameters if isinstance(p.type, Pointer)]
    if any(holds_addresses(t) and not isinstance(t, Opaque) for t in to):  # which may lead to any array
        found = replace(found, pinned=frozenset(n for n, t in enumerate(facts.arguments) if t == "ptr"))
    made = LLVMModule.from_text(found.text) if found.text else None
    if made:
        made.optimise(1, vectorize=False, unroll=False)
    return Check(replace(found, text=""), facts.signature.name, names, strided, emit_own_object(made) if made else b"")


def _effects(text: str, root: str) -> Effects:
    from llgrad.analysis.memory.output_arguments import outputs
    from llgrad.ir.parse import parse
    from llgrad.llvm.assembly import GLOBAL

    module = parse(text)
    f = module.function(root)
    access = tuple(next((_ACCESS[x.name] for x in a.attributes if x.name in _ACCESS), "both") for a in f.arguments)
    variables = [m[1] for m in GLOBAL.finditer(text) if m[3] == "global" and not m[1].startswith("@llvm.")]
    stateful = any(len(re.findall(rf"{re.escape(v)}(?![-\w.$])", text)) > 1 for v in variables)
    filled, written = outputs(module, f).sizes()
    return Effects(access, stateful, filled, written)


_ACCESS = {"readonly": "read", "writeonly": "write", "readnone": "none"}


def _table(program: LLVMModule, paths: Sequence[Path]) -> dict[str, Facts]:
    """The functions that may be called: external ones, and inline ones written in the sources themselves."""
    from llgrad.ir.parse import parse
    from llgrad.signature import candidates

    module = parse(program.text())
    names = {str(p) for p in paths} | {str(p.absolute()) for p in paths}
    found = [
        c
        for c in candidates(module)
        if module.globals[c.symbol].linkage == "external" or (c.source and c.source.file in names)
    ]
    return {c.symbol: _facts(module, c.symbol) for c in found}


def _facts(module: Module, symbol: str) -> Facts:
    from llgrad.signature import signature

    f, s = module.function(symbol), signature(module, symbol)
    extensions = tuple(
        next((x.name for x in a.attributes if x.name in ("zeroext", "signext")), "") for a in f.arguments
    )
    arguments = tuple(str(a.type) for a in f.arguments)
    result = str(f.function_type.result)
    unsupported = _unsupported(s, arguments, result, f.function_type.vararg)
    return Facts(s, arguments, extensions, result, unsupported)


def _unsupported(s: Signature, arguments: tuple[str, ...], result: str, variadic: bool) -> str:
    """Why a function cannot be called from Python; empty if it can."""
    if variadic:
        return "it takes a variable number of arguments"
    if s.result_argument is not None or not isinstance(s.result, Void | Scalar | Pointer):
        return f"it returns {s.result} by value"
    for p in s.parameters:
        if p.unsupported:
            return p.unsupported
        if not isinstance(p.type, Scalar | Pointer) or len(p.ir_arguments) != len(parts(p.type)):
            return f"its parameter {p.name} is {p.type} by value"
    try:
        for t in (*arguments, *(() if result == "void" else (result,))):
            slot_bytes(t)
    except UnsupportedError as error:
        return error.message
    carried = sum(len(p.ir_arguments) for p in s.parameters)
    return "" if len(arguments) == carried else "its parameters in the IR do not match the source"


def _entry(facts: Facts, taker: str, fails: bool) -> str:
    made = replace(facts.entry, guarded=fails)
    return entry_text(made, facts.signature.symbol, extensions=facts.extensions, taker=taker)


_again: dict[str, Loaded] = {}
_unpickling = threading.RLock()


def _unpickled(
    paths: tuple[str, ...], options: tuple[tuple[str, Any], ...], isolate: bool, unchecked: bool, content: str
) -> Loaded:
    """What was pickled, once a process: its functions share their variables. SourceError where sources have changed."""
    with _unpickling:
        known = repr((paths, options, isolate, unchecked, content))
        if known not in _again:
            from llgrad.execution.library import load, loaded

            _again[known] = loaded(load(list(paths), **dict(options), isolate=isolate, unchecked=unchecked))
        if cache.content(_again[known]._asked) != content:
            del _again[known]
            raise SourceError(
                f"{', '.join(paths)}: what is here is not what was pickled",
                cause="a source, or something that it includes, has changed",
                fix="load it here, or pickle it again",
            )
        return _again[known]
