/* Enzyme's gradient of the LSTM objective: adds to d_main and d_extra. */
#include "../../examples/adbench/lstm.c"

extern int enzyme_const, enzyme_dup;
void __enzyme_autodiff(void *, ...);

void lstm_gradient(int l, int c, int b, const double *main_params, double *d_main, const double *extra_params,
                   double *d_extra, const double *state, const double *sequence, double *loss)
{
    double seed = 1.0;
    __enzyme_autodiff((void *)lstm_objective, enzyme_const, l, enzyme_const, c, enzyme_const, b,
                      enzyme_dup, main_params, d_main, enzyme_dup, extra_params, d_extra, enzyme_const, state,
                      enzyme_const, sequence, enzyme_dup, loss, &seed);
}
