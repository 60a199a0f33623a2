"""StableHLO, what `jax.jit(f).lower(…).as_text()` gives: lowered to upstream MLIR by the passes that jaxlib brings.

jaxlib legalises operations of arrays to linalg; loops and branches become scf's here, sorting, scattering and some
calls of LAPACK functions (`stablehlo_calls`). What is left over (other custom calls, collectives) is refused by name.
Beside `@main` stands a function under the program's own name, for elsewhere: arrays are memrefs, scalars numbers; one
scalar result is returned, others are written to further arguments `out0`, `out1`, ….
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from llgrad.errors import CompilerError, UnsupportedError
from llgrad.frontends.mlir import stablehlo_calls

_PASSES = (
    "builtin.module(func.func(chlo-legalize-to-stablehlo))",
    "builtin.module(func.func(stablehlo-legalize-to-linalg))",
)

_UNSIGNED = re.compile(r"(?:\b|(?<=\dx))ui(8|16|32|64)\b")
"""Elements without a sign, which upstream operations do not have; jaxlib's passes have chosen operations by it."""


def is_stablehlo(text: str) -> bool:
    """Does a file in MLIR hold operations of StableHLO?"""
    return re.search(r"^\s*(?:%\S+ = )?\"?(?:stablehlo|chlo)\.", text, re.MULTILINE) is not None


def upstream(text: str, path: Path) -> str:
    """The program in upstream dialects; CompilerError without jaxlib, UnsupportedError for what it cannot lower."""
    try:
        from jaxlib.mlir import ir, passmanager
        from jaxlib.mlir._mlir_libs import _jax_mlir_ext, _stablehlo
        from jaxlib.mlir.dialects import chlo, sdy, stablehlo
    except ImportError as error:
        raise CompilerError(
            f"{path} is StableHLO, and there is no jaxlib to lower it", cause=str(error), fix="pip install 'jax>=0.10'"
        ) from error
    _stablehlo.register_stablehlo_passes()
    with ir.Context() as context, ir.Location.unknown():
        registry = ir.DialectRegistry()
        _jax_mlir_ext.register_dialects(registry)
        context.append_dialect_registry(registry)
        for dialect in (chlo, sdy, stablehlo):
            dialect.register_dialect(context)
        context.load_all_available_dialects()
        try:
            module = ir.Module.parse(text)
            passmanager.PassManager.parse(_PASSES[0]).run(module.operation)
            written = stablehlo_calls.called(module, ir, stablehlo)
            _without_empty(module.operation, ir)
            passmanager.PassManager.parse(_PASSES[1]).run(module.operation)
        except ir.MLIRError as error:
            raise CompilerError(f"{path} does not compile\n{error}", fix="correct the source") from error
        _Control(ir).lower(module.operation)
        left = sorted(set(_left(module.operation)))
        if left:
            raise UnsupportedError(
                f"{path} uses {', '.join(left)}", cause="jaxlib lowers operations of arrays to MLIR's own, not that",
                fix="differentiate that part with JAX, or write it as a loop",
            )  # fmt: skip
        return _UNSIGNED.sub(r"i\1", _with_bodies(_with_entry(str(module), module, ir), written))


def _without_empty(operation: Any, ir: Any) -> None:
    """Arrays without elements (halves of recursive scans) are made of nothing, and concatenated with nothing.

    What is reduced along no axis (JAX asks so whether all of one number holds) stays what it is.
    """
    for region in operation.regions:
        for block in region.blocks:
            for op in [op.operation for op in block.operations]:
                _without_empty(op, ir)
                if op.name == "stablehlo.concatenate":
                    _drop_empty(op, ir)
                elif op.name == "stablehlo.reduce" and not len(op.attributes["dimensions"]):
                    for result, given in zip(op.results, list(op.operands), strict=False):
                        result.replace_all_uses_with(given)
                    op.erase()
                elif op.name.startswith("stablehlo.") and not op.regions and [*map(_is_empty, op.results)] == [True]:
                    with ir.InsertionPoint(op):
                        made = ir.Operation.create("tensor.empty", results=[op.results[0].type])
                    op.results[0].replace_all_uses_with(made.results[0])
                    op.erase()


def _is_empty(value: Any) -> bool:
    return re.match(r"tensor<(?:\d+x)*0x", str(value.type)) is not None


def _drop_empty(op: Any, ir: Any) -> None:
    """Concatenates only what has elements, if not all do."""
    some = [v for v in op.operands if not _is_empty(v)]
    if some and len(some) < len(op.operands):
        attributes = {"dimension": op.attributes["dimension"]}
        with ir.InsertionPoint(op):
            made = ir.Operation.create(op.name, results=[op.results[0].type], operands=some, attributes=attributes)
        op.results[0].replace_all_uses_with(made.results[0])
        op.erase()


def _with_bodies(text: str, written: Mapping[str, str]) -> str:
    """The module with functions for what jaxlib does not lower, and declarations of what these call."""
    declaration = r"^ *func\.func private @(llgrad_call_\d+)\(.*\n"
    text = re.sub(declaration, lambda m: written[m[1]], text, flags=re.MULTILINE)
    end = text.rstrip().rindex("}")
    return text[:end] + stablehlo_calls.declared_in_c(text) + text[end:]


def _left(operation: Any) -> Iterator[str]:
    """The operations that no pass lowered."""
    for region in operation.regions:
        for block in region.blocks:
            for op in (op.operation for op in block.operations):
                if op.name == "stablehlo.custom_call":
                    yield f"{op.name} of {op.attributes['call_target_name'].value}"
                elif op.name.startswith(("stablehlo.", "chlo.", "mhlo.")) and op.name != "stablehlo.return":
                    yield op.name
                yield from _left(op)


class _Control:
    """Loops and branches of StableHLO to those of scf; what is one number is carried as one, not as an array."""

    def __init__(self, ir: Any) -> None:
        self.ir = ir

    def lower(self, operation: Any) -> None:
        """Everything in an operation, innermost first."""
        for region in operation.regions:
            for block in region.blocks:
                for op in [op.operation for op in block.operations]:
                    self.lower(op)
                    change = _CONTROL.get(op.name)
                    if change is not None:
                        self._replace(op, change)

    def _replace(self, op: Any, change: Callable[[_Control, Any], Any]) -> None:
        with self.ir.InsertionPoint(op):
            made = self._tensors(change(self, op).results, [r.type for r in op.results])
        for old, new in zip(op.results, made, strict=True):
            old.replace_all_uses_with(new)
        op.erase()

    def _create(
        self, name: str, operands: Sequence[Any], results: Sequence[Any] = (), regions: int = 0, **attributes: Any
    ) -> Any:
        create = self.ir.Operation.create
        return create(name, results=list(results), operands=list(operands), regions=regions, attributes=attributes)

    def _carried(self, t: Any) -> Any:
        """The type of what is carried for a tensor."""
        return t if _rank(t, self.ir) else self.ir.RankedTensorType(t).element_type

    def _scalar(self, value: Any) -> Any:
        return self._create("tensor.extract", [value], [self._carried(value.type)]).results[0]

    def _scalars(self, values: Sequence[Any]) -> list[Any]:
        return [v if _rank(v.type, self.ir) else self._scalar(v) for v in values]

    def _tensors(self, values: Sequence[Any], types: Sequence[Any]) -> list[Any]:
        pairs = zip(values, types, strict=True)
        return [v if v.type == t else self._create("tensor.from_elements", [v], [t]).results[0] for v, t in pairs]

    def _move(self, old: Any, region: Any, end: str) -> None:
        """The operations of a region's block to a new region, where they end in `end`."""
        source = old.blocks[0]
        types = [a.type for a in source.arguments]
        block = self.ir.Block.create_at_start(region, [self._carried(t) for t in types])
        *moved, last = [op.operation for op in source.operations]
        with self.ir.InsertionPoint(block):
            given = self._tensors(list(block.arguments), types)
        for argument, value in zip(source.arguments, given, strict=True):
            argument.replace_all_uses_with(value)
        with self.ir.InsertionPoint(block):
            values = self._scalars(list(last.operands))
            final = self._create(end, values + (list(block.arguments) if end == "scf.condition" else []))
        first = next((op.operation for op in block.operations if op.operation.name == "tensor.extract"), final)
        for op in moved:
            op.move_before(first)

    def _while(self, op: Any) -> Any:
        values = self._scalars(list(op.operands))
        made = self._create("scf.while", values, [self._carried(r.type) for r in op.results], 2)
        self._move(op.regions[0], made.regions[0], "scf.condition")
        self._move(op.regions[1], made.regions[1], "scf.yield")
        return made

    def _if(self, op: Any) -> Any:
        choice = self._scalar(op.operands[0])
        made = self._create("scf.if", [choice], [self._carried(r.type) for r in op.results], 2)
        for old, new in zip(op.regions, made.regions, strict=True):
            self._move(old, new, "scf.yield")
        return made

    def _case(self, op: Any) -> Any:
        """One `scf.if` within another; the last branch is that of all other numbers, too.

        Not `scf.index_switch`: MLIR 22 forgets which tensors it may yield, and puts others into their memory.
        """
        return self._branch(op, self._scalar(op.operands[0]), [self._carried(r.type) for r in op.results], 0)

    def _branch(self, op: Any, index: Any, types: Sequence[Any], n: int) -> Any:
        """What is chosen among the n-th branch and those after it."""
        ir = self.ir
        if n == len(op.regions) - 1:
            made = self._create("scf.execute_region", [], types, 1)
            self._move(op.regions[n], made.regions[0], "scf.yield")
            return made
        number = self._create("arith.constant", [], [index.type], value=ir.IntegerAttr.get(index.type, n)).results[0]
        equal, bit = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), 0), ir.IntegerType.get_signless(1)
        choice = self._create("arith.cmpi", [index, number], [bit], predicate=equal).results[0]
        made = self._create("scf.if", [choice], types, 2)
        self._move(op.regions[n], made.regions[0], "scf.yield")
        with ir.InsertionPoint(ir.Block.create_at_start(made.regions[1], [])):
            self._create("scf.yield", self._branch(op, index, types, n + 1).results)
        return made


_CONTROL: dict[str, Callable[[_Control, Any], Any]] = {
    "stablehlo.while": _Control._while, "stablehlo.if": _Control._if, "stablehlo.case": _Control._case,
}  # fmt: skip


# --- the function for elsewhere ---------------------------------------------------------------------------------------


def _with_entry(text: str, module: Any, ir: Any) -> str:
    """The module with a function of memrefs and numbers that calls `@main`."""
    main = next(op for op in module.body.operations if op.operation.name == "func.func" and op.name.value == "main")
    symbol = re.search(r"^module @(\w+)", text, re.MULTILINE)
    name = symbol[1].removeprefix("jit_") if symbol else "entry"
    inputs, results = list(main.type.inputs), list(main.type.results)
    names = _names(main, len(inputs))
    formal, body, actual = [], [], []
    for n, (called, t) in enumerate(zip(names, inputs, strict=True)):
        formal.append(f"%{called}: {_outside(t, ir)}" + (" {llvm.readonly}" if _rank(t, ir) else ""))
        actual.append(f"%v{n}")
        if _rank(t, ir):
            body.append(f"%v{n} = bufferization.to_tensor %{called} restrict : {_outside(t, ir)} to {t}")
        else:
            body.append(f"%v{n} = tensor.from_elements %{called} : {t}")
    count = f":{len(results)}" if len(results) > 1 else ""
    given = [f"%r#{n}" for n in range(len(results))] if len(results) > 1 else ["%r"]
    types = ", ".join(map(str, inputs))
    body.append(f"%r{count} = func.call @main({', '.join(actual)}) : ({types}) -> ({', '.join(map(str, results))})")
    returned = ""
    if len(results) == 1 and not _rank(results[0], ir):
        returned = _outside(results[0], ir)
        body += [f"%value = tensor.extract %r[] : {results[0]}", f"return %value : {returned}"]
    else:
        for n, (value, t) in enumerate(zip(given, results, strict=True)):
            memref = str(t).replace("tensor", "memref", 1)
            formal.append(f"%out{n}: {memref}")
            body.append(
                f"bufferization.materialize_in_destination {value} in restrict writable %out{n} : ({t}, {memref}) -> ()"
            )
        body.append("return")
    arrow = f" -> {returned}" if returned else ""
    entry = "\n    ".join([f"  func.func @{name}({', '.join(formal)}){arrow} {{", *body]) + "\n  }\n"
    plain = re.sub(r"func\.func public @main\(", "func.func private @main(", text)
    plain = re.sub(rf"@{name}\b(?![.$])", f"@llgrad_inner_{name}", plain)  # what JAX calls a function of its own
    plain = re.sub(r" \{(?:jax|mhlo|sdy)\.[^{}]*\}", "", re.sub(r" attributes \{[^{}]*\}", "", plain))
    end = plain.rstrip().rindex("}")
    return plain[:end] + entry + plain[end:]


def _names(main: Any, count: int) -> list[str]:
    """The parameters' names in the program, where locations have them."""
    found = [re.fullmatch(r'loc\("([A-Za-z_]\w*)"\)', str(a.location)) for a in main.arguments]
    names = [m[1] if m else f"arg{n}" for n, m in enumerate(found)]
    return names if len(set(names)) == count else [f"arg{n}" for n in range(count)]


def _rank(t: Any, ir: Any) -> int:
    return len(ir.RankedTensorType(t).shape)


def _outside(t: Any, ir: Any) -> str:
    """The type that stands for a tensor: a memref, or a number."""
    return str(t).replace("tensor", "memref", 1) if _rank(t, ir) else str(ir.RankedTensorType(t).element_type)
