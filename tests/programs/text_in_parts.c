/* strtok and strtok_r cut text into parts, and write to what they were given calls before. */
#include "selfcheck.h"

static double written_later(const double *x, int n)
{
    char text[16] = "3 4 5";
    strtok(text, " ");
    double sum = text[3] * x[0] * x[1]; /* the second call writes there */
    char *part = strtok(NULL, " ");
    *part = '9';
    sum += text[2] * x[1] * x[2];
    return sum + text[3] * x[n - 1];
}

static double written_later_again(const double *x, int n)
{
    char text[16] = "3 4 5", *rest;
    strtok_r(text, " ", &rest);
    double sum = text[3] * x[0] * x[1];
    char *part = strtok_r(NULL, " ", &rest);
    *part = '9';
    sum += text[2] * x[1] * x[2];
    return sum + text[3] * x[n - 1];
}

static double table(const double *x, int n)
{
    char text[64], *row, *rows, *columns;
    strcpy(text, ";1,2 ,3;4;;5,,6;");
    double sum = 0;
    int k = 0;
    for (row = strtok_r(text, ";", &rows); row; row = strtok_r(NULL, ";", &rows))
        for (char *entry = strtok_r(row, ", ", &columns); entry; entry = strtok_r(NULL, ", ", &columns), k++)
            sum += atof(entry) * x[k % n] * x[k % n] * (*entry - '0') + strlen(row) * x[0];
    return sum + k * x[n - 1];
}

int main(void)
{
    CHECK_GRADIENT(written_later, 3);
    CHECK_GRADIENT(written_later_again, 3);
    CHECK_GRADIENT(table, 4);
    return failures();
}
