"""`LLVMModule`: a verified LLVM module that can be linked, optimised and printed.

Contract: every module has passed LLVM's verifier and carries the host's triple and data layout; whatever
does not is refused with a typed error when it is read. `target-cpu`, `target-features` and `tune-cpu` of
functions are dropped then: they block inlining and narrow vectors; the CPU asked for decides instead. Each
module has an LLVM context of its own, so that reading the same text twice gives the same text back (a shared
context renames its types) and memory is freed. A module that holds a hazard (`text.hazards`) of LLVM's passes is
optimised in a child process. Methods change the module in place and return None, unless they return something else.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import llvmlite.binding as llvm
from msgspec import Struct

from llgrad.errors import ArgumentError, ParseError, UnknownNameError, VerifyError
from llgrad.llvm import isolate, quirks, target
from llgrad.llvm import text as edits
from llgrad.llvm.isolate import run_job

BITCODE_MAGIC = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
_LOCAL = ("internal", "private")
_HARMLESS = frozenset({"global_dce", "instruction_namer", "strip_dead_debug_info"})  # they look into no instruction
_PASS_ALIASES = {
    "adce": "aggressive_dce",
    "aggressive_instruction_combine": "aggressive_instcombine",
    "dce": "dead_code_elimination",
    "dead_arg": "dead_arg_elimination",
    "dse": "dead_store_elimination",
    "global_dce": "global_dead_code_eliminate",
    "globaldce": "global_dead_code_eliminate",
    "instcombine": "instruction_combine",
    "lower_switches": "lower_switch",
    "mem2reg": "sroa",
    "memcpyopt": "mem_copy_opt",
    "reg2mem": "register_to_memory",
    "simplifycfg": "simplify_cfg",
    "sink": "sinking",
    "tail_call": "tail_call_elimination",
}


class FunctionInfo(Struct, frozen=True):
    """A function of a module."""

    name: str
    is_declaration: bool
    linkage: str


class Part(Struct, frozen=True):
    """A module that is linked into others again and again, as bitcode."""

    bitcode: bytes
    hazards: frozenset[str]


class LLVMModule:
    """A verified module for the host. Make one with `from_text`, `from_bitcode` or `read`."""

    def __init__(self, ref: llvm.ModuleRef, hazards: Collection[str]) -> None:
        """Not for users: `ref` has been checked already."""
        self._ref = ref
        self._printed: str | None = None
        self.hazards = frozenset(hazards)

    @property
    def is_hazardous(self) -> bool:
        """May passes end this process?"""
        return not self.hazards <= {edits.INLINE_ASSEMBLY}

    # Reading

    @classmethod
    def from_text(cls, text: str) -> LLVMModule:
        """Read LLVM assembly; `ParseError` or `VerifyError` with LLVM's message if it is wrong."""
        target.initialise()
        if "\0" in text:
            raise ParseError("LLVM assembly holds a null character", fix="remove it, or pass bitcode as bytes")
        text = quirks.without_double_places(quirks.without_lost_labels(text))
        if _names_cpu(text):  # those that stand in groups go before LLVM reads the text
            text = edits.strip_attributes(text, edits.CPU_ATTRIBUTES)
        ref = parsed(lambda context: llvm.parse_assembly(text, context))
        return cls._checked(ref, text)

    @classmethod
    def from_bitcode(cls, data: bytes, *, trusted: bool = True) -> LLVMModule:
        """Read bitcode; where it is not `trusted` it is tried in a child process first (damage can abort LLVM)."""
        target.initialise()
        if not data.startswith(BITCODE_MAGIC):
            raise ParseError("this is not LLVM bitcode", cause="its first bytes are not 'BC' 0xC0DE")
        if not trusted:
            run_job("check", data)
        return cls._checked(parsed(lambda context: llvm.parse_bitcode(data, context)), None)

    @classmethod
    def read(cls, data: bytes, *, trusted: bool = True) -> LLVMModule:
        """Read bitcode or LLVM assembly, whichever `data` is."""
        if data.startswith(BITCODE_MAGIC):
            return cls.from_bitcode(data, trusted=trusted)
        try:
            return cls.from_text(quirks.with_pointees(data.decode()))
        except UnicodeDecodeError as error:
            raise ParseError("neither LLVM bitcode nor LLVM assembly", cause=str(error)) from error

    @classmethod
    def linked(cls, modules: Sequence[LLVMModule]) -> LLVMModule:
        """A new module that holds all `modules`, which stay as they are."""
        if not modules:
            raise ArgumentError("no modules to link")
        whole = modules[0].clone()
        if len(modules) > 1:
            whole.link(*modules[1:])
        return whole

    @classmethod
    def _checked(cls, ref: llvm.ModuleRef, text: str | None) -> LLVMModule:
        target.require_host_target(ref.triple, ref.data_layout)
        ref.triple, ref.data_layout, ref.name = target.host_triple(), target.host_layout(), ""
        module = cls(ref, ())
        try:
            module.verify()
        except VerifyError as error:
            return cls._without_debug_info(module.text(), error)
        text = module.text() if text is None else text
        if _names_cpu(text):
            bare = edits.strip_attributes(module.text(), edits.CPU_ATTRIBUTES)
            module = cls.from_text(bare)
            module._printed = bare
            return module
        module.hazards = frozenset(edits.hazards(text))
        if edits.MODULE_ASSEMBLY in module.hazards and not isolate.inside_child:
            run_job("bitcode", module.text().encode())  # writing bitcode assembles it, and ends the process on an error
        return module

    @classmethod
    def _without_debug_info(cls, text: str, error: VerifyError) -> LLVMModule:
        """A module whose debug info alone is broken, without it (LLVM's own tools do so); else raise `error`."""
        if (bare := edits.strip_debug(text)) == text:
            raise error
        try:
            return cls.from_text(bare)
        except (ParseError, VerifyError):
            raise error from None

    # Asking

    def text(self) -> str:
        """The module as LLVM assembly; printed once between changes."""
        if self._printed is None:
            self._printed = str(self._ref)
        return self._printed

    @property
    def is_printed(self) -> bool:
        """Has it been printed since it was changed last?"""
        return self._printed is not None

    def bitcode(self) -> bytes:
        """The module as LLVM bitcode."""
        data: bytes = self._ref.as_bitcode()
        return data

    def portable(self) -> bytes:
        """The module as LLVM bitcode that names no machine: for `Part`s that are linked on any."""
        whole = self.clone()
        whole._ref.triple = whole._ref.data_layout = ""
        return whole.bitcode()

    def functions(self) -> list[FunctionInfo]:
        """All functions, in the module's order."""
        return [FunctionInfo(f.name, f.is_declaration, f.linkage.name) for f in self._ref.functions]

    def types(self) -> Iterator[tuple[str, str]]:
        """The names of all functions, and their types as LLVM spells them."""
        return ((f.name, str(f.global_value_type)) for f in self._ref.functions)

    def definitions(self) -> list[str]:
        """The functions and variables that the module defines; those of LLVM left out."""
        values = [*self._ref.functions, *self._ref.global_variables]
        return [v.name for v in values if not v.is_declaration and not v.name.startswith("llvm.")]

    def declarations(self) -> dict[str, str]:
        """The functions and variables that the module declares, and their types as LLVM spells them."""
        values = [*self._ref.functions, *self._ref.global_variables]
        return {v.name: str(v.global_value_type) for v in values if v.is_declaration and not v.name.startswith("llvm.")}

    def has_thread_locals(self) -> bool:
        """Does it define or ask for variables that each thread has its own of?"""
        return any(" thread_local" in str(v).partition("global ")[0] for v in self._ref.global_variables)

    def symbols(self) -> tuple[frozenset[str], frozenset[str]]:
        """The names that the module defines for others, and those that it wants from them (weak ones left out)."""
        values = [*self._ref.functions, *self._ref.global_variables]
        given = {v.name for v in values if not v.is_declaration and v.linkage.name not in _LOCAL}
        given |= edits.aliases(self.text())
        wanted = {v.name for v in values if v.is_declaration and v.linkage.name != "external_weak"}
        return frozenset(given), frozenset(n for n in wanted if not n.startswith("llvm."))

    def verify(self) -> None:
        """Raise `VerifyError` with LLVM's message if the module breaks a rule of LLVM's."""
        try:
            self._ref.verify()
        except RuntimeError as error:
            raise VerifyError("LLVM's verifier rejects the module", cause=str(error).strip()) from error

    def clone(self) -> LLVMModule:
        """An independent copy."""
        return self.of_part(self.as_part())

    @classmethod
    def of_part(cls, part: Part) -> LLVMModule:
        """A module of its own of a part."""
        return cls(parsed(lambda context: llvm.parse_bitcode(part.bitcode, context)), part.hazards)

    # Changing

    def replace_text(self, text: str) -> None:
        """Make `text` the contents of this module; on an error the module stays as it was."""
        fresh = LLVMModule.from_text(text)
        self._ref, self.hazards, self._printed = fresh._ref, fresh.hazards, None

    def link(self, *others: LLVMModule) -> None:
        """Link `others` (which stay as they are) into this module; on an error it stays as it was."""
        if not others:
            return
        whole = self.clone()
        for other in others:
            data = other.bitcode()
            try:
                whole._ref.link_in(llvm.parse_bitcode(data, whole._ref._context))
            except RuntimeError as error:
                raise VerifyError(
                    "the modules cannot be linked",
                    cause=str(error).strip() or "a symbol is defined twice or with two types",
                    fix="define each function in one source only, or make it static",
                ) from error
        whole.verify()
        self._ref, self._printed = whole._ref, None
        self.hazards = self.hazards.union(*(other.hazards for other in others))

    def as_part(self) -> Part:
        """The module, to be linked into others."""
        return Part(self.bitcode(), self.hazards)

    def absorb(self, *parts: Part) -> None:
        """Link `parts` into this module in place; on an error it is spent."""
        for part in parts:
            try:
                other = llvm.parse_bitcode(part.bitcode, self._ref._context)
                other.triple, other.data_layout = self._ref.triple, self._ref.data_layout
                self._ref.link_in(other)
            except RuntimeError as error:
                raise VerifyError("the modules cannot be linked", cause=str(error).strip()) from error
        self._printed = None
        self.hazards = self.hazards.union(*(part.hazards for part in parts))

    def replace(self, part: LLVMModule) -> None:
        """Put the functions that `part` shows in the place of those here; the rest of `part` is linked.

        What `part` declares may be local here. All definitions here, old and new, have the linkage that they had;
        declarations are those of `part`, which knows more.
        """
        theirs = [*part._ref.functions, *part._ref.global_variables]
        made = {v.name for v in theirs if not v.is_declaration and v.linkage.name not in (*_LOCAL, "appending")}
        wanted = {v.name for v in theirs if v.is_declaration}
        linkages: dict[str, Any] = {}
        for value in [*self._ref.functions, *self._ref.global_variables]:
            local = value.linkage.name in _LOCAL
            if not value.is_declaration and (value.name in made or (local and value.name in wanted)):
                linkages[value.name] = value.linkage
                value.linkage = "available_externally" if value.name in made else "external"
        whole = part.clone()
        whole._ref.link_in(llvm.parse_bitcode(self.bitcode(), whole._ref._context))
        for value in [*whole._ref.functions, *whole._ref.global_variables]:
            if value.name in linkages:
                value.linkage = linkages[value.name]
        whole.verify()
        self._ref, self._printed, self.hazards = whole._ref, None, self.hazards | part.hazards

    def strip_attributes(self, names: Iterable[str]) -> None:
        """Remove function attributes by name (see `text.strip_attributes`)."""
        self.replace_text(edits.strip_attributes(self.text(), names))

    def unblock(self) -> None:
        """Make -O0 input optimisable (see `text.unblock`)."""
        if "optnone" in (text := self.text()):
            self.replace_text(edits.unblock(text))

    def cut(self, keep: Collection[str]) -> None:
        """Drop what `keep`, weak functions and LLVM's own variables do not reach; what stays keeps its linkage.

        Constructors and destructors of globals go, and debug info of what is dropped. In this process, hazards or
        not: no pass runs that looks into functions.
        """
        self._printed = None
        linkages: dict[str, Any] = {}
        for value in [*self._ref.functions, *self._ref.global_variables]:
            if value.name in ("llvm.global_ctors", "llvm.global_dtors"):
                value.name, value.linkage = f"llgrad.dropped.{value.name}", "internal"
            elif not (value.is_declaration or value.name.startswith("llvm.")):
                linkage, kept = value.linkage, value.name in keep
                may_go = linkage.name in (*_LOCAL, "available_externally") or linkage.name.startswith("linkonce")
                if kept == may_go and linkage.name not in ("weak_any", "appending"):
                    linkages[value.name] = linkage
                    value.linkage = "external" if kept else "internal"
        self.run_here(["global_dce", "strip_dead_debug_info"])
        for value in [*self._ref.functions, *self._ref.global_variables]:
            if value.name in linkages:
                value.linkage = linkages[value.name]

    def rename(self, names: Mapping[str, str]) -> None:
        """Give functions and variables other names, and external linkage."""
        self._printed = None
        for value in [*self._ref.functions, *self._ref.global_variables]:
            if value.name in names:
                value.linkage = "external"
                value.name = names[value.name]

    def show(self, names: Collection[str]) -> None:
        """Let others use definitions, which stay whether these do or not."""
        self._printed = None
        for value in [*self._ref.functions, *self._ref.global_variables]:
            if value.name in names and not value.is_declaration:
                if value.linkage.name in _LOCAL:
                    value.linkage = "external"
                elif value.linkage.name.startswith("linkonce"):
                    value.linkage = value.linkage.name.replace("linkonce", "weak")

    def internalize(self, keep: Collection[str]) -> None:
        """Give every definition but those in `keep` internal linkage, then drop what nothing reaches."""
        defined = {f.name for f in self._ref.functions if not f.is_declaration}
        names = defined | {g.name for g in self._ref.global_variables if not g.is_declaration}
        if missing := sorted(set(keep) - names):
            raise UnknownNameError(f"the module does not define {', '.join(missing)}")
        self._printed = None
        for value in [*self._ref.functions, *self._ref.global_variables]:
            exempt = value.is_declaration or value.name in keep or value.name.startswith("llvm.")
            if not exempt and value.linkage.name not in (*_LOCAL, "available_externally", "appending"):
                value.linkage = "internal"
        self.run(["global_dce"])

    def mark(self, attributes: Sequence[str], names: Collection[str] | None = None) -> None:
        """Give local functions attributes of LLVM's: those in `names`, or all; not those that say the contrary."""
        self._printed = None
        for f in self._ref.functions:
            if not f.is_declaration and f.linkage.name in _LOCAL and (names is None or f.name in names):
                said = b" ".join(f.attributes)
                kept_out = b"alwaysinline" in said or ("alwaysinline" in attributes and b"noinline" in said)
                if not kept_out and b"optnone" not in said and b"optdebug" not in said:
                    for attribute in attributes:
                        f.add_function_attribute(attribute)

    def describe(self, attributes: Sequence[str], names: Collection[str]) -> None:
        """Give functions attributes that say what they do; one that takes a number gets 0: `memory` is none."""
        for f in self._ref.functions if names else ():
            if f.name in names:
                self._printed = None
                for attribute in attributes:
                    f.add_function_attribute(attribute)

    def optimise(
        self, level: int = 2, *, vectorize: bool = False, unroll: bool = False, cpu: str = "native",
        inlining_threshold: int | None = None, loads_apart: bool = False, tests_whole: bool = False,
    ) -> None:  # fmt: skip
        """Run LLVM's O0–O3 pipeline; `vectorize` covers loops and straight lines, `unroll` partial unrolling too.

        `loads_apart`: a load in a loop stays one, even where the last iteration has read the same (`x[i]`, `x[i + 1]`).
        `tests_whole`: no block is copied for the ways that are known to go on differently from it (jump threading).
        """
        if level not in range(4):
            raise ArgumentError(f"optimisation level {level!r} is not 0, 1, 2 or 3")
        target.resolve_cpu(cpu)
        options: dict[str, Any] = {"level": level, "vectorize": vectorize, "unroll": unroll, "cpu": cpu}
        if inlining_threshold is not None:
            options["inlining_threshold"] = inlining_threshold
        if loads_apart:
            options["loads_apart"] = True
        if tests_whole:
            options["tests_whole"] = True
        if self.is_hazardous:
            self._take(run_job("optimise", self.bitcode(), **options)[0])
        else:
            self.optimise_here(**options)

    def optimise_here(
        self, *, level: int, vectorize: bool, unroll: bool, cpu: str, inlining_threshold: int | None = None,
        loads_apart: bool = False, tests_whole: bool = False,
    ) -> None:  # fmt: skip
        """`optimise` in this process, hazards or not."""
        self._printed = None
        options = llvm.create_pipeline_tuning_options(speed_level=level)
        options.loop_vectorization = options.slp_vectorization = options.loop_interleaving = vectorize
        options.loop_unrolling = unroll
        if inlining_threshold is not None:
            options.inlining_threshold = inlining_threshold
        builder = llvm.create_pass_builder(target.target_machine(cpu), options)
        if loads_apart:
            llvm.set_option("llgrad", "-enable-load-in-loop-pre=false")
        if tests_whole:
            llvm.set_option("llgrad", "-jump-threading-threshold=0")
        try:
            builder.getModulePassManager().run(self._ref, builder)
        finally:
            if loads_apart:
                llvm.set_option("llgrad", "-enable-load-in-loop-pre=true")
            if tests_whole:
                llvm.set_option("llgrad", "-jump-threading-threshold=6")  # LLVM's own

    def run(self, passes: Sequence[str], *, function: str | None = None) -> None:
        """Run single passes by llvmlite's names (`pass_names()`), on the module or on one of its functions."""
        for name in passes:
            _adder(llvm.ModulePassManager if function is None else llvm.FunctionPassManager, name)
        if function is None and self.is_hazardous and not _HARMLESS.issuperset(passes):
            self._take(run_job("passes", self.bitcode(), passes=list(passes))[0])
        elif function is None:
            self.run_here(passes)
        else:
            self._run_on(function, passes)

    def run_here(self, passes: Sequence[str]) -> None:
        """`run` on the whole module in this process, hazards or not."""
        self._pass(llvm.create_new_module_pass_manager(), passes, self._ref)

    def _run_on(self, function: str, passes: Sequence[str]) -> None:
        try:
            place = self._ref.get_function(function)
        except NameError as error:
            raise UnknownNameError(f"the module has no function {function}") from error
        if not place.is_declaration:
            self._pass(llvm.create_new_function_pass_manager(), passes, place)

    def _pass(self, manager: Any, passes: Sequence[str], place: Any) -> None:
        self._printed = None
        for name in passes:
            getattr(manager, _adder(type(manager), name))()
        builder = llvm.create_pass_builder(target.target_machine("native"), llvm.create_pipeline_tuning_options())
        manager.run(place, builder)

    def _take(self, bitcode: bytes) -> None:
        self._ref, self._printed = parsed(lambda context: llvm.parse_bitcode(bitcode, context)), None

    def emit(self, machine: llvm.TargetMachine, *, assembly: bool) -> bytes:
        """Machine code of this module, which is spent afterwards; use `codegen.emit_object`.

        Without loop strength reduction on x86: its addressing modes do that, and it is half of code generation.
        """
        x86 = target.host_triple().startswith("x86_64")
        try:
            llvm.set_option("llgrad", f"-disable-lsr={str(x86).lower()}")
            return machine.emit_assembly(self._ref).encode() if assembly else bytes(machine.emit_object(self._ref))
        except RuntimeError as error:
            raise VerifyError("LLVM cannot generate code for the module", cause=str(error)) from error
        finally:
            llvm.set_option("llgrad", "-disable-lsr=false")


@functools.cache
def pass_names() -> tuple[str, ...]:
    """The names that `LLVMModule.run` takes."""
    shown = ("printer", "viewer", "debug_info_pass", "verifier", "refprune", "aa_eval")
    found = [
        name.removeprefix("add_").removesuffix("_pass")
        for name in dir(llvm.ModulePassManager)
        if name.startswith("add_") and not any(word in name for word in shown)
    ]
    found.append("strip_dead_debug_info")
    return tuple(sorted({*found, *_PASS_ALIASES}))


def _adder(manager: type, name: str) -> str:
    """The method of `manager` that adds the pass `name`."""
    method = f"add_{_PASS_ALIASES.get(name, name)}_pass"
    if name not in pass_names() or not hasattr(manager, method):
        raise ArgumentError(f"no single pass is called {name!r}", fix=f"use one of {', '.join(pass_names())}")
    return method


_WRITTEN = "correct it, or write it again with its compiler (of LLVM 22 or older)"


def parsed(parse: Any) -> llvm.ModuleRef:
    """What `parse` reads into a context of its own; `ParseError` in LLVM's words.

    The finalizer holds the context outside any reference cycle the module may be in: Python's collector would
    otherwise be free to dispose of the context before the module.
    """
    context = llvm.create_context()
    try:
        ref = parse(context)
        weakref.finalize(ref, _forget, context).atexit = False
        return ref
    except RuntimeError as error:
        message = str(error).partition("\n")[2].strip() or str(error)
        old = "no longer supported" in message
        fix = "make bitcode of it with llvm-as of the LLVM that wrote it, which today's LLVM reads" if old else _WRITTEN
        raise ParseError("LLVM cannot read the module", cause=message, fix=fix) from error


def _names_cpu(text: str) -> bool:
    """Do functions say which processor they are for?"""
    return any(f'"{name}"=' in text for name in edits.CPU_ATTRIBUTES)


def _forget(context: llvm.ContextRef) -> None:
    """Called when a module dies; its context dies after it."""


def verified(text: str) -> LLVMModule:
    try:
        return LLVMModule.from_text(text)
    except (ParseError, VerifyError) as error:
        raise VerifyError(
            "llgrad wrote a derivative that LLVM rejects: this is a bug in llgrad",
            cause=error.cause or error.message,
            fix="report it with the source; another optimisation level (optimize=1) may avoid it",
        ) from error
