"""Nim: to C by nim, from there by clang.

Procedures need `{.exportc.}`; types and names are those of the C that nim writes. Memory is counted (`--mm:arc`) and
comes from malloc. Code at the top level of a module runs in `NimMain`, which nobody calls here.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from llgrad.errors import CompilerError
from llgrad.frontends import clang
from llgrad.frontends.tools import Compiled, Language, Source, answer, run

_FIX = "correct the source, or pass the flags it needs (--path:…, -d:…)"
_FLAGS = (
    "--cc:clang", "--noMain", "--noLinking", "--app:staticlib", "--mm:arc", "-d:danger", "-d:useMalloc",
    "--compileOnly", "--lineDir:on", "--hints:off", "--exceptions:goto",
)  # fmt: skip


def nim() -> str:
    """The compiler; CompilerError that says how to get one."""
    wanted = os.environ.get("LLGRAD_NIM", "nim")
    program = shutil.which(wanted)
    if program is None:
        raise CompilerError(
            "there is no Nim compiler", cause=f"PATH has no {wanted}",
            fix="install nim (Debian: apt install nim), or set LLGRAD_NIM to one",
        )  # fmt: skip
    return program


def _identity() -> str:
    return f"{answer((nim(), '--version')).partition(chr(10))[0]} {clang.find_compiler().identity}"


def _compile(sources: Sequence[Source], raw: bool) -> list[Compiled]:
    return [compiled for source in sources for compiled in _file(source, raw)]


def _file(source: Source, raw: bool) -> list[Compiled]:
    with tempfile.TemporaryDirectory(prefix="llgrad-") as folder:
        command = [nim(), "c", *_FLAGS, f"--nimcache:{folder}", *source.flags, str(source.path.absolute())]
        run(command, source.path, _FIX)
        plan = json.loads(next(Path(folder).glob("*.json")).read_text())
        read = tuple(Path(name) for name, _ in plan.get("depfiles", []) if Path(name).is_file())
        include = re.search(r"-I(\S+|'[^']+')", plan["compile"][0][1])
        assert include is not None
        made = []
        for name, _ in plan["compile"]:
            unit = Source(Path(name), (f"-I{include[1].strip(chr(39))}", "-w"))
            module = clang.compile_file(unit, raw=raw, cxx=False).module
            made.append(Compiled(module, (source.path, *(p for p in read if p != source.path))))
        return made


NIM = Language("nim", (".nim",), _compile, _identity, ("nim", *clang.C.programs), ("LLGRAD_NIM", *clang.C.environment))
