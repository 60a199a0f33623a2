/* One operator of TensorFlow, `LlgradCall`, over its C API: finds the plan that an attribute names, and runs it.
 *
 * Inputs: what the plan takes, then `meta`, a vector of int64 in host memory:
 *     count (-1: no batch) | bytes of all buffers | integers | strides of the caller's buffers | dimensions of outputs
 * Attributes: `key` names the plan; `site` is Python's (what its gradient is); `layout` says how many sizes and integers there are, then the rank of each output.
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
extern void TF_OpKernelConstruction_GetAttrInt64(TF_OpKernelConstruction *, const char *, int64_t *, TF_Status *);
extern void TF_OpKernelConstruction_GetAttrInt64List(TF_OpKernelConstruction *, const char *, int64_t *, int,
                                                     TF_Status *);
extern void TF_OpKernelConstruction_GetAttrSize(TF_OpKernelConstruction *, const char *, int32_t *list, int32_t *total,
                                                TF_Status *);
extern void TF_OpKernelConstruction_Failure(TF_OpKernelConstruction *, TF_Status *);
extern void TF_OpKernelContext_Failure(TF_OpKernelContext *, TF_Status *);
extern int TF_NumInputs(TF_OpKernelContext *);
extern int TF_NumOutputs(TF_OpKernelContext *);
extern void TF_GetInput(TF_OpKernelContext *, int, TF_Tensor **, TF_Status *);
extern int TF_ExpectedOutputDataType(TF_OpKernelContext *, int);
extern size_t TF_DataTypeSize(int);
extern TF_Tensor *TF_AllocateOutput(TF_OpKernelContext *, int, int dtype, const int64_t *dims, int rank, size_t bytes,
                                    TF_Status *);

typedef struct {
    int64_t key, sizes, integers;
    int64_t ranks[];
} Kernel;

enum { LAYOUT = 2 };
static const Runtime *runtime;

static void *create(TF_OpKernelConstruction *with)
{
    TF_Status *status = TF_NewStatus();
    int32_t listed = 0, total = 0;
    TF_OpKernelConstruction_GetAttrSize(with, "layout", &listed, &total, status);
    Kernel *kernel = calloc(1, sizeof *kernel + (size_t)(listed > 0 ? listed : 0) * sizeof(int64_t));
    int64_t layout[listed > 0 ? listed : 1];
    if (TF_GetCode(status) == OK)
        TF_OpKernelConstruction_GetAttrInt64(with, "key", &kernel->key, status);
    if (TF_GetCode(status) == OK)
        TF_OpKernelConstruction_GetAttrInt64List(with, "layout", layout, listed, status);
    if (TF_GetCode(status) == OK && listed < LAYOUT)
        TF_SetStatus(status, INVALID_ARGUMENT, "llgrad: a call with another layout");
    if (TF_GetCode(status) != OK) {
        TF_OpKernelConstruction_Failure(with, status);
    } else {
        kernel->sizes = layout[0];
        kernel->integers = layout[1];
        for (int32_t n = LAYOUT; n < listed; n++)
            kernel->ranks[n - LAYOUT] = layout[n];
    }
    TF_DeleteStatus(status);
    return kernel;
}

static void run_plan(const Kernel *kernel, TF_OpKernelContext *with, TF_Tensor **held, TF_Status *status)
{
    int inputs = TF_NumInputs(with) - 1, outputs = TF_NumOutputs(with);
    int64_t before = 0, buffers = inputs + 1 + outputs;
    char *addresses[buffers];
    int64_t bytes[buffers];
    void *plan = runtime->found(kernel->key, &before);
    if (!plan || before != inputs) {
        TF_SetStatus(status, FAILED_PRECONDITION, "llgrad: the foreign function of this graph is not loaded in this "
                     "process; make it with llgrad.tensorflow.foreign before the graph runs");
        return;
    }
    for (int n = 0; n <= inputs; n++) {
        TF_GetInput(with, n, &held[n], status);
        if (TF_GetCode(status) != OK)
            return;
        addresses[n] = TF_TensorData(held[n]);
        bytes[n] = (int64_t)TF_TensorByteSize(held[n]);
    }
    const int64_t *meta = (const int64_t *)addresses[inputs], *sizes = meta + 1, *integers = sizes + kernel->sizes;
    const int64_t *strides = integers + kernel->integers, *dims = strides + buffers;
    int64_t wanted = 1 + kernel->sizes + kernel->integers + buffers, items = meta[0] < 0 ? 1 : meta[0];
    for (int n = 0; n < outputs; n++)
        wanted += kernel->ranks[n];
    int fits = TF_TensorElementCount(held[inputs]) == wanted;
    for (int n = 0; fits && n < inputs; n++)
        fits = bytes[n] == sizes[n] * (meta[0] >= 0 && strides[n] ? items : 1);
    if (!fits) {
        TF_SetStatus(status, INVALID_ARGUMENT, "llgrad: the shapes of the inputs are not those of the call");
        return;
    }
    addresses[inputs] = (char *)(intptr_t)integers;
    for (int n = 0; n < outputs; n++) {
        int dtype = TF_ExpectedOutputDataType(with, n);
        size_t size = TF_DataTypeSize(dtype);
        for (int64_t d = 0; d < kernel->ranks[n]; d++)
            size *= (size_t)dims[d];
        held[inputs + 1 + n] = TF_AllocateOutput(with, n, dtype, dims, (int)kernel->ranks[n], size, status);
        if (TF_GetCode(status) != OK)
            return;
        addresses[inputs + 1 + n] = TF_TensorData(held[inputs + 1 + n]);
        dims += kernel->ranks[n];
    }
    Failure failure = {0, 0, 0};
    const int64_t *apart = meta[0] < 0 ? NULL : strides;
    if (runtime->run(plan, addresses, sizes, apart, items, runtime->threads, &failure)) {
        int memory;
        const char *text = runtime->message(&failure, &memory);
        TF_SetStatus(status, memory ? RESOURCE_EXHAUSTED : INTERNAL, text);
    }
}

static void compute(void *kernel, TF_OpKernelContext *with)
{
    int count = TF_NumInputs(with) + TF_NumOutputs(with);
    TF_Tensor *held[count];
    for (int n = 0; n < count; n++)
        held[n] = NULL;
    TF_Status *status = TF_NewStatus();
    run_plan(kernel, with, held, status);
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

/* Registers operator and kernel; NULL, or what went wrong. */
const char *llgrad_tensorflow_start(const Runtime *with)
{
    runtime = with;
    TF_Status *status = TF_NewStatus(); /* kept where its message is returned */
    TF_OpDefinitionBuilder *op = TF_NewOpDefinitionBuilder("LlgradCall");
    TF_OpDefinitionBuilderAddInput(op, "taken: Taken");
    TF_OpDefinitionBuilderAddInput(op, "meta: int64");
    TF_OpDefinitionBuilderAddOutput(op, "made: Made");
    TF_OpDefinitionBuilderAddAttr(op, "Taken: list(type) >= 1");
    TF_OpDefinitionBuilderAddAttr(op, "Made: list(type) >= 1");
    TF_OpDefinitionBuilderAddAttr(op, "key: int");
    TF_OpDefinitionBuilderAddAttr(op, "site: int");
    TF_OpDefinitionBuilderAddAttr(op, "layout: list(int)");
    TF_OpDefinitionBuilderSetShapeInferenceFunction(op, shapes);
    TF_RegisterOpDefinition(op, status);
    if (TF_GetCode(status) != OK)
        return TF_Message(status);
    TF_KernelBuilder *kernel = TF_NewKernelBuilder("LlgradCall", "CPU", create, compute, free);
    TF_RegisterKernelBuilder("LlgradCall", kernel, status);
    return TF_GetCode(status) == OK ? NULL : TF_Message(status);
}
