/* Bodies of flang's runtime calls for text of one byte a character: code like any other, in which no float is. */
#include "flang.h"

INSIDE int64_t trimmed(const char *text, int64_t n)
{
    while (n > 0 && text[n - 1] == ' ') n--;
    return n;
}

INSIDE char *text_of(Descriptor *result, const Descriptor *like, int64_t bytes)
{
    describe(result, like, 0);
    result->bytes = bytes;
    return result->base = malloc(bytes > 0 ? bytes : 1);
}

void _FortranATrim(Descriptor *result, const Descriptor *from, const char *file, int line)
{
    int64_t n = trimmed(from->base, from->bytes);
    char *to = text_of(result, from, n);
    for (int64_t i = 0; i < n; i++) to[i] = from->base[i];
}

void _FortranAAdjustl(Descriptor *result, const Descriptor *from, const char *file, int line)
{
    int64_t n = from->bytes, blanks = 0;
    while (blanks < n && from->base[blanks] == ' ') blanks++;
    char *to = text_of(result, from, n);
    for (int64_t i = 0; i < n; i++) to[i] = i + blanks < n ? from->base[i + blanks] : ' ';
}

void _FortranAAdjustr(Descriptor *result, const Descriptor *from, const char *file, int line)
{
    int64_t n = from->bytes, blanks = n - trimmed(from->base, n);
    char *to = text_of(result, from, n);
    for (int64_t i = 0; i < n; i++) to[i] = i < blanks ? ' ' : from->base[i - blanks];
}

void _FortranARepeat(Descriptor *result, const Descriptor *from, int64_t count, const char *file, int line)
{
    int64_t n = from->bytes;
    char *to = text_of(result, from, n * count);
    for (int64_t k = 0; k < count; k++)
        for (int64_t i = 0; i < n; i++) to[k * n + i] = from->base[i];
}

int64_t _FortranALenTrim1(const char *text, int64_t n) { return trimmed(text, n); }

/* Blanks are appended to the shorter one. */
int _FortranACharacterCompareScalar1(const char *x, const char *y, int64_t nx, int64_t ny)
{
    for (int64_t i = 0; i < nx || i < ny; i++) {
        unsigned char a = i < nx ? x[i] : ' ', b = i < ny ? y[i] : ' ';
        if (a != b) return a < b ? -1 : 1;
    }
    return 0;
}

int64_t _FortranAIndex1(const char *text, int64_t n, const char *part, int64_t m, _Bool back)
{
    for (int64_t k = 0; k + m <= n; k++) {
        int64_t at = back ? n - m - k : k, i = 0;
        while (i < m && text[at + i] == part[i]) i++;
        if (i == m) return at + 1;
    }
    return 0;
}

INSIDE int64_t first(const char *text, int64_t n, const char *set, int64_t m, _Bool back, _Bool within)
{
    for (int64_t k = 0; k < n; k++) {
        int64_t at = back ? n - 1 - k : k, i = 0;
        while (i < m && text[at] != set[i]) i++;
        if ((i < m) == within) return at + 1;
    }
    return 0;
}

int64_t _FortranAScan1(const char *text, int64_t n, const char *set, int64_t m, _Bool back)
{
    return first(text, n, set, m, back, 1);
}

int64_t _FortranAVerify1(const char *text, int64_t n, const char *set, int64_t m, _Bool back)
{
    return first(text, n, set, m, back, 0);
}
