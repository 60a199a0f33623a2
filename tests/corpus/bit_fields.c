// Bit fields beside a double.
// s: [("bits", "u4"), ("v", "f8")] 2 bits=13,6
// n: 2
struct item { unsigned kind : 2, power : 3, used : 1; double v; };
double bit_fields(struct item *s, int n) {
    double t = 1;
    for (int i = 0; i < n; i++) {
        for (unsigned k = 0; k < s[i].power; k++) t *= s[i].v;
        if (s[i].kind == 1) t += s[i].v;
        s[i].used = 1;
        s[i].v *= t;
    }
    return t;
}
