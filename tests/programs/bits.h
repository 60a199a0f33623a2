/* The bits of a double as an integer, and back. */
#include "selfcheck.h"
#include <stdint.h>

static __attribute__((noinline)) uint64_t packed(double t)
{
    uint64_t w;
    memcpy(&w, &t, 8);
    return w;
}

static __attribute__((noinline)) double unpacked(uint64_t w)
{
    double t;
    memcpy(&t, &w, 8);
    return t;
}
