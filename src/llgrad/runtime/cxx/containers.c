/* What is compiled inside libstdc++: red-black trees behind std::map and std::set, lists behind std::list; and inside
 * libc++: std::sort of numbers, and the counts behind std::shared_ptr and std::weak_ptr.
 *
 * A derivative needs their bodies: pointers move, and shadow pointers with them. All are inlined: they link the nodes of
 * all trees and lists, which hold different things, and what analyses know of a function is of all its calls together.
 *
 * A tree has a header: its parent is the root (whose parent is the header), its left the first node, its right the
 * last; the header is red, and so are new nodes (Cormen, Leiserson, Rivest, Stein: Introduction to Algorithms, ch. 13,
 * with null for the sentinel).
 */
#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)

typedef struct node { int color; struct node *parent, *left, *right; } node;
enum { red, black };

node *llgrad_tree_increment(node *x) {
    if (x->right) { x = x->right; while (x->left) x = x->left; return x; }
    node *y = x->parent;
    while (x == y->right) { x = y; y = y->parent; }
    return x->right != y ? y : x;
}

node *llgrad_tree_decrement(node *x) {
    if (x->color == red && x->parent->parent == x) return x->right;
    if (x->left) { x = x->left; while (x->right) x = x->right; return x; }
    node *y = x->parent;
    while (x == y->left) { x = y; y = y->parent; }
    return y;
}

/* put `to` where `from` hangs: below from's parent, or as the root */
static void hang(node *from, node *to, node *header) {
    node *up = from->parent;
    if (up == header) header->parent = to;
    else if (up->left == from) up->left = to;
    else up->right = to;
    if (to) to->parent = up;
}

static void rotate(node *x, _Bool leftwards, node *header) {
    node *y = leftwards ? x->right : x->left;
    node *inner = leftwards ? y->left : y->right;
    hang(x, y, header);
    if (leftwards) { x->right = inner; y->left = x; } else { x->left = inner; y->right = x; }
    if (inner) inner->parent = x;
    x->parent = y;
}

void llgrad_tree_insert_and_rebalance(_Bool left, node *x, node *p, node *header) {
    x->parent = p;
    x->left = 0;
    x->right = 0;
    x->color = red;
    if (left) {
        p->left = x; /* the header's left is the smallest */
        if (p == header) { header->parent = x; header->right = x; }
        else if (p == header->left) header->left = x;
    } else {
        p->right = x;
        if (p == header->right) header->right = x;
    }
    while (x != header->parent && x->parent->color == red) {
        node *up = x->parent, *top = up->parent;
        _Bool is_left = up == top->left;
        node *uncle = is_left ? top->right : top->left;
        if (uncle && uncle->color == red) {
            up->color = black;
            uncle->color = black;
            top->color = red;
            x = top;
        } else {
            if (x == (is_left ? up->right : up->left)) {
                rotate(up, is_left, header);
                up = x;
            }
            up->color = black;
            top->color = red;
            rotate(top, !is_left, header);
            x = header->parent;
        }
    }
    header->parent->color = black;
}

/* take z out of the tree; what is returned is z, which the caller destroys */
node *llgrad_tree_rebalance_for_erase(node *z, node *header) {
    node *x, *up;
    int gone = z->color;
    if (header->left == z) { /* the new smallest */
        node *n = z->right;
        if (n) while (n->left) n = n->left; else n = z->parent;
        header->left = n;
    }
    if (header->right == z) {
        node *n = z->left;
        if (n) while (n->right) n = n->right; else n = z->parent;
        header->right = n;
    }
    if (!z->left || !z->right) {
        x = z->left ? z->left : z->right;
        up = z->parent;
        hang(z, x, header);
    } else {
        node *y = z->right;
        while (y->left) y = y->left;
        gone = y->color;
        x = y->right;
        up = y->parent == z ? y : y->parent;
        if (y->parent != z) {
            hang(y, x, header);
            y->right = z->right;
            y->right->parent = y;
        }
        hang(z, y, header);
        y->left = z->left;
        y->left->parent = y;
        y->color = z->color;
    }
    if (gone == red) return z;
    while (x != header->parent && (!x || x->color == black)) {
        _Bool is_left = x == up->left;
        node *w = is_left ? up->right : up->left;
        if (w->color == red) {
            w->color = black;
            up->color = red;
            rotate(up, is_left, header);
            w = is_left ? up->right : up->left;
        }
        if ((!w->left || w->left->color == black) && (!w->right || w->right->color == black)) {
            w->color = red;
            x = up;
            up = up->parent;
        } else {
            node *far = is_left ? w->right : w->left;
            if (!far || far->color == black) {
                node *near = is_left ? w->left : w->right;
                near->color = black;
                w->color = red;
                rotate(w, !is_left, header);
                w = near;
            }
            w->color = up->color;
            up->color = black;
            far = is_left ? w->right : w->left;
            if (far) far->color = black;
            rotate(up, is_left, header);
            x = header->parent;
            break;
        }
    }
    if (x) x->color = black;
    return z;
}

typedef struct link { struct link *next, *prev; } link;
void llgrad_list_hook(link *this, link *p) { this->next = p; this->prev = p->prev; p->prev->next = this; p->prev = this; }

void llgrad_list_unhook(link *this) { link *n = this->next, *p = this->prev; p->next = n; n->prev = p; }

void llgrad_list_transfer(link *this, link *first, link *last) {
    if (this == last) return;
    last->prev->next = this;
    first->prev->next = last;
    this->prev->next = first;
    link *t = this->prev;
    this->prev = last->prev;
    last->prev = first->prev;
    first->prev = t;
}

void llgrad_list_reverse(link *this) {
    link *l = this;
    do { link *n = l->next; l->next = l->prev; l->prev = n; l = n; } while (l != this);
}

void llgrad_list_swap(link *x, link *y) {
    if (x->next != x) {
        if (y->next != y) {
            link t = *x;
            *x = *y;
            *y = t;
            x->next->prev = x;
            x->prev->next = x;
            y->next->prev = y;
            y->prev->next = y;
        } else {
            *y = *x;
            y->next->prev = y;
            y->prev->next = y;
            x->next = x;
            x->prev = x;
        }
    } else if (y->next != y) {
        *x = *y;
        x->next->prev = x;
        x->prev->next = x;
        y->next = y;
        y->prev = y;
    }

}

/* `owners` and `watchers` are one less than there are; all owners count as one watcher */
typedef struct count { void (**virtual)(struct count *); long owners, watchers; } count;
enum { last_watcher_left = 4 };

void llgrad_shared_release_weak(count *this) {
    if (__atomic_load_n(&this->watchers, __ATOMIC_ACQUIRE) == 0
        || __atomic_fetch_sub(&this->watchers, 1, __ATOMIC_ACQ_REL) == 0)
        this->virtual[last_watcher_left](this);
}

count *llgrad_shared_lock(count *this) {
    long n = __atomic_load_n(&this->owners, __ATOMIC_SEQ_CST);
    while (n != -1)
        if (__atomic_compare_exchange_n(&this->owners, &n, n + 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) return this;
    return 0;
}

void llgrad_shared_end(count *this) { (void)this; }

/* Heapsort of [a, end): in place, and no slower where the order is unlucky. The comparison is `<`. */
#define SORT(T, name)                                                                                                 \
    static void sift_##name(T *a, long root, long n) {                                                                \
        T moved = a[root];                                                                                            \
        for (long child; (child = 2 * root + 1) < n; root = child) {                                                  \
            if (child + 1 < n && a[child] < a[child + 1]) child++;                                                    \
            if (!(moved < a[child])) break;                                                                           \
            a[root] = a[child];                                                                                       \
        }                                                                                                             \
        a[root] = moved;                                                                                              \
    }                                                                                                                 \
    void llgrad_sort_##name(T *a, T *end, void *less) {                                                               \
        long n = end - a;                                                                                             \
        for (long i = n / 2; i-- > 0;) sift_##name(a, i, n);                                                          \
        while (n-- > 1) {                                                                                             \
            T largest = a[0];                                                                                         \
            a[0] = a[n];                                                                                              \
            a[n] = largest;                                                                                           \
            sift_##name(a, 0, n);                                                                                     \
        }                                                                                                             \
    }
SORT(float, f)
SORT(double, d)
SORT(long double, e)
SORT(int, i)
SORT(unsigned, j)
SORT(long, l)
SORT(unsigned long, m)

/* dynamic_cast: another part of the same object, so its shadow is as far from that of the part that is known. What the
 * library returns is an address, and so declared here. */
unsigned long __dynamic_cast(const void *part, const void *from, const void *to, long hint);
void *llgrad_cast(char *part, const void *from, const void *to, long hint) {
    unsigned long found = __dynamic_cast(part, from, to, hint);
    return found ? part + (found - (unsigned long)part) : 0;
}

#pragma clang attribute pop
