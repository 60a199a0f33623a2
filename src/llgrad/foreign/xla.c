/* The handler that XLA calls: finds the plan that an attribute names, and runs it on XLA's buffers.
 *
 * Attributes, sorted by name as XLA does: `count` (items of the batch), `integers`, `key` (which plan), `sizes` (bytes of
 * all buffers), `strides` (of the caller's buffers; unused where count is -1). See runtime.c.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "xla/ffi/api/c_api.h"

typedef struct {
    int32_t status, code;
    int64_t detail;
} Failure;

typedef int32_t Run(void *plan, char **addresses, const int64_t *bytes, const int64_t *strides, int64_t count,
                    int64_t threads, Failure *failure);

typedef struct {
    int64_t key, inputs; /* inputs: how many buffers stand before the integers */
    void *plan;
} Known;

enum { COUNT, INTEGERS, KEY, SIZES, STRIDES, ATTRIBUTES };
enum { FAILED_MEMORY = 3, NO_MEMORY = 1, THREW = 2 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Known *known;
static int64_t count_known, room;
static int64_t threads;
static Run *run;

void llgrad_xla_start(void *run_plan, int64_t cores)
{
    run = (Run *)run_plan;
    threads = cores;
}

/* 0, or 1 where there is no memory. A key that is known keeps its plan. */
int32_t llgrad_xla_add(int64_t key, int64_t inputs, void *plan)
{
    int32_t failed = 0;
    pthread_mutex_lock(&lock);
    if (count_known == room) {
        int64_t more = room ? 2 * room : 64;
        Known *moved = realloc(known, (size_t)more * sizeof *known);
        failed = !moved;
        known = moved ? moved : known;
        room = moved ? more : room;
    }
    if (!failed)
        known[count_known++] = (Known){key, inputs, plan};
    pthread_mutex_unlock(&lock);
    return failed;
}

static Known found(int64_t key)
{
    Known it = {0, 0, NULL};
    pthread_mutex_lock(&lock);
    for (int64_t n = 0; n < count_known && !it.plan; n++)
        if (known[n].key == key)
            it = known[n];
    pthread_mutex_unlock(&lock);
    return it;
}

static XLA_FFI_Error *error(XLA_FFI_CallFrame *frame, XLA_FFI_Error_Code code, const char *message)
{
    XLA_FFI_Error_Create_Args args = {XLA_FFI_Error_Create_Args_STRUCT_SIZE, NULL, message, code};
    return frame->api->XLA_FFI_Error_Create(&args);
}

static XLA_FFI_Error *failed(XLA_FFI_CallFrame *frame, const Failure *failure)
{
    if (failure->status == THREW)
        return error(frame, XLA_FFI_Error_Code_INTERNAL, "llgrad: the compiled code threw a C++ exception; "
                     "catch it in the code and return a status");
    if (failure->status == FAILED_MEMORY || failure->code == NO_MEMORY)
        return error(frame, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED,
                     "llgrad: the tape or temporary buffers need more memory than there is; use a smaller input");
    return error(frame, XLA_FFI_Error_Code_INTERNAL, "llgrad: the derivative failed while it ran");
}

static int64_t number(XLA_FFI_CallFrame *frame, int which)
{
    return *(int64_t *)((XLA_FFI_Scalar *)frame->attrs.attrs[which])->value;
}

static void *array(XLA_FFI_CallFrame *frame, int which) { return ((XLA_FFI_Array *)frame->attrs.attrs[which])->data; }

XLA_FFI_Error *llgrad_xla(XLA_FFI_CallFrame *frame)
{
    XLA_FFI_Extension_Base *asked = frame->extension_start;
    if (asked && asked->type == XLA_FFI_Extension_Metadata) {
        XLA_FFI_Metadata *metadata = ((XLA_FFI_Metadata_Extension *)asked)->metadata;
        metadata->api_version.major_version = XLA_FFI_API_MAJOR;
        metadata->api_version.minor_version = XLA_FFI_API_MINOR;
        metadata->traits = 0;
        return NULL;
    }
    if (frame->attrs.size != ATTRIBUTES)
        return error(frame, XLA_FFI_Error_Code_INVALID_ARGUMENT, "llgrad: a call with other attributes");
    Known it = found(number(frame, KEY));
    if (!it.plan)
        return error(frame, XLA_FFI_Error_Code_FAILED_PRECONDITION,
                     "llgrad: the foreign function of this program is not loaded in this process; "
                     "make it with llgrad.jax.foreign, and trace the program, before it runs");
    int64_t buffers = frame->args.size + 1 + frame->rets.size;
    char *addresses[buffers];
    for (int64_t n = 0; n < buffers; n++) {
        if (n == it.inputs)
            addresses[n] = array(frame, INTEGERS);
        else if (n < it.inputs)
            addresses[n] = ((XLA_FFI_Buffer *)frame->args.args[n])->data;
        else
            addresses[n] = ((XLA_FFI_Buffer *)frame->rets.rets[n - it.inputs - 1])->data;
    }
    int64_t count = number(frame, COUNT);
    Failure failure = {0, 0, 0};
    const int64_t *strides = count < 0 ? NULL : array(frame, STRIDES);
    if (run(it.plan, addresses, array(frame, SIZES), strides, count < 0 ? 1 : count, threads, &failure))
        return failed(frame, &failure);
    return NULL;
}
