"""Constants and operands of LLVM assembly (LangRef: Constants, Constant Expressions)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from llgrad.ir import floats
from llgrad.ir.opcodes import CONSTANT_CASTS, CONSTANT_OPCODES, FLAGS, words
from llgrad.ir.parse_types import TypeReader, decode_name, join_tokens, unescape, unescape_bytes
from llgrad.ir.types import I8, METADATA, PTR, ArrayType, FloatType, IntType, Type, VectorType
from llgrad.ir.values import (
    AnyConstant,
    AnyValue,
    BlockAddress,
    ConstAggregate,
    Constant,
    ConstExpr,
    ConstFloat,
    ConstInt,
    ConstNull,
    ConstZero,
    InlineAsm,
    MDRef,
    MetadataValue,
    RawConstant,
    Undef,
)

CALLING_CONVENTIONS = frozenset(
    words("""
        ccc fastcc coldcc ghccc hiphe_cc anyregcc preserve_mostcc preserve_allcc preserve_nonecc swiftcc swifttailcc
        cxx_fast_tlscc tailcc cfguard_checkcc x86_stdcallcc x86_fastcallcc x86_thiscallcc x86_regcallcc x86_vectorcallcc
        x86_intrcc win64cc x86_64_sysvcc intel_ocl_bicc aarch64_vector_pcs aarch64_sve_vector_pcs
        aarch64_sme_preservemost_from_x0 aarch64_sme_preservemost_from_x1 aarch64_sme_preservemost_from_x2 arm_apcscc
        arm_aapcscc arm_aapcs_vfpcc msp430_intrcc avr_intrcc avr_signalcc ptx_kernel ptx_device spir_func spir_kernel
        amdgpu_kernel amdgpu_vs amdgpu_hs amdgpu_gs amdgpu_ls amdgpu_es amdgpu_ps amdgpu_cs amdgpu_cs_chain
        amdgpu_cs_chain_preserve amdgpu_gfx amdgpu_gfx_whole_wave m68k_rtdcc graalcc riscv_vector_cc riscv_vls_cc
        cheriot_compartmentcallcc cheriot_compartmentcalleecc cheriot_librarycallcc
    """)
)
_BYTES = tuple(ConstInt(I8, n) for n in range(256))


@cache
def flag_set(*flags: str) -> frozenset[str]:
    """One shared set for each combination of flags."""
    return frozenset(flags)


def gep_type(pointer: AnyValue, indices: list[AnyValue]) -> Type:
    """The type of a `getelementptr`: a vector of pointers where any operand is a vector."""
    if isinstance(pointer.type, VectorType):
        return pointer.type
    for index in indices:
        if isinstance(index.type, VectorType):
            return VectorType(pointer.type, index.type.count, index.type.scalable)
    return pointer.type


class ValueReader(TypeReader):
    """Reads values; without a function there are no locals and every value is a constant."""

    # --- entry points ---

    def typed(self) -> AnyValue:
        """`double %x`"""
        return self.value(self.type())

    def typed_constant(self) -> AnyConstant:
        t = self.type()
        return self.constant(t)

    def constant(self, t: Type) -> AnyConstant:
        value = self.value(t)
        assert isinstance(value, Constant) or value.name in self.module.globals
        return value  # type: ignore[return-value]

    def value(self, t: Type) -> AnyValue:
        """The value of type `t` that starts at the current token."""
        token = self.tokens[self.i]
        first = token[:1]
        if first == "%":
            self.i += 1
            return self.local(decode_name(token), t)
        if first == "@":
            self.i += 1
            return self.global_value(token)
        if t is METADATA:
            return self.metadata_value()
        return self._constant(token, first, t)

    def local(self, name: str, t: Type) -> AnyValue:
        raise self.fail(f"%{name}: a local value outside a function")

    def global_value(self, token: str) -> AnyValue:
        name = decode_name(token)
        found = self.module.globals.get(name)
        if found is None:
            raise self.fail(f"@{name} is not declared")
        return found

    # --- metadata operands ---

    def metadata_value(self) -> AnyValue:
        """`!4`, `!"text"`, `!DIExpression(…)`, or a typed value."""
        token = self.tokens[self.i]
        if token[:1] != "!":
            value = self.typed()
            return MetadataValue(METADATA, "", value)
        return MetadataValue(METADATA, self.metadata_text())

    def metadata_text(self) -> str:
        """A metadata reference or an inline node, as text."""
        token = self.take()
        if token != "!" or self.tokens[self.i] != "{":
            return token
        start, depth = self.i, 0
        while True:
            token = self.take()
            depth += (token == "{") - (token == "}")
            if not token:
                raise self.fail("unbalanced braces")
            if not depth:
                return "!" + join_tokens(self.tokens[start : self.i])

    # --- words before and after ---

    def attachment(self, found: dict[str, MDRef]) -> None:
        kind = unescape(self.take()[1:])
        token = self.metadata_text()
        key, n = kind, 1
        while key in found:
            n += 1
            key = f"{kind} {n}"
        found[key] = MDRef(int(token[1:])) if token[1:].isdigit() else MDRef(-1, token)

    def calling_convention(self) -> str:
        token = self.tokens[self.i]
        if token in CALLING_CONVENTIONS or (token[:2] == "cc" and token[2:].isdigit()):
            self.i += 1
            return token
        if token == "cc":
            self.i += 2
            return f"cc {self.tokens[self.i - 1]}"
        return ""

    # --- constants ---

    def _constant(self, token: str, first: str, t: Type) -> Constant:
        if isinstance(t, IntType):
            if token.isdigit():
                self.i += 1
                return ConstInt(t, int(token))
            if first == "-" or token in ("true", "false") or token[:3] in ("s0x", "u0x"):
                self.i += 1
                return ConstInt(t, self._integer_bits(t, token))
        elif isinstance(t, FloatType) and (first in "-+" or first.isdigit()):
            return self._float(t, token)
        special = _WORDS.get(token)
        if special is not None:
            self.i += 1
            return special(t)
        return self._aggregate(token, t) if first in '{[<c"' and token[:4] != "call" else self._word(token, t)

    def _integer_bits(self, t: IntType, token: str) -> int:
        if token in ("true", "false"):
            return int(token == "true")
        value = int(token[1:], 16) if token[0] in "su" else int(token)
        return value & ((1 << t.bits) - 1)

    def _float(self, t: FloatType, token: str) -> ConstFloat:
        try:
            bits = floats.from_text(t, token)
        except ValueError as error:
            raise self.fail(str(error)) from None
        self.i += 1
        return ConstFloat(t, bits)

    def _aggregate(self, token: str, t: Type) -> Constant:
        self.i += 1
        if token[0] in 'c"' and isinstance(t, ArrayType):
            return ConstAggregate(t, tuple(_BYTES[b] for b in unescape_bytes(token[token.index('"') + 1 : -1])))
        if token == "<" and self.tokens[self.i] == "{":
            self.i += 1
            elements = self._elements("}")
            self.expect(">")
        elif token in _CLOSING:
            elements = self._elements(_CLOSING[token])
        else:
            self.i -= 1
            raise self.fail(f"expected a {t}, found {token!r}")
        return ConstAggregate(t, elements)

    def _elements(self, closing: str) -> tuple[AnyConstant, ...]:
        elements: list[AnyConstant] = []
        while not self.accept(closing):
            elements.append(self.typed_constant())
            if self.tokens[self.i] != closing:
                self.expect(",")
        return tuple(elements)

    def _word(self, token: str, t: Type) -> Constant:
        if token in CONSTANT_OPCODES:
            return self._expression(t)
        if token == "splat":
            return self._splat(t)
        if token == "blockaddress":
            return self._block_address(t)
        if token in ("dso_local_equivalent", "no_cfi"):
            self.i += 2
            return RawConstant(t, f"{token} {self.tokens[self.i - 1]}")
        if token == "ptrauth":
            self.i += 1
            return RawConstant(t, f"ptrauth ({self.parenthesised()})")
        if token == "asm":
            return self.inline_asm()
        raise self.fail(f"expected a value of type {t}, found {token!r}")

    def _splat(self, t: Type) -> Constant:
        start = self.i
        self.i += 1
        self.expect("(")
        element = self.typed_constant()
        self.expect(")")
        if not isinstance(t, VectorType):
            raise self.fail(f"splat of type {t}")
        if t.scalable:
            return RawConstant(t, join_tokens(self.tokens[start : self.i]).replace("splat(", "splat ("))
        return ConstAggregate(t, (element,) * t.count)

    def _block_address(self, t: Type) -> BlockAddress:
        self.i += 1
        self.expect("(")
        function = decode_name(self.take())
        self.expect(",")
        block = decode_name(self.take())
        self.expect(")")
        return BlockAddress(t, function, block)

    def inline_asm(self) -> InlineAsm:
        """`asm sideeffect … "template", "constraints"`."""
        words = [self.take()]
        while self.tokens[self.i][:1].isalpha():
            words.append(self.take())
        template = self.take()
        self.expect(",")
        return InlineAsm(PTR, f"{' '.join(words)} {template}, {self.take()}")

    # --- constant expressions ---

    def _expression(self, t: Type) -> ConstExpr:
        opcode = self.take()
        flags, extra = [], ""
        while self.tokens[self.i] in FLAGS or self.tokens[self.i] == "inrange":
            word = self.take()
            if word == "inrange":
                extra = f"inrange({self.parenthesised()})"
            else:
                flags.append(word)
        self.expect("(")
        if opcode in CONSTANT_CASTS:
            operand = self.typed_constant()
            self.expect("to")
            result = self.type()
            self.expect(")")
            return ConstExpr(result, opcode, (operand,), flag_set(*flags))
        source = None
        if opcode == "getelementptr":
            source = self.type()
            self.expect(",")
        operands = self._elements(")")
        return ConstExpr(t, opcode, operands, flag_set(*flags), source, extra)


def _true(t: Type) -> Constant:
    return ConstInt(t, 1)


def _false(t: Type) -> Constant:
    return ConstInt(t, 0)


_CLOSING = {"{": "}", "[": "]", "<": ">"}
_WORDS: dict[str, Callable[[Type], Constant]] = {
    "true": _true,
    "false": _false,
    "null": ConstNull,
    "undef": Undef,
    "poison": lambda t: Undef(t, True),
    "zeroinitializer": ConstZero,
    "none": lambda t: RawConstant(t, "none"),
}
