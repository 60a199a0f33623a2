/* What the kernels that frameworks call (xla.c, tensorflow.c) use of runtime.c. */
#include <stdint.h>

typedef struct {
    int32_t status, code; /* status: what the entry returned; code, detail: what llgrad_fail was given */
    int64_t detail;
} Failure;

typedef struct {
    /* The plan that a key names, and how many of the caller's buffers stand before the integers; NULL if none. */
    void *(*found)(int64_t key, int64_t *before);
    int32_t (*run)(void *plan, char **addresses, const int64_t *bytes, const int64_t *strides, int64_t count,
                   int64_t threads, Failure *failure);
    /* What to tell the user. `memory` is set where memory ran out. */
    const char *(*message)(const Failure *failure, int *memory);
    int64_t threads;
} Runtime;
