/* A stack machine: opcodes decide what happens to active numbers. */
#include "selfcheck.h"
enum op { PUSH, ADD, MULTIPLY, SINE, DUPLICATE, SWAP, END };
static double run(const int *code, const double *x)
{
    double stack[16];
    int top = 0;
    for (;; code++)
        switch (*code) {
        case PUSH: stack[top++] = x[*++code]; break;
        case ADD: top--; stack[top - 1] += stack[top]; break;
        case MULTIPLY: top--; stack[top - 1] *= stack[top]; break;
        case SINE: stack[top - 1] = sin(stack[top - 1]); break;
        case DUPLICATE: stack[top] = stack[top - 1]; top++; break;
        case SWAP: { double t = stack[top - 1]; stack[top - 1] = stack[top - 2]; stack[top - 2] = t; break; }
        default: return stack[top - 1];
        }
}
static double f(const double *x, int n)
{
    static const int code[] = {PUSH, 0, DUPLICATE, MULTIPLY, PUSH, 1, SINE, SWAP, PUSH, 2, ADD, MULTIPLY, DUPLICATE, MULTIPLY, END};
    return run(code, x) + n * 0;
}
int main(void) { CHECK_GRADIENT(f, 3); return failures(); }
