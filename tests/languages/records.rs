//! More data structures and idioms of Rust, one a module: the whole file takes a minute.

/// A tree whose nodes know their parents.
pub mod graph_weak_ {
    use std::cell::RefCell;
    use std::rc::{Rc, Weak};
    struct Tree {
        value: RefCell<f64>,
        parent: RefCell<Weak<Tree>>,
        children: RefCell<Vec<Rc<Tree>>>,
    }
    fn leaf(v: f64) -> Rc<Tree> {
        Rc::new(Tree { value: RefCell::new(v), parent: RefCell::new(Weak::new()), children: RefCell::new(vec![]) })
    }
    fn push_up(t: &Rc<Tree>, v: f64) {
        *t.value.borrow_mut() += v;
        if let Some(p) = t.parent.borrow().upgrade() {
            push_up(&p, v * 0.5);
        }
    }
    pub fn graph_weak(x: &[f64]) -> f64 {
        let root = leaf(1.0);
        for v in x {
            let c = leaf(*v);
            *c.parent.borrow_mut() = Rc::downgrade(&root);
            root.children.borrow_mut().push(c);
        }
        let kids = root.children.borrow().clone();
        for (k, v) in kids.iter().zip(x) {
            push_up(k, v * v);
        }
        let total = *root.value.borrow();
        let products = root
            .children
            .borrow()
            .iter()
            .map(|c| {
                let v = *c.value.borrow();
                v * v
            })
            .sum::<f64>();
        total * products
    }
}

/// Adaptors of iterators.
pub mod adaptors_ {
    pub fn adaptors(x: &[f64]) -> f64 {
        let a: f64 = x.windows(3).map(|w| w[0] * w[1] - w[2]).sum();
        let b: f64 = x.chunks_exact(2).zip(x.iter().rev().step_by(2)).map(|(c, v)| c[0] * c[1] * v).sum();
        let c: f64 = x
            .iter()
            .scan(1.0, |s, v| {
                *s *= 1.0 + v;
                Some(*s)
            })
            .take_while(|v| v.abs() < 50.0)
            .sum();
        let d: f64 = x
            .iter()
            .flat_map(|v| (1..4).map(move |k| v.powi(k)))
            .skip(2)
            .filter(|v| *v > -2.0)
            .fold(0.0, |s, v| s + v * v);
        a + b + c + d
    }
}

/// Iterators that look ahead, or back.
pub mod peeked_ {
    pub fn peeked(x: &[f64]) -> f64 {
        let mut it = x.iter().copied().peekable();
        let mut s = 0.0;
        while let Some(v) = it.next() {
            match it.peek() {
                Some(n) if *n > v => s += v * n,
                Some(n) => {
                    s -= n * n;
                    it.next();
                }
                None => s += v.exp(),
            }
        }
        let last = x.iter().rev().skip_while(|v| **v > 0.0).next().unwrap_or(&1.0);
        let (p, q): (Vec<f64>, Vec<f64>) = x.iter().partition(|v| **v > 0.5);
        s * last + p.iter().sum::<f64>() * q.iter().product::<f64>()
    }
}

/// Slices: split, swapped, sorted, searched, rotated.
pub mod slices_ {
    pub fn slices(x: &[f64]) -> f64 {
        let mut v = x.to_vec();
        {
            let (a, b) = v.split_at_mut(3);
            for (p, q) in a.iter_mut().zip(b) {
                std::mem::swap(p, q);
                *p *= *q;
            }
        }
        v.swap(0, 5);
        v.reverse();
        v.sort_by(|a, b| b.partial_cmp(a).unwrap());
        let at = v.binary_search_by(|p| 0.1f64.partial_cmp(p).unwrap()).unwrap_or_else(|e| e);
        v.rotate_right(1);
        v.iter().enumerate().map(|(i, a)| a * (i + at) as f64).sum::<f64>()
            + v.iter().cloned().fold(f64::NEG_INFINITY, f64::max)
    }
}

/// Vectors: what is copied, drained, retained, inserted, removed, split off.
pub mod copies_ {
    pub fn copies(x: &[f64]) -> f64 {
        let mut v = vec![0.0; 6];
        v.copy_from_slice(x);
        let mut w: Vec<f64> = Vec::with_capacity(2);
        w.clone_from(&v);
        w.extend_from_slice(&x[1..4]);
        w.extend(v.iter().map(|a| a * a));
        let cut: Vec<f64> = w.drain(2..5).collect();
        w.retain(|a| *a > -0.8);
        w.dedup();
        w.dedup_by(|a, b| (*a - *b).abs() < 0.05);
        w.insert(1, cut[0] * cut[1]);
        let gone = w.remove(0);
        let s = w.swap_remove(2);
        w.truncate(7);
        let tail = w.split_off(3);
        v.copy_within(2..5, 0);
        v.fill_with(|| x[0]);
        w.append(&mut v);
        w.resize(12, gone);
        w.iter().zip(tail.iter().chain(&cut)).map(|(a, b)| a * b).sum::<f64>() + s * gone
    }
}

/// A heap of records.
pub mod heap_ {
    use std::cmp::Ordering;
    use std::collections::BinaryHeap;
    #[derive(PartialEq)]
    struct Item {
        cost: f64,
        at: usize,
    }
    impl Eq for Item {}
    impl PartialOrd for Item {
        fn partial_cmp(&self, o: &Self) -> Option<Ordering> {
            Some(self.cmp(o))
        }
    }
    impl Ord for Item {
        fn cmp(&self, o: &Self) -> Ordering {
            o.cost.total_cmp(&self.cost)
        }
    }
    pub fn heap(x: &[f64]) -> f64 {
        let mut h = BinaryHeap::new();
        for (i, v) in x.iter().enumerate() {
            h.push(Item { cost: v * v, at: i });
        }
        let mut s = 0.0;
        let mut k = 1.0;
        while let Some(Item { cost, at }) = h.pop() {
            s += cost * k * (at as f64 + 1.0);
            k += 1.0;
        }
        s
    }
}

/// Cells that several wires share.
pub mod rc_cell_ {
    use std::cell::Cell;
    use std::rc::Rc;
    struct Wire {
        a: Rc<Cell<f64>>,
        b: Rc<Cell<f64>>,
        out: Rc<Cell<f64>>,
    }
    pub fn rc_cell(x: &[f64]) -> f64 {
        let cells: Vec<Rc<Cell<f64>>> = x.iter().map(|v| Rc::new(Cell::new(*v))).collect();
        let wires: Vec<Wire> = (0..4)
            .map(|i| Wire { a: cells[i].clone(), b: cells[i + 1].clone(), out: cells[(i + 3) % 6].clone() })
            .collect();
        for _ in 0..2 {
            for w in &wires {
                w.out.set(w.a.get() * w.b.get() + w.out.get());
            }
        }
        let old = cells[0].replace(2.0);
        old + cells.iter().map(|c| c.get()).sum::<f64>() + Rc::strong_count(&cells[1]) as f64 * cells[1].take()
    }
}

/// What is taken, replaced and swapped.
pub mod mem_take_ {
    #[derive(Default, Clone)]
    struct State {
        history: Vec<f64>,
        last: f64,
        best: Option<f64>,
    }
    pub fn mem_take(x: &[f64]) -> f64 {
        let mut s = State::default();
        let mut done: Vec<State> = Vec::new();
        for (i, v) in x.iter().enumerate() {
            s.history.push(v * s.last + v);
            s.last = *v;
            if s.best.map_or(true, |b| b < *v) {
                s.best.replace(*v);
            }
            if i % 3 == 2 {
                done.push(std::mem::take(&mut s));
            }
        }
        let mut a = done[0].clone();
        std::mem::swap(&mut a, &mut done[1]);
        let old = std::mem::replace(&mut done[0].history, vec![1.0, x[0]]);
        old.iter().sum::<f64>()
            + done.iter().map(|d| d.history.iter().product::<f64>() * d.best.unwrap_or(1.0)).sum::<f64>()
            + a.last
    }
}

/// Values of any type, in lists of lists.
pub mod values_ {
    #[derive(Clone, Debug, PartialEq)]
    enum Value {
        Int(i64),
        Num(f64),
        Text(String),
        List(Vec<Value>),
        Nil,
    }
    impl Value {
        fn num(&self) -> f64 {
            match self {
                Value::Int(i) => *i as f64,
                Value::Num(v) => *v,
                Value::Text(t) => t.len() as f64,
                Value::List(l) => l.iter().map(Value::num).sum(),
                Value::Nil => 0.0,
            }
        }
    }
    pub fn values(x: &[f64]) -> f64 {
        let mut v = vec![
            Value::Int(3),
            Value::Num(x[0]),
            Value::Text("abc".to_string()),
            Value::List(vec![Value::Num(x[1] * x[2]), Value::Int(2), Value::Nil]),
        ];
        v.push(v[3].clone());
        v[0] = Value::Num(x[3].sin());
        v[1] = Value::Int(4);
        let w: Vec<Value> = v.iter().rev().cloned().collect();
        w.iter().enumerate().map(|(i, a)| a.num() * a.num() * (i + 1) as f64).sum()
    }
}

/// Unions, and memory that is filled before it has a value.
pub mod unions_ {
    #[repr(C)]
    union Word {
        f: f64,
        i: u64,
        p: [f32; 2],
    }
    use std::mem::{ManuallyDrop, MaybeUninit};
    pub fn unions(x: &[f64]) -> f64 {
        let w: Vec<Word> = x
            .iter()
            .enumerate()
            .map(|(i, v)| if i % 2 == 0 { Word { f: v * v } } else { Word { i: i as u64 } })
            .collect();
        let mut s = 0.0;
        for (i, a) in w.iter().enumerate() {
            unsafe {
                if i % 2 == 0 {
                    s += a.f * (i + 1) as f64;
                } else {
                    s += a.i as f64 * x[i];
                }
            }
        }
        let mut m: [MaybeUninit<f64>; 4] = [const { MaybeUninit::uninit() }; 4];
        for (a, v) in m.iter_mut().zip(x) {
            a.write(v.exp());
        }
        let d: [f64; 4] = unsafe { std::mem::transmute(m) };
        let k = ManuallyDrop::new(vec![x[0], x[5]]);
        s + d.iter().product::<f64>() + k[0] * k[1]
    }
}

/// Records of all types: sorted, retained, partitioned.
pub mod mixed_records_ {
    #[derive(Clone, Copy, Debug)]
    struct Particle {
        id: u8,
        alive: bool,
        mass: f32,
        pos: [f64; 2],
        kind: Option<u16>,
        charge: Option<f64>,
        tag: char,
    }
    pub fn mixed_records(x: &[f64]) -> f64 {
        let mut v: Vec<Particle> = x
            .iter()
            .enumerate()
            .map(|(i, a)| Particle {
                id: i as u8,
                alive: *a > -1.0,
                mass: i as f32 * 0.5,
                pos: [*a, a * a],
                kind: if i % 2 == 0 { Some(i as u16) } else { None },
                charge: if i % 3 == 0 { None } else { Some(a.sin()) },
                tag: 'a',
            })
            .collect();
        v.sort_by(|a, b| b.pos[0].total_cmp(&a.pos[0]));
        v.retain(|p| p.alive);
        v.swap(0, 2);
        let (a, b): (Vec<Particle>, Vec<Particle>) = v.into_iter().partition(|p| p.kind.is_some());
        let heavy = a.iter().chain(&b).max_by(|p, q| p.pos[1].partial_cmp(&q.pos[1]).unwrap()).unwrap();
        a.iter().map(|p| p.pos[0] * p.charge.unwrap_or(1.0) * p.mass as f64).sum::<f64>()
            + b.iter().map(|p| p.pos[1] * p.id as f64).sum::<f64>() * heavy.pos[0]
    }
}

/// A stack in an array of a struct.
pub mod stackvm_ {
    struct Machine {
        stack: [f64; 8],
        sp: usize,
        steps: u32,
        best: Option<f64>,
    }
    impl Machine {
        fn push(&mut self, v: f64) {
            self.stack[self.sp] = v;
            self.sp += 1;
            self.steps += 1;
        }
        fn pop(&mut self) -> f64 {
            self.sp -= 1;
            self.stack[self.sp]
        }
    }
    pub fn stackvm(x: &[f64]) -> f64 {
        let mut all: Vec<Machine> =
            (0..2).map(|_| Machine { stack: [0.0; 8], sp: 0, steps: 0, best: None }).collect();
        for (i, v) in x.iter().enumerate() {
            let m = &mut all[i % 2];
            m.push(*v);
            if m.sp > 1 {
                let (a, b) = (m.pop(), m.pop());
                m.push(a * b + a);
                if m.best.map_or(true, |k| k < a) {
                    m.best = Some(a);
                }
            }
        }
        all.iter().map(|m| m.stack[..m.sp].iter().sum::<f64>() * m.steps as f64 + m.best.unwrap_or(0.5)).sum()
    }
}

/// States that become other states.
pub mod states_ {
    trait State {
        fn next(self: Box<Self>, v: f64) -> Box<dyn State>;
        fn out(&self) -> f64;
    }
    struct Idle {
        gain: f64,
    }
    struct Active {
        gain: f64,
        sum: f64,
        n: u32,
    }
    struct Done(Vec<f64>);
    impl State for Idle {
        fn next(self: Box<Self>, v: f64) -> Box<dyn State> {
            if v > 0.5 {
                Box::new(Active { gain: self.gain * v, sum: v, n: 1 })
            } else {
                self
            }
        }
        fn out(&self) -> f64 {
            self.gain
        }
    }
    impl State for Active {
        fn next(mut self: Box<Self>, v: f64) -> Box<dyn State> {
            if v < -1.0 {
                return Box::new(Done(vec![self.sum, self.gain, v]));
            }
            self.sum += v * self.gain;
            self.n += 1;
            self
        }
        fn out(&self) -> f64 {
            self.sum / self.n as f64
        }
    }
    impl State for Done {
        fn next(mut self: Box<Self>, v: f64) -> Box<dyn State> {
            self.0.push(v);
            self
        }
        fn out(&self) -> f64 {
            self.0.iter().product()
        }
    }
    pub fn states(x: &[f64]) -> f64 {
        let mut s: Box<dyn State> = Box::new(Idle { gain: x[5] });
        let mut t = 0.0;
        for v in x {
            s = s.next(*v);
            t += s.out();
        }
        t
    }
}

/// Values of any type, asked for theirs.
pub mod any_down_ {
    use std::any::Any;
    struct A {
        v: f64,
    }
    struct B {
        w: Vec<f64>,
        n: i32,
    }
    pub fn any_down(x: &[f64]) -> f64 {
        let all: Vec<Box<dyn Any>> = vec![
            Box::new(A { v: x[0] * x[1] }),
            Box::new(B { w: x.to_vec(), n: 3 }),
            Box::new(x[2]),
            Box::new(5i32),
            Box::new("text"),
        ];
        let mut s = 0.0;
        for a in &all {
            if let Some(a) = a.downcast_ref::<A>() {
                s += a.v.sin();
            } else if let Some(b) = a.downcast_ref::<B>() {
                s += b.w.iter().product::<f64>() * b.n as f64;
            } else if let Some(v) = a.downcast_ref::<f64>() {
                s *= v;
            } else if a.is::<i32>() {
                s += 1.0;
            }
        }
        s
    }
}
