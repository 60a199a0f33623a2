/* Formulas that are read from text, folded where they are constant, and evaluated: a node is a number, the address of a
 * variable or a function of so many nodes, by its kind; so is what the scanner has read last. Functions of one, two or
 * three numbers are called through casts, of which one is never met. */
#include "selfcheck.h"
enum kind { NUMBER, VARIABLE, APPLY, SIGN, END };
struct node {
    enum kind kind;
    int arity;
    union { double number; const double *variable; const void *function; } is;
    struct node *operands[1]; /* as many as the arity */
};
struct name { const char *text; int arity; const void *address; };
struct scanner {
    const char *next;
    enum kind kind;
    int arity, sign;
    union { double number; const double *variable; const void *function; } is;
    const struct name *variables;
};
static double plus(double a, double b) { return a + b; }
static double minus(double a, double b) { return a - b; }
static double times(double a, double b) { return a * b; }
static double over(double a, double b) { return a / b; }
static double opposite(double a) { return -a; }
static const struct name known[] = {
    {"exp", 1, exp}, {"pow", 2, pow}, {"sin", 1, sin}, {"sqrt", 1, sqrt}, {NULL, 0, NULL},
};
static const struct name *named(const struct name *in, const char *text, size_t length)
{
    while (in->text && (strncmp(in->text, text, length) != 0 || in->text[length] != '\0'))
        in++;
    return in->text ? in : NULL;
}
static void scan(struct scanner *s)
{
    while (*s->next == ' ')
        s->next++;
    if (*s->next == '\0') {
        s->kind = END;
    } else if (*s->next >= '0' && *s->next <= '9') {
        s->kind = NUMBER;
        s->is.number = strtod(s->next, (char **)&s->next);
    } else if (*s->next >= 'a' && *s->next <= 'z') {
        const char *start = s->next;
        while (*s->next >= 'a' && *s->next <= 'z')
            s->next++;
        const struct name *found = named(s->variables, start, s->next - start);
        if (found == NULL)
            found = named(known, start, s->next - start);
        s->arity = found->arity;
        s->kind = found->arity ? APPLY : VARIABLE;
        if (found->arity)
            s->is.function = found->address;
        else
            s->is.variable = found->address;
    } else {
        s->kind = SIGN;
        s->sign = *s->next++;
        switch (s->sign) {
        case '+': s->is.function = plus; break;
        case '-': s->is.function = minus; break;
        case '*': s->is.function = times; break;
        case '/': s->is.function = over; break;
        }
    }
}
static struct node *made(enum kind kind, int arity, struct node *const operands[])
{
    struct node *n = calloc(1, sizeof *n + arity * sizeof(struct node *));
    n->kind = kind;
    n->arity = arity;
    if (operands)
        memcpy(n->operands, operands, arity * sizeof *operands);
    return n;
}
static void released(struct node *n)
{
    for (int i = 0; i < n->arity; i++)
        released(n->operands[i]);
    free(n);
}
static struct node *sum(struct scanner *s);
static struct node *factor(struct scanner *s)
{
    struct node *n;
    if (s->kind == SIGN && s->sign == '-') {
        scan(s);
        n = made(APPLY, 1, (struct node *[]){factor(s)});
        n->is.function = opposite;
    } else if (s->kind == SIGN) { /* a parenthesis */
        scan(s);
        n = sum(s);
        scan(s);
    } else if (s->kind == APPLY) {
        n = made(APPLY, s->arity, NULL);
        n->is.function = s->is.function;
        scan(s);
        for (int i = 0; i < n->arity; i++) {
            scan(s);
            n->operands[i] = sum(s);
        }
        scan(s);
    } else if (s->kind == NUMBER) {
        n = made(NUMBER, 0, NULL);
        n->is.number = s->is.number;
        scan(s);
    } else {
        n = made(VARIABLE, 0, NULL);
        n->is.variable = s->is.variable;
        scan(s);
    }
    return n;
}
static struct node *product(struct scanner *s)
{
    struct node *n = factor(s);
    while (s->kind == SIGN && (s->sign == '*' || s->sign == '/')) {
        const void *function = s->is.function;
        scan(s);
        n = made(APPLY, 2, (struct node *[]){n, factor(s)});
        n->is.function = function;
    }
    return n;
}
static struct node *sum(struct scanner *s)
{
    struct node *n = product(s);
    while (s->kind == SIGN && (s->sign == '+' || s->sign == '-')) {
        const void *function = s->is.function;
        scan(s);
        n = made(APPLY, 2, (struct node *[]){n, product(s)});
        n->is.function = function;
    }
    return n;
}
static double value(const struct node *n)
{
    if (n->kind == NUMBER)
        return n->is.number;
    if (n->kind == VARIABLE)
        return *n->is.variable;
    switch (n->arity) {
    case 1: return ((double (*)(double))n->is.function)(value(n->operands[0]));
    case 2: return ((double (*)(double, double))n->is.function)(value(n->operands[0]), value(n->operands[1]));
    case 3:
        return ((double (*)(double, double, double))n->is.function)(
            value(n->operands[0]), value(n->operands[1]), value(n->operands[2]));
    }
    return 0;
}
static void fold(struct node *n)
{
    int constant = n->kind == APPLY;
    for (int i = 0; i < n->arity; i++) {
        fold(n->operands[i]);
        constant &= n->operands[i]->kind == NUMBER;
    }
    if (constant) {
        const double folded = value(n);
        for (int i = 0; i < n->arity; i++)
            released(n->operands[i]);
        n->arity = 0;
        n->kind = NUMBER;
        n->is.number = folded;
    }
}
static double f(const double *x, int n)
{
    double a = 1.5 * x[0], b = x[1], total = 0;
    const struct name variables[] = {{"a", 0, &a}, {"b", 0, &b}, {NULL, 0, NULL}};
    struct scanner s = {"sin(a*b) + pow(a, 2) / (1 + exp(-b)) - 3*sqrt(2) * a + pow(b, a)"};
    s.variables = variables;
    scan(&s);
    struct node *formula = sum(&s);
    fold(formula);
    for (int k = 0; k < 3; k++) {
        total += value(formula);
        a += b / n;
    }
    released(formula);
    return total;
}
int main(void)
{
    CHECK_GRADIENT(f, 2);
    return failures();
}
