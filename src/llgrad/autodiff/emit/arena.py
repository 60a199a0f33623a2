"""The arena's own code, in LLVM assembly: what the calls that `tape` declares lead to, once all is synthesised."""

from __future__ import annotations

import functools

FIRST_SEGMENT_BYTES = 1 << 10  # (short tapes are many: what nobody reserves should cost no page)
ASKED_FROM = 1 << 20  # bytes of a tape from which it is asked whether they may be kept
HUGE_PAGES_FROM = 8 << 20  # bytes of a segment for which the system is asked for them: as much is in use by then


def runtime(each_block_its_own: bool = False) -> str:
    """LLVM assembly of the arena. `each_block_its_own` makes every block a malloc, for sanitizers (decision 11)."""
    common = _COMMON.replace("ASKED_FROM", str(ASKED_FROM))
    if each_block_its_own:
        return _MALLOC + common
    numbers = {"FIRST_SEGMENT_BYTES": FIRST_SEGMENT_BYTES, "HUGE_PAGES_FROM": HUGE_PAGES_FROM}
    return functools.reduce(lambda text, name: text.replace(name, str(numbers[name])), numbers, _ARENA) + common


# One arena is kept for the next derivative, whichever thread asks for it; others are freed (no TLS: decision 1).
_COMMON = """
declare noalias ptr @malloc(i64)
declare i32 @madvise(ptr, i64, i32)
declare noalias ptr @calloc(i64, i64)
declare ptr @realloc(ptr, i64)
declare void @free(ptr)

@llgrad.tape.kept = linkonce_odr hidden global ptr null

define linkonce_odr hidden noalias nonnull ptr @llgrad.tape.take() noinline nounwind {
  %kept = atomicrmw xchg ptr @llgrad.tape.kept, ptr null acquire
  %none = icmp eq ptr %kept, null
  br i1 %none, label %make, label %take
take:
  ret ptr %kept
make:
  %new = call ptr @calloc(i64 1, i64 64)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %fail, label %made
made:
  ret ptr %new
fail:
  call void @llgrad_fail(i32 1, ptr null)
  unreachable
}

declare ptr @getenv(ptr)
declare i64 @strtoull(ptr, ptr, i32)
@llgrad.tape.ceiling = private unnamed_addr constant [17 x i8] c"LLGRAD_TAPE_KEEP\\00"

define linkonce_odr hidden void @llgrad.tape.give(ptr %arena) noinline nounwind {
  ; a tape beyond so many MiB (LLGRAD_TAPE_KEEP) is not kept; who reads the environment has a large one
  %peakp = getelementptr i8, ptr %arena, i64 32
  %peak = load i64, ptr %peakp, align 8
  %large = icmp ugt i64 %peak, ASKED_FROM
  br i1 %large, label %ask, label %keep
ask:
  %said = call ptr @getenv(ptr @llgrad.tape.ceiling)
  %unsaid = icmp eq ptr %said, null
  br i1 %unsaid, label %keep, label %compare
compare:
  %most = call i64 @strtoull(ptr %said, ptr null, i32 10)
  %mebibytes = lshr i64 %peak, 20
  %above = icmp uge i64 %mebibytes, %most
  br i1 %above, label %empty, label %keep
empty:
  call void @llgrad.tape.free(ptr %arena)
  call void @free(ptr %arena)
  ret void
keep:
  %other = atomicrmw xchg ptr @llgrad.tape.kept, ptr %arena acq_rel
  %none = icmp eq ptr %other, null
  br i1 %none, label %done, label %drop
drop:
  call void @llgrad.tape.free(ptr %other)
  call void @free(ptr %other)
  ret void
done:
  ret void
}

define linkonce_odr hidden void @llgrad.tape.defer(ptr %arena, ptr %block, ptr %free) noinline nounwind {
  call void @llgrad.tape.note(ptr %arena, ptr %block, ptr %free, ptr null, i64 0)
  ret void
}

define linkonce_odr hidden
void @llgrad.tape.watch(ptr %arena, ptr %primal, ptr %shadow, ptr %floats, i1 %later) noinline nounwind {
  %none.1 = icmp eq ptr %primal, null
  %none.2 = icmp eq ptr %shadow, null
  %none = or i1 %none.1, %none.2
  br i1 %none, label %done, label %some
some:
  %usable = call i64 @malloc_usable_size(ptr %primal)
  ; glibc gives out blocks of 16 n + 8 bytes: the last word may be nobody's
  %odd = and i64 %usable, 15
  %rounded = icmp eq i64 %odd, 8
  %less = sub i64 %usable, 8
  %size = select i1 %rounded, i64 %less, i64 %usable
  br i1 %later, label %look, label %note
look:
  %seeded = call i1 @llgrad.tape.search(ptr %shadow, ptr %floats, i64 %size)
  br i1 %seeded, label %done, label %note
note:
  call void @llgrad.tape.note(ptr %arena, ptr %shadow, ptr @llgrad.tape.search, ptr %floats, i64 %size)
  ret void
done:
  ret void
}

declare i64 @malloc_usable_size(ptr) nounwind

define linkonce_odr hidden i1 @llgrad.tape.search(ptr %block, ptr %floats, i64 %size) noinline nounwind {
entry:
  %stride = load i64, ptr %floats, align 8
  %countp = getelementptr i8, ptr %floats, i64 8
  %count = load i64, ptr %countp, align 8
  br label %record
record:
  %base = phi i64 [ 0, %entry ], [ %beyond, %next ]
  %over = icmp uge i64 %base, %size
  br i1 %over, label %done, label %float
float:
  %n = phi i64 [ 0, %record ], [ %following, %zero ]
  %described = shl i64 %n, 4
  %described.1 = add i64 %described, 16
  %offsetp = getelementptr i8, ptr %floats, i64 %described.1
  %offset = load i64, ptr %offsetp, align 8
  %bitsp = getelementptr i8, ptr %offsetp, i64 8
  %bits = load i64, ptr %bitsp, align 8
  %at = add i64 %base, %offset
  %end = add i64 %at, 2
  %inside = icmp ule i64 %end, %size
  br i1 %inside, label %look, label %zero
look:
  %exponentp = getelementptr i8, ptr %block, i64 %at
  %exponent.2 = load i16, ptr %exponentp, align 1
  %exponent.8 = zext i16 %exponent.2 to i64
  %exponent = and i64 %exponent.8, %bits
  %denormal = icmp eq i64 %exponent, 0
  %infinite = icmp eq i64 %exponent, %bits
  %other = or i1 %denormal, %infinite
  br i1 %other, label %zero, label %found
found:
  ret i1 true
zero:
  %following = add i64 %n, 1
  %all = icmp uge i64 %following, %count
  br i1 %all, label %next, label %float
next:
  %beyond = add i64 %base, %stride
  br label %record
done:
  ret i1 false
}

define linkonce_odr hidden
void @llgrad.tape.note(ptr %arena, ptr %block, ptr %how, ptr %floats, i64 %size) noinline nounwind {
  %cell = call ptr @malloc(i64 40)
  %none = icmp eq ptr %cell, null
  br i1 %none, label %fail, label %ok
fail:
  call void @llgrad_fail(i32 1, ptr null)
  unreachable
ok:
  %list = getelementptr i8, ptr %arena, i64 40
  %old = load ptr, ptr %list, align 8
  store ptr %old, ptr %cell, align 8
  %payload = getelementptr i8, ptr %cell, i64 8
  store ptr %block, ptr %payload, align 8
  %howp = getelementptr i8, ptr %cell, i64 16
  store ptr %how, ptr %howp, align 8
  %floatsp = getelementptr i8, ptr %cell, i64 24
  store ptr %floats, ptr %floatsp, align 8
  %sizep = getelementptr i8, ptr %cell, i64 32
  store i64 %size, ptr %sizep, align 8
  store ptr %cell, ptr %list, align 8
  ret void
}

define linkonce_odr hidden void @llgrad.tape.finish(ptr %arena) noinline nounwind {
  call void @llgrad.tape.settle(ptr %arena, i1 true)
  ret void
}

define linkonce_odr hidden void @llgrad.tape.settle(ptr %arena, i1 %whole) noinline nounwind {
entry:
  call void @llgrad.tape.drop(ptr %arena, ptr inttoptr (i64 -1 to ptr))
  %list = getelementptr i8, ptr %arena, i64 40
  %first = load ptr, ptr %list, align 8
  store ptr null, ptr %list, align 8
  br label %loop
loop:
  %cell = phi ptr [ %first, %entry ], [ %next, %release ], [ %next, %test ], [ %next, %search ]
  %end = icmp eq ptr %cell, null
  br i1 %end, label %done, label %body
body:
  %next = load ptr, ptr %cell, align 8
  %payload = getelementptr i8, ptr %cell, i64 8
  %block = load ptr, ptr %payload, align 8
  %howp = getelementptr i8, ptr %cell, i64 16
  %how = load ptr, ptr %howp, align 8
  %floatsp = getelementptr i8, ptr %cell, i64 24
  %floats = load ptr, ptr %floatsp, align 8
  %sizep = getelementptr i8, ptr %cell, i64 32
  %size = load i64, ptr %sizep, align 8
  call void @free(ptr %cell)
  %watched = icmp ne ptr %floats, null
  br i1 %watched, label %test, label %release
test:
  br i1 %whole, label %search, label %loop
search:
  %lost = call i1 %how(ptr %block, ptr %floats, i64 %size)
  br i1 %lost, label %fail, label %loop
fail:
  call void @llgrad_fail(i32 11, ptr null)
  unreachable
release:
  call void %how(ptr %block)
  br label %loop
done:
  ret void
}

; what is held is a list { i64 count, i64 room, { ptr block, ptr free } ... } in one allocation
define linkonce_odr hidden i64 @llgrad.tape.hold(ptr %arena, ptr %block, ptr %free) noinline nounwind {
entry:
  %listp = getelementptr i8, ptr %arena, i64 56
  %list = load ptr, ptr %listp, align 8
  %none = icmp eq ptr %list, null
  br i1 %none, label %grow, label %look
look:
  %count = load i64, ptr %list, align 8
  %roomp = getelementptr i8, ptr %list, i64 8
  %room = load i64, ptr %roomp, align 8
  %fits = icmp ult i64 %count, %room
  br i1 %fits, label %put, label %grow
grow:
  %old = phi i64 [ 0, %entry ], [ %count, %look ]
  %twice = shl i64 %old, 1
  %want = add i64 %twice, 63
  %cells = shl i64 %want, 4
  %bytes = add i64 %cells, 16
  %new = call ptr @realloc(ptr %list, i64 %bytes)
  %failed = icmp eq ptr %new, null
  br i1 %failed, label %fail, label %made
made:
  %newroom = getelementptr i8, ptr %new, i64 8
  store i64 %want, ptr %newroom, align 8
  store ptr %new, ptr %listp, align 8
  br label %put
put:
  %at = phi ptr [ %list, %look ], [ %new, %made ]
  %n = phi i64 [ %count, %look ], [ %old, %made ]
  %next = add i64 %n, 1
  store i64 %next, ptr %at, align 8
  %before = shl i64 %n, 4
  %cells0 = getelementptr i8, ptr %at, i64 16
  %cell = getelementptr i8, ptr %cells0, i64 %before
  store ptr %block, ptr %cell, align 8
  %how = getelementptr i8, ptr %cell, i64 8
  store ptr %free, ptr %how, align 8
  ret i64 %n
fail:
  call void @llgrad_fail(i32 1, ptr null)
  unreachable
}

define linkonce_odr hidden void @llgrad.tape.arm(ptr %arena, i64 %n, ptr %block, ptr %free) noinline nounwind {
  %listp = getelementptr i8, ptr %arena, i64 56
  %list = load ptr, ptr %listp, align 8
  %before = shl i64 %n, 4
  %cells = getelementptr i8, ptr %list, i64 24
  %how = getelementptr i8, ptr %cells, i64 %before
  store ptr %free, ptr %how, align 8
  ret void
}

define linkonce_odr hidden i1 @llgrad.tape.holds(ptr %arena, ptr %block) noinline nounwind {
entry:
  %listp = getelementptr i8, ptr %arena, i64 56
  %list = load ptr, ptr %listp, align 8
  %none = icmp eq ptr %list, null
  br i1 %none, label %no, label %some
some:
  %count = load i64, ptr %list, align 8
  br label %look
look:
  %left = phi i64 [ %count, %some ], [ %n, %take ]
  %over = icmp eq i64 %left, 0
  br i1 %over, label %no, label %take
take:
  %n = sub i64 %left, 1
  %before = shl i64 %n, 4
  %cells = getelementptr i8, ptr %list, i64 16
  %cell = getelementptr i8, ptr %cells, i64 %before
  %held = load ptr, ptr %cell, align 8
  %how = getelementptr i8, ptr %cell, i64 8
  %free = load ptr, ptr %how, align 8
  %same = icmp eq ptr %held, %block
  %freed = icmp ne ptr %free, null
  %it = and i1 %same, %freed
  br i1 %it, label %yes, label %look
yes:
  ret i1 true
no:
  ret i1 false
}

define linkonce_odr hidden void @llgrad.tape.drop(ptr %arena, ptr %block) noinline nounwind {
  %listp = getelementptr i8, ptr %arena, i64 56
  %list = load ptr, ptr %listp, align 8
  %none = icmp eq ptr %list, null
  br i1 %none, label %done, label %pop
pop:
  %count = load i64, ptr %list, align 8
  %empty = icmp eq i64 %count, 0
  br i1 %empty, label %done, label %take
take:
  %n = sub i64 %count, 1
  store i64 %n, ptr %list, align 8
  %before = shl i64 %n, 4
  %cells = getelementptr i8, ptr %list, i64 16
  %cell = getelementptr i8, ptr %cells, i64 %before
  %held = load ptr, ptr %cell, align 8
  %how = getelementptr i8, ptr %cell, i64 8
  %free = load ptr, ptr %how, align 8
  %kept = icmp eq ptr %free, null
  br i1 %kept, label %next, label %release
release:
  call void %free(ptr %held)
  br label %next
next:
  %last = icmp eq ptr %held, %block
  br i1 %last, label %done, label %pop
done:
  ret void
}

define linkonce_odr hidden void @llgrad.tape.clear(ptr %arena) noinline nounwind {
  ; all that is held and deferred, as a throw or a failure left it: what adjoints there are is not all
  call void @llgrad.tape.settle(ptr %arena, i1 false)
  %listp = getelementptr i8, ptr %arena, i64 56
  %list = load ptr, ptr %listp, align 8
  call void @free(ptr %list)
  store ptr null, ptr %listp, align 8
  ret void
}

define linkonce_odr hidden void @llgrad.tape.abandon(ptr %arena) noinline nounwind {
  call void @llgrad.tape.free(ptr %arena)
  call void @free(ptr %arena)
  ret void
}

define linkonce_odr hidden ptr @llgrad.tape.column(ptr %block, i64 %offset, i64 %number) alwaysinline nounwind {
  %at = getelementptr i8, ptr %block, i64 %offset
  ret ptr %at
}

declare void @llgrad_fail(i32, ptr) cold noreturn
"""

# top and limit are addresses in the current segment; a request that does not fit goes to the slow path
_ARENA = """
define linkonce_odr hidden nonnull align 64
ptr @llgrad.tape.reserve(ptr %arena, i64 %bytes) alwaysinline nounwind {
  %padded = add i64 %bytes, 63
  %size = and i64 %padded, -64
  %top = load ptr, ptr %arena, align 8
  %limitp = getelementptr i8, ptr %arena, i64 8
  %limit = load ptr, ptr %limitp, align 8
  %topi = ptrtoint ptr %top to i64
  %limiti = ptrtoint ptr %limit to i64
  %room = sub i64 %limiti, %topi
  ; rooms are multiples of 64: where %bytes fits, so does %size, which has not wrapped around then
  %small = icmp ule i64 %bytes, %room
  %begun = icmp ne ptr %top, null
  %fits = and i1 %small, %begun
  br i1 %fits, label %fast, label %slow, !prof !{!"branch_weights", i32 2000, i32 1}
fast:
  %new = getelementptr i8, ptr %top, i64 %size
  store ptr %new, ptr %arena, align 8
  ret ptr %top
slow:
  %block = call ptr @llgrad.tape.grow(ptr %arena, i64 %bytes)
  ret ptr %block
}

define linkonce_odr hidden nonnull ptr @llgrad.tape.grow(ptr %arena, i64 %bytes) noinline cold nounwind {
entry:
  %huge = icmp ugt i64 %bytes, 140737488355328
  br i1 %huge, label %fail, label %start
start:
  %padded = add i64 %bytes, 63
  %size = and i64 %padded, -64
  %segp = getelementptr i8, ptr %arena, i64 16
  %limitp = getelementptr i8, ptr %arena, i64 8
  %usedp = getelementptr i8, ptr %arena, i64 24
  %seg = load ptr, ptr %segp, align 8
  %none = icmp eq ptr %seg, null
  br i1 %none, label %fresh, label %account
account:
  ; bytes in use in the segment we leave, and its old top, remembered in its header
  %top = load ptr, ptr %arena, align 8
  %topp = getelementptr i8, ptr %seg, i64 24
  store ptr %top, ptr %topp, align 8
  %topi = ptrtoint ptr %top to i64
  %segi = ptrtoint ptr %seg to i64
  %in = sub i64 %topi, %segi
  %used = load i64, ptr %usedp, align 8
  %used2 = add i64 %used, %in
  store i64 %used2, ptr %usedp, align 8
  %nextp = getelementptr i8, ptr %seg, i64 8
  %next = load ptr, ptr %nextp, align 8
  %nonext = icmp eq ptr %next, null
  br i1 %nonext, label %fresh, label %reuse
reuse:
  ; a segment kept from before: big enough, or dropped with all that follow it
  %nbytesp = getelementptr i8, ptr %next, i64 16
  %nbytes = load i64, ptr %nbytesp, align 8
  %need = add i64 %size, 64
  %big = icmp uge i64 %nbytes, %need
  br i1 %big, label %enter, label %drop
drop:
  %d = phi ptr [ %next, %reuse ], [ %dn, %drop ]
  %dnp = getelementptr i8, ptr %d, i64 8
  %dn = load ptr, ptr %dnp, align 8
  call void @free(ptr %d)
  %dend = icmp eq ptr %dn, null
  br i1 %dend, label %fresh, label %drop
fresh:
  %prev = phi ptr [ null, %start ], [ %seg, %account ], [ %seg, %drop ]
  ; twice what is in use, at least the first segment's size, and room for small blocks that follow
  %total = load i64, ptr %usedp, align 8
  %part = lshr i64 %size, 4
  %some = call i64 @llvm.umin.i64(i64 %part, i64 65536)
  %with = add i64 %size, %some
  %least = add i64 %with, 512
  %c1 = icmp ugt i64 %least, %total
  %want1 = select i1 %c1, i64 %least, i64 %total
  %want2 = call i64 @llvm.umax.i64(i64 %want1, i64 FIRST_SEGMENT_BYTES)
  %want3 = add i64 %want2, 63
  %want = and i64 %want3, -64
  %new = call ptr @aligned_alloc(i64 64, i64 %want)
  %nomem = icmp eq ptr %new, null
  br i1 %nomem, label %fail, label %made
made:
  store ptr %prev, ptr %new, align 8
  %newnext = getelementptr i8, ptr %new, i64 8
  store ptr null, ptr %newnext, align 8
  %newbytes = getelementptr i8, ptr %new, i64 16
  store i64 %want, ptr %newbytes, align 8
  %large = icmp uge i64 %want, HUGE_PAGES_FROM
  br i1 %large, label %pages, label %listed
pages:
  ; MADV_HUGEPAGE for the whole pages in it: a hint, that may fail
  %newi = ptrtoint ptr %new to i64
  %newup = add i64 %newi, 4095
  %page = and i64 %newup, -4096
  %before = sub i64 %page, %newi
  %behind = sub i64 %want, %before
  %length = and i64 %behind, -4096
  %pagep = inttoptr i64 %page to ptr
  %hinted = call i32 @madvise(ptr %pagep, i64 %length, i32 14)
  br label %listed
listed:
  %first = icmp eq ptr %prev, null
  br i1 %first, label %enter, label %link
link:
  %prevnext = getelementptr i8, ptr %prev, i64 8
  store ptr %new, ptr %prevnext, align 8
  br label %enter
enter:
  %s = phi ptr [ %next, %reuse ], [ %new, %listed ], [ %new, %link ]
  store ptr %s, ptr %segp, align 8
  %sbytesp = getelementptr i8, ptr %s, i64 16
  %sbytes = load i64, ptr %sbytesp, align 8
  %slimit = getelementptr i8, ptr %s, i64 %sbytes
  store ptr %slimit, ptr %limitp, align 8
  %block = getelementptr i8, ptr %s, i64 64
  %newtop = getelementptr i8, ptr %block, i64 %size
  store ptr %newtop, ptr %arena, align 8
  ret ptr %block
fail:
  call void @llgrad_fail(i32 1, ptr null)
  unreachable
}

define linkonce_odr hidden void @llgrad.tape.release(ptr %arena, ptr allocptr %block) alwaysinline nounwind {
  ; the peak is always reached just before a release
  %segp = getelementptr i8, ptr %arena, i64 16
  %seg = load ptr, ptr %segp, align 8
  %top = load ptr, ptr %arena, align 8
  %usedp = getelementptr i8, ptr %arena, i64 24
  %used = load i64, ptr %usedp, align 8
  %ti = ptrtoint ptr %top to i64
  %si = ptrtoint ptr %seg to i64
  %in = sub i64 %ti, %si
  %all = add i64 %used, %in
  %peakp = getelementptr i8, ptr %arena, i64 32
  %peak = load i64, ptr %peakp, align 8
  %more = icmp ugt i64 %all, %peak
  %max = select i1 %more, i64 %all, i64 %peak
  store i64 %max, ptr %peakp, align 8
  %bi = ptrtoint ptr %block to i64
  %low = icmp ugt i64 %bi, %si
  %high = icmp ule i64 %bi, %ti
  %here = and i1 %low, %high
  br i1 %here, label %fast, label %slow, !prof !{!"branch_weights", i32 2000, i32 1}
fast:
  store ptr %block, ptr %arena, align 8
  ret void
slow:
  call void @llgrad.tape.shrink(ptr %arena, ptr %block)
  ret void
}

define linkonce_odr hidden void @llgrad.tape.shrink(ptr %arena, ptr %block) noinline nounwind {
entry:
  ; go down the segments to the one that holds the block
  %segp = getelementptr i8, ptr %arena, i64 16
  %usedp = getelementptr i8, ptr %arena, i64 24
  %limitp = getelementptr i8, ptr %arena, i64 8
  %bi = ptrtoint ptr %block to i64
  %top0 = load ptr, ptr %arena, align 8
  %seg0 = load ptr, ptr %segp, align 8
  %used0 = load i64, ptr %usedp, align 8
  br label %find
find:
  %seg = phi ptr [ %seg0, %entry ], [ %prev, %down ]
  %top = phi ptr [ %top0, %entry ], [ %ptop, %down ]
  %used = phi i64 [ %used0, %entry ], [ %pused, %down ]
  %si = ptrtoint ptr %seg to i64
  %ti = ptrtoint ptr %top to i64
  %low = icmp ugt i64 %bi, %si
  %high = icmp ule i64 %bi, %ti
  %here = and i1 %low, %high
  br i1 %here, label %set, label %next
next:
  %prev = load ptr, ptr %seg, align 8
  %bottom = icmp eq ptr %prev, null
  br i1 %bottom, label %broken, label %down
down:
  %ptopp = getelementptr i8, ptr %prev, i64 24
  %ptop = load ptr, ptr %ptopp, align 8
  %pti = ptrtoint ptr %ptop to i64
  %pi = ptrtoint ptr %prev to i64
  %pin = sub i64 %pti, %pi
  %pused = sub i64 %used, %pin
  br label %find
broken:
  call void @llgrad_fail(i32 2, ptr %block)
  unreachable
set:
  store ptr %block, ptr %arena, align 8
  store ptr %seg, ptr %segp, align 8
  store i64 %used, ptr %usedp, align 8
  %bytesp = getelementptr i8, ptr %seg, i64 16
  %bytes = load i64, ptr %bytesp, align 8
  %limit = getelementptr i8, ptr %seg, i64 %bytes
  store ptr %limit, ptr %limitp, align 8
  ret void
}

define linkonce_odr void @llgrad.tape.free(ptr %arena) noinline nounwind {
entry:
  call void @llgrad.tape.clear(ptr %arena)
  ; give every segment back, those kept for later too
  %segp = getelementptr i8, ptr %arena, i64 16
  %seg0 = load ptr, ptr %segp, align 8
  %none = icmp eq ptr %seg0, null
  br i1 %none, label %done, label %top
top:
  %s = phi ptr [ %seg0, %entry ], [ %n, %top ]
  %np = getelementptr i8, ptr %s, i64 8
  %n = load ptr, ptr %np, align 8
  %last = icmp eq ptr %n, null
  br i1 %last, label %down, label %top
down:
  %d = phi ptr [ %s, %top ], [ %p, %down ]
  %p = load ptr, ptr %d, align 8
  call void @free(ptr %d)
  %end = icmp eq ptr %p, null
  br i1 %end, label %done, label %down
done:
  call void @llvm.memset.p0.i64(ptr %arena, i8 0, i64 32, i1 false)
  ret void
}

define linkonce_odr hidden i64 @llgrad.tape.used(ptr %arena) noinline nounwind {
  %top = load ptr, ptr %arena, align 8
  %segp = getelementptr i8, ptr %arena, i64 16
  %seg = load ptr, ptr %segp, align 8
  %usedp = getelementptr i8, ptr %arena, i64 24
  %used = load i64, ptr %usedp, align 8
  %ti = ptrtoint ptr %top to i64
  %si = ptrtoint ptr %seg to i64
  %in = sub i64 %ti, %si
  %all = add i64 %used, %in
  ret i64 %all
}

declare noalias ptr @aligned_alloc(i64, i64)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare i64 @llvm.umin.i64(i64, i64)
declare i64 @llvm.umax.i64(i64, i64)
"""

# Not noalias by itself: `release` reaches blocks above its own through the arena, and LLVM would move loads past it.
# The arena's first word is the newest block; a block has its predecessor and size 16 bytes before its own memory
_MALLOC = """
declare noalias ptr @aligned_alloc(i64, i64)
define linkonce_odr hidden i64 @llgrad.tape.used(ptr %arena) noinline nounwind {
  %usedp = getelementptr i8, ptr %arena, i64 24
  %used = load i64, ptr %usedp, align 8
  ret i64 %used
}
define linkonce_odr hidden nonnull ptr @llgrad.tape.reserve(ptr %arena, i64 %bytes) noinline nounwind {
  %huge = icmp ugt i64 %bytes, 140737488355328
  br i1 %huge, label %fail, label %make
make:
  %padded = add i64 %bytes, 127
  %size = and i64 %padded, -64
  %cell = call ptr @aligned_alloc(i64 64, i64 %size)
  %none = icmp eq ptr %cell, null
  br i1 %none, label %fail, label %ok
ok:
  %old = load ptr, ptr %arena, align 8
  store ptr %old, ptr %cell, align 8
  %sizep = getelementptr i8, ptr %cell, i64 8
  store i64 %bytes, ptr %sizep, align 8
  %block = getelementptr i8, ptr %cell, i64 64
  store ptr %block, ptr %arena, align 8
  %usedp = getelementptr i8, ptr %arena, i64 24
  %used = load i64, ptr %usedp, align 8
  %all = add i64 %used, %bytes
  store i64 %all, ptr %usedp, align 8
  %peakp = getelementptr i8, ptr %arena, i64 32
  %peak = load i64, ptr %peakp, align 8
  %more = icmp ugt i64 %all, %peak
  %max = select i1 %more, i64 %all, i64 %peak
  store i64 %max, ptr %peakp, align 8
  ret ptr %block
fail:
  call void @llgrad_fail(i32 1, ptr null)
  unreachable
}

define linkonce_odr hidden void @llgrad.tape.release(ptr %arena, ptr %block) noinline nounwind {
entry:
  call void asm sideeffect "", "r,~{memory}"(ptr %block)  ; (see `own`)
  br label %pop
pop:
  %top = load ptr, ptr %arena, align 8
  %empty = icmp eq ptr %top, null
  br i1 %empty, label %fail, label %take
take:
  %cell = getelementptr i8, ptr %top, i64 -64
  %old = load ptr, ptr %cell, align 8
  %sizep = getelementptr i8, ptr %cell, i64 8
  %bytes = load i64, ptr %sizep, align 8
  %usedp = getelementptr i8, ptr %arena, i64 24
  %used = load i64, ptr %usedp, align 8
  %rest = sub i64 %used, %bytes
  store i64 %rest, ptr %usedp, align 8
  store ptr %old, ptr %arena, align 8
  %last = icmp eq ptr %top, %block
  call void @free(ptr %cell)
  br i1 %last, label %done, label %pop
done:
  ret void
fail:
  call void @llgrad_fail(i32 2, ptr %block)
  unreachable
}

define linkonce_odr void @llgrad.tape.free(ptr %arena) noinline nounwind {
entry:
  call void @llgrad.tape.clear(ptr %arena)
  br label %next
next:
  %top = load ptr, ptr %arena, align 8
  %empty = icmp eq ptr %top, null
  br i1 %empty, label %done, label %drop
drop:
  call void @llgrad.tape.release(ptr %arena, ptr %top)
  br label %next
done:
  ret void
}
"""
