// Jumps through a table of labels.
double computed_goto(double *x, int n) {
    static void *const table[] = {&&add, &&multiply, &&done};
    static const int program[] = {0, 1, 0, 1, 1, 2};
    double s = x[0];
    int i = 0;
    goto *table[program[i]];
add:
    s += x[i % n];
    goto *table[program[++i]];
multiply:
    s *= x[i % n];
    goto *table[program[++i]];
done:
    return s;
}
