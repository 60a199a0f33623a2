// new and delete, of one object and of arrays.
#include "selfcheck.h"
struct cell { double v; cell *next; };
static double f(const double *x, int n)
{
    double *y = new double[n];
    cell *head = nullptr;
    for (int i = 0; i < n; i++) {
        y[i] = x[i] * x[i];
        head = new cell{y[i] * x[0], head};
    }
    double sum = 0;
    while (head) {
        cell *next = head->next;
        sum += head->v * head->v;
        delete head;
        head = next;
    }
    delete[] y;
    return sum;
}
int main() { CHECK_GRADIENT(f, 5); return failures(); }
