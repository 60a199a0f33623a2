/* A polytope as collision libraries keep it: vertices, edges and faces begin alike and are in lists by members within
 * them, an edge in three; they are made one by one, the nearest is looked for, and all are released. */
#include "selfcheck.h"
#include <stddef.h>
typedef struct list { struct list *next, *prev; } list;
typedef struct { double v[3]; } vec;
#define HEAD int type; double dist; vec witness; list in
typedef struct { HEAD; } element;
typedef struct { HEAD; int id; vec v[3]; list edges; } vertex;
struct face;
typedef struct { HEAD; vertex *vertex[2]; struct face *faces[2]; list vertex_list[2]; } edge;
typedef struct face { HEAD; edge *edge[3]; } face;
typedef struct { list vertices, edges, faces; element *nearest; double nearest_dist; int nearest_type; } polytope;
#define ENTRY(p, t, m) ((t *)((char *)(p) - offsetof(t, m)))
#define EACH(l, in, n) for (list *l = (in).next, *n; l != &(in) && (n = l->next, 1); l = n)

static void init(list *l) { l->next = l->prev = l; }
static void append(list *l, list *n) { n->prev = l->prev, n->next = l, l->prev->next = n, l->prev = n; }
static void taken_out(list *n) { n->next->prev = n->prev, n->prev->next = n->next, init(n); }
static double len2(const vec *a) { return a->v[0] * a->v[0] + a->v[1] * a->v[1] + a->v[2] * a->v[2]; }

static void update(polytope *p, element *e)
{
    double apart = p->nearest_dist - e->dist;
    if (apart > 1e-12 || (e->type < p->nearest_type && fabs(apart) <= 1e-12))
        p->nearest = e, p->nearest_dist = e->dist, p->nearest_type = e->type;
}

static vertex *add_vertex(polytope *p, const double *x)
{
    vertex *v = malloc(sizeof *v);
    v->type = 1;
    for (int i = 0; i < 3; i++)
        v->v[0].v[i] = v->v[1].v[i] = v->v[2].v[i] = x[i];
    v->dist = len2(&v->v[0]);
    v->witness = v->v[0];
    init(&v->edges);
    append(&p->vertices, &v->in);
    update(p, (element *)v);
    return v;
}

static edge *add_edge(polytope *p, vertex *a, vertex *b)
{
    edge *e = malloc(sizeof *e);
    e->type = 2;
    e->vertex[0] = a, e->vertex[1] = b;
    e->faces[0] = e->faces[1] = NULL;
    for (int i = 0; i < 3; i++)
        e->witness.v[i] = (a->v[0].v[i] + b->v[0].v[i]) / 2;
    e->dist = len2(&e->witness);
    append(&a->edges, &e->vertex_list[0]);
    append(&b->edges, &e->vertex_list[1]);
    append(&p->edges, &e->in);
    update(p, (element *)e);
    return e;
}

static face *add_face(polytope *p, edge *a, edge *b, edge *c)
{
    face *f = malloc(sizeof *f);
    f->type = 3;
    f->edge[0] = a, f->edge[1] = b, f->edge[2] = c;
    vertex *u = a->vertex[0], *v = a->vertex[1];
    vertex *w = b->vertex[0] != u && b->vertex[0] != v ? b->vertex[0] : b->vertex[1];
    for (int i = 0; i < 3; i++)
        f->witness.v[i] = (u->v[0].v[i] + v->v[0].v[i] + w->v[0].v[i]) / 3;
    f->dist = len2(&f->witness);
    for (int i = 0; i < 3; i++)
        f->edge[i]->faces[f->edge[i]->faces[0] != NULL] = f;
    append(&p->faces, &f->in);
    update(p, (element *)f);
    return f;
}

static void forget(polytope *p, void *e)
{
    if ((void *)p->nearest == e)
        p->nearest = NULL;
    free(e);
}

static void del_vertex(polytope *p, vertex *v)
{
    if (v->edges.next != &v->edges)
        return;
    taken_out(&v->in);
    forget(p, v);
}

static void del_edge(polytope *p, edge *e)
{
    if (e->faces[0])
        return;
    taken_out(&e->vertex_list[0]);
    taken_out(&e->vertex_list[1]);
    taken_out(&e->in);
    forget(p, e);
}

static void del_face(polytope *p, face *f)
{
    for (int i = 0; i < 3; i++) {
        if (f->edge[i]->faces[0] == f)
            f->edge[i]->faces[0] = f->edge[i]->faces[1];
        f->edge[i]->faces[1] = NULL;
    }
    taken_out(&f->in);
    forget(p, f);
}

static double f(const double *x, int n)
{
    polytope p = {.nearest = NULL, .nearest_dist = 1e300, .nearest_type = 3};
    vertex *v[4];
    edge *e[6];
    init(&p.vertices), init(&p.edges), init(&p.faces);
    for (int i = 0; i < 4; i++)
        v[i] = add_vertex(&p, x + 3 * i % n);
    e[0] = add_edge(&p, v[0], v[1]), e[1] = add_edge(&p, v[1], v[2]), e[2] = add_edge(&p, v[2], v[0]);
    for (int i = 0; i < 3; i++)
        e[3 + i] = add_edge(&p, v[3], v[i]);
    add_face(&p, e[0], e[1], e[2]), add_face(&p, e[3], e[4], e[0]);
    add_face(&p, e[4], e[5], e[1]), add_face(&p, e[5], e[3], e[2]);
    double r = p.nearest->dist * p.nearest->witness.v[1];
    EACH(l, p.faces, next) { del_face(&p, ENTRY(l, face, in)); }
    EACH(l, p.edges, next) { del_edge(&p, ENTRY(l, edge, in)); }
    EACH(l, p.vertices, next) { del_vertex(&p, ENTRY(l, vertex, in)); }
    return r;
}
int main(void) { CHECK_GRADIENT(f, 12); return failures(); }
