"""MPI's functions: what they do to memory, which of them have derivatives, and which none passes through.

A function that moves floats has a letter for each parameter:

    r  a buffer that is read           w  one that is written        b  one that may be both (`MPI_IN_PLACE`)
    c  an array that is read: counts   s  what is written for the caller to look at: a status, a flag, an index
    R  W  B  C  the same until a request is complete
    t  a datatype                      q  a request, or several
    f  a handle that is freed             .  anything else: a handle or a number

Its rules are in `runtime/mpi`; `transforms.canonical.mpi_calls` brings them into programs. No pointer is sent, and none
but those of buffers and counts is followed.
"""

from __future__ import annotations

PREFIX = "MPI_"
MOVES: dict[str, str] = {
    **dict.fromkeys(("Send", "Ssend", "Bsend", "Rsend"), "r.t..."),
    "Recv": "w.t...s",
    "Sendrecv": "r.t..w.t...s",
    "Sendrecv_replace": "b.t.....s",
    "Probe": "...s",
    "Iprobe": "...ss",
    "Bcast": "b.t..",
    "Gather": "r.tb.t..",
    "Gatherv": "r.tbcct..",
    "Scatter": "r.tb.t..",
    "Scatterv": "rcctb.t..",
    "Allgather": "r.tb.t.",
    "Allgatherv": "r.tbcct.",
    "Alltoall": "r.tb.t.",
    "Alltoallv": "rcctbcct.",
    **dict.fromkeys(("Allreduce", "Scan", "Exscan", "Reduce_scatter_block"), "rb.t.."),
    "Reduce": "rb.t...",
    "Reduce_scatter": "rbct..",
    **dict.fromkeys(("Isend", "Issend", "Ibsend", "Irsend", "Send_init"), "R.t...q"),
    **dict.fromkeys(("Type_free", "Comm_free"), "f"),
    **dict.fromkeys(("Irecv", "Recv_init"), "W.t...q"),
    "Start": "q", "Startall": ".q", "Wait": "qs", "Waitall": ".qs", "Waitany": ".qss", "Waitsome": ".qsss",
    "Test": "qss", "Testall": ".qss", "Testany": ".qsss", "Testsome": ".qsss",
}
_UNTIL = str.maketrans("rwbc", "RWBC")
_STARTED = "Bcast Gather Gatherv Scatter Scatterv Allgather Allgatherv Alltoall Alltoallv Allreduce Reduce"
for _name in (*_STARTED.split(), "Reduce_scatter", "Reduce_scatter_block"):
    MOVES[f"I{_name.lower()}"] = MOVES[_name].translate(_UNTIL) + "q"
"""The functions with rules, and their parameters, by their names without `MPI_`. What is freed stays until the reverse
sweep is through with it."""

_WRITTEN = """
    Barrier Wtime Wtick Abort Init Finalize Comm_set_errhandler Errhandler_set Comm_set_name
    Initialized:0 Finalized:0 Get_version:0,1 Init_thread:3 Query_thread:0 Get_processor_name:0,1
    Comm_rank:1 Comm_size:1 Comm_test_inter:1 Comm_group:1 Comm_dup:1 Comm_split:3 Comm_create:2 Comm_compare:2
    Comm_get_attr:2,3 Comm_split_type:4 Group_rank:1 Group_size:1 Group_free:0 Group_incl:3 Group_excl:3
    Dims_create:2 Topo_test:1 Cart_create:5 Cart_coords:3 Cart_shift:3,4 Cart_sub:2 Cart_get:2,3,4 Cartdim_get:1
    Cart_rank:2 Get_count:2 Get_elements:2 Error_string:1,2 Error_class:1 Get_address:1
    Type_size:1 Type_get_extent:1,2 Type_get_true_extent:1,2 Type_contiguous:2 Type_vector:4 Type_create_hvector:4
    Type_indexed:4 Type_create_hindexed:4 Type_create_indexed_block:4 Type_create_struct:4 Type_create_resized:3
    Type_create_subarray:6 Type_dup:1 Type_commit:0
"""
FILLS: dict[str, tuple[int, ...]] = {
    name: tuple(map(int, places.split(","))) if places else ()
    for name, _, places in (word.partition(":") for word in _WRITTEN.split())
}
"""The functions that no derivative passes through, and the parameters behind which they write."""

_INTEGERS = """
    char signed_char unsigned_char wchar short unsigned_short int unsigned long unsigned_long long_long_int
    unsigned_long_long int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t aint offset count 2int 2integer
    c_bool cxx_bool integer integer1 integer2 integer4 integer8 integer16 logical logical1 logical2 logical4 logical8
    character short_int long_int
"""
_OPEN_MPI_INTEGERS = frozenset(f"ompi_mpi_{name}" for name in _INTEGERS.split())
_MPICH_INTEGERS = frozenset((
    0x4C000101, 0x4C000118, 0x4C000102, 0x4C00040E, 0x4C000203, 0x4C000204, 0x4C000405, 0x4C000406, 0x4C000807,
    0x4C000808, 0x4C000809, 0x4C000819, 0x4C000137, 0x4C000238, 0x4C000439, 0x4C00083A, 0x4C00013B, 0x4C00023C,
    0x4C00043D, 0x4C00083E, 0x4C00013F, 0x4C000843, 0x4C000844, 0x4C000845, 0x4C00041B, 0x4C00041D, 0x4C00011A,
))  # fmt: skip


_HANDLES = "communicator datatype op request group errhandler info win"
HANDLES = frozenset(f"ompi_{what}_t" for what in _HANDLES.split())
"""Open MPI's names of what its handles point to: nothing that a program sees, and no memory that is active."""


def is_handle(variable: str) -> bool:
    """Is this a variable of Open MPI's that a handle points to? No float of the program's is there."""
    return variable.startswith("ompi_")


def moves(symbol: str) -> str:
    """A letter for each parameter of a function that moves floats; nothing for other functions."""
    return MOVES.get(symbol.removeprefix(PREFIX), "") if symbol.startswith(PREFIX) else ""


def sends(symbol: str) -> bool:
    """Does a function pass floats between ranks?"""
    return bool(moves(symbol))


READ, WRITTEN, READ_LATER, WRITTEN_LATER = "rbRB", "wbWB", "RB", "WB"


def buffers(symbol: str, letters: str) -> tuple[int, ...]:
    """The parameters of a function that are buffers of these kinds."""
    return tuple(n for n, letter in enumerate(moves(symbol)) if letter in letters)


def continues(symbol: str) -> bool:
    """Does a function complete or start requests, whose buffers other functions have named?"""
    return "q" in moves(symbol) and not buffers(symbol, READ_LATER + WRITTEN_LATER)


def is_integer_type(handle: str | int) -> bool:
    """Is this a predefined datatype of integers: the variable of Open MPI's, or the number of MPICH's?"""
    if isinstance(handle, int):
        return handle % (1 << 32) in _MPICH_INTEGERS
    return handle in _OPEN_MPI_INTEGERS
