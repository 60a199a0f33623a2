/* Bodies of Swift's runtime: objects that are counted, and memory. A derivative's objects are its thread's, so that counts
 * are not atomic. Beside its count an object has its size, in units of 16 bytes, which arrays ask for. What the elements
 * of an array own (arrays of arrays) is not let go. */
#include <stdint.h>
#include <stdlib.h>

typedef struct {
    const void *type;
    int32_t count;
    uint32_t size;
} Object;

#define API __attribute__((always_inline))
#define IMMORTAL (1 << 30)

/* The array without elements, which nobody frees: header, count, capacity. */
struct {
    Object object;
    int64_t count, capacity;
} _swiftEmptyArrayStorage = {{0, 2147483647, 2}, 0, 0};

API Object *swift_allocObject(const void *type, int64_t size, int64_t mask)
{
    int64_t rounded = (size + 15) & ~(int64_t)15;
    Object *p = malloc(rounded);
    p->type = type;
    p->count = 1;
    p->size = rounded / 16;
    return p;
}

API Object *swift_initStackObject(const void *type, Object *p)
{
    p->type = type;
    p->count = 1;
    p->size = 0;
    return p;
}

API Object *swift_initStaticObject(const void *type, Object *p) { return p; }

API Object *swift_retain(Object *p)
{
    if (p && p->count < IMMORTAL)
        p->count++;
    return p;
}

API Object *swift_retain_n(Object *p, int32_t n)
{
    if (p && p->count < IMMORTAL)
        p->count += n;
    return p;
}

API void swift_release(Object *p)
{
    if (p && p->count < IMMORTAL && --p->count == 0)
        free(p);
}

API void swift_release_n(Object *p, int32_t n)
{
    if (p && p->count < IMMORTAL && (p->count -= n) == 0)
        free(p);
}

API Object *swift_bridgeObjectRetain(Object *p) { return swift_retain(p); }
API void swift_bridgeObjectRelease(Object *p) { swift_release(p); }
API void swift_setDeallocating(Object *p) {}
API void swift_deallocClassInstance(Object *p, int64_t size, int64_t mask) { free(p); }
API void swift_deallocPartialClassInstance(Object *p, const void *type, int64_t size, int64_t mask) { free(p); }
API void swift_deallocUninitializedObject(Object *p, int64_t size, int64_t mask) { free(p); }
API _Bool swift_isUniquelyReferenced_nonNull_native(const Object *p) { return p->count == 1; }
API _Bool swift_isUniquelyReferenced_native(const Object *p) { return p && p->count == 1; }
API int64_t _swift_stdlib_malloc_size(const Object *p) { return 16 * (int64_t)p->size; }

API void *swift_slowAlloc(int64_t size, int64_t mask) { return malloc(size); }
API void swift_slowDealloc(void *p, int64_t size, int64_t mask) { free(p); }

/* Globals made when they are first used. */
API void swift_once(int64_t *done, void (*make)(void *), void *context)
{
    if (!*done) {
        make(context);
        *done = -1;
    }
}
