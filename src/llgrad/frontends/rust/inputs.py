"""What rustc and cargo read: sources, what build scripts declare, manifests, configuration, toolchain.

A build script is trusted as cargo trusts it: it reads what it names by `rerun-if-changed` and `rerun-if-env-changed`,
or files of its package if it names nothing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from llgrad.frontends.common.consulted import Consulted, looked_for, together, tree, upwards, within
from llgrad.frontends.common.tools import Source, answer, makefile_dependencies

Inputs = tuple[list[Path], Consulted]


def of_file(source: Source, rule: Path, compiler: str) -> Inputs:
    """What a crate of one file is compiled from, by the rule that rustc wrote."""
    read = makefile_dependencies(rule, source.path, source.folder)[1:]
    own = Consulted(_modules_elsewhere((source.path.absolute(), *read)), variables=_variables(rule))
    return _together([(list(read), own), _library_search(source), _toolchain(compiler, source.folder)])


def of_package(source: Source, target: Path, said: str, cargo: str, compiler: str) -> Inputs:
    """What a package is compiled from, by the rules in cargo's target folder and the messages that it printed."""
    manifest = source.path.absolute()
    root = Path(answer((cargo, "locate-project", "--workspace", "--message-format=plain"), manifest.parent).strip())
    if not root.is_absolute():
        return [], Consulted(untold="cargo does not tell where the workspace is")
    messages = [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    packages = {m["package_id"]: Path(m["manifest_path"]) for m in messages if "manifest_path" in m}
    parts = [_rules(target, root.parent), _toolchain(compiler, manifest.parent), _configuration(manifest.parent)]
    parts += [_manifests(package) for package in (root, *packages.values())]
    parts += [_script(m, packages) for m in messages if m.get("reason") == "build-script-executed"]
    return _together([*parts, _looked_for(root.with_name("Cargo.lock"))])


def _together(parts: Sequence[Inputs]) -> Inputs:
    files = dict.fromkeys(path for read, _ in parts for path in read)
    return list(files), together(consulted for _, consulted in parts)


def _looked_for(*paths: Path) -> Inputs:
    read, missing = looked_for(paths)
    return read, Consulted(missing)


# --- crates -----------------------------------------------------------------------------------------------------------


def _rules(target: Path, workspace: Path) -> Inputs:
    """Sources of all crates, macros and build scripts: cargo names those of the workspace relative to it."""
    rules = sorted(target.rglob("*.d"))
    named = (path for rule in rules for path in makefile_dependencies(rule, rule, workspace)[1:])
    outside = (path for path in dict.fromkeys(named) if not path.is_relative_to(target))
    read = [path for path in outside if not path.is_dir()]  # folders are what build scripts declare, see `_script`
    variables = tuple(dict.fromkeys(name for rule in rules for name in _variables(rule)))
    return read, Consulted(_modules_elsewhere(read), variables=variables)


_NAMED = re.compile(r"^# env-dep:(\w+)", re.MULTILINE)


def _variables(rule: Path) -> tuple[str, ...]:
    """What `env!` and `option_env!` name, which rustc notes with the files."""
    return tuple(_NAMED.findall(rule.read_text(errors="surrogateescape")))


def _modules_elsewhere(read: Sequence[Path]) -> tuple[str, ...]:
    """Where `mod m;` may be, too: `m.rs` or `m/mod.rs`."""
    sources = [path for path in read if path.suffix == ".rs"]
    files = (path.with_suffix("") / "mod.rs" for path in sources if path.name != "mod.rs")
    folders = (path.parent.with_suffix(".rs") for path in sources if path.name == "mod.rs")
    return tuple(map(str, (*files, *folders)))


_SEARCHED = re.compile(r"(?:-L\s*|--library-path=)(?:\w+=)?(.*)")
_COMPILED_CRATES = (".rlib", ".rmeta", ".so")


def _library_search(source: Source) -> Inputs:
    """Compiled crates in the folders that flags name, of which any may be used."""
    flags = iter(source.flags)
    words = (f"-L{next(flags, '')}" if flag in ("-L", "--library-path") else flag for flag in flags)
    places = [source.folder / m[1] for m in map(_SEARCHED.fullmatch, words) if m]
    crates = [path for place in places for path in sorted(place.glob("*")) if path.suffix in _COMPILED_CRATES]
    return crates, Consulted(patterns=tuple(within(place, end) for place in places for end in _COMPILED_CRATES))


def _toolchain(compiler: str, folder: Path) -> Inputs:
    """rustup chooses a compiler by files around the folder; which it is, rustc tells."""
    home = Path(os.environ.get("RUSTUP_HOME", Path.home() / ".rustup"))
    named = upwards(folder, "rust-toolchain", "rust-toolchain.toml")
    read, missing = looked_for([*named, home / "settings.toml"])
    root = Path(answer((compiler, "--print", "sysroot"), folder).strip())
    programs = [root / "bin" / "rustc", *sorted(root.glob("lib/librustc_driver-*"))]
    return read, Consulted(missing, programs=tuple(str(p) for p in programs if p.exists()))


# --- packages ---------------------------------------------------------------------------------------------------------


def _manifests(manifest: Path) -> Inputs:
    """A package's manifest, those around it that may be its workspace's, and what may lie beside it."""
    beside = (manifest.with_name(name) for name in ("build.rs", ".cargo-checksum.json"))
    return _looked_for(*upwards(manifest.parent, "Cargo.toml"), *beside)


def _configuration(folder: Path) -> Inputs:
    """What cargo reads around the folder that it runs in, and in its home: vendored crates are named there."""
    home = Path(os.environ.get("CARGO_HOME", Path.home() / ".cargo"))
    around = upwards(folder, ".cargo/config.toml", ".cargo/config")
    return _looked_for(*around, home / "config.toml", home / "config")


_DECLARED = re.compile(r"^cargo::?rerun-if-(changed|env-changed)=(.*)$", re.MULTILINE)


def _script(message: dict[str, Any], packages: dict[str, Path]) -> Inputs:
    """What a build script that ran has declared, in what it printed."""
    printed = Path(message["out_dir"]).with_name("output")
    manifest = packages.get(message["package_id"])
    if manifest is None or not printed.is_file():
        return [], Consulted(untold=f"what the build script of {message['package_id']} declares is not known")
    declared = _DECLARED.findall(printed.read_text(errors="surrogateescape"))
    names = [name.strip() for what, name in declared if what == "changed"]
    variables = tuple(name.strip() for what, name in declared if what == "env-changed")
    read, consulted = _together(list(_declared(manifest.parent, names if declared else ["."])))
    return read, together([consulted, Consulted(variables=variables)])


def _declared(package: Path, names: Sequence[str]) -> Iterator[Inputs]:
    for path in (package / name for name in names):
        if path.is_dir():
            files, patterns = tree(path, skipped=("target",))
            yield files, Consulted(patterns=tuple(patterns))
        else:
            yield _looked_for(path)
