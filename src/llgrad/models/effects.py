"""What functions without a body are known to do besides computing: memory, allocation, whether they return.

`inactive` means: no derivative passes through the call. Its results, and what it writes, carry none; that
holds only as long as its operands and what it writes hold no active floats, which the caller's analysis of kinds must
know (`llvm.bswap` of an integer that is one, `llvm.fshl` of two halves of a double are not derivatives to be dropped).
Memory is what the program can see: hidden state of the C library (streams, the random seed, errno, signgam) is not
counted. "args" is memory reachable from the pointer operands. What is not listed is not known: it may do anything.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from llgrad.models import gpu, mpi
from llgrad.support.lazy_pattern import lazy_pattern

Memory = Literal["none", "args", "any"]


class Allocator(Struct, frozen=True):
    """A function that returns fresh memory.

    size      operands whose product is the size in bytes;
    zeroed    whether the memory is cleared;
    family    which deallocators may free it ("malloc", "new", "new[]");
    place     "return", or the operand through which the pointer is stored (posix_memalign);
    moves     the pointer operand whose memory is moved into the new one and freed (realloc), or None;
    alignment the operand that gives the alignment, or None;
    sized     whether its deallocator takes more than the memory.
    """

    size: tuple[int, ...]
    zeroed: bool = False
    family: str = "malloc"
    place: Literal["return"] | int = "return"
    moves: int | None = None
    alignment: int | None = None
    sized: bool = False


class Deallocator(Struct, frozen=True):
    """A function that frees the memory its pointer operand `pointer` was given by an allocator of `family`.

    `sized`: it takes more than the memory, its size for instance, and is called with what the program gives it.
    """

    pointer: int = 0
    family: str = "malloc"
    sized: bool = False


class Effects(Struct, frozen=True):
    """What a call of a known function may do.

    `within_first`: the pointer that it returns is null or points to the memory that its first argument points to.
    `ends`: it stores at its second argument where in the text of its first one it ended, and no other pointer.
    `handle`: it returns what only functions of its kind look behind, a stream for instance.
    `fills`: the operands where it writes text or numbers, whatever lies there; `copies`: of which it copies the text.
    `text`: it reads or writes text, keeps pointers in what it is given, and calls what that leads to, to write more.
    """

    inactive: bool = False
    reads_memory: Memory = "none"
    writes_memory: Memory = "none"
    noreturn: bool = False
    allocator: Allocator | None = None
    deallocator: Deallocator | None = None
    within_first: bool = False
    ends: bool = False
    handle: bool = False
    text: bool = False
    fills: tuple[int, ...] = ()
    copies: tuple[int, ...] = ()


ALLOCATES, FREES = "llgrad.alloc.", "llgrad.free."
"""`llgrad.alloc.1$release$get` is a function `get` of the user's that returns memory, whose size is argument 1;
`llgrad.free.$release` frees it. In `llgrad.alloc.1.0$release$get` and `llgrad.free.0$release` the second number is the
argument of `release` that is the memory, among others."""

STRING = "llgrad.string."
"""`llgrad.string.wp.s._ZN…`: a member of `std::string`, see `llgrad.transforms.guard.strings`."""


STREAM = "llgrad.stream."
"""`llgrad.stream.ppn.s._ZN…`: what libc++ writes text to a stream by, see there. They return their first argument."""


FORMAT = "llgrad.format."
"""`llgrad.format.wpnp.n._ZN…`: what libc++ formats values by, of any types, into a string, a text or a file."""


def returns_string(name: str) -> bool:
    """Does a member of `std::string` return the string itself? Else a pointer that it returns is to text."""
    return name[len(STRING) :].split(".")[1] == "s"


def string_layout(name: str) -> tuple[int, int]:
    """The size of a string that such a member is of, and where in it a pointer to its text is, where it has one.

    libstdc++'s strings are that pointer, the length, and 16 bytes for text or a capacity; libc++'s are a capacity, the
    length and the pointer, or text.
    """
    return (24, 16) if "._ZNSt3__1" in name or "._ZNKSt3__1" in name else (32, 0)


def takes_view(name: str) -> bool:
    """May such a member be given a pointer to a `std::string_view`, which has a pointer to the text?"""
    return "basic_string_view" in name


RELEASES = {"free": "malloc", "_ZdlPv": "new", "_ZdaPv": "new[]"}


def deallocator_of(family: str) -> str:
    """The function that frees memory of a family."""
    return next((name for name, its in RELEASES.items() if its == family), f"{FREES}${family}")


def shadow_deallocator(a: Allocator) -> str:
    """What frees shadows that do not outlive a derivative: those of sized families come from `calloc`."""
    return "free" if a.sized else deallocator_of(a.family)


def _own_heap(name: str) -> Effects:
    head, family, *_ = name.split("$")
    if name.startswith(FREES):
        pointer = head.removeprefix(FREES)
        return Effects(writes_memory="args", deallocator=Deallocator(int(pointer or 0), family, bool(pointer)))
    size, _, pointer = head.removeprefix(ALLOCATES).partition(".")
    family = RELEASES.get(family, family)
    return Effects(allocator=Allocator((int(size),), family=family, sized=bool(pointer)))


def listed(symbol: str) -> Effects | None:
    """What is listed here under a linker's name; `library.effects` adds the functions that have rules."""
    name = symbol.removeprefix("\x01")
    if name.startswith((ALLOCATES, FREES)):
        return _own_heap(name)
    if name.startswith(STRING):
        return replace(_STREAM, within_first=returns_string(name))
    if name.startswith(STREAM):
        return replace(_STREAM, within_first=True)
    if name.startswith(FORMAT):
        return replace(_STREAM, text=True)
    return _TABLE.get(name) or next((known for pattern, known in _PATTERNS if pattern.fullmatch(name)), None)


_PURE = Effects(inactive=True)
_READS = Effects(inactive=True, reads_memory="args")
_WRITES = Effects(inactive=True, writes_memory="args")
_STREAM = Effects(inactive=True, reads_memory="args", writes_memory="args")
_FILLS = replace(_STREAM, fills=(0,))
_OPENS = Effects(inactive=True, reads_memory="args", handle=True)
_STOPS = Effects(inactive=True, reads_memory="any", writes_memory="any", noreturn=True)


def _all(names: str, known: Effects) -> dict[str, Effects]:
    return dict.fromkeys(names.split(), known)


_ALIGNED: tuple[tuple[str, int], ...] = (("St11align_val_t", 1), ("St11align_val_tRKSt9nothrow_t", 1))


def _allocations() -> dict[str, Effects]:
    """C's heap, and C++'s operators new and delete in all their overloads (Itanium ABI, 64-bit size_t)."""
    table = {
        "malloc": Effects(allocator=Allocator((0,))),
        "calloc": Effects(allocator=Allocator((0, 1), zeroed=True)),
        "valloc": Effects(allocator=Allocator((0,))),
        "aligned_alloc": Effects(allocator=Allocator((1,), alignment=0)),
        "memalign": Effects(allocator=Allocator((1,), alignment=0)),
        "posix_memalign": Effects(writes_memory="args", allocator=Allocator((2,), place=0, alignment=1)),
        "realloc": Effects(reads_memory="args", writes_memory="args", allocator=Allocator((1,), moves=0)),
        "reallocarray": Effects(reads_memory="args", writes_memory="args", allocator=Allocator((1, 2), moves=0)),
        "free": Effects(writes_memory="args", deallocator=Deallocator()),
        "cfree": Effects(writes_memory="args", deallocator=Deallocator()),
    }
    for letter, family in (("w", "new"), ("a", "new[]")):
        for extra, alignment in (("", None), ("RKSt9nothrow_t", None), *_ALIGNED):
            table[f"_Zn{letter}m{extra}"] = Effects(allocator=Allocator((0,), family=family, alignment=alignment))
    for letter, family in (("l", "new"), ("a", "new[]")):
        freed = Effects(writes_memory="args", deallocator=Deallocator(family=family))
        extras = ("", "m", "RKSt9nothrow_t", "St11align_val_t", "mSt11align_val_t", "St11align_val_tRKSt9nothrow_t")
        table |= {f"_Zd{letter}Pv{extra}": freed for extra in extras}
    return table


TAPE = "tape"
"""The family of blocks of llgrad's own tape (see `autodiff.emit.tape`)."""


def _tape() -> dict[str, Effects]:
    """The tape of a derivative that is differentiated again. An arena is no memory that the program looks at."""
    return {
        "llgrad.tape.reserve": Effects(allocator=Allocator((1,), family=TAPE)),
        "llgrad.tape.release": Effects(writes_memory="args", deallocator=Deallocator(1, TAPE)),
        **_all("llgrad.tape.take llgrad.tape.give llgrad.tape.defer llgrad.tape.watch llgrad.tape.finish", _PURE),
        **_all("llgrad.tape.hold llgrad.tape.arm llgrad.tape.drop llgrad.tape.holds llgrad.tape.abandon", _PURE),
        "llgrad_fail": _STOPS,
    }


_TABLE: dict[str, Effects] = {
    **_allocations(),
    **_tape(),
    # output, and what formats it: `%n` and the buffer of snprintf are written
    **_all("printf fprintf vprintf vfprintf dprintf", _STREAM),
    **_all("sprintf snprintf vsprintf vsnprintf __sprintf_chk __snprintf_chk", _FILLS),
    **_all("__printf_chk __fprintf_chk __vprintf_chk __vfprintf_chk", _STREAM),
    **_all("fputs fputc putc _IO_putc fwrite fflush fclose perror setvbuf", _STREAM),
    **_all("fopen tmpfile", _OPENS),
    **_all("puts putchar putchar_unlocked", _READS),
    # files: where one stands in them, and what there is
    **_all("fseek fseeko ftell ftello rewind feof ferror clearerr fileno fgetc getc getchar ungetc", _STREAM),
    **_all("isatty access mkdir rmdir remove unlink rename", _STREAM),
    **_all("stat fstat lstat", replace(_STREAM, fills=(1,))),
    # time, random numbers, the environment
    **_all("clock rand random lrand48 mrand48 drand48 srand srandom srand48 getpid sched_yield usleep sleep", _PURE),
    **_all("etime_ dtime_", _FILLS),  # Fortran's, of libraries
    **_all("second_ dsecnd_ dclock_", _PURE),
    **_all("time gettimeofday rand_r erand48 nrand48", _FILLS),
    **_all("clock_gettime nanosleep", replace(_STREAM, fills=(1,))),
    **_all("getenv atoi atol atoll atof nan nanf nanl", _READS),
    **_all("strtod strtof strtold strtol strtoll strtoul strtoull", replace(_STREAM, ends=True)),
    # strings and bytes that are looked at only
    **_all("strlen strnlen strcmp strncmp strcasecmp strncasecmp memcmp bcmp strspn strcspn strcoll", _READS),
    **_all("strchr strrchr strstr strpbrk memchr memrchr", replace(_READS, within_first=True)),
    # text that is copied: no float is
    **_all("strcpy strncpy strcat strncat stpcpy stpncpy", replace(_FILLS, within_first=True, copies=(1,))),
    **_all("__strcpy_chk __strncpy_chk __strcat_chk __strncat_chk", replace(_FILLS, within_first=True, copies=(1,))),
    **_all("strlcpy strlcat", replace(_FILLS, copies=(1,))),
    **_all("isalpha isdigit isspace isupper islower isalnum ispunct isxdigit tolower toupper abs labs llabs", _PURE),
    # Numba's generators: the state of this thread's, and what seeds it and fills it again
    **_all("numba_get_np_random_state numba_get_py_random_state numba_get_internal_random_state", _PURE),
    "numba_rnd_init": _WRITES,
    "numba_rnd_shuffle": _STREAM,
    **_all("llgrad_numba_rgeev llgrad_numba_cgeev", _STREAM),
    "malloc_usable_size": _PURE,
    "__ctype_b_loc": _PURE,
    "__errno_location": _PURE,
    # floating-point environment and classification
    **_all("isnan isnanf isnanl __isnan __isnanf __isnanl isinf isinff isinfl __isinf __isinff __isinfl", _PURE),
    **_all("finite finitef finitel __finite __finitef __finitel __fpclassify __fpclassifyf __fpclassifyl", _PURE),
    **_all("__signbit __signbitf __signbitl fegetround feclearexcept feraiseexcept fetestexcept", _PURE),
    # what compilers add: a profiler's hooks
    **_all("__cyg_profile_func_enter __cyg_profile_func_exit", _READS),
    # the end
    **_all("exit _exit _Exit quick_exit abort __assert_fail __assert __stack_chk_fail __chk_fail", _STOPS),
    **_all("_ZSt9terminatev __clang_call_terminate __cxa_pure_virtual __cxa_bad_cast __cxa_bad_typeid", _STOPS),
    "__cxa_throw_bad_array_new_length": _STOPS,
    "llgrad.exception.give": Effects(inactive=True, reads_memory="args", writes_memory="args"),
    **_all("_ZNSt3__122__libcpp_verbose_abortEPKcz", _STOPS),
    # C++ run time
    **_all("__cxa_atexit atexit", Effects(inactive=True, reads_memory="any")),
    **_all("__cxa_guard_acquire __cxa_guard_release __cxa_guard_abort", _STREAM),
    **_all("_ZNKSt8__detail20_Prime_rehash_policy14_M_need_rehashEmmm", _STREAM),
    **_all("_ZNKSt8__detail20_Prime_rehash_policy11_M_next_bktEm", _STREAM),
    **_all("_ZSt11_Hash_bytesPKvmm _ZSt15_Fnv_hash_bytesPKvmm _ZNSt3__113__hash_memoryEPKvm", _READS),
    "_ZNSt3__112__next_primeEm": _PURE,
    # OpenMP's questions and settings, and locks, outside of parallel regions (within them: `openmp`)
    **{f"omp_{name}{end}": _PURE for end in ("", "_") for name in str.split("""get_wtime get_wtick get_thread_num
        get_num_threads get_max_threads get_num_procs in_parallel get_level set_num_threads get_team_num get_num_teams
        get_thread_limit get_max_active_levels set_max_active_levels get_nested set_nested get_dynamic set_dynamic
        get_active_level get_ancestor_thread_num get_team_size get_cancellation get_num_devices get_default_device
        set_default_device is_initial_device get_proc_bind get_num_places get_place_num in_final set_schedule""")},
    **{f"omp_{verb}_{kind}{end}": _STREAM for end in ("", "_") for kind in ("lock", "nest_lock")
       for verb in ("init", "destroy", "set", "unset", "test")},
    "__kmpc_global_thread_num": _READS,
    **_all("__kmpc_critical __kmpc_end_critical __kmpc_critical_with_hint", _STREAM),
    # MPI's questions, and what it makes to communicate by (what moves floats: `models.mpi`)
    **{f"{mpi.PREFIX}{name}": replace(_STREAM, fills=places) for name, places in mpi.FILLS.items()},
    # LLVM's remarks
    **_all("llvm.assume llvm.donothing llvm.sideeffect llvm.pseudoprobe llvm.stackrestore llvm.va_end", _PURE),
    **_all("llvm.experimental.noalias.scope.decl llvm.stacksave llvm.readcyclecounter llvm.get.rounding", _PURE),
    **_all("llvm.trap llvm.ubsantrap", _STOPS),
    "llvm.debugtrap": _PURE,
}

_INTEGER = (
    "ctpop|ctlz|cttz|bswap|bitreverse|fshl|fshr|abs|smax|smin|umax|umin|scmp|ucmp|"
    "[su](?:add|sub|mul)\\.with\\.overflow|[su](?:add|sub|shl)\\.sat|[su](?:mul|div)\\.fix(?:\\.sat)?|"
    "vector\\.reduce\\.(?:add|mul|and|or|xor|smax|smin|umax|umin)|vscale|get\\.active\\.lane\\.mask|"
    "vp\\.(?:[fi]cmp|is\\.fpclass)"
)
_REMARK = (
    "dbg\\.\\w+|fake\\.use|expect|expect\\.with\\.probability|prefetch|invariant\\.(?:start|end)|"
    "stacksave|stackrestore|objectsize|is\\.constant|var\\.annotation|codeview\\.annotation|eh\\.typeid\\.for|"
    "returnaddress|frameaddress|experimental\\.widenable\\.condition|allow\\.(?:runtime|ubsan)\\.check|"
    "readsteadycounter|type\\.test|public\\.type\\.test"
)

_X86_NUMBER = (
    "u?comi\\w+\\.s[sd]|vcomi\\.s[sd]|movmsk\\.p[sd]|v?cvtt?[ps][sd]2(?:u?si(?:32|64)?|dq)|cvtt?\\.p[sd]2\\.?dq|"
    "vtest\\w+\\.p[sd]|mask\\.cmp\\.[ps][sd]"
)
_X86_HINT = (
    "rdtsc|xgetbv|sse\\.(?:sfence|ldmxcsr|stmxcsr)|sse2\\.(?:[lm]fence|pause|clflush)|avx\\.(?:vzeroupper|vzeroall)"
)

_EXCEPTION = r"\d+(?:\w*_error|\w*exception|bad_\w+|invalid_argument|out_of_range)"

_LIBCXX_OUT = r"_ZNSt3__113basic_ostreamI[cw]NS_11char_traitsI[cw]EEE"

_LIBCXX_BASE = r"(?:8ios_base|9basic_iosI\w*?EE|15basic_streambufI\w*?EE)"

_RUST_IMPL = "(?:[MX](?:s[0-9a-zA-Z]*_)?)?"
_RUST_TEXT = "3fmt|3str|4char|7unicode|5slice6memchr"

_BY_NAME: tuple[tuple[str, Effects], ...] = (
    # Rust: output; what core and alloc have compiled to write text and to look at it (an item's path begins the name)
    (r"_R\w*3std2io5stdio\d+__e?print", replace(_STREAM, text=True)),
    (rf"_RNv{_RUST_IMPL}(?:Nt)+Cs[0-9a-zA-Z]+_4core(?:{_RUST_TEXT})\w*", replace(_STREAM, text=True)),
    (r"_RNvNvNtCs[0-9a-zA-Z]+_5alloc3fmt6format12format_inner", replace(_STREAM, text=True)),
    # Fortran: output, input (of numbers: into memory of its own), and the end of the program
    (r"_FortranAioBeginInternal\w*Output\w*", replace(_STREAM, handle=True)),
    (r"_FortranAioBegin\w*", _OPENS),
    (r"_FortranAio(?:Output|End|Enable|Set|Get|Inquire)\w+", _STREAM),
    (r"_FortranAioInput(?:Integer|Logical|Ascii|Character|Real\d+|Complex\d+)", _STREAM),
    (r"_FortranA(?:Random(?:Seed|Init|Number)\w*|SystemClock\w*|CpuTime|DateAndTime|Etime)", _STREAM),
    (r"_FortranA(Stop\w*|FailImage\w*|ReportFatalUserError|ProgramEndStatement|Exit|Abort)", _STOPS),
    # a team's constructs (`transforms.canonical.teams`): what they say, and where threads wait for others
    # (what other threads write meanwhile is asked of `autodiff.facts.team_memory`)
    (r"llgrad\.team\.[\w.]+", _PURE),
    (r"cblas_i[sd]am(?:ax|in)|i[sd]am(?:ax|in)_", _READS),  # BLAS: where the largest element is
    (r"ilaenv(?:2stage)?_|lsame_|[sd]lamch_", _READS),  # LAPACK: sizes of blocks, letters, constants
    (rf"llvm\.(?:{_INTEGER}|{_REMARK})(?:\..*)?", _PURE),
    (gpu.PURE, _PURE),
    # what clang adds to look for undefined behaviour, and to count
    (r"__sanitizer_cov_\w+", _READS),
    (r"__ubsan_handle_\w+_abort", _STOPS),
    (r"__ubsan_handle_\w+", _READS),
    # x86: integers and bits that are found from floats; registers of the processor
    (rf"llvm\.x86\.\w+\.(?:{_X86_NUMBER})(?:\.\d+)?", _PURE),
    (rf"llvm\.x86\.(?:{_X86_HINT})", _STREAM),
    (r"llvm\.lifetime\.(?:start|end)(?:\..*)?", _WRITES),  # the contents are undefined from here on
    # the standard exceptions: constructors, destructors, what()
    (rf"_ZNSt{_EXCEPTION}[CD]\dE\w*", Effects(inactive=True, reads_memory="args", writes_memory="args")),
    (rf"_ZNKSt{_EXCEPTION}4whatEv", _READS),
    # std::exception_ptr: who keeps what was thrown; that active values are kept so is refused
    # (`autodiff.legality.legality`)
    (r"_ZNSt15__exception_ptr13exception_ptr(?:9_M_addref|10_M_release|4swap|[CD][12]|aS)E\w*", _STREAM),
    (r"_ZNSt13exception_ptr(?:[CD][12]|aS|31__from_native_exception_pointer)E\w*", _STREAM),
    (r"_ZSt17current_exceptionv", _STREAM),
    # locks, which may lie beside active values
    (r"pthread_(?:mutex|rwlock)_(?:(?:try|rd|tryrd|wr|trywr)?lock|unlock|init|destroy)", _STREAM),
    (r"_ZNSt3__1\d+(?:recursive_)?(?:timed_)?mutex(?:C[12]|D[12]|4lock|6unlock|8try_lock)Ev", _STREAM),
    (r"_ZNSt3__1\d+__shared_mutex_base(?:C[12]|\d+(?:try_)?(?:un)?lock(?:_shared)?)Ev", _STREAM),
    (r"pthread_cond_(?:signal|broadcast|init|destroy)", _STREAM),
    (r"_ZNSt3__118condition_variable(?:D[12]|10notify_one|10notify_all)Ev", _STREAM),
    # std::__throw_length_error(char const*) & co. of libstdc++; libc++ has them as std::__1::__throw_…
    (r"_ZSt\d+__throw_\w+", _STOPS),
    (r"_ZNSt3__1\d+__throw_\w+", _STOPS),
    # libc++: std::stoi & co.
    (r"_ZNSt3__1[45]sto(?:i|u?ll?|[fd]|ld)ERKNS_12basic_string\w+", _STREAM),
    # std::ostream::operator<<, put, write, flush; operator<<(ostream&, char const*); endl: they return the stream
    (r"_ZNSo(?:ls|3put|5write|5flush|9_M_insert)\w*", replace(_STREAM, within_first=True)),
    (r"_ZSt(?:ls|4endl|5flush|16__ostream_insert)I\w*", replace(_STREAM, within_first=True)),
    (r"_ZNSt9basic_iosI\w*(?:5clear|4init|8setstate)\w*", _STREAM),
    # what makes and ends streams
    (r"_ZNSt(?:7__cxx11)?\d+basic_[io]?(?:string|f)?(?:stream|buf|streambuf)I\w*?EE[CD]\dE\w*", _STREAM),
    (r"_ZNSt(?:8ios_base|9basic_iosI\w*?EE|6locale)(?:[CD]\dE|aS)\w*", _STREAM),
    # libc++: the same, what makes and ends streams, and locales, whose facets only the library looks behind
    (rf"{_LIBCXX_OUT}(?:ls|3put|5write|5flush)\w*", replace(_STREAM, within_first=True)),
    (rf"{_LIBCXX_OUT}(?:6sentry)?[CD]\dE\w*", _STREAM),
    (rf"_ZNSt3__1{_LIBCXX_BASE}(?:[CD]\d|4init|5clear|33__set_badbit_and_consider_rethrow)E\w*", _STREAM),
    (r"_ZNSt3__16locale(?:[CD]\d|aS)E\w*", _STREAM),
    (r"_ZNKSt3__1(?:8ios_base6getlocEv|6locale9use_facetERNS0_2idE)", replace(_STREAM, handle=True)),
)
_PATTERNS = tuple((lazy_pattern(name), effects) for name, effects in _BY_NAME)
