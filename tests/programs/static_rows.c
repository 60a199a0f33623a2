/* Pointers that are computed and kept in static variables from one call to the next: rows of a matrix, in the order that
   the last call left them in, rows counted from one, the end of an array, a cursor. */
#include "selfcheck.h"
enum { ROWS = 4, COLUMNS = 8 };
static double data[ROWS * COLUMNS], counted[ROWS * COLUMNS];
static struct {
    double *row[ROWS], *end;
    long columns;
} m;
static double *from_one[ROWS + 1], *cursor = data + 3;

static void set(void)
{
    for (int i = 0; i < ROWS; i++) {
        m.row[i] = data + i * COLUMNS;
        from_one[i + 1] = counted + i * COLUMNS - 1;
    }
    m.end = data + ROWS * COLUMNS;
    m.columns = COLUMNS;
}
static void exchange(void)
{
    double *t = m.row[0];
    m.row[0] = m.row[ROWS - 1];
    m.row[ROWS - 1] = t;
}
static double rows(const double *x, int n)
{
    exchange();
    for (int i = 0; i < ROWS; i++)
        for (int j = 0; j < n; j++) {
            m.row[i][j] = sin(x[j] * (i + 1)) + (i ? m.row[i - 1][j] : 0);
            from_one[i + 1][j + 1] = m.row[i][j] * x[0];
        }
    double s = 0;
    for (double *p = m.end - m.columns; p < m.end - m.columns + n - 1; p++)
        s += p[0] * p[1];
    for (int i = 1; i <= ROWS; i++)
        s += from_one[i][1] * from_one[i][n];
    exchange();
    return s;
}
static double moved(const double *x, int n)
{
    double *before = cursor;
    *cursor++ = x[0];
    for (int i = 1; i < n; i++, cursor++)
        *cursor = cursor[-1] * x[i] + x[0];
    double s = cursor[-1] * cursor[-2];
    cursor = before;
    return s;
}
int main(void)
{
    set();
    CHECK_EVERY_WAY(rows, 5);
    exchange();
    CHECK_EVERY_WAY(rows, 5);
    exchange();
    CHECK_GRADIENT(moved, 4);
    cursor = m.row[2];
    CHECK_GRADIENT(moved, 4);
    return failures();
}
