// A network's loss, an integrator, and a Cholesky solve, as MLIR has them: memref, linalg, scf, math, arith.

// (w2 . tanh(W1 x + b1) - target)^2
func.func @network(%x: memref<?xf64>, %w1: memref<?x?xf64>, %b1: memref<?xf64>, %w2: memref<?xf64>, %target: f64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %m = memref.dim %b1, %c0 : memref<?xf64>
  %hidden = memref.alloc(%m) : memref<?xf64>
  memref.copy %b1, %hidden : memref<?xf64> to memref<?xf64>
  linalg.matvec ins(%w1, %x : memref<?x?xf64>, memref<?xf64>) outs(%hidden : memref<?xf64>)
  %y = scf.for %i = %c0 to %m step %c1 iter_args(%sum = %zero) -> (f64) {
    %s = memref.load %hidden[%i] : memref<?xf64>
    %w = memref.load %w2[%i] : memref<?xf64>
    %t = math.tanh %s : f64
    %p = arith.mulf %w, %t : f64
    %next = arith.addf %sum, %p : f64
    scf.yield %next : f64
  }
  memref.dealloc %hidden : memref<?xf64>
  %error = arith.subf %y, %target : f64
  %loss = arith.mulf %error, %error : f64
  return %loss : f64
}

func.func private @slope(%y: memref<?xf64>, %k: f64, %out: memref<?xf64>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %two = arith.constant 2.0 : f64
  %n = memref.dim %y, %c0 : memref<?xf64>
  %last = arith.subi %n, %c1 : index
  scf.for %i = %c0 to %n step %c1 {
    %before = arith.addi %i, %last : index
    %left_at = arith.remui %before, %n : index
    %after = arith.addi %i, %c1 : index
    %right_at = arith.remui %after, %n : index
    %left = memref.load %y[%left_at] : memref<?xf64>
    %right = memref.load %y[%right_at] : memref<?xf64>
    %v = memref.load %y[%i] : memref<?xf64>
    %both = arith.addf %left, %right : f64
    %twice = arith.mulf %two, %v : f64
    %spread = arith.subf %both, %twice : f64
    %square = arith.mulf %v, %v : f64
    %cube = arith.mulf %square, %v : f64
    %pull = arith.mulf %k, %cube : f64
    %s = arith.subf %spread, %pull : f64
    memref.store %s, %out[%i] : memref<?xf64>
  }
  return
}

// The energy of a ring of cells after some steps of Heun's method
func.func @integrate(%start: memref<?xf64>, %k: f64, %dt: f64, %steps: i64) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %half = arith.constant 0.5 : f64
  %zero = arith.constant 0.0 : f64
  %n = memref.dim %start, %c0 : memref<?xf64>
  %count = arith.index_cast %steps : i64 to index
  %y = memref.alloc(%n) : memref<?xf64>
  %mid = memref.alloc(%n) : memref<?xf64>
  %a = memref.alloc(%n) : memref<?xf64>
  %b = memref.alloc(%n) : memref<?xf64>
  memref.copy %start, %y : memref<?xf64> to memref<?xf64>
  scf.for %step = %c0 to %count step %c1 {
    func.call @slope(%y, %k, %a) : (memref<?xf64>, f64, memref<?xf64>) -> ()
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                    iterator_types = ["parallel"]}
      ins(%y, %a : memref<?xf64>, memref<?xf64>) outs(%mid : memref<?xf64>) {
    ^bb0(%v: f64, %s: f64, %_: f64):
      %by = arith.mulf %dt, %s : f64
      %moved = arith.addf %v, %by : f64
      linalg.yield %moved : f64
    }
    func.call @slope(%mid, %k, %b) : (memref<?xf64>, f64, memref<?xf64>) -> ()
    linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>, affine_map<(i) -> (i)>],
                    iterator_types = ["parallel"]}
      ins(%a, %b : memref<?xf64>, memref<?xf64>) outs(%y : memref<?xf64>) {
    ^bb0(%s: f64, %t: f64, %v: f64):
      %both = arith.addf %s, %t : f64
      %weight = arith.mulf %half, %dt : f64
      %by = arith.mulf %weight, %both : f64
      %moved = arith.addf %v, %by : f64
      linalg.yield %moved : f64
    }
  }
  %energy = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (f64) {
    %v = memref.load %y[%i] : memref<?xf64>
    %square = arith.mulf %v, %v : f64
    %next = arith.addf %sum, %square : f64
    scf.yield %next : f64
  }
  memref.dealloc %y : memref<?xf64>
  memref.dealloc %mid : memref<?xf64>
  memref.dealloc %a : memref<?xf64>
  memref.dealloc %b : memref<?xf64>
  return %energy : f64
}

// b . A^-1 b + log det A by a Cholesky factorisation of the lower triangle
func.func @solve(%a: memref<?x?xf64>, %b: memref<?xf64>) -> f64 {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %zero = arith.constant 0.0 : f64
  %two = arith.constant 2.0 : f64
  %n = memref.dim %b, %c0 : memref<?xf64>
  %l = memref.alloc(%n, %n) : memref<?x?xf64>
  %z = memref.alloc(%n) : memref<?xf64>
  %total = scf.for %i = %c0 to %n step %c1 iter_args(%sum = %zero) -> (f64) {
    scf.for %j = %c0 to %i step %c1 {
      %start = memref.load %a[%i, %j] : memref<?x?xf64>
      %s = scf.for %k = %c0 to %j step %c1 iter_args(%rest = %start) -> (f64) {
        %p = memref.load %l[%i, %k] : memref<?x?xf64>
        %q = memref.load %l[%j, %k] : memref<?x?xf64>
        %pq = arith.mulf %p, %q : f64
        %next = arith.subf %rest, %pq : f64
        scf.yield %next : f64
      }
      %pivot = memref.load %l[%j, %j] : memref<?x?xf64>
      %entry = arith.divf %s, %pivot : f64
      memref.store %entry, %l[%i, %j] : memref<?x?xf64>
    }
    %square = memref.load %a[%i, %i] : memref<?x?xf64>
    %right = memref.load %b[%i] : memref<?xf64>
    %rests:2 = scf.for %k = %c0 to %i step %c1 iter_args(%d = %square, %r = %right) -> (f64, f64) {
      %p = memref.load %l[%i, %k] : memref<?x?xf64>
      %y = memref.load %z[%k] : memref<?xf64>
      %pp = arith.mulf %p, %p : f64
      %py = arith.mulf %p, %y : f64
      %less = arith.subf %d, %pp : f64
      %rest = arith.subf %r, %py : f64
      scf.yield %less, %rest : f64, f64
    }
    %root = math.sqrt %rests#0 : f64
    memref.store %root, %l[%i, %i] : memref<?x?xf64>
    %y = arith.divf %rests#1, %root : f64
    memref.store %y, %z[%i] : memref<?xf64>
    %log = math.log %root : f64
    %logs = arith.mulf %two, %log : f64
    %yy = arith.mulf %y, %y : f64
    %both = arith.addf %logs, %yy : f64
    %next = arith.addf %sum, %both : f64
    scf.yield %next : f64
  }
  memref.dealloc %l : memref<?x?xf64>
  memref.dealloc %z : memref<?xf64>
  return %total : f64
}
