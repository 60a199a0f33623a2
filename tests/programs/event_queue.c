/* Events of two kinds in a heap of structs with a union: balls between walls, probes of where they are; a ball that turned has a
 * new stamp, which makes its old events stale. */
#include "selfcheck.h"
enum kind { WALL, BARRIER, PROBE };
struct event { double when; enum kind kind; union { struct { int ball; unsigned short stamp; } hit; struct { float weight; int channel; } probe; } u; };
struct ball { double at, speed, last; unsigned short stamp; };
struct sim { struct event *heap; int count, room; struct ball *balls; int nballs; double out[2]; double wall; };
static void push(struct sim *s, struct event e)
{
    if (s->count == s->room) s->heap = realloc(s->heap, sizeof *s->heap * (s->room = s->room * 2 + 1));
    int i = s->count++;
    while (i && s->heap[(i - 1) / 2].when > e.when) { s->heap[i] = s->heap[(i - 1) / 2]; i = (i - 1) / 2; }
    s->heap[i] = e;
}
static struct event pop(struct sim *s)
{
    struct event top = s->heap[0], last = s->heap[--s->count];
    int i = 0;
    for (;;) {
        int c = 2 * i + 1;
        if (c >= s->count) break;
        if (c + 1 < s->count && s->heap[c + 1].when < s->heap[c].when) c++;
        if (s->heap[c].when >= last.when) break;
        s->heap[i] = s->heap[c]; i = c;
    }
    s->heap[i] = last;
    return top;
}
static void plan(struct sim *s, int b, double now)
{
    struct ball *p = &s->balls[b];
    double target = p->speed > 0 ? s->wall : 0;
    struct event e = {.when = now + (target - p->at) / p->speed, .kind = p->speed > 0 ? WALL : BARRIER};
    e.u.hit.ball = b; e.u.hit.stamp = ++p->stamp;
    push(s, e);
}
static double simulate(const double *x, int n)
{
    struct sim s = {0};
    s.nballs = n / 2; s.wall = 5;
    s.balls = calloc(s.nballs, sizeof *s.balls);
    for (int i = 0; i < s.nballs; i++) { s.balls[i].at = x[2 * i]; s.balls[i].speed = x[2 * i + 1] + 1; plan(&s, i, 0); }
    for (int k = 1; k <= 6; k++) { struct event e = {.when = 1.37 * k, .kind = PROBE}; e.u.probe.weight = 0.5f * k; e.u.probe.channel = k & 1; push(&s, e); }
    while (s.count) {
        struct event e = pop(&s);
        if (e.when > 9) break;
        if (e.kind == PROBE) {
            for (int i = 0; i < s.nballs; i++) { struct ball *b = s.balls + i; double p = b->at + b->speed * (e.when - b->last); s.out[e.u.probe.channel] += e.u.probe.weight * p * p; }
            if (e.u.probe.channel == 1) { struct ball *b = s.balls; b->at += b->speed * (e.when - b->last); b->last = e.when; b->speed *= 1.1; plan(&s, 0, e.when); }
            continue;
        }
        struct ball *b = &s.balls[e.u.hit.ball];
        if (b->stamp != e.u.hit.stamp) continue;
        b->at += b->speed * (e.when - b->last); b->last = e.when;
        b->speed *= e.kind == WALL ? -0.9 : -0.95;
        plan(&s, e.u.hit.ball, e.when);
    }
    double r = s.out[0] * sin(s.out[1] * 0.01) ;
    free(s.heap); free(s.balls);
    return r;
}
int main(void) { CHECK_EVERY_WAY(simulate, 6); return failures(); }
