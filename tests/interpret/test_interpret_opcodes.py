"""Every instruction against machine code, on bytes: `void @k(ptr out, ptr in)` loads, applies one operation, stores.

Samples that are undefined behaviour or give poison are left out, as the interpreter tells; what it tells is tested in
`test_undefined`.
"""

from __future__ import annotations

import random
import struct

import numpy as np
import pytest
from interpret_jit import Jit, words
from interpreter import Machine

from llgrad.errors import ForeignError
from llgrad.ir.parse import parse

SIZES = {"half": 2, "float": 4, "double": 8, "x86_fp80": 10, "fp128": 16, "bfloat": 2}


def size_of(t: str) -> int:
    if t.startswith("<"):
        count, element = t[1:-1].split(" x ")
        bits = 8 * SIZES[element] if element in SIZES else int(element[1:])
        return (int(count) * bits + 7) // 8
    return SIZES[t] if t in SIZES else (int(t[1:]) + 7) // 8


class Kernels:
    """Kernels under names, and the types of their operands and results."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.types: dict[str, tuple[list[str], str]] = {}
        self.declarations: set[str] = set()

    def add(self, name: str, operands: list[str], result: str, body: str) -> None:
        """`body` computes %r from %0, %1, … (named %a0, %a1, …)."""
        lines = [f"define void @{name}(ptr %out, ptr %in) {{"]
        for i, t in enumerate(operands):
            lines.append(f"  %p{i} = getelementptr i8, ptr %in, i64 {64 * i}")
            lines.append(f"  %a{i} = load {t}, ptr %p{i}, align 1")
        lines += [f"  {body}", f"  store {result} %r, ptr %out, align 1", "  ret void", "}"]
        self.text.append("\n".join(lines))
        self.types[name] = (operands, result)

    def call(self, name: str, intrinsic: str, operands: list[str], result: str, extra: str = "") -> None:
        """A kernel that calls a function; `extra` are constant operands."""
        types = [*operands, *[e.rsplit(" ", 1)[0] for e in extra.split(", ") if e]]
        self.declarations.add(f"declare {result} @{intrinsic}({', '.join(types)})")
        arguments = [f"{t} %a{i}" for i, t in enumerate(operands)] + ([extra] if extra else [])
        self.add(name, operands, result, f"%r = call {result} @{intrinsic}({', '.join(arguments)})")

    def module(self) -> str:
        return "\n".join(sorted(self.declarations) + self.text)


INTERESTING = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.75, 1e10, -1e-10, 65504.0, 0.1, 7.0, 1e300, -1e-300, 2.0**-1074]


def float_bytes(t: str, rng: random.Random) -> bytes:
    x = rng.choice(INTERESTING) if rng.random() < 0.4 else rng.uniform(-1, 1) * 10.0 ** rng.randint(-4, 4)
    if rng.random() < 0.05:
        x = rng.choice([float("inf"), float("-inf"), float("nan")])
    with np.errstate(all="ignore"):
        match t:
            case "half":
                return np.float16(x).tobytes()
            case "bfloat":
                return np.float32(x).tobytes()[2:]
            case "float":
                return np.float32(x).tobytes()
            case "double":
                return struct.pack("<d", x)
            case "x86_fp80":
                return (np.longdouble(x) / np.longdouble(3)).tobytes()[:10]
    bits = int(struct.unpack("<Q", struct.pack("<d", x))[0])  # fp128: the double's fields, widened
    exponent = bits >> 52 & 2047
    wide = 32767 if exponent == 2047 else exponent - 1023 + 16383 if exponent else 0
    mantissa = (bits & (1 << 52) - 1) << 60 if exponent else 0
    extra = rng.getrandbits(60) if 0 < exponent < 2047 else 0
    return ((bits >> 63) << 127 | wide << 112 | mantissa | extra).to_bytes(16, "little")


def operand_bytes(t: str, rng: random.Random) -> bytes:
    if t.startswith("<"):
        count, element = t[1:-1].split(" x ")
        if element in SIZES or int(element[1:]) % 8 == 0:
            return b"".join(operand_bytes(element, rng) for _ in range(int(count)))
        return rng.getrandbits(int(count) * int(element[1:])).to_bytes(size_of(t), "little")
    if t in SIZES:
        return float_bytes(t, rng)
    bits = int(t[1:])
    corner = [0, 1, 2, (1 << bits) - 1, 1 << (bits - 1), (1 << (bits - 1)) - 1, bits - 1, bits // 2]
    value = rng.choice(corner) if rng.random() < 0.5 else rng.getrandbits(bits)
    return (value & ((1 << bits) - 1)).to_bytes(size_of(t), "little")


def same(t: str, a: bytes, b: bytes, ulp: int = 0) -> bool:
    """Equal bytes; NaNs are all alike; with `ulp`, floats may be that many steps apart."""
    if a == b:
        return True
    element = t[1:-1].split(" x ")[1] if t.startswith("<") else t
    if element not in SIZES:
        return False
    n = SIZES[element]
    return all(same_float(element, a[i : i + n], b[i : i + n], ulp) for i in range(0, len(a), n))


def same_float(t: str, a: bytes, b: bytes, ulp: int) -> bool:
    x, y = int.from_bytes(a, "little"), int.from_bytes(b, "little")
    bits = 8 * len(a)
    fraction = {"half": 10, "bfloat": 7, "float": 23, "double": 52, "x86_fp80": 64, "fp128": 112}[t]
    top = (1 << (bits - 1 - fraction)) - 1

    def nan(z: int) -> bool:
        mask = (1 << (63 if t == "x86_fp80" else fraction)) - 1
        return z >> fraction & top == top and z & mask != 0

    return (nan(x) and nan(y)) or abs(x - y) <= ulp


def check(kernels: Kernels, samples: int = 12, ulp: int = 0) -> None:
    """Run all kernels on random operands in both worlds."""
    text = kernels.module()
    jit, machine, rng = Jit(text), Machine(parse(text)), random.Random(7)
    for name, (operands, result) in kernels.types.items():
        compared = 0
        for _ in range(samples):
            chunks = [operand_bytes(t, rng) for t in operands]
            data = b"".join(c.ljust(64, b"\0") for c in chunks)
            size = size_of(result)
            source, target = machine.put(np.frombuffer(data, np.uint8)), machine.alloc(size)
            try:
                machine.run(name, [target, source])
                mine = machine.read_bytes(target, size)
            except ForeignError:
                continue
            theirs = jit.kernel(name, data, size)
            assert same(result, mine, theirs, ulp), (name, [c.hex() for c in chunks], mine.hex(), theirs.hex())
            compared += 1
        assert compared >= 2, f"{name}: all samples were undefined"


INTEGERS = ["i1", "i8", "i16", "i32", "i64", "i128", "i7", "i33", "<4 x i32>", "<2 x i64>", "<8 x i1>", "<3 x i16>"]


@pytest.mark.parametrize("opcode", words("add sub mul udiv sdiv urem srem shl lshr ashr and or xor"))
def test_integer_binary(opcode: str) -> None:
    kernels = Kernels()
    for k, t in enumerate(INTEGERS):
        partial = "div" in opcode or "rem" in opcode or "sh" in opcode
        if partial and (t.startswith("<") or t == "i1"):
            continue  # every lane would have to be defined
        kernels.add(f"k{k}", [t, t], t, f"%r = {opcode} {t} %a0, %a1")
    t = "<4 x i32>"
    kernels.add("constant", [t], t, f"%r = {opcode} {t} %a0, <i32 3, i32 1, i32 7, i32 31>")
    check(kernels)


@pytest.mark.parametrize("predicate", words("eq ne ugt uge ult ule sgt sge slt sle"))
def test_icmp(predicate: str) -> None:
    kernels = Kernels()
    for k, t in enumerate(["i1", "i8", "i32", "i64", "i33", "i128"]):
        kernels.add(f"k{k}", [t, t], "i8", f"%c = icmp {predicate} {t} %a0, %a1\n  %r = zext i1 %c to i8")
    kernels.add(
        "v", ["<4 x i32>"] * 2, "<4 x i32>",
        f"%c = icmp {predicate} <4 x i32> %a0, %a1\n  %r = sext <4 x i1> %c to <4 x i32>",
    )  # fmt: skip
    check(kernels)


FLOATS = ["half", "float", "double", "x86_fp80", "<4 x float>", "<2 x double>"]


@pytest.mark.parametrize("opcode", words("fadd fsub fmul fdiv frem"))
def test_float_binary(opcode: str) -> None:
    kernels = Kernels()
    for k, t in enumerate(FLOATS):
        kernels.add(f"k{k}", [t, t], t, f"%r = {opcode} {t} %a0, %a1")
    if opcode != "frem":
        kernels.add("quad", ["fp128"] * 2, "fp128", f"%r = {opcode} fp128 %a0, %a1")
    check(kernels, 30)


def test_fneg() -> None:
    kernels = Kernels()
    for k, t in enumerate([*FLOATS, "fp128"]):
        kernels.add(f"k{k}", [t], t, f"%r = fneg {t} %a0")
    check(kernels)


PREDICATES = words("false oeq ogt oge olt ole one ord ueq ugt uge ult ule une uno true")


@pytest.mark.parametrize("t", ["half", "float", "double", "x86_fp80", "fp128"])
def test_fcmp(t: str) -> None:
    kernels = Kernels()
    for p in PREDICATES:
        kernels.add(p, [t, t], "i8", f"%c = fcmp {p} {t} %a0, %a1\n  %r = zext i1 %c to i8")
    check(kernels, 24)


def test_integer_casts() -> None:
    kernels = Kernels()
    for k, (a, b) in enumerate(
        [("i1", "i8"), ("i8", "i32"), ("i32", "i64"), ("i33", "i128"), ("<4 x i16>", "<4 x i32>")]
    ):
        kernels.add(f"z{k}", [a], b, f"%r = zext {a} %a0 to {b}")
        kernels.add(f"s{k}", [a], b, f"%r = sext {a} %a0 to {b}")
        kernels.add(f"t{k}", [b], a, f"%r = trunc {b} %a0 to {a}")
    check(kernels)


def test_float_casts() -> None:
    kernels = Kernels()
    order = ["half", "float", "double", "x86_fp80", "fp128"]
    for i, a in enumerate(order):
        for b in order[i + 1 :]:
            kernels.add(f"ext_{a}_{b}", [a], b, f"%r = fpext {a} %a0 to {b}")
            kernels.add(f"trunc_{b}_{a}", [b], a, f"%r = fptrunc {b} %a0 to {a}")
    check(kernels, 24)


@pytest.mark.parametrize("t", ["half", "float", "double", "x86_fp80", "fp128"])
def test_int_float_casts(t: str) -> None:
    kernels = Kernels()
    for i in ("i8", "i32", "i64"):
        for s in "us":
            kernels.add(f"to_{i}{s}", [t], i, f"%r = fpto{s}i {t} %a0 to {i}")
            if not (t == "half" and i == "i64"):  # LLVM 22 rounds twice there
                kernels.add(f"from_{i}{s}", [i], t, f"%r = {s}itofp {i} %a0 to {t}")
    check(kernels, 30)


def test_bitcasts() -> None:
    kernels = Kernels()
    pairs = [
        ("i64", "double"), ("i32", "float"), ("<2 x float>", "i64"), ("<2 x float>", "double"), ("i16", "half"),
        ("<8 x i1>", "i8"), ("<4 x i32>", "<2 x double>"), ("i128", "fp128"), ("<16 x i8>", "i128"),
    ]  # fmt: skip
    for k, (a, b) in enumerate(pairs):
        kernels.add(f"a{k}", [a], b, f"%r = bitcast {a} %a0 to {b}")
        kernels.add(f"b{k}", [b], a, f"%r = bitcast {b} %a0 to {a}")
    check(kernels)


def test_selection_and_vectors() -> None:
    kernels = Kernels()
    v = "<4 x float>"
    kernels.add("select", ["i1", "double", "double"], "double", "%r = select i1 %a0, double %a1, double %a2")
    kernels.add("vselect", ["<4 x i1>", v, v], v, f"%r = select <4 x i1> %a0, {v} %a1, {v} %a2")
    kernels.add("bcast", ["i1", v, v], v, f"%r = select i1 %a0, {v} %a1, {v} %a2")
    kernels.add("extract", [v], "float", f"%r = extractelement {v} %a0, i32 2")
    kernels.add("insert", [v, "float"], v, f"%r = insertelement {v} %a0, float %a1, i64 3")
    mask = "<5 x i32> <i32 7, i32 0, i32 2, i32 2, i32 5>"
    kernels.add("shuffle", [v, v], "<5 x float>", f"%r = shufflevector {v} %a0, {v} %a1, {mask}")
    aggregate = "{ i32, [2 x double] }"
    kernels.add(
        "aggregate", ["i32", "double"], "double",
        f"%x = insertvalue {aggregate} zeroinitializer, i32 %a0, 0\n"
        f"  %y = insertvalue {aggregate} %x, double %a1, 1, 1\n"
        f"  %z = extractvalue {aggregate} %y, 1\n  %r = extractvalue [2 x double] %z, 1",
    )  # fmt: skip
    check(kernels)


def test_getelementptr() -> None:
    kernels = Kernels()
    t = "{ i8, [3 x { i16, double }], i32 }"
    body = "%q = getelementptr {t}, ptr null, i32 %a0, i32 1, i64 %a1, i32 1\n  %r = ptrtoint ptr %q to i64"
    kernels.add("nested", ["i32", "i64"], "i64", body.replace("{t}", t))
    kernels.add("bytes", ["i16"], "i64", "%q = getelementptr i8, ptr null, i16 %a0\n  %r = ptrtoint ptr %q to i64")
    kernels.add(
        "vector", ["<2 x i64>"], "<2 x i64>",
        "%q = getelementptr double, ptr null, <2 x i64> %a0\n  %r = ptrtoint <2 x ptr> %q to <2 x i64>",
    )  # fmt: skip
    check(kernels)


def test_integer_intrinsics() -> None:
    kernels = Kernels()
    for t, s in (("i8", "i8"), ("i32", "i32"), ("i64", "i64"), ("<4 x i32>", "v4i32")):
        for op in words("smax smin umax umin uadd.sat sadd.sat usub.sat ssub.sat"):
            kernels.call(f"{op}_{s}", f"llvm.{op}.{s}", [t, t], t)
        for op in ("ctpop", "bitreverse"):
            kernels.call(f"{op}_{s}", f"llvm.{op}.{s}", [t], t)
        for op in ("ctlz", "cttz", "abs"):
            kernels.call(f"{op}_{s}", f"llvm.{op}.{s}", [t], t, "i1 false")
        for op in ("fshl", "fshr"):
            kernels.call(f"{op}_{s}", f"llvm.{op}.{s}", [t, t, t], t)
    for t in ("i8", "i32", "i64"):
        for op in ("ushl.sat", "sshl.sat"):
            kernels.call(f"{op}_{t}", f"llvm.{op}.{t}", [t, t], t)
        for op in ("scmp", "ucmp"):
            kernels.call(f"{op}_{t}", f"llvm.{op}.i8.{t}", [t, t], "i8")
        for op in words("sadd uadd ssub usub smul umul"):
            pair = f"{{ {t}, i1 }}"
            name = f"llvm.{op}.with.overflow.{t}"
            kernels.declarations.add(f"declare {pair} @{name}({t}, {t})")
            call = f"%c = call {pair} @{name}({t} %a0, {t} %a1)\n  "
            kernels.add(f"{op}_value_{t}", [t, t], t, f"{call}%r = extractvalue {pair} %c, 0")
            kernels.add(f"{op}_bit_{t}", [t, t], "i8", f"{call}%o = extractvalue {pair} %c, 1\n  %r = zext i1 %o to i8")
    for t in ("i16", "i32", "i64"):
        kernels.call(f"bswap_{t}", f"llvm.bswap.{t}", [t], t)
    check(kernels, 20)


def test_reductions() -> None:
    kernels = Kernels()
    for op in words("add mul and or xor smax smin umax umin"):
        kernels.call(op, f"llvm.vector.reduce.{op}.v4i32", ["<4 x i32>"], "i32")
    for op in ("fadd", "fmul"):
        kernels.call(op, f"llvm.vector.reduce.{op}.v4f64", ["double", "<4 x double>"], "double")
    check(kernels)


def test_exact_float_intrinsics() -> None:
    kernels = Kernels()
    for t, s in (("float", "f32"), ("double", "f64"), ("<2 x double>", "v2f64")):
        for op in words("floor ceil trunc rint nearbyint round roundeven fabs sqrt canonicalize"):
            kernels.call(f"{op}_{s}", f"llvm.{op}.{s}", [t], t)
        for op in ("copysign", "maximum", "minimum"):
            kernels.call(f"{op}_{s}", f"llvm.{op}.{s}", [t, t], t)
        kernels.call(f"fma_{s}", f"llvm.fma.{s}", [t, t, t], t)
        kernels.call(f"fmuladd_{s}", f"llvm.fmuladd.{s}", [t, t, t], t)
    for t, s in (("float", "f32"), ("double", "f64")):
        kernels.call(f"ldexp_{s}", f"llvm.ldexp.{s}.i32", [t, "i32"], t)
        for i in ("i8", "i32", "i64"):
            for sign in "su":
                kernels.call(f"sat_{sign}{i}{s}", f"llvm.fpto{sign}i.sat.{i}.{s}", [t], i)
        name = f"llvm.is.fpclass.{s}"
        kernels.declarations.add(f"declare i1 @{name}({t}, i32)")
        for mask in (3, 252, 516, 128 + 16, 64, 8 + 256):
            body = f"%c = call i1 @{name}({t} %a0, i32 {mask})\n  %r = zext i1 %c to i8"
            kernels.add(f"class_{mask}_{s}", [t], "i8", body)
    check(kernels, 24)


def test_libm() -> None:
    """The interpreter calls the same C library."""
    kernels = Kernels()
    for op in words("sin cos tan asin acos atan sinh cosh tanh exp exp2 exp10 log log2 log10"):
        kernels.call(f"{op}64", f"llvm.{op}.f64", ["double"], "double")
        kernels.call(f"{op}32", f"llvm.{op}.f32", ["float"], "float")
    for op in words("cbrt expm1 log1p erf erfc tgamma lgamma asinh acosh atanh j0 y1"):
        kernels.call(f"{op}64", op, ["double"], "double")
        kernels.call(f"{op}32", op + "f", ["float"], "float")
    for op in words("pow atan2 fmod hypot remainder fdim nextafter"):
        kernels.call(f"{op}64", op, ["double", "double"], "double")
        kernels.call(f"{op}32", op + "f", ["float", "float"], "float")
    check(kernels, 20)


def test_long_double_libm() -> None:
    """mpmath against the C library, which may err in the last place."""
    kernels = Kernels()
    for op in words("sin cos tan atan exp log sqrt tanh cbrt expm1 log1p floor round logb"):
        kernels.call(op, op + "l", ["x86_fp80"], "x86_fp80")
    for op in words("pow atan2 hypot fmod nextafter copysign"):
        kernels.call(op, op + "l", ["x86_fp80"] * 2, "x86_fp80")
    check(kernels, 16, ulp=2)


def test_atomics() -> None:
    kernels = Kernels()
    operations = words("xchg add sub and nand or xor max min umax umin uinc_wrap udec_wrap")
    for op in operations:
        kernels.add(
            op, ["i32", "i32"], "<2 x i32>",
            f"%old = atomicrmw {op} ptr %p0, i32 %a1 seq_cst\n  %new = load atomic i32, ptr %p0 acquire, align 4\n"
            "  %v = insertelement <2 x i32> zeroinitializer, i32 %old, i32 0\n"
            "  %r = insertelement <2 x i32> %v, i32 %new, i32 1",
        )  # fmt: skip
    kernels.add("fadd", ["double", "double"], "double", "%r = atomicrmw fadd ptr %p0, double %a1 seq_cst")
    kernels.add(
        "cmpxchg", ["i32", "i32", "i32"], "<2 x i32>",
        "%c = cmpxchg ptr %p0, i32 %a1, i32 %a2 seq_cst seq_cst\n  %o = extractvalue { i32, i1 } %c, 0\n"
        "  %s = extractvalue { i32, i1 } %c, 1\n  %z = zext i1 %s to i32\n  fence seq_cst\n"
        "  %v = insertelement <2 x i32> zeroinitializer, i32 %o, i32 0\n"
        "  %r = insertelement <2 x i32> %v, i32 %z, i32 1",
    )  # fmt: skip
    check(kernels, 24)
