"""The floors of the house (docs/design.md): who may import whom, and llvmlite, and what `import llgrad` costs."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import llgrad

ROOT = Path(llgrad.__file__).parent
# A room may import from itself and from rooms of lower floors. Rooms of one floor do not know each other.
ROOMS: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("support",),
    ("models",),
    ("rules", "ir"),
    ("llvm", "frontends"),
    ("analysis",),
    ("signature", "transforms"),
    ("autodiff",),
    ("pipeline",),
    ("programs",),
    ("gpu",),
    ("execution",),
    ("numba",),
    ("api",),
    ("drivers", "foreign"),
    ("jax", "scipy", "tensorflow", "torch"),
    ("cli",),
    ("__main__",),
)
# The same for the folders within a room; "" stands for what lies in the room itself.
FOLDERS: dict[str, tuple[tuple[str, ...], ...]] = {
    "frontends": (
        ("common",),
        ("c", "d", "julia", "rust", "zig"),
        ("fortran", "mlir", "nim", "numba", "swift"),
        ("",),
    ),
    "analysis": (("",), ("layout",), ("bits", "cfg"), ("memory",), ("activity", "statics", "types"), ("valueflow",)),
    "transforms": (
        ("",),
        ("intrinsics", "loops"),
        ("canonical", "guard", "legalize", "symbols"),
        ("floatbits",),
        ("optimise",),
    ),
    "autodiff": (
        ("requests",),
        ("emit",),
        ("enzyme",),
        ("facts",),
        ("recipes", "shadows"),
        ("fusion",),
        ("plan",),
        ("sweeps",),
        ("custom_rules",),
        ("legality",),
        ("",),
        ("checkpointing",),
    ),
}
LLVMLITE = "llvm"
AT_MOST = 8  # modules that lie in no room


def names(parts: Sequence[str]) -> set[str]:
    """What a folder holds: folders and modules."""
    folder = ROOT.joinpath(*parts)
    return {p.parent.name for p in folder.glob("*/__init__.py")} | {
        p.stem for p in folder.glob("*.py") if p.stem != "__init__"
    }


def floor(floors: Sequence[Sequence[str]], room: str) -> int:
    return next(n for n, rooms in enumerate(floors) if room in rooms)


def inner(room: str, parts: Sequence[str]) -> str:
    """The folder within a room that a module, named by its parts, lies in."""
    known = {f for floors in FOLDERS[room] for f in floors}
    return parts[1] if len(parts) > 1 and parts[1] in known else ""


def goes_up(parts: Sequence[str], other: Sequence[str]) -> bool:
    """Does an import of module `other` by module `parts` leave its room, or folder, for one that is not below?"""
    room = parts[0]
    if room != other[0]:
        return floor(ROOMS, other[0]) >= floor(ROOMS, room)
    if room not in FOLDERS:
        return False
    mine, its = inner(room, parts), inner(room, other)
    return mine != its and floor(FOLDERS[room], its) >= floor(FOLDERS[room], mine)


def is_type_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those under `if TYPE_CHECKING`."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not is_type_only(child):
            yield from walk(child)


def imported(tree: ast.AST, package: Sequence[str]) -> Iterator[str]:
    """Dotted names of what a module of `package` imports, at the top or in functions."""
    for node in walk(tree):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else ()
            base = ".".join([*above, *([node.module] if node.module else [])])
            yield from (f"{base}.{a.name}" for a in node.names)


def modules() -> list[Path]:
    return sorted(ROOT.rglob("*.py"))


def parts_of(path: Path) -> tuple[str, ...]:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts[:-1] if parts[-1] == "__init__" else parts


def violations(parts: Sequence[str], tree: ast.AST, is_package: bool = False) -> list[str]:
    found = []
    for name in imported(tree, ("llgrad", *(parts if is_package else parts[:-1]))):
        first, *rest = name.split(".")
        if first == "llvmlite" and parts[0] != LLVMLITE:
            found.append(f"{'.'.join(parts)} imports {name}")
        if first == "llgrad" and rest and rest[0] in names(()) and goes_up(parts, rest):
            found.append(f"{'.'.join(parts)} imports {name}")
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_down(path: Path) -> None:
    if parts := parts_of(path):  # the package itself only names what others hold, and loads it late
        assert not violations(parts, ast.parse(path.read_text()), path.name == "__init__.py")


def test_every_room_has_a_floor() -> None:
    assert names(()) == {name for rooms in ROOMS for name in rooms}


@pytest.mark.parametrize("room", FOLDERS)
def test_every_folder_has_a_floor(room: str) -> None:
    folders = {p.parent.name for p in ROOT.joinpath(room).glob("*/__init__.py")}
    assert folders == {f for floors in FOLDERS[room] for f in floors if f}


def test_few_modules_lie_in_no_room() -> None:
    assert len(list(ROOT.glob("*.py"))) <= AT_MOST


def test_a_room_says_what_it_is_for() -> None:
    for path in ROOT.rglob("__init__.py"):
        assert ast.get_docstring(ast.parse(path.read_text())), path


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("ir.parse", "from llgrad.analysis.cfg.flow import flow"),
        ("analysis.solver", "def f():\n    from llgrad import autodiff"),
        ("rules.libm", "from llgrad.ir.types import I32"),
        ("autodiff.derivation", "import llvmlite.binding"),
        ("errors", "import llgrad.ir"),
        ("rules.libm", "from ..ir.types import I32"),
        ("rules.libm", "from .. import analysis"),
        ("analysis.cfg.flow", "from llgrad.analysis.memory import mod_ref"),
        ("analysis.solver", "from llgrad.analysis.cfg.flow import flow"),
        ("analysis.cfg.flow", "from ..memory import mod_ref"),
        ("autodiff.plan.plan", "from llgrad.autodiff.derivation import Derivation"),
        ("autodiff.recipes.min_cut", "from llgrad.autodiff.shadows.globals import shadow"),
        ("frontends.c.clang", "from llgrad.frontends.sources import compile_sources"),
        ("llvm.module", "from llgrad.frontends.c import clang"),
    ],
)
def test_a_violation_is_seen(module: str, code: str) -> None:
    assert violations(module.split("."), ast.parse(code))


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("rules.libm", "from .expression import Expr"),
        ("rules.libm", "from ..errors import ArgumentError"),
        ("rules.libm", "import numpy"),
        ("analysis.memory.mod_ref", "from llgrad.analysis.cfg.flow import flow"),
        ("analysis.memory.mod_ref", "from llgrad.analysis.memory.alias import may_meet"),
        ("autodiff.derivation", "from llgrad.autodiff.plan.plan import Plan"),
        ("frontends.sources", "from llgrad.frontends.c import clang"),
    ],
)
def test_what_is_allowed(module: str, code: str) -> None:
    assert not violations(module.split("."), ast.parse(code))


def test_type_checking_imports_are_no_imports() -> None:
    assert not violations(["ir", "parse"], ast.parse("if TYPE_CHECKING:\n    from llgrad.api.derivatives import grad"))


# Modules that use regular expressions, and what for. Those of languages and compilers in `frontends` are free to.
EXPRESSIONS = {
    "it compiles them for others": "support/lazy_pattern.py",
    "it reads and writes LLVM assembly": """
        ir/metadata.py ir/module.py ir/parse.py ir/parse_types.py ir/write_values.py llvm/assembly.py llvm/quirks.py
        support/brackets.py
    """,
    "it asks an unread body before it is read": """
        analysis/cfg/flow.py ir/rewrite.py ir/symbols.py transforms/canonical/numbers_apart.py
        transforms/floatbits/low_bits.py
    """,
    "names of symbols and types tell what is meant": """
        analysis/call_shapes.py analysis/layout/debug_info.py analysis/layout/inlined_at.py
        analysis/memory/call_effects.py analysis/memory/tbaa.py analysis/objects.py analysis/statics/statics.py
        analysis/types/hashbrown.py analysis/types/subobjects.py api/registering.py autodiff/emit/no_rule.py
        autodiff/legality/leftover_calls.py autodiff/legality/legality.py autodiff/legality/printed_numbers.py
        autodiff/requests/markers.py drivers/per_object.py execution/loaded.py llvm/loaders.py models/effects.py
        models/eigen.py rules/blas.py rules/library.py signature/frontend_metadata.py signature/languages.py
        signature/names.py signature/read.py transforms/canonical/inlined_first.py
        transforms/canonical/lapack_calls.py transforms/canonical/library_bodies.py transforms/canonical/openmp.py
        transforms/intrinsics/avx512.py transforms/intrinsics/x86.py
    """,
    "words of users, files and other tools": """
        api/export.py autodiff/enzyme/statements.py autodiff/requests/checkpoint_schedule.py drivers/command_line.py
        drivers/linking.py errors.py execution/llvmlite_module.py llvm/libraries.py llvm/remarks.py llvm/target.py
    """,
    "it edits LLVM assembly as text, and should edit `ir.Module`": """
        llvm/text.py programs/excerpt.py transforms/guard/strings.py transforms/symbols/address_taken.py
        transforms/symbols/program_text.py transforms/symbols/shared_globals.py
    """,
}


def test_regular_expressions_are_where_they_are_said_to_be() -> None:
    """These lists only shrink: a pass edits `ir.Module`, and what LLVM prints and cannot read is in `llvm.quirks`."""
    known = {name for names in EXPRESSIONS.values() for name in names.split()}
    ways = {"re", "llgrad.support.lazy_pattern.lazy_pattern"}
    used = {p for p in modules() if not ways.isdisjoint(imported(ast.parse(p.read_text()), ()))}
    found = {str(p.relative_to(ROOT)) for p in used}
    assert {f for f in found if not f.startswith("frontends/")} == known


def test_each_use_of_regular_expressions_has_one_reason() -> None:
    names = [name for names in EXPRESSIONS.values() for name in names.split()]
    assert len(names) == len(set(names))


ORACLE = Path(__file__).parent / "interpreter"
SHARED = {"errors", "ir", "models", "rules", "support"}


@pytest.mark.parametrize("path", sorted(ORACLE.glob("*.py")), ids=lambda p: p.name)
def test_the_interpreter_shares_only_data_with_llgrad(path: Path) -> None:
    """The oracle must not fail with what it judges: it knows the IR and the rules, no analysis and no transform."""
    names = imported(ast.parse(path.read_text()), ("interpreter",))
    assert {n.split(".")[1] for n in names if n.startswith("llgrad.")} <= SHARED


def test_llgrad_does_not_know_the_interpreter() -> None:
    assert ORACLE.is_dir()
    for path in modules():
        assert "interpreter" not in {n.split(".")[0] for n in imported(ast.parse(path.read_text()), ())}, path


HEAVY = ("numpy", "scipy", "igraph", "llvmlite", "torch", "jax", "tensorflow", "rich", "click")


def test_import_is_lazy() -> None:
    """`import llgrad` loads nothing big, and nothing of llgrad but itself."""
    code = "import sys, json, llgrad; dir(llgrad); print(json.dumps(sorted(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_environment())
    loaded = json.loads(told.stdout)
    assert not [m for m in loaded if m.split(".")[0] in HEAVY]
    assert [m for m in loaded if m.split(".")[0] == "llgrad"] == ["llgrad"]


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT.parent)}


def test_names_are_found_late() -> None:
    for name in llgrad.__all__:
        assert getattr(llgrad, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        llgrad.no_such_name  # noqa: B018
