"""Source files to LLVM modules: one file a language.

`compile_sources` takes C, C++, LLVM assembly and bitcode. A module is handed on as bytes, either bitcode or
LLVM assembly text (for a `.ll` file); `backend.LLVMModule.read` takes both. Files that need no compiler
(`.ll`, `.bc`) are of unknown origin: read them with `trusted=False`.
"""

from llgrad.frontends.clang import Compiler, find_compiler
from llgrad.frontends.sources import LANGUAGES, CompiledSources, compile_sources

__all__ = ["LANGUAGES", "CompiledSources", "Compiler", "compile_sources", "find_compiler"]
