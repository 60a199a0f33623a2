/* What the kernels that frameworks call (xla.c, tensorflow.c) use of runtime.c. */
#include <stdint.h>

enum { EXCEEDS = 4, MESSAGE_BYTES = 600 }; /* EXCEEDS: the status where arrays are certainly too short */

/* status: what the entry returned; code, detail: what llgrad_fail was given, or what a check or a guarded call found out;
 * name: of what, there. */
typedef struct {
    int32_t status, code;
    int64_t detail, end;
    const char *name;
} Failure;

typedef struct {
    /* The plan that a key names, and how many of the caller's buffers stand before the integers; NULL if none. */
    void *(*found)(int64_t key, int64_t *before);
    int32_t (*run)(void *plan, char **addresses, const int64_t *bytes, const int64_t *strides, int64_t count,
                   int64_t threads, Failure *failure);
    /* What to tell the user. `memory` is set where memory ran out; `text` has MESSAGE_BYTES. */
    const char *(*message)(const Failure *failure, int *memory, char *text);
    int64_t threads;
} Runtime;
