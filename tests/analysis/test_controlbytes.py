"""Which accesses are of a hash table's control bytes, by the functions of the library that they were inlined from."""

from __future__ import annotations

import pytest

from llgrad.analysis.types.hashbrown import ControlBytes
from llgrad.ir.parse import parse

MODULE = """
define void @f(ptr %p, ptr %q) !dbg !1 {{
  %access = {access}, !dbg !9
  ret void
}}

declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)

!llvm.dbg.cu = !{{}}
!0 = !DIFile(filename: "a.rs", directory: "/")
!1 = distinct !DISubprogram(name: "f", file: !0)
!2 = distinct !DISubprogram(name: "hashbrown", linkageName: "_ZN9hashbrown3map9HashMap", file: !0)
!3 = distinct !DISubprogram(name: "inner", linkageName: "{inner}", file: !0)
!4 = distinct !DISubprogram(name: "outer", linkageName: "{outer}", file: !0)
!5 = distinct !DILexicalBlock(scope: !3, file: !0, line: 1)
!7 = distinct !DILocation(line: 3, scope: !1)
!8 = distinct !DILocation(line: 2, scope: !4, inlinedAt: !7)
!9 = !DILocation(line: 1, scope: !5, inlinedAt: !8)
"""
LOAD_BYTE, LOAD_GROUP, LOAD_WORD = (f"load {t}, ptr %p, align 1" for t in ("i8", "<16 x i8>", "i64"))
MOVE = "call void @llvm.memmove.p0.p0.i64(ptr %p, ptr %q, i64 16, i1 false)"
USER, COPY = "_ZN4user4loadE", "_ZN4core3ptr19copy_nonoverlapping"
GROUP, TABLE = "_ZN9hashbrown7control5group4sse25Group4load", "_ZN9hashbrown3raw13RawTableInner8set_ctrl"
REHASH = "_ZN9hashbrown3raw13RawTableInner23prepare_rehash_in_place"


@pytest.mark.parametrize(
    ("access", "inner", "outer", "is_control"),
    [
        (LOAD_GROUP, GROUP, USER, True),
        (LOAD_GROUP, COPY, GROUP, True),
        (LOAD_GROUP, "_RNvMNtNtNtCs1234_9hashbrown7control5group4sse2NtB2_5Group4load", USER, True),
        (LOAD_BYTE, "_ZN69_$LT$hashbrown..control..tag..Tag$u20$as$u20$core..cmp..PartialEq$GT$2eq", TABLE, True),
        (LOAD_BYTE, TABLE, USER, True),
        (LOAD_BYTE, "_ZN9hashbrown3raw21RawTable$LT$T$C$A$GT$22insert_tagged_at_index", USER, True),
        (LOAD_WORD, TABLE, USER, False),  # an entry, perhaps
        (LOAD_BYTE, COPY, TABLE, False),
        (LOAD_GROUP, USER, GROUP, False),
        (LOAD_GROUP, "_ZN11myhashbrown7control4loadE", USER, False),
        (MOVE, COPY, REHASH, True),
        (MOVE, COPY, TABLE, False),
    ],
)  # fmt: skip
def test_control_bytes(access: str, inner: str, outer: str, is_control: bool) -> None:
    text = MODULE.format(access=access, inner=inner, outer=outer).replace("%access = call void", "call void")
    module = parse(text)
    first = next(module.function("f").instructions())
    assert ControlBytes(module).accessed(first) == is_control
