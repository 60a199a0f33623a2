/* Integers that are numbers, or the bits of doubles: by a tag, by their place, and the largest of them. */
#include "bits.h"

struct cell {
    int tag;
    uint64_t word;
};

static __attribute__((noinline)) void put(struct cell *c, int tag, uint64_t word)
{
    c->tag = tag;
    c->word = word;
}

static __attribute__((noinline)) void turned(struct cell *c, int n)
{
    for (int i = 0; i < n / 2; i++) {
        struct cell t = c[i];
        c[i] = c[n - 1 - i];
        c[n - 1 - i] = t;
    }
}

static __attribute__((noinline)) double total(const struct cell *c, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += c[i].tag ? sin(unpacked(c[i].word)) * (i + 1) : (double)c[i].word;
    return sum;
}

static double tagged(const double *x, int n)
{
    struct cell *c = malloc(2 * n * sizeof *c);
    for (int i = 0; i < n; i++) {
        put(c + 2 * i, 1, packed(x[i] * x[i]));
        put(c + 2 * i + 1, 0, i);
    }
    turned(c, 2 * n);
    double sum = total(c, 2 * n);
    free(c);
    return sum;
}

/* The bits of doubles that are not negative have their order. */
static __attribute__((noinline)) uint64_t largest(const uint64_t *words, int n)
{
    uint64_t found = 0;
    for (int i = 0; i < n; i++)
        if (words[i] > found)
            found = words[i];
    return found;
}

static double chosen(const double *x, int n)
{
    uint64_t words[16];
    for (int i = 0; i < n; i++)
        words[i] = packed(x[i] * x[i]);
    return sin(unpacked(largest(words, n)));
}

struct stack {
    uint64_t words[16];
    int size;
};

static __attribute__((noinline)) void push(struct stack *s, uint64_t word) { s->words[s->size++] = word; }
static __attribute__((noinline)) uint64_t pop(struct stack *s) { return s->words[--s->size]; }

static double calculated(const double *x, int n)
{
    struct stack s = {{0}, 0};
    push(&s, n);
    push(&s, packed(0.0));
    for (int i = 0; i < n; i++) {
        push(&s, packed(x[i]));
        push(&s, packed(x[i]));
        push(&s, i + 1);
        uint64_t times = pop(&s);
        double a = unpacked(pop(&s)), b = unpacked(pop(&s)), sum = unpacked(pop(&s));
        push(&s, packed(sum + sin(a * b) * times));
    }
    double sum = unpacked(pop(&s));
    return sum * pop(&s);
}

int main(void)
{
    CHECK_GRADIENT(tagged, 6);
    CHECK_GRADIENT(chosen, 6);
    CHECK_GRADIENT(calculated, 6);
    return failures();
}
