// Vectors of integers that hold floats: shuffled, merged with constants, taken lane by lane.
#include <string.h>
typedef float v4 __attribute__((vector_size(16)));
typedef int i4 __attribute__((vector_size(16)));
typedef long long l2 __attribute__((vector_size(16)));
static __attribute__((noinline)) i4 turned(i4 v) { return (i4){v[1], v[2], v[3], v[0]}; }
static __attribute__((noinline)) l2 halves(l2 v) { return (l2){v[1], v[0]}; }
float vector_of_bits(float *x, int n, int k) {
    v4 s = {0, 0, 0, 1};
    for (int i = 0; i + 3 < n; i++) {
        v4 a;
        memcpy(&a, x + i, 16);
        i4 b = turned((i4)a);
        l2 c = halves((l2)a);
        i4 d = (i4)a;
        d[k & 3] = b[i & 3];
        s += (v4)b * (v4)c + (v4)d * a;
    }
    return s[0] * s[1] + s[2] * s[3];
}
