"""`llgrad_fail` for programs without Python: what is said where a derivative cannot go on."""

from __future__ import annotations

from llgrad.autodiff.emit import tape
from llgrad.autodiff.requests import checkpoint_schedule
from llgrad.transforms.canonical.openmp import FAIL_TEAM


def fail_text() -> str:
    """IR of `llgrad_fail` for programs without Python: a line on standard error, then abort."""
    texts = {
        0: "the derivative failed while it ran",
        1: "the tape needs more memory than there is",
        tape.FAIL_TARGET: "a function pointer led to no function that was differentiated: compile and link what sets "
        "it with llgrad, too",
        tape.FAIL_BITS: "the bits of an active float were taken for a number, or changed by one (a union?)",
        tape.FAIL_LOST: "adjoints lie in the shadow of memory of the caller's that the function released and replaced "
        "(a buffer that grew, or was moved into): let it work on a copy",
        tape.FAIL_BEFORE: "a variable held a pointer to memory that is active in the function: what is read or written "
        "through it would have no derivative (set the pointer within the function)",
        FAIL_TEAM: "work that is shared between threads outside of a parallel region of the function was to be "
        "differentiated by one thread of several",
        17: "a parallel region got another number of threads in the reverse sweep than in the forward sweep",
        12: "an exception was raised that nobody caught",
        13: "the code panicked",
        checkpoint_schedule.FAIL_BUDGET: "the checkpoints do not fit into the budget",
        checkpoint_schedule.FAIL_RANGE: "a step of a loop with checkpoints writes where it was not known to",
    }
    lines = {code: f"llgrad: {t}\\0A" for code, t in texts.items()}
    sizes = {code: len(line) - 2 for code, line in lines.items()}
    constants = [
        f'@llgrad.text.{code} = private unnamed_addr constant [{sizes[code]} x i8] c"{line}"'
        for code, line in lines.items()
    ]
    chosen, text, size = [], "@llgrad.text.0", str(sizes[0])
    for code in list(texts)[1:]:
        chosen += [
            f"  %is.{code} = icmp eq i32 %code, {code}",
            f"  %text.{code} = select i1 %is.{code}, ptr @llgrad.text.{code}, ptr {text}",
            f"  %size.{code} = select i1 %is.{code}, i64 {sizes[code]}, i64 {size}",
        ]
        text, size = f"%text.{code}", f"%size.{code}"
    body = "\n".join(chosen)
    return "\n".join(constants) + f"""
declare i64 @write(i32, ptr, i64)
declare void @abort() noreturn
define linkonce_odr hidden void @llgrad_fail(i32 %code, ptr %detail) noinline cold noreturn {{
{body}
  %done = call i64 @write(i32 2, ptr {text}, i64 {size})
  call void @abort()
  unreachable
}}
"""
