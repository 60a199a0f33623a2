"""LLVM assembly changed in one place, so that LLVM's verifier still accepts it: what no front end wrote, but could.

A mutation takes the text that LLVM printed and a source of random numbers, and returns another text, or the same where
it finds nothing to change. What LLVM rejects is thrown away and drawn anew.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import groupby

from llgrad.errors import LlgradError
from llgrad.llvm import LLVMModule

TRIES = 20
TYPES = ("half", "bfloat", "float", "double", "x86_fp80", "fp128", "i1", "i8", "i16", "i32", "i64", "i128", "i33",
         "ptr")  # fmt: skip
SPACES = ("ptr addrspace(1)", "ptr addrspace(3)")
CONSTANTS = ("poison", "undef", "zeroinitializer", "0", "1", "-1", "0.000000e+00", "null", "2147483648",
             "9223372036854775807", "true")  # fmt: skip
OPCODES = (
    ("fadd", "fsub", "fmul", "fdiv", "frem"),
    ("add", "sub", "mul", "shl", "lshr", "ashr", "and", "or", "xor", "udiv", "sdiv", "urem", "srem"),
    ("zext", "sext"), ("fptosi", "fptoui"), ("sitofp", "uitofp"), ("sext", "sitofp", "bitcast"),
    ("eq", "ne", "ult", "sgt", "sle", "uge"), ("oeq", "une", "ogt", "ule", "uno", "ord", "true", "false"),
    ("sin", "cos", "exp", "sqrt", "log", "fabs", "pow", "atan2", "fma", "hypot", "cabs", "frexp", "modf"),
    ("llvm.sin", "llvm.sqrt", "llvm.fabs", "llvm.ctpop", "llvm.bitreverse", "llvm.canonicalize"),
)  # fmt: skip
FLAGS = {"fadd": "fast", "fsub": "nnan ninf", "fmul": "reassoc", "fdiv": "arcp", "add": "nuw nsw", "mul": "nsw",
         "sub": "nsw", "shl": "nuw", "lshr": "exact", "ashr": "exact", "sdiv": "exact", "or": "disjoint",
         "zext": "nneg", "getelementptr": "inbounds nuw", "load": "volatile", "store": "volatile",
         "call": "notail"}  # fmt: skip
LINKAGES = ("internal", "private", "linkonce_odr", "weak", "available_externally", "extern_weak", "hidden",
            "dso_local")  # fmt: skip
ATTRIBUTES = ("noundef", "noalias", "readonly", "nonnull", "nest", "swiftself", "inreg", "returned", "byval(double)",
              "sret(double)", "byref(i64)", "inalloca({ double })", "dereferenceable(8)", "zeroext")  # fmt: skip
OF_FUNCTION = (
    "nounwind", "memory(none)", "noreturn", "strictfp", "willreturn", "optnone noinline", "alwaysinline", "naked",
    "speculatable", "noinline", "presplitcoroutine", 'gc "shadow-stack"', "returns_twice",
)  # fmt: skip


def mutated(text: str, draw: random.Random) -> str | None:
    """The text with one mutation; None where none was found that LLVM accepts."""
    for _ in range(TRIES):
        made = draw.choice(MUTATIONS)(text, draw)
        if made == text:
            continue
        try:
            return LLVMModule.from_text(made).text()
        except LlgradError:
            continue
    return None


def words(line: str) -> list[str]:
    """A line as words and what stands between them."""
    return ["".join(found) for _, found in groupby(line, lambda c: c.isalnum() or c in "_.%@-$!#")]


def _in_bodies(lines: list[str]) -> list[int]:
    """The lines that are instructions."""
    return [n for n, line in enumerate(lines) if line.startswith("  ") and not line.startswith("  ;")]


def _line(text: str, draw: random.Random, change: Callable[[str], str]) -> str:
    """The text with an instruction changed: the first that does change, from a random place on."""
    lines = text.split("\n")
    inside = _in_bodies(lines)
    start = draw.randrange(len(inside)) if inside else 0
    for n in (inside[start:] + inside[:start])[:20]:
        if (made := change(lines[n])) != lines[n]:
            lines[n] = made
            break
    return "\n".join(lines)


def other_operand(text: str, draw: random.Random) -> str:
    """A constant, or another value of the function, in the place of an operand."""
    names = sorted({w for line in text.split("\n") if line.startswith("  ") for w in words(line) if w[0] == "%"})

    def change(line: str) -> str:
        found = words(line)
        first = 2 if " = " in line else 0
        places = [n for n, w in enumerate(found) if n > first and (w[0] == "%" or w.lstrip("-").isdigit())]
        if places:
            found[draw.choice(places)] = draw.choice(CONSTANTS if draw.random() < 0.7 or not names else names)
        return "".join(found)

    return _line(text, draw, change)


def other_opcode(text: str, draw: random.Random) -> str:
    def change(line: str) -> str:
        found = words(line)
        places = [(n, group) for n, w in enumerate(found) for group in OPCODES if w in group]
        if places:
            n, group = draw.choice(places)
            found[n] = draw.choice(group)
        return "".join(found)

    return _line(text, draw, change)


def other_flags(text: str, draw: random.Random) -> str:
    def change(line: str) -> str:
        found = words(line)
        places = [n for n, w in enumerate(found) if w in FLAGS]
        if places:
            found[places[0]] += f" {FLAGS[found[places[0]]]}"
        return "".join(found)

    return _line(text, draw, change)


def other_type(text: str, draw: random.Random) -> str:
    """One type for another, in the whole text."""
    parts = words(text)
    there = sorted(set(parts) & set(TYPES))
    if not there:
        return text
    old = draw.choice(there)
    new = draw.choice(SPACES if old == "ptr" else TYPES)
    return "".join(new if w == old else w for w in parts)


def other_vectors(text: str, draw: random.Random) -> str:
    """Vectors become scalable, or arrays, or longer."""
    parts = words(text)
    found = [n for n, w in enumerate(parts) if w.isdigit() and parts[n - 1].endswith("<")]
    if not found:
        return text
    count = parts[draw.choice(found)]
    new = draw.choice((f"vscale x {count}", "1", "3", str(2 * int(count))))
    return "".join(new if n in found and w == count else w for n, w in enumerate(parts))


def without_body(text: str, draw: random.Random) -> str:
    """A function is only declared."""
    lines = text.split("\n")
    heads = [n for n, line in enumerate(lines) if line.startswith("define ")]
    if len(heads) < 2:
        return text
    head = draw.choice(heads)
    end = lines.index("}", head)
    kept = lines[head].replace("define ", "declare ", 1).removesuffix("{").partition(" comdat")[0]
    for word in ("internal ", "linkonce_odr ", "private ", "weak ", "weak_odr ", "linkonce "):
        kept = kept.replace(word, "", 1)
    return "\n".join([*lines[:head], kept.partition(" !dbg")[0].partition(" personality")[0], *lines[end + 1 :]])


def without_instruction(text: str, draw: random.Random) -> str:
    return _line(text, draw, lambda line: "" if line.startswith(("  store", "  call void")) else line)


def again(text: str, draw: random.Random) -> str:
    """A store or a call happens twice."""
    return _line(text, draw, lambda line: f"{line}\n{line}" if line.startswith(("  store", "  call void")) else line)


def opaque_variable(text: str, draw: random.Random) -> str:
    """A variable of an incomplete type, as C's `extern struct s x;`."""
    lines = text.split("\n")
    found = [n for n, line in enumerate(lines) if line.startswith("@") and (" global " in line or " constant " in line)]
    if not found:
        return text
    n = draw.choice(found)
    name = lines[n].partition(" = ")[0]
    lines[n] = f"{name} = external global %swept.opaque"
    return "%swept.opaque = type opaque\n" + "\n".join(lines)


def other_linkage(text: str, draw: random.Random) -> str:
    lines = text.split("\n")
    found = [n for n, line in enumerate(lines) if line.startswith("define ") or (line[:1] == "@" and " = " in line)]
    if not found:
        return text
    n, new = draw.choice(found), draw.choice(LINKAGES)
    kept = " ".join(w for w in lines[n].split(" ") if w not in LINKAGES)
    lines[n] = kept.replace("define ", f"define {new} ", 1) if kept[0] == "d" else kept.replace(" = ", f" = {new} ", 1)
    return "\n".join(lines)


def other_attribute(text: str, draw: random.Random) -> str:
    lines = text.split("\n")
    heads = [n for n, line in enumerate(lines) if line.startswith("define ")]
    if not heads:
        return text
    n = draw.choice(heads)
    if draw.random() < 0.5:
        lines[n] = lines[n].removesuffix("{") + f"{draw.choice(OF_FUNCTION)} {{"
        return "\n".join(lines)
    name = draw.choice([w for w in words(lines[n]) if w[0] == "%"] or [""])
    lines[n] = lines[n].replace(f" {name}", f" {draw.choice(ATTRIBUTES)} {name}", 1) if name else lines[n]
    return "\n".join(lines)


MUTATIONS = (
    other_operand, other_operand, other_operand, other_opcode, other_opcode, other_flags, other_type, other_type,
    other_vectors, without_body, without_instruction, again, opaque_variable, other_linkage, other_attribute,
    other_attribute,
)  # fmt: skip


def all_mutations(text: str, draw: random.Random) -> Iterator[str]:
    """One of each kind, where LLVM accepts it."""
    for change in dict.fromkeys(MUTATIONS):
        made = change(text, draw)
        try:
            if made != text:
                yield LLVMModule.from_text(made).text()
        except LlgradError:
            continue
