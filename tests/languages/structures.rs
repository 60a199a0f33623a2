//! Data structures and idioms of Rust, one a module.

/// A deque that grows at both ends, and is turned.
pub mod deque_ {
    use std::collections::VecDeque;
    pub fn deque(x: &[f64]) -> f64 {
        let mut d: VecDeque<f64> = VecDeque::new();
        for (i, v) in x.iter().enumerate() {
            if i % 2 == 0 {
                d.push_front(v * v);
            } else {
                d.push_back(v.sin());
            }
        }
        d.rotate_left(2);
        let first = d.pop_front().unwrap();
        d.iter().enumerate().map(|(i, v)| v * (i as f64 + 1.0)).sum::<f64>() * first
    }
}

/// A graph with cycles, of shared nodes that are borrowed.
pub mod graph_rc_ {
    use std::cell::RefCell;
    use std::rc::Rc;
    struct Node {
        value: f64,
        next: Vec<Rc<RefCell<Node>>>,
    }
    fn visit(n: &Rc<RefCell<Node>>, depth: usize) -> f64 {
        if depth == 0 {
            return n.borrow().value;
        }
        let me = n.borrow();
        me.value * me.next.iter().map(|c| visit(c, depth - 1)).sum::<f64>() + me.value
    }
    pub fn graph_rc(x: &[f64]) -> f64 {
        let nodes: Vec<Rc<RefCell<Node>>> =
            x.iter().map(|v| Rc::new(RefCell::new(Node { value: *v, next: vec![] }))).collect();
        let n = nodes.len();
        for i in 0..n {
            let a = nodes[(i + 1) % n].clone();
            let b = Rc::clone(&nodes[(i + 2) % n]);
            nodes[i].borrow_mut().next.push(a);
            nodes[i].borrow_mut().next.push(b);
        }
        for node in &nodes {
            node.borrow_mut().value *= 2.0;
        }
        let s = visit(&nodes[0], 3);
        for node in &nodes {
            node.borrow_mut().next.clear();
        }
        s
    }
}

/// Enums of structs, matched deep.
pub mod shapes_ {
    enum Shape {
        Circle(Circle),
        Rect { w: f64, h: f64 },
        Group(Vec<Shape>),
        Scaled(f64, Box<Shape>),
        Nothing,
    }
    struct Circle {
        r: f64,
        centre: Option<(f64, f64)>,
    }
    impl Shape {
        fn area(&self) -> f64 {
            match self {
                Shape::Circle(Circle { r, centre: Some((cx, cy)) }) => 3.0 * r * r + cx * cy,
                Shape::Circle(Circle { r, centre: None }) => r * r,
                Shape::Rect { w, h } if w > h => w * h,
                Shape::Rect { w, .. } => w * w * w,
                Shape::Group(all) => all.iter().map(Shape::area).sum(),
                Shape::Scaled(k, inner) => match &**inner {
                    Shape::Rect { w, h } => k * (w + h),
                    other => k * other.area(),
                },
                Shape::Nothing => 0.0,
            }
        }
    }
    pub fn shapes(x: &[f64]) -> f64 {
        let all = Shape::Group(vec![
            Shape::Circle(Circle { r: x[0], centre: Some((x[1], x[2])) }),
            Shape::Circle(Circle { r: x[3], centre: None }),
            Shape::Scaled(x[4], Box::new(Shape::Rect { w: x[0], h: x[5] })),
            Shape::Scaled(
                x[1],
                Box::new(Shape::Group(vec![
                    Shape::Rect { w: x[2], h: x[3] },
                    Shape::Rect { w: x[3], h: x[5] },
                    Shape::Nothing,
                ])),
            ),
        ]);
        all.area()
    }
}

/// A search tree of boxes, and what is taken out of it.
pub mod tree_ {
    #[derive(Default)]
    struct Tree {
        root: Option<Box<Node>>,
    }
    struct Node {
        key: f64,
        weight: f64,
        left: Option<Box<Node>>,
        right: Option<Box<Node>>,
    }
    impl Tree {
        fn insert(&mut self, key: f64, weight: f64) {
            let mut at = &mut self.root;
            while let Some(n) = at {
                at = if key < n.key { &mut n.left } else { &mut n.right };
            }
            *at = Some(Box::new(Node { key, weight, left: None, right: None }));
        }
        fn fold<F: FnMut(f64, f64)>(n: &Option<Box<Node>>, f: &mut F) {
            if let Some(b) = n {
                Self::fold(&b.left, f);
                f(b.key, b.weight);
                Self::fold(&b.right, f);
            }
        }
        fn pop_min(&mut self) -> Option<f64> {
            fn go(n: &mut Option<Box<Node>>) -> Option<f64> {
                if n.as_ref()?.left.is_some() {
                    go(&mut n.as_mut().unwrap().left)
                } else {
                    let b = n.take()?;
                    let v = b.key * b.weight;
                    *n = b.right;
                    Some(v)
                }
            }
            go(&mut self.root)
        }
    }
    pub fn tree(x: &[f64]) -> f64 {
        let mut t = Tree::default();
        for v in x {
            t.insert(*v, v * v);
        }
        let least = t.pop_min().unwrap();
        let (mut s, mut k) = (0.0, 1.0);
        Tree::fold(&t.root, &mut |a, b| {
            s += a * b * k;
            k += 1.0;
        });
        s + least * 2.0
    }
}

/// A heap of distances, the least first.
pub mod dijkstra_ {
    use std::cmp::{Ordering, Reverse};
    use std::collections::BinaryHeap;
    #[derive(PartialEq, PartialOrd, Clone, Copy)]
    struct Dist(f64);
    impl Eq for Dist {}
    impl Ord for Dist {
        fn cmp(&self, o: &Self) -> Ordering {
            self.partial_cmp(o).unwrap()
        }
    }
    pub fn dijkstra(x: &[f64]) -> f64 {
        let edges: Vec<Vec<(usize, f64)>> = (0..4)
            .map(|i| (0..4).filter(|j| *j != i).map(|j| (j, x[(i * 2 + j) % x.len()].powi(2) + 0.3)).collect())
            .collect();
        let mut dist = vec![f64::INFINITY; 4];
        let mut heap = BinaryHeap::new();
        dist[0] = 0.0;
        heap.push(Reverse((Dist(0.0), 0usize)));
        while let Some(Reverse((Dist(d), u))) = heap.pop() {
            if d > dist[u] {
                continue;
            }
            for &(v, w) in &edges[u] {
                if d + w < dist[v] {
                    dist[v] = d + w;
                    heap.push(Reverse((Dist(d + w), v)));
                }
            }
        }
        dist.iter().enumerate().map(|(i, d)| d * d * (i as f64 + 1.0)).sum()
    }
}

/// A ring in an array of a struct.
pub mod ring_ {
    struct Ring<const N: usize> {
        buf: [f64; N],
        head: usize,
        len: usize,
    }
    impl<const N: usize> Ring<N> {
        fn new() -> Self {
            Ring { buf: [0.0; N], head: 0, len: 0 }
        }
        fn push(&mut self, v: f64) -> Option<f64> {
            let old = if self.len == N {
                let o = self.buf[self.head];
                self.head = (self.head + 1) % N;
                self.len -= 1;
                Some(o)
            } else {
                None
            };
            let at = (self.head + self.len) % N;
            self.buf[at] = v;
            self.len += 1;
            old
        }
        fn mean(&self) -> f64 {
            (0..self.len).map(|i| self.buf[(self.head + i) % N]).sum::<f64>() / self.len as f64
        }
    }
    pub fn ring(x: &[f64]) -> f64 {
        let mut r = Ring::<4>::new();
        let mut s = 0.0;
        for v in x {
            if let Some(o) = r.push(v * v) {
                s += o * r.mean();
            }
            s += r.mean() * v;
        }
        s
    }
}

/// Closures that own closures.
pub mod compose_ {
    fn compose(f: Box<dyn Fn(f64) -> f64>, g: Box<dyn Fn(f64) -> f64>) -> Box<dyn Fn(f64) -> f64> {
        Box::new(move |v| g(f(v)))
    }
    pub fn compose_all(x: &[f64]) -> f64 {
        let (a, b) = (x[0], x[1]);
        let mut f: Box<dyn Fn(f64) -> f64> = Box::new(|v| v);
        for k in 0..3 {
            f = compose(f, Box::new(move |v| v * a + b * k as f64));
        }
        f(x[2]) + f(x[3])
    }
}

/// Errors that hold numbers, handed on by `?`.
pub mod results_ {
    #[derive(Debug)]
    enum Error {
        Negative(f64),
        TooBig { value: f64, bound: f64 },
        Parse(std::num::ParseFloatError),
    }
    impl From<std::num::ParseFloatError> for Error {
        fn from(e: std::num::ParseFloatError) -> Self {
            Error::Parse(e)
        }
    }
    fn root(v: f64) -> Result<f64, Error> {
        if v < 0.0 {
            Err(Error::Negative(v))
        } else if v > 1.5 {
            Err(Error::TooBig { value: v, bound: 1.5 })
        } else {
            Ok(v.sqrt())
        }
    }
    fn chain(a: f64, b: f64) -> Result<f64, Error> {
        let k: f64 = "2.5".parse()?;
        Ok(root(a)? * k + root(a * b)?)
    }
    pub fn results(x: &[f64]) -> f64 {
        let all: Result<Vec<f64>, Error> = x.iter().map(|v| root(v * v)).collect();
        let base = all.map(|v| v.iter().sum::<f64>()).unwrap_or(0.0);
        base + x
            .windows(2)
            .map(|w| match chain(w[0] + 1.2, w[1]) {
                Ok(v) => v,
                Err(Error::Negative(v)) => v * w[0],
                Err(Error::TooBig { value, bound }) => value / bound,
                Err(Error::Parse(_)) => 0.0,
            })
            .sum::<f64>()
    }
}

/// Slices that are copied when they are written.
pub mod cow_ {
    use std::borrow::Cow;
    fn clip(v: &[f64]) -> Cow<'_, [f64]> {
        if v.iter().all(|a| *a > -0.5) {
            Cow::Borrowed(v)
        } else {
            Cow::Owned(v.iter().map(|a| if *a > -0.5 { *a } else { a * a * 0.1 }).collect())
        }
    }
    pub fn cow(x: &[f64]) -> f64 {
        let mut s = 0.0;
        for w in x.chunks(2) {
            let mut c = clip(w);
            s += c.iter().product::<f64>();
            if w[0] > 1.0 {
                c.to_mut()[0] *= 3.0;
            }
            s += c[0];
        }
        s
    }
}

/// Memory by raw pointers.
pub mod raw_ {
    struct Buffer {
        ptr: *mut f64,
        len: usize,
        cap: usize,
    }
    impl Buffer {
        fn new(cap: usize) -> Self {
            unsafe {
                Buffer {
                    ptr: std::alloc::alloc(std::alloc::Layout::array::<f64>(cap).unwrap()) as *mut f64,
                    len: 0,
                    cap,
                }
            }
        }
        fn push(&mut self, v: f64) {
            assert!(self.len < self.cap);
            unsafe {
                self.ptr.add(self.len).write(v);
            }
            self.len += 1;
        }
        fn as_slice(&self) -> &[f64] {
            unsafe { std::slice::from_raw_parts(self.ptr, self.len) }
        }
    }
    impl Drop for Buffer {
        fn drop(&mut self) {
            unsafe { std::alloc::dealloc(self.ptr as *mut u8, std::alloc::Layout::array::<f64>(self.cap).unwrap()) }
        }
    }
    pub fn raw(x: &[f64]) -> f64 {
        let mut b = Buffer::new(8);
        unsafe {
            let mut p = x.as_ptr();
            let end = p.add(x.len());
            while p != end {
                b.push(*p * *p);
                p = p.offset(1);
            }
        }
        unsafe {
            std::ptr::swap(b.ptr, b.ptr.add(3));
            std::ptr::copy(b.ptr, b.ptr.add(1), 3);
            *b.ptr.add(4) *= x[1];
            std::ptr::copy_nonoverlapping(x.as_ptr().add(2), b.ptr.add(5), 1);
        }
        b.as_slice().iter().enumerate().map(|(i, v)| v * v * (i + 1) as f64).sum()
    }
}

/// A vector whose first elements lie in the enum itself, over the members of the `Vec` that it becomes.
pub mod small_vec_ {
    enum Small {
        Inline([f64; 3], usize),
        Heap(Vec<f64>),
    }
    impl Small {
        fn push(&mut self, v: f64) {
            match self {
                Small::Inline(a, n) if *n < 3 => {
                    a[*n] = v;
                    *n += 1;
                }
                Small::Inline(a, n) => {
                    let mut h = a[..*n].to_vec();
                    h.push(v);
                    *self = Small::Heap(h);
                }
                Small::Heap(h) => h.push(v),
            }
        }
        fn items(&self) -> &[f64] {
            match self {
                Small::Inline(a, n) => &a[..*n],
                Small::Heap(h) => h,
            }
        }
    }
    pub fn small_vec(x: &[f64]) -> f64 {
        let mut s = Small::Inline([0.0; 3], 0);
        let mut t = Small::Inline([0.0; 3], 0);
        for (i, v) in x.iter().enumerate() {
            s.push(v * v);
            if i % 3 == 0 {
                t.push(v.sin());
            }
        }
        s.items().iter().map(|v| v * v).sum::<f64>() + t.items().iter().product::<f64>()
    }
}

/// A pool whose free places are a list, in the places themselves.
pub mod free_list_ {
    enum Slot {
        Free(usize),
        Used(f64),
    }
    struct Pool {
        slots: Vec<Slot>,
        head: usize,
    }
    impl Pool {
        fn put(&mut self, v: f64) -> usize {
            if self.head == usize::MAX {
                self.slots.push(Slot::Used(v));
                return self.slots.len() - 1;
            }
            let at = self.head;
            if let Slot::Free(next) = self.slots[at] {
                self.head = next;
            }
            self.slots[at] = Slot::Used(v);
            at
        }
        fn take(&mut self, at: usize) -> Option<f64> {
            match self.slots[at] {
                Slot::Used(v) => {
                    self.slots[at] = Slot::Free(self.head);
                    self.head = at;
                    Some(v)
                }
                Slot::Free(_) => None,
            }
        }
    }
    pub fn free_list(x: &[f64]) -> f64 {
        let mut p = Pool { slots: Vec::new(), head: usize::MAX };
        let ids: Vec<usize> = x.iter().map(|v| p.put(v * v)).collect();
        let a = p.take(ids[1]).unwrap();
        let b = p.take(ids[3]).unwrap();
        let i = p.put(a * b.sin());
        p.put(a + x[0]);
        let mut s = p.take(i).unwrap_or(0.0);
        for (k, slot) in p.slots.iter().enumerate() {
            if let Slot::Used(v) = slot {
                s += v * (k as f64 + 1.0);
            }
        }
        s
    }
}
