"""What debug info says of copies that were inlined: in nodes of Rust's maps, keys or values are copied."""

from __future__ import annotations

import pytest

from llgrad.analysis.layout.inlined_at import element
from llgrad.analysis.types.kinds import Kinds, analyse
from llgrad.ir.module import Module
from llgrad.ir.parse import parse
from llgrad.ir.values import Call

COPIES = """
define double @f(ptr %a, ptr %b, i64 %n) !dbg !1 {{
  %d = getelementptr i8, ptr %a, i64 8
  store double 1.0, ptr %d, align 8
  %from = getelementptr inbounds i8, ptr %a, i64 8
  %to = getelementptr inbounds i8, ptr %b, i64 8
  %size = {size}
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %size, i1 false), !dbg !9
  %first = load double, ptr %to, align 8
  ret double %first
}}

declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)

!llvm.dbg.cu = !{{}}
!0 = !DIFile(filename: "a.rs", directory: "/")
!1 = distinct !DISubprogram(name: "f", file: !0)
!2 = distinct !DISubprogram(name: "copy<T>", linkageName: "{name}", file: !0, templateParams: !3)
!3 = !{{!4}}
!4 = !DITemplateTypeParameter(name: "T", type: !5)
!5 = !DICompositeType(tag: DW_TAG_union_type, name: "MaybeUninit<f64>", size: {bits}, align: 64)
!6 = distinct !DISubprogram(name: "move_to_slice", linkageName: "{outer}", file: !0)
!7 = distinct !DILocation(line: 3, scope: !1)
!8 = distinct !DILocation(line: 2, scope: !6, inlinedAt: !7)
!9 = !DILocation(line: 1, scope: !2, inlinedAt: !8)
"""
LEGACY, NEW = "_ZN4core3ptr19copy_nonoverlapping17h0E", "_RINvNtCs12_4core3ptr4copyNtNtE"
NODE, NEW_NODE = "_ZN5alloc11collections5btree4node13move_to_slice17h0E", (
    "_RINvNtNtNtCs12_5alloc11collections5btree4node13move_to_sliceNtE"
)


def kinds(
    name: str = LEGACY, bits: int = 64, size: str = "shl i64 %n, 3", outer: str = NODE
) -> tuple[Module, Kinds]:  # fmt: skip
    module = parse(COPIES.format(name=name, bits=bits, size=size, outer=outer))
    return module, analyse(module, module.function("f"))


@pytest.mark.parametrize(
    ("name", "outer", "bits", "size"),
    [
        (LEGACY, NODE, 64, 8), (NEW, NEW_NODE, 192, 24),
        ("_ZN4user3ptr4copyE", NODE, 64, 0), (LEGACY, "_ZN4user4nodeE", 64, 0), (LEGACY, LEGACY, 64, 0),
    ],
)  # fmt: skip
def test_elements(name: str, outer: str, bits: int, size: int) -> None:
    module, _ = kinds(name, bits, outer=outer)
    copy = next(i for i in module.function("f").instructions() if isinstance(i, Call))
    assert element(module, copy) == size


@pytest.mark.parametrize(
    ("name", "size", "moved"),
    [
        (LEGACY, "shl i64 %n, 3", "{0: double} every 8"),
        (LEGACY, "add i64 %n, 0", "{0: unknown} every 1"),  # not a number of elements, as far as that is known
        ("_ZN4user4moveE", "shl i64 %n, 3", "{0: unknown} every 1"),
    ],
)
def test_what_copies_of_elements_move(name: str, size: str, moved: str) -> None:
    module, found = kinds(name, size=size)
    copy = next(i for i in module.function("f").instructions() if isinstance(i, Call))
    assert str(found.access(copy)) == moved
