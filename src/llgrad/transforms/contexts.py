"""Contexts of the lists in `pipeline`: what the passes of a list must know, and what they find out."""

from __future__ import annotations

from collections.abc import Collection

from msgspec import Struct, field


class Source(Struct, frozen=True):
    """The context of `PROGRAM`. `asks`: it is a program that asks for derivatives, not a library that Python loads.

    `closed`: no code but its own calls its functions.
    """

    asks: bool = False
    closed: bool = False


class Lowering(Struct):
    """The context of `canonical.lowering.LOWER`."""

    roots: list[str]  # functions that are inlined nowhere
    lowered: bool = False  # something was changed
    passed: list[str] = field(default_factory=list)  # functions that are passed structs of variable arguments
    teams: bool = False  # parallel regions of OpenMP stay parallel (`canonical.teams`), else they run in one thread


class Preparation(Lowering, kw_only=True):
    """The context of `PREPARE`."""

    level: int
    threads: bool
    constants: tuple[tuple[int, int | float], ...]
    special: str  # the name of the root whose constants are fixed
    blocks: bool
    shown: tuple[str, ...] = ()  # what besides the roots stays visible
    formed: str = ""  # the text in which loops have their form, as far as it is known


class Finishing(Struct):
    """The context of `FINISH`."""

    others: str
    last: str
    keep: Collection[str]
    inlined: Collection[str]
    level: int
    vectorize: bool
    vector_math: bool
    cpu: str
    jit: bool
    once: Collection[str] | None = None  # which of `inlined` are used once, where that is known


class Linking(Struct):
    """The context of `LINKED`: what others see of a program with its derivatives, and what may be inlined first.

    `hides`: what is not shown becomes local.
    """

    shown: Collection[str] = ()
    inlined: Collection[str] = ()
    hides: bool = True
    once: Collection[str] | None = None


class Target(Struct, frozen=True):
    """The context of `FINISHED`: what the linked program is optimised for."""

    level: int
    cpu: str
    vector_math: bool
