// A copy whose size is known at run time only, of structs with integers.
// s: [("k", "i4"), ("v", "f8")] 4 k=1,2,3,0
// n: 3
#include <string.h>
struct item { int k; double v; };
void memcpy_partial(struct item *s, int n) {
    struct item t[4];
    memcpy(t, s, sizeof t);
    memcpy(s, t + 1, n * sizeof *s);
    s[0].v *= t[s[1].k].v;
}
