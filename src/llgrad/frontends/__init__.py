"""Source files to LLVM modules: one file a language, found by suffix.

`compile_sources` takes any mix of the languages in `LANGUAGES`. A module is handed on as bytes, either bitcode or
LLVM assembly text; `llvm.LLVMModule.read` takes both. Files that need no compiler (`.ll`, `.bc`, `.o`, `.a`) are of
unknown origin: read them with `trusted=False`.
"""

from llgrad.frontends.c.clang import Compiler, find_compiler
from llgrad.frontends.common.tools import Language
from llgrad.frontends.sources import LANGUAGES, CompiledSources, Flags, compile_sources, language_of

__all__ = [
    "LANGUAGES", "CompiledSources", "Compiler", "Flags", "Language", "compile_sources", "find_compiler", "language_of",
]  # fmt: skip
