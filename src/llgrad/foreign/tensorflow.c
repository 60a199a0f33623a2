/* Operators of TensorFlow over its C API. They find the plan that their last input names, and run it.
 *
 * Inputs: what the plan takes, then `meta`, a vector of int64 in host memory:
 *     key of the plan | count (-1: no batch) | how many sizes | how many integers | ranks of the outputs
 *     | bytes of all buffers | integers | strides of the caller's buffers | dimensions of outputs
 * `LlgradCall` takes and makes tensors of any dtypes and serves graphs; its attribute `site` is Python's (what its
 * gradient is). For eager mode, where each attribute costs time, operators are registered without any: one for each list
 * of dtypes.
 * TensorFlow's symbols are found by the loader; the few that are used are declared here. See runtime.c.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "runtime.h"

typedef struct TF_Status TF_Status;
typedef struct TF_Tensor TF_Tensor;
typedef struct TF_KernelBuilder TF_KernelBuilder;
typedef struct TF_OpDefinitionBuilder TF_OpDefinitionBuilder;
typedef struct TF_OpKernelConstruction TF_OpKernelConstruction;
typedef struct TF_OpKernelContext TF_OpKernelContext;
typedef struct TF_ShapeInferenceContext TF_ShapeInferenceContext;
enum { OK = 0, INVALID_ARGUMENT = 3, RESOURCE_EXHAUSTED = 8, FAILED_PRECONDITION = 9, INTERNAL = 13 };

extern TF_Status *TF_NewStatus(void);
extern void TF_DeleteStatus(TF_Status *);
extern void TF_SetStatus(TF_Status *, int code, const char *message);
extern int TF_GetCode(const TF_Status *);
extern const char *TF_Message(const TF_Status *);
extern void TF_DeleteTensor(TF_Tensor *);
extern void *TF_TensorData(const TF_Tensor *);
extern int64_t TF_TensorElementCount(const TF_Tensor *);
extern size_t TF_TensorByteSize(const TF_Tensor *);
extern TF_OpDefinitionBuilder *TF_NewOpDefinitionBuilder(const char *);
extern void TF_OpDefinitionBuilderAddInput(TF_OpDefinitionBuilder *, const char *);
extern void TF_OpDefinitionBuilderAddOutput(TF_OpDefinitionBuilder *, const char *);
extern void TF_OpDefinitionBuilderAddAttr(TF_OpDefinitionBuilder *, const char *);
extern void TF_OpDefinitionBuilderSetShapeInferenceFunction(
    TF_OpDefinitionBuilder *, void (*)(TF_ShapeInferenceContext *, TF_Status *));
extern void TF_ShapeInferenceContextSetUnknownShape(TF_ShapeInferenceContext *, TF_Status *);
extern void TF_RegisterOpDefinition(TF_OpDefinitionBuilder *, TF_Status *);
extern TF_KernelBuilder *TF_NewKernelBuilder(
    const char *op, const char *device, void *(*create)(TF_OpKernelConstruction *),
    void (*compute)(void *, TF_OpKernelContext *), void (*drop)(void *));
extern void TF_RegisterKernelBuilder(const char *name, TF_KernelBuilder *, TF_Status *);
extern void TF_OpKernelContext_Failure(TF_OpKernelContext *, TF_Status *);
extern int TF_NumInputs(TF_OpKernelContext *);
extern int TF_NumOutputs(TF_OpKernelContext *);
extern void TF_GetInput(TF_OpKernelContext *, int, TF_Tensor **, TF_Status *);
extern int TF_ExpectedOutputDataType(TF_OpKernelContext *, int);
extern size_t TF_DataTypeSize(int);
extern TF_Tensor *TF_AllocateOutput(TF_OpKernelContext *, int, int dtype, const int64_t *dims, int rank, size_t bytes,
                                    TF_Status *);

enum { KEY, COUNT, SIZES, INTEGERS, RANKS };
static const Runtime *runtime;

/* Are there as many numbers in `meta` as its first ones say? */
static int whole(const int64_t *meta, int64_t length, int64_t inputs, int64_t outputs)
{
    if (length < RANKS + outputs || meta[SIZES] < 0 || meta[SIZES] > length || meta[INTEGERS] < 0 ||
        meta[INTEGERS] > length)
        return 0;
    int64_t wanted = RANKS + outputs + meta[SIZES] + meta[INTEGERS] + inputs + 1 + outputs;
    for (int64_t n = 0; n < outputs; n++) {
        if (meta[RANKS + n] < 0 || meta[RANKS + n] > length)
            return 0;
        wanted += meta[RANKS + n];
    }
    return length == wanted && meta[SIZES] >= inputs;
}

static void run_plan(TF_OpKernelContext *with, TF_Tensor **held, TF_Status *status)
{
    int inputs = TF_NumInputs(with) - 1, outputs = TF_NumOutputs(with);
    int64_t before = 0, buffers = inputs + 1 + outputs;
    char *addresses[buffers];
    int64_t bytes[buffers];
    for (int n = 0; n <= inputs; n++) {
        TF_GetInput(with, n, &held[n], status);
        if (TF_GetCode(status) != OK)
            return;
        addresses[n] = TF_TensorData(held[n]);
        bytes[n] = (int64_t)TF_TensorByteSize(held[n]);
    }
    const int64_t *meta = (const int64_t *)addresses[inputs];
    if (!whole(meta, TF_TensorElementCount(held[inputs]), inputs, outputs)) {
        TF_SetStatus(status, INVALID_ARGUMENT, "llgrad: a call with another layout: this graph was made by another "
                     "version of llgrad; make it again");
        return;
    }
    void *plan = runtime->found(meta[KEY], &before);
    if (!plan || before != inputs) {
        TF_SetStatus(status, FAILED_PRECONDITION, "llgrad: the foreign function of this graph is not loaded in this "
                     "process; make it with llgrad.tensorflow.foreign before the graph runs");
        return;
    }
    const int64_t *ranks = meta + RANKS, *sizes = ranks + outputs, *integers = sizes + meta[SIZES];
    const int64_t *strides = integers + meta[INTEGERS], *dims = strides + buffers;
    int64_t items = meta[COUNT] < 0 ? 1 : meta[COUNT];
    int fits = 1;
    for (int n = 0; fits && n < inputs; n++)
        fits = bytes[n] == sizes[n] * (meta[COUNT] >= 0 && strides[n] ? items : 1);
    if (!fits) {
        TF_SetStatus(status, INVALID_ARGUMENT, "llgrad: the shapes of the inputs are not those of the call");
        return;
    }
    addresses[inputs] = (char *)(intptr_t)integers;
    for (int n = 0; n < outputs; n++) {
        int dtype = TF_ExpectedOutputDataType(with, n);
        size_t size = TF_DataTypeSize(dtype);
        for (int64_t d = 0; d < ranks[n]; d++)
            size *= (size_t)dims[d];
        held[inputs + 1 + n] = TF_AllocateOutput(with, n, dtype, dims, (int)ranks[n], size, status);
        if (TF_GetCode(status) != OK)
            return;
        addresses[inputs + 1 + n] = TF_TensorData(held[inputs + 1 + n]);
        dims += ranks[n];
    }
    Failure failure = {0, 0, 0, 0, NULL};
    const int64_t *apart = meta[COUNT] < 0 ? NULL : strides;
    if (runtime->run(plan, addresses, sizes, apart, items, runtime->threads, &failure)) {
        int memory;
        char room[MESSAGE_BYTES];
        const char *text = runtime->message(&failure, &memory, room);
        TF_SetStatus(status, memory ? RESOURCE_EXHAUSTED : failure.status == EXCEEDS ? INVALID_ARGUMENT : INTERNAL, text);
    }
}

static void compute(void *kernel, TF_OpKernelContext *with)
{
    (void)kernel;
    int count = TF_NumInputs(with) + TF_NumOutputs(with);
    TF_Tensor *held[count];
    for (int n = 0; n < count; n++)
        held[n] = NULL;
    TF_Status *status = TF_NewStatus();
    run_plan(with, held, status);
    for (int n = 0; n < count; n++)
        if (held[n])
            TF_DeleteTensor(held[n]);
    if (TF_GetCode(status) != OK)
        TF_OpKernelContext_Failure(with, status);
    TF_DeleteStatus(status);
}

static void shapes(TF_ShapeInferenceContext *with, TF_Status *status)
{
    TF_ShapeInferenceContextSetUnknownShape(with, status);
}

/* Registers an operator with these inputs, outputs and attributes, and its kernel; NULL, or what went wrong. */
const char *llgrad_tensorflow_operator(const Runtime *with, const char *name, const char **inputs, const char **outputs,
                                       const char **attributes)
{
    runtime = with;
    TF_Status *status = TF_NewStatus(); /* kept where its message is returned */
    TF_OpDefinitionBuilder *op = TF_NewOpDefinitionBuilder(name);
    for (; *inputs; inputs++)
        TF_OpDefinitionBuilderAddInput(op, *inputs);
    for (; *outputs; outputs++)
        TF_OpDefinitionBuilderAddOutput(op, *outputs);
    for (; *attributes; attributes++)
        TF_OpDefinitionBuilderAddAttr(op, *attributes);
    TF_OpDefinitionBuilderSetShapeInferenceFunction(op, shapes);
    TF_RegisterOpDefinition(op, status);
    if (TF_GetCode(status) == OK)
        TF_RegisterKernelBuilder(name, TF_NewKernelBuilder(name, "CPU", NULL, compute, NULL), status);
    return TF_GetCode(status) == OK ? NULL : TF_Message(status);
}
