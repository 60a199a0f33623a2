/* A library of which the program uses a part: what only the rest of it stores in tables and variables is called by
 * nobody, and need not have a derivative. */
#include "selfcheck.h"
typedef struct model { double (*flux)(double); double (*limit)(double, double); const char *name; } model;

/* what is used */
static double (*current_flux)(double);
static double (*current_limit)(double, double);
static double burgers(double u) { return 0.5 * u * u; }
static double minimum(double a, double b) { return a * b < 0 ? 0 : a * a < b * b ? a : b; }
void use_model(const model *m)
{
    current_flux = m->flux;
    current_limit = m->limit;
}
const model burgers_model = {burgers, minimum, "burgers"};

/* what is not: a float that is written as text, and what nobody knows a rule for, have no derivative */
static double through_text(double u)
{
    char text[40];
    snprintf(text, sizeof text, "%.17g", u);
    return strtod(text, 0);
}
static double without_rule(double a, double b)
{
    unsigned short state[3] = {1, 2, (unsigned short)a};
    return jrand48(state) * b;
}
const model text_model = {through_text, without_rule, "text"};
static model made[4];
static int count;
void use_text(void) { use_model(&text_model); }
void register_text(void)
{
    made[count++] = text_model;
    current_flux = through_text;
    current_limit = without_rule;
}
void register_all(void)
{
    use_text();
    register_text();
}

static double f(const double *x, int n)
{
    double sum = 0;
    for (int i = 1; i + 1 < n; i++)
        sum += current_flux(x[i]) * i + current_limit(x[i] - x[i - 1], 1.7 * (x[i + 1] - x[i]));
    return sum;
}
int main(void)
{
    use_model(&burgers_model);
    CHECK_EVERY_WAY(f, 7);
    return failures();
}
