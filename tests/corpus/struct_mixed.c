// A struct of int, double, float and pointer-sized integer.
// s: [("k", "i4"), ("w", "f8"), ("v", "f4"), ("flag", "i1"), ("total", "f8")] 1 k=3 flag=1
struct mixed { int k; double w; float v; signed char flag; double total; };
void struct_mixed(struct mixed *s) {
    for (int i = 0; i < s->k; i++) s->total += s->w * s->v * (i + 1);
    if (s->flag) s->v = (float)(s->v * s->w);
    s->k += 1;
}
