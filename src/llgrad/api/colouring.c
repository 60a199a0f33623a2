/* Sparse patterns: greedy colourings (Gebremedhin, Manne, Pothen: What color is your Jacobian?, SIAM Review 47, 2005),
 * their recovery, and the entries that sets of inputs stand for. Patterns are SciPy's: `starts` (64 bits) and `items`.
 * Linear in the entries but for the colourings, which look at the neighbours of neighbours.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

typedef struct {
    const int64_t *starts;
    const int32_t *items;
} Pattern;

/* A colour for each column, so that no row has entries in two columns of one colour. `order` may be null.
 * `seen` has room for as many colours as there are columns, and holds -1. Returns the number of colours. */
int64_t llgrad_columns(int64_t columns, const Pattern *rows_of, const Pattern *columns_of, const int32_t *order,
                       int32_t *colours, int32_t *seen) {
    int32_t count = 0;
    for (int64_t k = 0; k < columns; k++) colours[k] = -1;
    for (int64_t k = 0; k < columns; k++) {
        int32_t column = order ? order[k] : (int32_t)k, free = 0;
        for (int64_t a = rows_of->starts[column]; a < rows_of->starts[column + 1]; a++) {
            int32_t row = rows_of->items[a];
            for (int64_t b = columns_of->starts[row]; b < columns_of->starts[row + 1]; b++) {
                int32_t other = colours[columns_of->items[b]];
                if (other >= 0) seen[other] = column;
            }
        }
        while (free < count && seen[free] == column) free++;
        colours[column] = free;
        if (free == count) count++;
    }
    return count;
}

/* Star colouring of a symmetric pattern: neighbours differ, and each path of four has at least three colours.
 * `seen` and `twice` have room for as many colours as there are vertices, and hold -1. */
int64_t llgrad_star(int64_t n, const Pattern *graph, const int32_t *order, int32_t *colours, int32_t *seen,
                    int32_t *once, int32_t *twice) {
    const int64_t *starts = graph->starts;
    const int32_t *items = graph->items;
    int32_t count = 0;
    for (int64_t k = 0; k < n; k++) colours[k] = -1;
    for (int64_t k = 0; k < n; k++) {
        int32_t v = order ? order[k] : (int32_t)k, free = 0;
        for (int64_t a = starts[v]; a < starts[v + 1]; a++) {
            int32_t c = colours[items[a]];
            if (items[a] == v || c < 0) continue;
            if (once[c] == v) twice[c] = v;
            once[c] = seen[c] = v;
        }
        for (int64_t a = starts[v]; a < starts[v + 1]; a++) {
            int32_t w = items[a], cw = colours[w];
            if (w == v) continue;
            for (int64_t b = starts[w]; b < starts[w + 1]; b++) {
                int32_t x = items[b], cx = colours[x];
                if (x == v || x == w || cx < 0 || seen[cx] == v) continue;
                if (cw < 0 || twice[cw] == v) {
                    seen[cx] = v;
                    continue;
                }
                for (int64_t d = starts[x]; d < starts[x + 1]; d++) {
                    int32_t y = items[d];
                    if (y != w && y != x && colours[y] == cw) {
                        seen[cx] = v;
                        break;
                    }
                }
            }
        }
        while (free < count && seen[free] == v) free++;
        colours[v] = free;
        if (free == count) count++;
    }
    return count;
}

/* Where each entry is found: in the compressed column of which colour, and at which place there. Returns the number of
 * entries that no compressed column has alone: not zero where the colouring is wrong.
 * `symmetric`: an entry may be read from its mirror image. `counts` has room for the colours, and holds 0. */
int64_t llgrad_recover(int64_t rows, const Pattern *columns_of, const int32_t *colours, int32_t symmetric,
                       int32_t *counts, uint16_t *lane, int32_t *place) {
    int64_t lost = 0;
    for (int64_t row = 0; row < rows; row++) {
        int64_t start = columns_of->starts[row], end = columns_of->starts[row + 1];
        for (int64_t a = start; a < end; a++) counts[colours[columns_of->items[a]]]++;
        for (int64_t a = start; a < end; a++) {
            int32_t column = columns_of->items[a], colour = colours[column];
            int unique = counts[colour] == 1;
            if (unique || !symmetric) {
                lane[a] = (uint16_t)colour;
                place[a] = (int32_t)row;
                lost += !unique;
                continue;
            }
            int32_t mine = colours[row], same = 0;
            for (int64_t b = columns_of->starts[column]; b < columns_of->starts[column + 1]; b++)
                same += colours[columns_of->items[b]] == mine;
            lane[a] = (uint16_t)mine;
            place[a] = column;
            lost += same != 1;
        }
        for (int64_t a = start; a < end; a++) counts[colours[columns_of->items[a]]] = 0;
    }
    return lost;
}

/* The entries of a matrix from what the sweeps found, a lane for each colour: entry e is at place[e] of its lane, or at
 * its row where `place` is null. Returns the first row whose product with a direction is not what a sweep along it has
 * `found`; -1: none, or `found` is null. */
#define TAKE(T, name)                                                                                                  \
    int64_t name(int64_t rows, const Pattern *columns_of, const uint16_t *lane, const int32_t *place,                  \
                 const T *const *lanes, T *data, const double *direction, const T *found, double relative,             \
                 double absolute) {                                                                                    \
        int64_t wrong = -1;                                                                                            \
        for (int64_t row = 0; row < rows; row++) {                                                                     \
            int64_t start = columns_of->starts[row], end = columns_of->starts[row + 1];                                \
            double sum = 0, size = 0;                                                                                  \
            for (int64_t a = start; lane && a < end; a++) data[a] = lanes[lane[a]][place ? place[a] : row];            \
            if (!found || wrong >= 0) continue;                                                                        \
            for (int64_t a = start; a < end; a++) {                                                                    \
                double part = data[a] * direction[columns_of->items[a]];                                               \
                sum += part;                                                                                           \
                size += fabs(part);                                                                                    \
            }                                                                                                          \
            if (!(fabs(sum - found[row]) <= relative * size + absolute) && (isfinite(sum) || isfinite(found[row])))    \
                wrong = row;                                                                                           \
        }                                                                                                              \
        return wrong;                                                                                                  \
    }
TAKE(double, llgrad_take)
TAKE(float, llgrad_takef)

/* The entries (row, child) that sets stand for. Bit b of the set in lane l is input group (l * capacity + b + first):
 * a colour and a child of the block that has this colour in the row. A bit whose colour the row has not is dropped: the
 * row depends on none of its blocks. Without `rows` they are only counted.
 * `at` and `seen` have room for the colours; `seen` holds -1. */
int64_t llgrad_members(int64_t count, const Pattern *blocks_of, const int32_t *colours, const int32_t *children,
                       int64_t pieces, const uint64_t *const *sets, int64_t lanes, int64_t capacity, int64_t first,
                       int32_t *at, int32_t *seen, int32_t *rows, int32_t *items) {
    int64_t found = 0;
    for (int64_t row = 0; row < count; row++) {
        uint64_t any = 0;
        for (int64_t l = 0; l < lanes; l++) any |= sets[l][row];
        if (!any) continue;
        for (int64_t a = blocks_of->starts[row]; a < blocks_of->starts[row + 1]; a++) {
            int32_t block = blocks_of->items[a];
            at[colours[block]] = block;
            seen[colours[block]] = (int32_t)row;
        }
        for (int64_t l = 0; l < lanes; l++)
            for (uint64_t set = sets[l][row]; set; set &= set - 1) {
                int64_t group = first + l * capacity + __builtin_ctzll(set);
                int64_t colour = group / pieces, child = group % pieces;
                int32_t block = at[colour];
                if (seen[colour] != (int32_t)row || children[block] + child >= children[block + 1]) continue;
                if (rows) {
                    rows[found] = (int32_t)row;
                    items[found] = (int32_t)(children[block] + child);
                }
                found++;
            }
    }
    return found;
}
