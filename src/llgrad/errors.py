"""Every diagnostic of llgrad: a code, the place in the user's source, the cause, and the way out.

Floor 1: this module imports nothing of llgrad. `docs/errors.md` has an entry for each code;
a test holds the two together. Raise a subclass, never `LlgradError` itself.
"""

from __future__ import annotations

import functools
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import ParamSpec, TextIO, TypeVar

from msgspec import Struct

_OWN_NAMES = (
    (r"llgrad\.(?:root|replay\.of|log\.of|other\.\d+)\.", ""),
    (r"__enzyme_fwddiff\.replay\.\S+", "__enzyme_fwdsplit"),
    (r"argument %?llgrad\.log\b", "the tape"),
    (r"llgrad\.registered\.([a-z_]+)\.\d+\.", r"__enzyme_\1"),
    (r"llgrad\.byaddress\.|llgrad_blas_(?=[ds]\w+)", ""),
    (r"@?llvm\.(memcpy|memmove|memset)(?:\.\w+)*", r"\1"),
)
"""What functions and globals are called within llgrad, and what the user calls them."""
_MOST_QUOTED = 120  # characters of a line


def _shown(text: str) -> str:
    if any(w in text for w in ("llgrad.", "__enzyme_", "llgrad_", "llvm.mem")):
        for own, users in _OWN_NAMES:
            text = re.sub(own, users, text)
    return text


class Span(Struct, frozen=True):
    """A place in the user's source; `line` and `column` count from 1, 0 where unknown. Compiled in `folder`."""

    file: str
    line: int = 0
    column: int = 0
    folder: str = ""

    def __str__(self) -> str:
        return ":".join([self.file, *(str(n) for n in (self.line, self.column) if n)])

    def quoted(self) -> list[str]:
        """The line of source, and a caret below its column; nothing where that is not known, or the file is gone."""
        if not self.line or not self.column:
            return []
        try:
            line = Path(self.folder, self.file).read_text(errors="replace").splitlines()[self.line - 1]
        except (OSError, IndexError, ValueError):
            return []
        before, most = max(self.column - 1, 0), _MOST_QUOTED
        start = max(0, min(before - most // 2, len(line) - most))
        shown = line[start : start + most].rstrip()
        if not shown.strip():
            return []
        caret = "".join("\t" if c == "\t" else " " for c in line[start:before]) + "^"
        return [f"  | {shown}", *([f"  | {caret}"] if self.column <= len(line) else [])]


class LlgradError(Exception):
    """What went wrong (`message`), where (`span`), why (`cause`), and what to do (`fix`)."""

    code = "llgrad"

    def __init__(self, message: str, *, span: Span | None = None, cause: str = "", fix: str = "") -> None:
        self.message, self.span, self.cause, self.fix = _shown(message), span, _shown(cause), _shown(fix)
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.told(f"{self.span}: " if self.span else "")

    def told(self, where: str) -> str:
        """What went wrong behind `where`, the line of source, why, and what to do."""
        lines = [f"{where}{self.message} [{self.code}]", *(self.span.quoted() if self.span else ())]
        lines += [f"  because: {self.cause}"] if self.cause else []
        lines += [f"  to do: {self.fix}"] if self.fix else []
        return "\n".join(lines)


TRACEBACK = "LLGRAD_TRACEBACK"
"""The environment's variable that asks for llgrad's own frames."""

_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")


def at_the_caller(function: Callable[_Given, _Result]) -> Callable[_Given, _Result]:
    """A function of the public interface: tracebacks of its LlgradErrors end at the user's line and its own."""

    @functools.wraps(function)
    def called(*args: _Given.args, **named: _Given.kwargs) -> _Result:
        try:
            return function(*args, **named)
        except LlgradError as error:
            without_frames(error)
            raise

    return called


def without_frames(error: LlgradError) -> None:
    """Take the traceback from an error and from its causes, unless LLGRAD_TRACEBACK is set."""
    if not os.environ.get(TRACEBACK):
        cause: BaseException | None = error
        while cause is not None:
            cause.__traceback__, cause.__suppress_context__ = None, True
            cause = cause.__cause__


class LlgradWarning(UserWarning):
    """What may be wrong and cannot be told from what is right; `docs/errors.md` has an entry for each."""


def warn(message: str, *, span: Span | None = None, cause: str = "", fix: str = "") -> None:
    """A LlgradWarning in the form of an error. Each is shown once."""
    made = LlgradError(message, span=span, cause=cause, fix=fix)
    made.code = "warning"
    for texts in _recording:
        texts.append(str(made))
    warnings.warn(str(made), LlgradWarning, stacklevel=2)


_recording: list[list[str]] = []


@contextmanager
def recorded() -> Iterator[list[str]]:
    """What is warned of meanwhile; `warn_again` tells it again, where what was made then is found in a cache."""
    texts: list[str] = []
    _recording.append(texts)
    try:
        yield texts
    finally:
        _recording.pop()


def warn_again(texts: Sequence[str]) -> None:
    """Tell what was `recorded`."""
    for text in texts:
        warnings.warn(text, LlgradWarning, stacklevel=2)


def as_compilers_warn() -> None:
    """From now on, show warnings on stderr, as compilers do: without where in llgrad they were raised."""
    before = warnings.showwarning

    def show(
        message: Warning | str, category: type[Warning], filename: str, lineno: int, file: TextIO | None = None,
        line: str | None = None,
    ) -> None:  # fmt: skip
        if issubclass(category, LlgradWarning):
            print(f"llgrad: {message}", file=sys.stderr)
        else:
            before(message, category, filename, lineno, file, line)

    warnings.showwarning = show


class SourceError(LlgradError):
    """A source file is missing, unreadable, or of an unknown language."""

    code = "source"


class MissingSourceError(SourceError, FileNotFoundError):
    """A source file that is not there."""


class CompilerError(LlgradError, RuntimeError):
    """The language's compiler is missing, too new for LLVM 22, or rejected the source."""

    code = "compiler"


class ParseError(LlgradError, ValueError):
    """LLVM assembly that `ir.parse` does not understand."""

    code = "parse"


@contextmanager
def of_file(name: str) -> Iterator[None]:
    """Where LLVM cannot read what comes from a file, that is where."""
    try:
        yield
    except ParseError as error:
        error.span, error.cause = error.span or (Span(name) if name else None), error.cause.removeprefix("<string>:")
        raise


@contextmanager
def somewhere_in(name: str) -> Iterator[None]:
    """What goes wrong without a place, since code has no debug info, goes wrong in that file."""
    try:
        yield
    except LlgradError as error:
        error.span = error.span or Span(name)
        raise


class VerifyError(LlgradError):
    """IR that breaks an invariant of `ir.verify` or of LLVM's verifier."""

    code = "verify"


class UnknownNameError(LlgradError, ValueError):
    """A function, parameter or marker name that does not exist."""

    code = "name"


class ArgumentError(LlgradError, TypeError, ValueError):
    """A Python argument of the wrong type, dtype, layout or size; buffers that overlap."""

    code = "argument"


class UnsupportedError(LlgradError, NotImplementedError):
    """A construct that llgrad refuses to differentiate rather than differentiate wrongly.

    `remedy`: what may be done to the program's text first. `loses_bits`: bits of an active float were seen to be
    changed, which code that is less optimised may hide.
    """

    code = "unsupported"
    remedy: Callable[[str], str] | None = None
    loses_bits = False


class NoRuleError(UnsupportedError):
    """An active call of a function that has neither a body nor a rule."""

    code = "no-rule"


class KindError(UnsupportedError):
    """Memory or a value whose kind (float, integer, pointer) matters and is undecidable."""

    code = "kind"


class ActivityError(UnsupportedError):
    """Constant and active pointers merge, or a shadow is missing."""

    code = "activity"


class SeedError(LlgradError):
    """No adjoint can be given to any of the results, so that the derivative would be zero."""

    code = "seed"


class NonFiniteError(LlgradError, FloatingPointError):
    """A derivative is infinite or not a number, and the call asked where that arises."""

    code = "non-finite"


class SolveError(LlgradError, ArithmeticError):
    """An implicit function has no derivative here: no root was given, or a linear system has no solution."""

    code = "solve"


class CheckpointError(UnsupportedError):
    """A loop that cannot have checkpoints, or is not there."""

    code = "checkpoint"


class InternalError(LlgradError, RuntimeError):
    """llgrad failed where it should have said what it cannot do; `__cause__` is the exception."""

    code = "internal"


class ForeignError(LlgradError, RuntimeError):
    """Generated or foreign code failed while it ran."""

    code = "foreign"
