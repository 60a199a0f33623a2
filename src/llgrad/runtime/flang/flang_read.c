/* Numbers that are read: the runtime reads them into memory of its own, for what is read is constant. What it leaves as
 * it was (an empty field, the end of the file) stays. */
#include "flang.h"

typedef union { double value; int64_t bits; } Double;
typedef union { float value; int32_t bits; } Float;
static const int64_t UNREAD = 0x7ff4b5a1c3d2e6f8;
static const int32_t UNREAD_FLOAT = 0x7fa5b1c3;

extern _Bool _FortranAioInputReal64(void *io, double *x);
extern _Bool _FortranAioInputReal32(void *io, float *x);
extern _Bool _FortranAioInputComplex64(void *io, double *z);
extern _Bool _FortranAioInputComplex32(void *io, float *z);
extern _Bool _FortranAioInputInteger(void *io, void *n, int32_t kind);
extern _Bool _FortranAioInputLogical(void *io, _Bool *truth);
extern _Bool _FortranAioInputDescriptor(void *io, const Descriptor *d);

API _Bool llgrad_InputReal64(void *io, double *x)
{
    Double v = {.bits = UNREAD};
    _Bool read = _FortranAioInputReal64(io, &v.value);
    if (v.bits != UNREAD) *x = v.value;
    return read;
}

API _Bool llgrad_InputReal32(void *io, float *x)
{
    Float v = {.bits = UNREAD_FLOAT};
    _Bool read = _FortranAioInputReal32(io, &v.value);
    if (v.bits != UNREAD_FLOAT) *x = v.value;
    return read;
}

API _Bool llgrad_InputComplex64(void *io, double *z)
{
    Double v[2] = {{.bits = UNREAD}, {.bits = UNREAD}};
    _Bool read = _FortranAioInputComplex64(io, &v[0].value);
    if (v[0].bits != UNREAD) z[0] = v[0].value;
    if (v[1].bits != UNREAD) z[1] = v[1].value;
    return read;
}

API _Bool llgrad_InputComplex32(void *io, float *z)
{
    Float v[2] = {{.bits = UNREAD_FLOAT}, {.bits = UNREAD_FLOAT}};
    _Bool read = _FortranAioInputComplex32(io, &v[0].value);
    if (v[0].bits != UNREAD_FLOAT) z[0] = v[0].value;
    if (v[1].bits != UNREAD_FLOAT) z[1] = v[1].value;
    return read;
}

/* An array is read number by number, which is the same in all kinds of files but those without records. */
API _Bool llgrad_InputDescriptor(void *io, const Descriptor *d)
{
    enum { LOGICAL = 14 };
    if (!simple(d) || d->type >= LOGICAL && d->type < TYPE_FLOAT) return _FortranAioInputDescriptor(io, d);
    Array a = array_of(d);
    _Bool read = 1;
    ROWS(a, {
        char *at = AT(a, i, j, k, l);
        if (a.type == TYPE_DOUBLE) read &= llgrad_InputReal64(io, (double *)at);
        else if (a.type == TYPE_FLOAT) read &= llgrad_InputReal32(io, (float *)at);
        else if (a.type == TYPE_DOUBLE_COMPLEX) read &= llgrad_InputComplex64(io, (double *)at);
        else if (a.type == TYPE_FLOAT_COMPLEX) read &= llgrad_InputComplex32(io, (float *)at);
        else read &= _FortranAioInputInteger(io, at, a.bytes);
    })
    return read;
}
