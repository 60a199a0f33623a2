"""Names, constants, attributes and operands as LLVM assembly."""

from __future__ import annotations

import re
from functools import lru_cache

from llgrad.ir import floats
from llgrad.ir.opcodes import CONSTANT_CASTS, words
from llgrad.ir.parse_types import escape
from llgrad.ir.types import I8, VOID, ArrayType, FloatType, IntType, StructType, Type, VectorType
from llgrad.ir.values import (
    AnyConstant,
    AnyValue,
    Attribute,
    BlockAddress,
    ConstAggregate,
    ConstExpr,
    ConstFloat,
    ConstInt,
    ConstNull,
    ConstZero,
    Function,
    GlobalValue,
    InlineAsm,
    MetadataValue,
    RawConstant,
    Undef,
    Value,
)

_PLAIN = re.compile(r"[-a-zA-Z$._][-a-zA-Z$._0-9]*\Z|\d+\Z")
_QUOTED_DIGITS = re.compile(r'"\d+"\Z')
_RECORD_LOCAL = re.compile(r'%([-\w.$]+|"[^"]*")(?=[,)])')


@lru_cache(maxsize=1 << 16)
def encode_name(name: str) -> str:
    """A name without sigil, quoted where it must be."""
    if _PLAIN.match(name) or _QUOTED_DIGITS.match(name):
        return name
    return f'"{escape(name)}"'


class Names:
    """What the locals of one function are called in its text.

    Numbers are kept if they count upwards in the order LLVM requires; else every numbered value `%N` is written `%vN`,
    and values without a name get one.
    """

    def __init__(self, function: Function | None = None) -> None:
        self.renamed: dict[Value, str] = {}
        if function is not None:
            self._rename(function)

    def __call__(self, value: Value) -> str:
        """The name without sigil, quoted where it must be."""
        return self.renamed.get(value) or encode_name(value.name) if self.renamed else encode_name(value.name)

    def _rename(self, function: Function) -> None:
        values: list[Value] = list(function.arguments)
        for block in function.blocks:
            values.append(block)
            values += [i for i in block.instructions if i.name or i.type != VOID]
        numbers = [int(v.name) for v in values if v.name.isdigit()]
        nameless = [v for v in values if not v.name]
        in_order = all(a < b for a, b in zip(numbers, numbers[1:], strict=False))
        if in_order and not nameless:
            return
        taken = {v.name for v in values}
        for v in nameless if in_order else [v for v in values if not v.name or v.name.isdigit()]:
            name = base = f"v{v.name}"
            n = 0
            while name in taken:
                n += 1
                name = f"{base}.{n}"
            taken.add(name)
            self.renamed[v] = name


_NO_NAMES = Names()


def operand(value: AnyValue, names: Names = _NO_NAMES) -> str:
    """An operand with its type: `double %x`, `ptr @f`, `i32 7`, `label %entry`, `metadata !4`."""
    return f"{value.type} {reference(value, names)}"


def reference(value: AnyValue, names: Names = _NO_NAMES) -> str:
    """An operand without its type."""
    if isinstance(value, GlobalValue):
        return f"@{encode_name(value.name)}"
    if isinstance(value, Value):
        return f"%{names(value)}"
    if isinstance(value, MetadataValue):
        return value.text if value.value is None else operand(value.value, names)
    return constant(value)


def constant(value: AnyConstant) -> str:
    """A constant without its type."""
    match value:
        case GlobalValue():
            return f"@{encode_name(value.name)}"
        case ConstInt(IntType(1), v):
            return "true" if v else "false"
        case ConstInt():
            return str(value.signed)
        case ConstFloat(t, bits):
            assert isinstance(t, FloatType)
            return floats.to_text(t, bits)
        case ConstNull():
            return "null"
        case ConstZero():
            return "zeroinitializer"
        case Undef():
            return "poison" if value.poison else "undef"
        case ConstAggregate(t, elements):
            return aggregate(t, elements)
        case ConstExpr():
            return expression(value)
        case BlockAddress():
            return f"blockaddress(@{encode_name(value.function)}, %{encode_name(value.block)})"
        case RawConstant() | InlineAsm() | MetadataValue():
            return value.text
    raise TypeError(f"not a constant: {value!r}")


def aggregate(t: Type, elements: tuple[AnyConstant, ...]) -> str:
    if isinstance(t, ArrayType):
        if t.element == I8 and elements and all(isinstance(e, ConstInt) for e in elements):
            data = bytes(e.value for e in elements)  # type: ignore[union-attr]
            return f'c"{escape(data.decode("utf-8", "surrogateescape"))}"'
        return f"[{', '.join(map(operand, elements))}]"
    inner = ", ".join(map(operand, elements))
    if isinstance(t, VectorType):
        return f"<{inner}>"
    assert isinstance(t, StructType)
    braces = f"{{ {inner} }}" if inner else "{}"
    return f"<{braces}>" if t.packed else braces


def expression(value: ConstExpr) -> str:
    words = [value.opcode, *order_flags(value.flags), *([value.extra] if value.extra else [])]
    operands = ", ".join(map(operand, value.operands))
    if value.opcode in CONSTANT_CASTS:
        operands = f"{operands} to {value.type}"
    if value.source_type is not None:
        operands = f"{value.source_type}, {operands}"
    return f"{' '.join(words)} ({operands})"


@lru_cache(maxsize=1 << 12)
def order_flags(flags: frozenset[str]) -> tuple[str, ...]:
    """Flags in LLVM's order."""
    return tuple(sorted(flags, key=_FLAG_ORDER.index))


_FLAG_ORDER = words(
    "weak atomic volatile inalloca swifterror inbounds nusw nuw nsw exact disjoint nneg samesign "
    "fast reassoc nnan ninf nsz arcp contract afn"
)


@lru_cache(maxsize=1 << 12)
def attribute(a: Attribute, group: bool = False) -> str:
    """One attribute, inline or as it stands in a group."""
    if a.string:
        key = f'"{escape(a.name)}"'
        return key if a.value is None else f'{key}="{escape(str(a.value))}"'
    if a.value is None:
        return a.name
    if a.name in ("align", "alignstack") and group:
        return f"{a.name}={a.value}"
    return f"align {a.value}" if a.name == "align" else f"{a.name}({a.value})"


def attributes(found: tuple[Attribute, ...]) -> str:
    """Attributes, each with a blank after it."""
    return "".join([attribute(a) + " " for a in found])


def record(text: str, known: dict[str, str]) -> str:
    """A debug record in which locals carry the names of `known`; those that are gone are `poison`."""

    def replace(m: re.Match[str]) -> str:
        name = known.get(m[1])
        return "poison" if name is None else f"%{name}"

    return _RECORD_LOCAL.sub(replace, text) if "%" in text else text
