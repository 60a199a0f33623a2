"""Source files to LLVM modules: one file a language, found by suffix.

`compile_sources` takes any mix of the languages in `LANGUAGES`. A module is handed on as bytes, either bitcode or
LLVM assembly text; `backend.LLVMModule.read` takes both. Files that need no compiler (`.ll`, `.bc`, `.o`, `.a`) are of
unknown origin: read them with `trusted=False`.
"""

from llgrad.frontends.clang import Compiler, find_compiler
from llgrad.frontends.sources import LANGUAGES, CompiledSources, Flags, compile_sources, language_of
from llgrad.frontends.tools import Language

__all__ = [
    "LANGUAGES", "CompiledSources", "Compiler", "Flags", "Language", "compile_sources", "find_compiler", "language_of",
]  # fmt: skip
