// Pointer arithmetic over bytes to reach a member.
// s: [("k", "i8"), ("v", "f8"), ("w", "f8")] 2 k=16,8
// n: 2
#include <stddef.h>
struct s { long k; double v, w; };
double offset_of_member(struct s *s, int n) {
    double t = 1;
    for (int i = 0; i < n; i++) {
        double *p = (double *)((char *)&s[i] + s[i].k);
        t *= *p;
        *p += t * s[i].v;
    }
    return t;
}
