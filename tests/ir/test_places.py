"""Where a user looks for an instruction: of what was inlined from a library, the line that calls the library."""

from __future__ import annotations

import pytest

from llgrad.ir.parse import parse

TEXT = """
define double @f(double %x) !dbg !4 {{
  %y = fneg double %x, !dbg !7
  ret double %y, !dbg !9
}}
!llvm.dbg.cu = !{{!0}}
!llvm.module.flags = !{{!2}}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "own.cpp", directory: "/")
!2 = !{{i32 2, !"Debug Info Version", i32 3}}
!3 = !DIFile(filename: "{header}", directory: "/")
!4 = distinct !DISubprogram(name: "f", scope: !1, file: !1, line: 1, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!5 = !DISubroutineType(types: !6)
!6 = !{{}}
!7 = !DILocation(line: 77, column: 2, scope: !8, inlinedAt: !9)
!8 = distinct !DISubprogram(name: "g", scope: !3, file: !3, line: 70, type: !5, unit: !0, spFlags: DISPFlagDefinition)
!9 = !DILocation(line: 3, column: 5, scope: !4)
"""


@pytest.mark.parametrize(
    ("header", "place"),
    [
        ("/usr/include/c++/12/numeric", ("own.cpp", 3)),
        ("/opt/zig/lib/libcxx/include/c++/v1/numeric", ("own.cpp", 3)),
        ("/rustc/0123/library/core/src/iter.rs", ("own.cpp", 3)),
        ("library/core/src/hash/sip.rs", ("own.cpp", 3)),
        ("/opt/llgrad/runtime/flang/flang.c", ("own.cpp", 3)),
        ("solver.hpp", ("solver.hpp", 77)),
    ],
)
def test_place(header: str, place: tuple[str, int]) -> None:
    module = parse(TEXT.format(header=header))
    instruction = next(iter(module.function("f").instructions()))
    found, innermost = module.place(instruction), module.span(instruction)
    assert found is not None and (found.file, found.line) == place
    assert innermost is not None and (innermost.file, innermost.line) == (header, 77)
