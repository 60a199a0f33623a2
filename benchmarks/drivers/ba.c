/* Enzyme's Jacobian of bundle adjustment, in two ways. */
#include "../../examples/adbench/ba.c"

extern int enzyme_const, enzyme_dup, enzyme_out;
double __enzyme_autodiff(void *, ...);
void __enzyme_autodiff_sweep(void *, ...);

/* One projection at a time, two reverse sweeps each: jacobian[p][2][15] (camera, point, weight), d_w_err[p].
 * `reproj_err` receives the errors. */
void ba_jacobian(int p, const double *cams, const double *X, const double *w, const int *obs,
                 const double *feats, double *reproj_err, double *jacobian, double *d_w_err)
{
    for (int i = 0; i < p; i++) {
        for (int row = 0; row < 2; row++) {
            double seed[2] = {row == 0, row == 1};
            double *out = jacobian + 30 * i + 15 * row;
            for (int j = 0; j < 15; j++)
                out[j] = 0.0;
            out[14] = __enzyme_autodiff((void *)ba_reproj, enzyme_dup, cams + CAMERA * obs[2 * i], out,
                                        enzyme_dup, X + POINT * obs[2 * i + 1], out + CAMERA, enzyme_out, w[i],
                                        enzyme_const, feats + 2 * i, enzyme_dup, reproj_err + 2 * i, seed);
        }
    }
    for (int i = 0; i < p; i++)
        d_w_err[i] = __enzyme_autodiff((void *)ba_weight, enzyme_out, w[i]);
}

/* One reverse sweep over the whole instance for given seeds: adds to d_cams, d_X and d_w; the seeds are consumed. */
void ba_sweep(int n, int m, int p, const double *cams, double *d_cams, const double *X, double *d_X,
              const double *w, double *d_w, const int *obs, const double *feats, double *reproj_err,
              double *reproj_seed, double *w_err, double *w_seed)
{
    __enzyme_autodiff_sweep((void *)ba_objective, enzyme_const, n, enzyme_const, m, enzyme_const, p,
                            enzyme_dup, cams, d_cams, enzyme_dup, X, d_X, enzyme_dup, w, d_w, enzyme_const, obs,
                            enzyme_const, feats, enzyme_dup, reproj_err, reproj_seed, enzyme_dup, w_err, w_seed);
}
