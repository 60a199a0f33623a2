/* Functions of the C library that make and free memory, behind pointers: a list whose items say how they are freed,
 * one with `free` itself, and an allocator that is a pair of functions. Text that is copied lies beside floats. */
#include "selfcheck.h"
struct item {
    void *content;
    double (*value)(const void *);
    void (*destroy)(void *);
    struct item *next;
};
struct allocator { void *(*get)(size_t); void (*give_back)(void *); };
static struct allocator standard = {malloc, free};
struct pair { double *both; };
struct setting {
    char *name;
    int is_text;
    union { char *text; double *number; } is;
};
static double value_of_one(const void *content) { return sin(*(const double *)content); }
static double value_of_pair(const void *content)
{
    const struct pair *p = (const struct pair *)content;
    return p->both[0] * p->both[1];
}
static void destroy_pair(void *content)
{
    standard.give_back(((struct pair *)content)->both);
    free(content);
}
static struct item *push(struct item *list, void *content, double (*value)(const void *), void (*destroy)(void *))
{
    struct item *made = (struct item *)standard.get(sizeof *made);
    made->content = content;
    made->value = value;
    made->destroy = destroy;
    made->next = list;
    return made;
}
static double of_settings(const double *x, int n)
{
    struct setting *all = (struct setting *)calloc((size_t)n, sizeof *all);
    double sum = 0;
    for (int i = 0; i < n; i++) {
        char name[16];
        snprintf(name, sizeof name, "setting %d", i);
        all[i].name = strdup(name);
        all[i].is_text = i % 2;
        if (all[i].is_text)
            all[i].is.text = strndup("mean of all", 4);
        else {
            all[i].is.number = (double *)malloc(sizeof(double));
            *all[i].is.number = x[i] * x[i];
        }
    }
    for (int i = 0; i < n; i++)
        sum += all[i].is_text ? (double)strlen(all[i].is.text) * x[i] * (all[i].name[8] - '0') : *all[i].is.number;
    for (int i = 0; i < n; i++) {
        free(all[i].name);
        free(all[i].is_text ? (void *)all[i].is.text : (void *)all[i].is.number);
    }
    free(all);
    return sum;
}
static double f(const double *x, int n)
{
    struct item *list = NULL;
    for (int i = 0; i < n; i++)
        if (i % 2) {
            struct pair *p = (struct pair *)malloc(sizeof *p);
            p->both = (double *)standard.get(2 * sizeof(double));
            p->both[0] = x[i];
            p->both[1] = exp(x[i - 1]);
            list = push(list, p, value_of_pair, destroy_pair);
        } else {
            double *one = (double *)malloc(sizeof *one);
            *one = x[i] * x[i];
            list = push(list, one, value_of_one, free);
        }
    double sum = of_settings(x, n);
    while (list) {
        struct item *next = list->next;
        sum += list->value(list->content);
        list->destroy(list->content);
        standard.give_back(list);
        list = next;
    }
    return sum;
}
int main(void) { CHECK_EVERY_WAY(f, 5); return failures(); }
