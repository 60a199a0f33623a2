/* Datatypes and communicators that the program frees before the reverse sweep is through with them. */

#define FREES(name, T, NOTHING) \
    static T *name##_left; \
    static int name##_count; \
    static void name##_put_off(T *handle) { \
        name##_left = realloc(name##_left, sizeof(T) * (name##_count + 1)); \
        name##_left[name##_count++] = *handle, *handle = NOTHING; \
    } \
    static void name##_go(void) { \
        while (name##_count) MPI_##name(&name##_left[--name##_count]); \
    } \
    moved __llgrad_##name##_forward(P(T, handle)) { return done(MPI_##name(handle)); } \
    kept __llgrad_##name##_augmented(P(T, handle)) { return name##_put_off(handle), keep(NULL, MPI_SUCCESS); } \
    void __llgrad_##name##_reverse(P(T, handle), void *tape) { gone(); }
FREES(Type_free, MPI_Datatype, MPI_DATATYPE_NULL)
FREES(Comm_free, MPI_Comm, MPI_COMM_NULL)

static void gone(void) {
    if (!--live) Type_free_go(), Comm_free_go();
}
