"""Julia: the IR of `code_llvm(f, types; raw=true, dump_module=true, optimize=false)`, from julia or from a `.ll` file.

What Julia's garbage collector needs of IR goes: the address spaces 10 to 13 are one, `julia.*` intrinsics have bodies,
safepoints and write barriers are left out, a call that throws ends in an error. Memory that Julia would collect is
never freed. Objects of the Julia session (constants that are arrays, globals) are known by address only: they stay
undefined, so that code that needs one is refused; the empty `Memory`, and types, of which nothing is read, are empty.
What julia compiled is not kept in caches: it does not tell what a program includes.

A function whose signature is known, which Julia notes before it, and that takes numbers, pointers and arrays of numbers
has a twin under its plain name that takes an array's address and extents, and makes Julia's array of them:

    1.11 and newer   {data, memory, extents…}, memory {length, data}
    1.10 and older   {data, length, flags and sizes in eight bytes, extents…}
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from llgrad.errors import UnsupportedError
from llgrad.frontends.common.consulted import Consulted
from llgrad.frontends.common.tools import Compiled, Language, Source, Tool, find, run, signatures, stopping
from llgrad.support.brackets import listed

_FIX = "correct the source; methods need concrete argument types (x::Vector{Float64})"
_OLDEST_LLVM = 15
_SCRIPT = r"""
using InteractiveUtils
const source, folder = ARGS
include(source)
const seen = Set{Any}()
function emit(f, types)
    (f, types) in seen && return
    push!(seen, (f, types))
    open(joinpath(folder, "$(length(seen)).ll"), "w") do io
        code_llvm(io, f, types; raw = true, dump_module = true, optimize = false, debuginfo = :none)
    end
    for (code, _) in code_typed(f, types), statement in code.code
        call = statement isa Expr && statement.head === :(=) ? statement.args[2] : statement
        call isa Expr && call.head === :invoke || continue
        target = call.args[1]
        instance = target isa Core.MethodInstance ? target : target.def
        parts = instance.specTypes.parameters
        isdefined(parts[1], :instance) && emit(parts[1].instance, Tuple{parts[2:end]...})
    end
end
for name in names(Main; all = true)
    isdefined(Main, name) || continue
    f = getfield(Main, name)
    f isa Function && parentmodule(f) === Main && f !== emit || continue
    for method in methods(f)
        method.sig isa DataType || continue
        types = method.sig.parameters[2:end]
        String(method.file) == source && all(isconcretetype, types) && emit(f, Tuple{types...})
    end
end
"""


def julia() -> Tool:
    """The compiler; CompilerError that says how to get one."""
    question = ("--startup-file=no", "-e", "print(Base.libllvm_version)")
    fix = "install Julia 1.10 or newer from julialang.org"
    return find("Julia", ("julia",), "LLGRAD_JULIA", question, r"^(\d+)", fix, least=_OLDEST_LLVM)


def _compile(sources: Sequence[Source], raw: bool) -> list[Compiled]:
    return [compiled for source in sources for compiled in _file(source)]


def _file(source: Source) -> list[Compiled]:
    with tempfile.TemporaryDirectory(prefix="llgrad-") as folder:
        script = Path(folder, "emit.jl")
        script.write_text(_SCRIPT)
        path = str(source.path.absolute())
        run([julia().path, "--startup-file=no", *source.flags, str(script), path, folder], source.path, _FIX)
        texts = [made.read_text() for made in sorted(Path(folder).glob("*.ll"))]
    unknown = Consulted(untold="julia does not tell which files and packages a program reads")
    return [Compiled(module, (source.path,), consulted=unknown) for module in finished(texts)]


# --- the modules ------------------------------------------------------------------------------------------------------

_NOTED = re.compile(
    r"^; Function Signature: (?P<name>[^\n]*?)\((?P<types>[^\n]*)\)[^\n]*\n(?:;[^\n]*\n)*"
    r'define [^\n@]*?(?P<result>[\w]+) @"?(?P<symbol>julia_[^"\n(]*_\d+)"?\((?P<parameters>[^\n]*)\)[^\n()]*\{$',
    re.MULTILINE,
)
_LITERAL = re.compile(r'^(@"[^"\n]+"|@[\w.#+]+) = [^\n]*\balias \w+, inttoptr \([^\n]*$', re.MULTILINE)
_EMPTY = re.compile(r'= phi [^\n]*?(@"[^"\n]+")[^],\n]*, %emptymem\d* \]')
_READ = re.compile(r"^\s*(?:%\S+ = load|store) [^\n]*\bptr inttoptr \(i64", re.MULTILINE)
_CALLED = re.compile(r'^declare [^\n@]*@"?(j_([^"\n(]*)_\d+)"?\(', re.MULTILINE)
_DROPPED = re.compile(
    r"^target datalayout[^\n]*\n|^\s+fence [^\n]*\n"
    r"|^\s+call void (?:\([^()\n]*(?:\(\d+\))?[^()\n]*\) )?@(?:llvm\.)?julia\."
    r"(?:gc_preserve_end|write_barrier\w*|safepoint|gcroot_flush)\([^\n]*\n"
    r"|^declare [^\n]*@(?:llvm\.)?julia\.[^\n]*\n",
    re.MULTILINE,
)
_TASK = "@llgrad.julia.task"
_RUNTIME = f"""
@llgrad.julia.page = internal constant i64 0
@llgrad.julia.thread = internal constant [8 x ptr] [{", ".join(["ptr @llgrad.julia.page"] * 8)}]
{_TASK} = internal global [8 x ptr] [{", ".join(["ptr @llgrad.julia.thread"] * 8)}]
"""
_BODIES = {
    "julia.get_pgcstack": f"ptr @{{0}}() alwaysinline {{{{\n  ret ptr {_TASK}\n}}}}",
    "julia.ptls_states": "ptr @{0}() alwaysinline {{\n  ret ptr @llgrad.julia.thread\n}}",
    "julia.gc_loaded": "ptr @{0}(ptr %object, ptr %data) alwaysinline {{\n  ret ptr %data\n}}",
    "julia.pointer_from_objref": "ptr @{0}(ptr %object) alwaysinline {{\n  ret ptr %object\n}}",
    "julia.gc_alloc_obj": "noalias ptr @{0}(ptr %task, i64 %size, ptr %type) alwaysinline {{\n"
    "  %p = call ptr @malloc(i64 %size)\n  ret ptr %p\n}}",
    "jl_alloc_genericmemory_unchecked": "noalias ptr @{0}(ptr %thread, i64 %size, ptr %type) alwaysinline {{\n"
    "  %p = call ptr @malloc(i64 16)\n  %data = call ptr @malloc(i64 %size)\n"
    "  %at = getelementptr i8, ptr %p, i64 8\n  store ptr %data, ptr %at\n  ret ptr %p\n}}",
    "ijl_box_float64": "noalias ptr @{0}(double %x) alwaysinline {{\n"
    "  %p = call ptr @malloc(i64 8)\n  store double %x, ptr %p\n  ret ptr %p\n}}",
    "ijl_box_int64": "noalias ptr @{0}(i64 %x) alwaysinline {{\n"
    "  %p = call ptr @malloc(i64 8)\n  store i64 %x, ptr %p\n  ret ptr %p\n}}",
}


def is_julia(text: str) -> bool:
    """Is this what `code_llvm` prints?"""
    return "; Function Signature: " in text and re.search(r'^define [^\n@]*@"?julia_', text, re.MULTILINE) is not None


def finished(texts: Sequence[str]) -> list[bytes]:
    """Modules of plain IR; calls from one to another (`j_f_1`) find what is defined (`julia_f_2`) by its name."""
    defined: dict[str, list[str]] = {}
    for text in texts:
        for m in _NOTED.finditer(text):
            defined.setdefault(m["name"], []).append(m["symbol"])
    taken: set[str] = set()
    return [_plain(text, defined, taken).encode() for text in texts]


def _plain(text: str, defined: dict[str, list[str]], taken: set[str]) -> str:
    if (read := _READ.search(text)) is not None:
        raise UnsupportedError(
            "Julia's IR reads an object of its session by address", cause=read[0].strip(),
            fix="pass what the function needs as arguments",
        )  # fmt: skip
    noted = list(_NOTED.finditer(text))
    empty = set(_EMPTY.findall(text))
    text = _DROPPED.sub("", text)
    text = re.sub(r"(%\S+) = call token [^\n]*", r"\1 = add i64 0, 0", text)
    text = re.sub(r" addrspace\(1[0-3]\)", "", text).replace("addrspacecast", "bitcast")
    text = re.sub(r"(@llvm\.\w+[\w.]*)", lambda m: re.sub(r"\.p1[0-3]\b", ".p0", m[1]), text)
    text = re.sub(r"(?<![%@\w.])(?:swiftcc|swiftself) ", "", text).replace("load volatile", "load")
    text = _LITERAL.sub(lambda m: _literal(m[1], empty), text)
    for symbol, name in _CALLED.findall(text):
        found = defined.get(name, [])
        if len(found) == 1:
            text = re.sub(rf'@"?{re.escape(symbol)}"?\(', f'@"{found[0]}"(', text)
    for name in {m[1] for m in re.finditer(r'^define [^\n@]*@"?([^"\n(]+)', text, re.MULTILINE)}:
        text = re.sub(rf'^declare [^\n@]*@"?{re.escape(name)}"?\([^\n]*\n', "", text, flags=re.MULTILINE)
    text = stopping(text)
    bodies = [b.format(n) for n, b in _BODIES.items() if re.search(rf"@{re.escape(n)}\(", text)]
    text = "".join(
        line for line in text.splitlines(keepends=True)
        if not re.match(rf"declare [^\n@]*@(?:{'|'.join(map(re.escape, _BODIES))})\(", line)
    )  # fmt: skip
    parts = [text, _RUNTIME, *(f"define internal {body}" for body in bodies)]
    if "@malloc(" in "".join(bodies) and not re.search(r"^(?:declare|define) [^\n]*@malloc\(", text, re.MULTILINE):
        parts.append("declare noalias ptr @malloc(i64)")
    twins = [twin for m in noted if (twin := _twin(m, taken)) is not None]
    parts += [twin.text() for twin in twins]
    return "\n".join(parts) + signatures("julia", [twin.words() for twin in twins])


def _literal(name: str, empty: set[str]) -> str:
    """An object of the session: a type, of which nothing is read; an empty memory; else something undefined."""
    if name.startswith('@"+') or name in empty:
        return f"{name} = internal constant [8 x ptr] zeroinitializer"
    return f"{name} = external constant ptr"


# --- twins that can be called from elsewhere --------------------------------------------------------------------------

_SCALARS = {"Float64": "double", "Float32": "float", "Int64": "i64", "Int32": "i32", "Bool": "i8"}
_ARRAY = re.compile(r"Array\{(Float64|Float32|Int64|Int32), ?(\d+)\}")


class _Twin(Struct, frozen=True):
    name: str
    symbol: str
    result: str
    parameters: tuple[tuple[str, str, str], ...]  # name, Julia's type, IR type and attributes
    task: bool

    def words(self) -> list[str]:
        return [self.name, *(w for name, t, _ in self.parameters for w in (name, t))]

    def text(self) -> str:
        formal: list[str] = []
        body: list[str] = []
        actual = [f"ptr {_TASK}"] if self.task else []
        for n, (_, t, ir) in enumerate(self.parameters):
            array = _ARRAY.fullmatch(t)
            if array:
                extents = [f"%e{n}.{d}" for d in range(int(array[2]))]
                formal += [f"ptr %p{n}", *(f"i64 {e}" for e in extents)]
                body += _array(n, extents, old="dereferenceable(40)" in ir)
                actual.append(f"ptr %a{n}")
            elif t.startswith("Ptr{") and ir.startswith("i64"):
                formal.append(f"ptr %p{n}")
                body.append(f"  %a{n} = ptrtoint ptr %p{n} to i64")
                actual.append(f"i64 %a{n}")
            else:
                type_ = "ptr" if t.startswith("Ptr{") else _SCALARS[t]
                formal.append(f"{type_} %p{n}")
                actual.append(f"{type_} %p{n}")
        call = f'call {self.result} @"{self.symbol}"({", ".join(actual)})'
        end = [f"  {call}", "  ret void"] if self.result == "void" else [f"  %r = {call}", f"  ret {self.result} %r"]
        return "\n".join([f'define {self.result} @"{self.name}"({", ".join(formal)}) {{', *body, *end, "}"])


def _array(n: int, extents: Sequence[str], old: bool) -> Iterator[str]:
    """Julia's array `%a{n}` of the data `%p{n}`."""
    length = extents[0]
    for d, extent in enumerate(extents[1:], 1):
        yield f"  %l{n}.{d} = mul i64 {length}, {extent}"
        length = f"%l{n}.{d}"
    yield f"  %a{n} = alloca [{(3 if old else 2) + len(extents)} x i64], align 16"
    fields = [(0, f"ptr %p{n}")]
    if old:
        fields += [(8, f"i64 {length}"), (16, "i64 0")]
    else:
        yield f"  %m{n} = alloca [2 x i64], align 16"
        yield f"  store i64 {length}, ptr %m{n}"
        yield f"  %m{n}.data = getelementptr i8, ptr %m{n}, i64 8"
        yield f"  store ptr %p{n}, ptr %m{n}.data"
        fields += [(8, f"ptr %m{n}")]
    fields += [((24 if old else 16) + 8 * d, f"i64 {e}") for d, e in enumerate(extents)]
    for at, value in fields:
        yield f"  %a{n}.{at} = getelementptr i8, ptr %a{n}, i64 {at}"
        yield f"  store {value}, ptr %a{n}.{at}"


def _twin(m: re.Match[str], taken: set[str]) -> _Twin | None:
    """The twin of a function, if all that it takes and gives can be passed."""
    types, formal = listed(m["types"])[0], listed(m["parameters"])[0]
    task = bool(formal) and "swiftself" in formal[0]
    formal = formal[1:] if task else formal
    if len(types) != len(formal) or m["result"] not in ("double", "float", "i64", "i32", "void"):
        return None
    parameters = []
    for n, (t, ir) in enumerate(zip(types, formal, strict=True)):
        if t not in _SCALARS and not _ARRAY.fullmatch(t) and not re.fullmatch(r"Ptr\{\w+\}", t):
            return None
        named = re.search(r'%"?([A-Za-z_]\w*)::', ir)
        parameters.append((named[1] if named else f"arg{n}", t, ir))
    name: str = m["name"] if m["name"] not in taken else m["symbol"].removeprefix("julia_")
    taken.add(name)
    return _Twin(name, m["symbol"], m["result"], tuple(parameters), task)


JULIA = Language("julia", (".jl",), _compile, lambda: julia().version, ("julia",), ("LLGRAD_JULIA",))
