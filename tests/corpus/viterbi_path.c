// Dynamic programming with maxima and back pointers.
double viterbi_path(const double *x, int n, const double *y, int m) {
    double score[4], next[4];
    int from[6][4], k = 0;
    for (int j = 0; j < m; j++) score[j] = y[j];
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < m; j++) {
            int best = 0;
            for (int l = 1; l < m; l++)
                if (score[l] + y[(j + l) % m] > score[best] + y[(j + best) % m]) best = l;
            from[i][j] = best;
            next[j] = score[best] + y[(j + best) % m] + x[i] * (j == i % m);
        }
        for (int j = 0; j < m; j++) score[j] = next[j];
    }
    double s = 0;
    for (int i = n - 1; i >= 0; i--) {
        s += x[i] * y[k];
        k = from[i][k];
    }
    return s + score[0];
}
