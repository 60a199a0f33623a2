/* Blocks cut from static memory, which hold pointers to each other: a pool of nodes with a list of those that are free,
 * trees in a pool, and arenas for blocks of any type. What they hold from earlier calls leads into themselves alone. */
#include "selfcheck.h"
#include <stdint.h>

struct node {
    double v;
    struct node *next;
};

static struct node pool[64], *unused;
static int ready;

static __attribute__((noinline)) struct node *get(void)
{
    struct node *q = unused;
    unused = q->next;
    return q;
}

static __attribute__((noinline)) void put(struct node *q)
{
    q->next = unused;
    unused = q;
}

static double listed(const double *x, int n)
{
    struct node *head = 0;
    double s = 0;
    for (; ready < 64; ready++)
        put(&pool[ready]);
    for (int i = 0; i < n; i++) {
        struct node *q = get();
        q->v = x[i] * x[i];
        q->next = head;
        head = q;
        if (i % 3 == 2) {
            head = head->next;
            s += q->v * head->v;
            put(q);
        }
    }
    for (int k = 1; head; k++) {
        struct node *q = head;
        head = head->next;
        s += sin(q->v) * k;
        put(q);
    }
    return s;
}

struct branch {
    double v;
    struct branch *left, *right;
};
static struct branch branches[64];
static int taken;

static struct branch *planted(double v)
{
    struct branch *b = &branches[taken++];
    b->v = v;
    b->left = b->right = 0;
    return b;
}

static __attribute__((noinline)) struct branch *inserted(struct branch *b, double v)
{
    if (!b)
        return planted(v);
    if (v < b->v)
        b->left = inserted(b->left, v);
    else
        b->right = inserted(b->right, v);
    return b;
}

static __attribute__((noinline)) double summed(const struct branch *b, int depth)
{
    return b ? summed(b->left, depth + 1) + sin(b->v) * depth + summed(b->right, depth + 1) : 0;
}

static double tree(const double *x, int n)
{
    struct branch *root = 0;
    taken = 0;
    for (int i = 0; i < n; i++)
        root = inserted(root, x[i] * x[i]);
    return summed(root, 1);
}

static _Alignas(16) unsigned char arena[1 << 14], *top = arena;

static void *cut(size_t size)
{
    void *p = top;
    top += (size + 7) & ~(size_t)7;
    return p;
}

static double **matrix(int n)
{
    double **rows = cut(n * sizeof *rows);
    for (int i = 0; i < n; i++)
        rows[i] = cut(n * sizeof **rows);
    return rows;
}

static double rows(const double *x, int n)
{
    unsigned char *mark = top;
    double **m = matrix(n), s = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            m[i][j] = x[i] * x[j] + i;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            s += sin(m[j][i]) * (i + 1);
    top = mark;
    return s;
}

/* Where pointers were in one call there are doubles in the next. */
static uint64_t words[1 << 9];
static size_t used;
struct mixed {
    struct mixed *next;
    double first, second;
    double v;
};

static void *words_for(size_t size)
{
    void *p = words + used;
    used += (size + 7) / 8;
    return p;
}

static double by_turns(const double *x, int n)
{
    static int turn;
    struct mixed *head = 0;
    double s = 0;
    used = turn++ % 5;
    for (int i = 0; i < n; i++) {
        struct mixed *q = words_for(sizeof *q);
        *q = (struct mixed){head, i + 1, i, x[i] * x[i]};
        head = q;
        double *t = words_for((1 + i % 3) * sizeof *t);
        t[0] = x[i];
        s += sin(t[0]) * i;
    }
    for (; head; head = head->next)
        s += head->v * head->first + head->second;
    return s;
}

int main(void)
{
    CHECK_GRADIENT(listed, 6);
    CHECK_GRADIENT(listed, 9);
    CHECK_GRADIENT(tree, 6);
    CHECK_GRADIENT(tree, 9);
    CHECK_GRADIENT(rows, 4);
    CHECK_GRADIENT(rows, 6);
    CHECK_GRADIENT(by_turns, 6);
    CHECK_GRADIENT(by_turns, 9);
    return failures();
}
