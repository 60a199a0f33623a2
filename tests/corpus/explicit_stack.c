// A stack machine on a local array: pushes and pops by data.
double explicit_stack(double *x, int n) {
    static const int program[] = {0, 1, -1, 2, -2, 3, 4, -1, -2, 5, -1};
    double stack[8];
    int top = 0;
    for (int i = 0; i < 11; i++) {
        int op = program[i];
        if (op >= 0) stack[top++] = x[op];
        else {
            double b = stack[--top], a = stack[--top];
            stack[top++] = op == -1 ? a + b * b : a * b;
        }
    }
    return stack[0];
}
