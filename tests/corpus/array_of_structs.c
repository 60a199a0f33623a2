// Points with an index and a weight.
// s: [("index", "i4"), ("weight", "f8"), ("at", "f8", (2,))] 3 index=2,0,1
// n: 3
struct point { int index; double weight; double at[2]; };
double array_of_structs(struct point *s, int n) {
    double e = 0;
    for (int i = 0; i < n; i++) {
        struct point *q = s + s[i].index;
        double dx = s[i].at[0] - q->at[0] * q->weight, dy = s[i].at[1] * q->at[1];
        e += s[i].weight * (dx * dx + dy);
        q->weight += 0.1 * dx;
    }
    return e;
}
