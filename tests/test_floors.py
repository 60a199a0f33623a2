"""The floors of the house (docs/design.md): who may import whom, and llvmlite, and what `import llgrad` costs."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import llgrad

ROOT = Path(llgrad.__file__).parent
# A part may import from itself and from the parts of lower floors.
FLOORS: tuple[tuple[str, ...], ...] = (
    ("brackets", "built", "collector", "errors", "places"),
    ("elf",),
    ("ir", "rules", "frontends", "backend"),
    ("analysis", "interpret"),
    ("signature",),
    ("assembly", "passes", "unforeseen"),
    ("atomics", "guards"),
    ("blas", "denormals", "equalities", "lapack", "openmp", "following", "sizes", "variadic"),
    ("knowntargets", "ownbuffers"),
    ("pools",),
    ("statics",),
    ("synthesis", "alignment", "bytewise", "interleaved", "lowering", "merging", "strings", "unrolling", "peeling",
     "reducing", "registers", "rejoining", "relative", "roots", "signs", "trampolines"),
    ("checkpointing", "closures", "failing", "retyped", "rounding", "specialising"),
    ("asking", "pipeline"),
    ("excerpt", "tables", "versions"),
    ("memorychecks", "resolving"),
    ("program",),
    ("cache", "entry", "nested", "passing"),
    ("arguments",),
    ("worker",),
    ("loaded",),
    ("library",),
    ("numba", "pervalues"),
    ("api", "registering"),
    ("dense", "second"),
    ("batches",),
    ("checking", "export", "report"),
    ("drivers", "foreign"),
    ("jax", "scipy", "tensorflow", "torch"),
    ("cli",),
    ("__main__",),
)
LLVMLITE = "backend"


def parts() -> set[str]:
    """Packages and modules of the top level."""
    packages = {p.parent.name for p in ROOT.glob("*/__init__.py")}
    return packages | {p.stem for p in ROOT.glob("*.py") if p.stem != "__init__"}


def floor(part: str) -> int:
    return next(n for n, names in enumerate(FLOORS) if part in names)


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


def part_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def wrong_way(part: str, other: str) -> bool:
    return part != other and floor(other) >= floor(part)


def violations(part: str, tree: ast.AST) -> list[str]:
    found = []
    for name in imported(tree, ("llgrad", part)):
        words = name.split(".")
        if words[0] == "llvmlite" and part != LLVMLITE:
            found.append(f"{part} imports {name}")
        if words[0] == "llgrad" and len(words) > 1 and words[1] in parts() and wrong_way(part, words[1]):
            found.append(f"{part} imports {name}")
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_down(path: Path) -> None:
    if part_of(path) != "__init__":  # the package itself only names what others hold, and loads it late
        assert not violations(part_of(path), ast.parse(path.read_text()))


def test_every_part_has_a_floor() -> None:
    assert parts() <= {name for names in FLOORS for name in names}


@pytest.mark.parametrize(
    ("part", "code"),
    [
        ("ir", "from llgrad.analysis.flow import flow"),
        ("analysis", "def f():\n    from llgrad import synthesis"),
        ("rules", "from llgrad.ir.types import I32"),
        ("synthesis", "import llvmlite.binding"),
        ("errors", "import llgrad.ir"),
        ("rules", "from ..ir.types import I32"),
        ("rules", "from .. import analysis"),
    ],
)
def test_a_violation_is_seen(part: str, code: str) -> None:
    assert violations(part, ast.parse(code))


@pytest.mark.parametrize("code", ["from .expression import Expr", "from ..errors import ArgumentError", "import numpy"])
def test_what_is_allowed(code: str) -> None:
    assert not violations("rules", ast.parse(code))


def test_type_checking_imports_are_no_imports() -> None:
    assert not violations("ir", ast.parse("if TYPE_CHECKING:\n    from llgrad.api import grad"))


HEAVY = ("numpy", "scipy", "igraph", "llvmlite", "torch", "jax", "tensorflow", "rich", "click")


def test_import_is_lazy() -> None:
    """`import llgrad` loads nothing big, and nothing of llgrad but itself."""
    code = "import sys, json, llgrad; dir(llgrad); print(json.dumps(sorted(sys.modules)))"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=_environment())
    loaded = json.loads(told.stdout)
    assert not [m for m in loaded if m.split(".")[0] in HEAVY]
    assert [m for m in loaded if m.split(".")[0] == "llgrad"] == ["llgrad"]


def _environment() -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(ROOT.parent)}


def test_names_are_found_late() -> None:
    for name in llgrad.__all__:
        assert getattr(llgrad, name) is not None
    with pytest.raises(AttributeError, match="no_such_name"):
        llgrad.no_such_name  # noqa: B018
