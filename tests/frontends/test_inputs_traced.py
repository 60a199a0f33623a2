"""What compilers open and look for, as strace sees it, is what the front ends report: an oracle that shares no code.

strace follows a process that compiles the sources of a case. Of the paths in the case's folder, each that was opened to
be read is among the dependencies, and each that was looked for in vain is a candidate, or in a missing folder that is.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from stale_cases import CASES, Case
from test_stale import ROOT, require, written

_COMPILES = """
import json, sys
from llgrad.frontends import compile_sources
done = compile_sources(*json.loads(sys.argv[1]))
print(json.dumps([list(map(str, done.dependencies)), done.consulted.candidates, done.consulted.patterns]))
"""
_CALLS = "trace=open,openat,stat,lstat,newfstatat,statx,access,faccessat,faccessat2"
_CALL = re.compile(r'\w+\((?:AT_FDCWD, )?"(/[^"]*)"(.*?)\) += (-?\d+)')
_TRACED = (
    "c header beside a header", "c header in a folder that comes first", "c header that is asked for by -I",
    "c response file in another", "c++ header that comes first", "fortran include that comes first",
    "fortran module that comes first", "rust module by a path", "rust included text", "cargo text in a path dependency",
    "cargo vendored crate", "cargo file that a build script declares", "zig import of an import", "zig embedded file",
    "d import that comes first", "d imported text", "nim include", "nim text", "nim unit in C", "nim header of C",
    "nim import that comes first", "mlir source", "llvm source",
)  # fmt: skip
_OTHERWISE = re.compile(
    r"/\.git\b|/HEAD$|/\.cargo-ok$|/target\b|/liba\.a$|/a$|/\.zig-cache|/src/Cargo\.toml$"
    r"|/(?:README(?:\.\w+)?|benches|examples|tests|src/bin|src/main\.rs)$"
)
"""What is looked for to be written, to find a repository, or as a target of a package beside its library."""


def traced(case: Case, folder: Path, log: Path) -> tuple[set[str], set[str], list[list[str]]]:
    """Files that were read, paths that were not found, and what the front end reports."""
    written(folder, dict(case.files))
    asked = [[str(folder / p) for p in case.paths], [flag.replace("{0}", str(folder)) for flag in case.flags]]
    command = ["strace", "-f", "-qq", "-e", _CALLS, "-s", "4096", "-o", str(log), sys.executable, "-c", _COMPILES]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run([*command, json.dumps(asked)], env=env, cwd="/", capture_output=True, text=True, check=False)
    assert not done.returncode, done.stderr
    read, missing = set(), set()
    for line in log.read_text(errors="replace").splitlines():
        call = _CALL.search(line)
        if call and call[1].startswith(f"{folder}/"):
            if int(call[3]) >= 0 and "O_RDONLY" in call[2] and os.path.isfile(call[1]):
                read.add(os.path.realpath(call[1]))
            elif int(call[3]) < 0 and not os.path.exists(call[1]) and not _OTHERWISE.search(call[1]):
                missing.add(os.path.normpath(call[1]))
    return read, missing, json.loads(done.stdout)


@pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace")
@pytest.mark.parametrize("name", _TRACED, ids=[name.replace(" ", "-") for name in _TRACED])
def test_front_ends_report_what_compilers_read(name: str, tmp_path: Path) -> None:
    case = next(case for case in CASES if case.name == name)
    require(case.paths)
    read, missing, (files, candidates, patterns) = traced(case, (tmp_path / "project").resolve(), tmp_path / "log")
    assert {str((tmp_path / "project").resolve() / path) for path in case.paths} <= read
    assert not read - {os.path.realpath(file) for file in files}
    told = {os.path.normpath(candidate) for candidate in candidates}
    folders = {pattern.rpartition("/*")[0] for pattern in patterns}
    covered = {path for path in missing if path in told or os.path.dirname(path) in folders}
    above = {path for path in missing - covered if any(c.startswith(f"{path}/") for c in told)}
    assert not missing - covered - above
