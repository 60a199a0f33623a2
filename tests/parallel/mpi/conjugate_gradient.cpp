// A conjugate gradient on a line of cells that ranks share: exchanges of halos, and sums, in members of a class.
#include <vector>
#include "check.h"
struct Line {
    MPI_Comm comm; int before, after, cells;
    std::vector<double> k;
    Line(MPI_Comm c, int n) : comm(c), cells(n), k(n + 2, 0.0) {
        int rank, size; MPI_Comm_rank(comm, &rank); MPI_Comm_size(comm, &size);
        before = rank ? rank - 1 : MPI_PROC_NULL; after = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
    }
    void halo(std::vector<double> &u) const {
        MPI_Request r[4];
        MPI_Irecv(&u[0], 1, MPI_DOUBLE, before, 1, comm, &r[0]);
        MPI_Irecv(&u[cells + 1], 1, MPI_DOUBLE, after, 2, comm, &r[1]);
        MPI_Isend(&u[1], 1, MPI_DOUBLE, before, 2, comm, &r[2]);
        MPI_Isend(&u[cells], 1, MPI_DOUBLE, after, 1, comm, &r[3]);
        MPI_Waitall(4, r, MPI_STATUSES_IGNORE);
    }
    void apply(std::vector<double> &u, std::vector<double> &out) const {
        halo(u);
        for (int i = 1; i <= cells; i++) out[i] = (2 + k[i] * k[i]) * u[i] - u[i - 1] - u[i + 1];
    }
    double dot(const std::vector<double> &a, const std::vector<double> &b) const {
        double s = 0, all; for (int i = 1; i <= cells; i++) s += a[i] * b[i];
        MPI_Allreduce(&s, &all, 1, MPI_DOUBLE, MPI_SUM, comm);
        return all;
    }
};
static double energy(const double *x, int n) {
    MPI_Comm comm = MPI_COMM_WORLD;
    Line line(comm, n);
    double t0 = MPI_Wtime();
    std::vector<double> u(n + 2), r(n + 2), p(n + 2), q(n + 2), b(n + 2);
    for (int i = 1; i <= n; i++) line.k[i] = 0.5 + x[i - 1], b[i] = std::sin(x[i - 1]) + 1;
    r = b; p = r;
    double rr = line.dot(r, r);
    for (int it = 0; it < 6; it++) {
        line.apply(p, q);
        double alpha = rr / line.dot(p, q);
        for (int i = 1; i <= n; i++) u[i] += alpha * p[i], r[i] -= alpha * q[i];
        double next = line.dot(r, r);
        for (int i = 1; i <= n; i++) p[i] = r[i] + next / rr * p[i];
        rr = next;
    }
    if (MPI_Wtime() < t0) return 0;
    return line.dot(u, b);
}

static void checks() { CHECK(energy, 4); }
