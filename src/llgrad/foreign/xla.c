/* The handler that XLA calls: finds the plan that an attribute names, and runs it on XLA's buffers.
 *
 * Attributes, sorted by name as XLA does: `count` (items of the batch), `integers`, `key` (which plan), `sizes` (bytes of
 * all buffers), `strides` (of the caller's buffers; unused where count is -1). See runtime.c.
 */
#include <stddef.h>

#include "runtime.h"
#include "xla/ffi/api/c_api.h"

enum { COUNT, INTEGERS, KEY, SIZES, STRIDES, ATTRIBUTES };

static const Runtime *runtime;

void llgrad_xla_start(const Runtime *with) { runtime = with; }

static XLA_FFI_Error *error(XLA_FFI_CallFrame *frame, XLA_FFI_Error_Code code, const char *message)
{
    XLA_FFI_Error_Create_Args args = {XLA_FFI_Error_Create_Args_STRUCT_SIZE, NULL, message, code};
    return frame->api->XLA_FFI_Error_Create(&args);
}

static XLA_FFI_Error *failed(XLA_FFI_CallFrame *frame, const Failure *failure)
{
    int memory;
    char room[MESSAGE_BYTES];
    const char *text = runtime->message(failure, &memory, room);
    XLA_FFI_Error_Code other = failure->status == EXCEEDS ? XLA_FFI_Error_Code_INVALID_ARGUMENT : XLA_FFI_Error_Code_INTERNAL;
    return error(frame, memory ? XLA_FFI_Error_Code_RESOURCE_EXHAUSTED : other, text);
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
    int64_t before = 0;
    void *plan = runtime->found(number(frame, KEY), &before);
    if (!plan)
        return error(frame, XLA_FFI_Error_Code_FAILED_PRECONDITION,
                     "llgrad: the foreign function of this program is not loaded in this process; "
                     "make it with llgrad.jax.foreign, and trace the program, before it runs");
    int64_t buffers = frame->args.size + 1 + frame->rets.size;
    char *addresses[buffers];
    for (int64_t n = 0; n < buffers; n++) {
        if (n == before)
            addresses[n] = array(frame, INTEGERS);
        else if (n < before)
            addresses[n] = ((XLA_FFI_Buffer *)frame->args.args[n])->data;
        else
            addresses[n] = ((XLA_FFI_Buffer *)frame->rets.rets[n - before - 1])->data;
    }
    int64_t count = number(frame, COUNT);
    Failure failure = {0, 0, 0, 0, NULL};
    const int64_t *strides = count < 0 ? NULL : array(frame, STRIDES);
    const int64_t *sizes = array(frame, SIZES);
    if (runtime->run(plan, addresses, sizes, strides, count < 0 ? 1 : count, runtime->threads, &failure))
        return failed(frame, &failure);
    return NULL;
}
