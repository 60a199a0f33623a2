"""The one table of instructions (LangRef: Instruction Reference).

Each opcode has a shape (the class of `ir.values` that holds it and the syntax the parser reads and the writer prints),
the flags it may carry in the order LLVM prints them, and what its operands must be. Parser, writer, verifier and
interpreter take the facts from here; a new opcode of a known shape is one row.

Operand classes speak of the scalar behind a vector: `int`, `float`, `pointer`, `number` (int or float), `any`.
"""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

Kind = Literal["int", "float", "pointer", "int-or-pointer", "any"]
Relation = Literal["", "narrower", "wider", "same-size"]
Shape = Literal[
    "unary", "binary", "cast", "compare", "select", "gep", "load", "store", "alloca", "phi", "call", "br", "switch",
    "indirectbr", "ret", "unreachable", "extractvalue", "insertvalue", "extractelement", "insertelement",
    "shufflevector", "atomicrmw", "cmpxchg", "fence", "va_arg", "landingpad", "resume", "cleanuppad", "catchpad",
    "catchswitch", "cleanupret", "catchret",
]  # fmt: skip


class Opcode(Struct, frozen=True):
    """`operand` constrains the operands, `result` and `relation` what a cast makes of them.

    Syntax by shape: unary `op flags T v`; binary `op flags T a, b`; cast `op flags T v to U`; compare
    `op flags predicate T a, b`; the others as in LangRef.
    """

    name: str
    shape: Shape
    operand: Kind = "any"
    flags: tuple[str, ...] = ()
    result: Kind = "any"
    relation: Relation = ""
    terminator: bool = False


def words(text: str) -> tuple[str, ...]:
    """The words of `text`."""
    return tuple(text.split())


FAST_MATH = ("fast", "reassoc", "nnan", "ninf", "nsz", "arcp", "contract", "afn")
WRAP = ("nuw", "nsw")

ICMP = ("eq", "ne", "ugt", "uge", "ult", "ule", "sgt", "sge", "slt", "sle")
FCMP = (
    "false", "oeq", "ogt", "oge", "olt", "ole", "one", "ord", "ueq", "ugt", "uge", "ult", "ule", "une", "uno", "true",
)  # fmt: skip

ATOMIC_OPERATIONS: dict[str, Kind] = {
    **dict.fromkeys(words("add sub and nand or xor max min umax umin uinc_wrap udec_wrap usub_cond usub_sat"), "int"),
    **dict.fromkeys(words("fadd fsub fmax fmin fmaximum fminimum"), "float"),
    "xchg": "any",
}
ORDERINGS = frozenset(words("unordered monotonic acquire release acq_rel seq_cst"))

_ROWS: tuple[Opcode, ...] = (
    Opcode("fneg", "unary", "float", FAST_MATH),
    Opcode("freeze", "unary"),
    *(Opcode(n, "binary", "int", WRAP) for n in ("add", "sub", "mul", "shl")),
    *(Opcode(n, "binary", "int", ("exact",)) for n in ("udiv", "sdiv", "lshr", "ashr")),
    *(Opcode(n, "binary", "int") for n in ("urem", "srem", "and", "xor")),
    Opcode("or", "binary", "int", ("disjoint",)),
    *(Opcode(n, "binary", "float", FAST_MATH) for n in ("fadd", "fsub", "fmul", "fdiv", "frem")),
    Opcode("trunc", "cast", "int", WRAP, "int", "narrower"),
    Opcode("zext", "cast", "int", ("nneg",), "int", "wider"),
    Opcode("sext", "cast", "int", (), "int", "wider"),
    Opcode("fptrunc", "cast", "float", FAST_MATH, "float", "narrower"),
    Opcode("fpext", "cast", "float", FAST_MATH, "float", "wider"),
    Opcode("fptoui", "cast", "float", (), "int"),
    Opcode("fptosi", "cast", "float", (), "int"),
    Opcode("uitofp", "cast", "int", ("nneg",), "float"),
    Opcode("sitofp", "cast", "int", (), "float"),
    Opcode("ptrtoint", "cast", "pointer", (), "int"),
    Opcode("ptrtoaddr", "cast", "pointer", (), "int"),
    Opcode("inttoptr", "cast", "int", (), "pointer"),
    Opcode("bitcast", "cast", "any", (), "any", "same-size"),
    Opcode("addrspacecast", "cast", "pointer", (), "pointer"),
    Opcode("icmp", "compare", "int-or-pointer", ("samesign",)),
    Opcode("fcmp", "compare", "float", FAST_MATH),
    Opcode("select", "select", "any", FAST_MATH),
    Opcode("getelementptr", "gep", "pointer", ("inbounds", "nusw", "nuw")),
    Opcode("load", "load", "pointer", ("atomic", "volatile")),
    Opcode("store", "store", "pointer", ("atomic", "volatile")),
    Opcode("alloca", "alloca", "int", ("inalloca", "swifterror")),
    Opcode("phi", "phi", "any", FAST_MATH),
    Opcode("call", "call", "any", FAST_MATH),
    Opcode("invoke", "call", terminator=True),
    Opcode("callbr", "call", terminator=True),
    Opcode("br", "br", "int", terminator=True),
    Opcode("switch", "switch", "int", terminator=True),
    Opcode("indirectbr", "indirectbr", "pointer", terminator=True),
    Opcode("ret", "ret", terminator=True),
    Opcode("unreachable", "unreachable", terminator=True),
    Opcode("extractvalue", "extractvalue"),
    Opcode("insertvalue", "insertvalue"),
    Opcode("extractelement", "extractelement"),
    Opcode("insertelement", "insertelement"),
    Opcode("shufflevector", "shufflevector"),
    Opcode("atomicrmw", "atomicrmw", "pointer", ("volatile",)),
    Opcode("cmpxchg", "cmpxchg", "pointer", ("weak", "volatile")),
    Opcode("fence", "fence"),
    Opcode("va_arg", "va_arg", "pointer"),
    Opcode("landingpad", "landingpad"),
    Opcode("resume", "resume", terminator=True),
    Opcode("cleanuppad", "cleanuppad"),
    Opcode("catchpad", "catchpad"),
    Opcode("catchswitch", "catchswitch", terminator=True),
    Opcode("cleanupret", "cleanupret", terminator=True),
    Opcode("catchret", "catchret", terminator=True),
)

OPCODES: dict[str, Opcode] = {row.name: row for row in _ROWS}
FLAGS: frozenset[str] = frozenset(f for row in _ROWS for f in row.flags)

CONSTANT_CASTS = frozenset(words("trunc ptrtoint ptrtoaddr inttoptr bitcast addrspacecast"))
CONSTANT_BINARIES = frozenset(["add", "sub", "xor"])
CONSTANT_VECTORS = frozenset(["extractelement", "insertelement", "shufflevector"])
CONSTANT_OPCODES = CONSTANT_CASTS | CONSTANT_BINARIES | CONSTANT_VECTORS | {"getelementptr"}
