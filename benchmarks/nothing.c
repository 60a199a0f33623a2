/* An operator of TensorFlow that does nothing, registered as llgrad's is: what overhead.py compares with. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { DOUBLE = 2 };
extern void *TF_NewStatus(void);
extern void TF_DeleteStatus(void *), TF_DeleteTensor(void *);
extern void *TF_NewOpDefinitionBuilder(const char *);
extern void TF_OpDefinitionBuilderAddInput(void *, const char *), TF_OpDefinitionBuilderAddOutput(void *, const char *);
extern void TF_OpDefinitionBuilderSetShapeInferenceFunction(void *, void (*)(void *, void *));
extern void TF_ShapeInferenceContextSetUnknownShape(void *, void *);
extern void TF_RegisterOpDefinition(void *, void *);
extern void *TF_NewKernelBuilder(const char *, const char *, void *(*)(void *), void (*)(void *, void *), void (*)(void *));
extern void TF_RegisterKernelBuilder(const char *, void *, void *);
extern void TF_GetInput(void *, int, void **, void *);
extern int64_t TF_TensorElementCount(const void *);
extern void *TF_AllocateOutput(void *, int, int, const int64_t *, int, size_t, void *);

static void *create(void *with)
{
    (void)with;
    return NULL;
}

static void compute(void *kernel, void *with)
{
    void *status = TF_NewStatus(), *in = NULL;
    (void)kernel;
    TF_GetInput(with, 0, &in, status);
    int64_t count = TF_TensorElementCount(in);
    TF_DeleteTensor(TF_AllocateOutput(with, 0, DOUBLE, &count, 1, (size_t)count * sizeof(double), status));
    TF_DeleteTensor(in);
    TF_DeleteStatus(status);
}

static void drop(void *kernel) { (void)kernel; }

void begin(void)
{
    void *status = TF_NewStatus(), *op = TF_NewOpDefinitionBuilder("LlgradNothing");
    TF_OpDefinitionBuilderAddInput(op, "taken: double");
    TF_OpDefinitionBuilderAddOutput(op, "made: double");
    TF_OpDefinitionBuilderSetShapeInferenceFunction(op, TF_ShapeInferenceContextSetUnknownShape);
    TF_RegisterOpDefinition(op, status);
    TF_RegisterKernelBuilder("LlgradNothing", TF_NewKernelBuilder("LlgradNothing", "CPU", create, compute, drop), status);
    TF_DeleteStatus(status);
}
