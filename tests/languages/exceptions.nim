# What Nim programs do with exceptions: what the tests of the languages differentiate.
import std/[math, sequtils, sugar]
type
  Stopped = object of CatchableError
    value: float
    parts: seq[float]
  Other = ref object of CatchableError
    a, b: float
  Worse = object of Stopped
    k: float
proc stop(x: float): float =
  if x > 1.0:
    raise (ref Stopped)(msg: "stop", value: x * x, parts: @[x, 2.0 * x])
  if x < -1.0:
    raise (ref Worse)(msg: "worse", value: x, k: x * x * x)
  if x > 0.5:
    raise Other(msg: "o", a: x, b: x * x)
  sin(x)
proc returns(x: float): float {.exportc.} =
  try:
    return stop(x)
  except Stopped as e:
    return e.value * 2.0
  except Other as e:
    return e.a * e.b
proc loops(x: openArray[float]): float {.exportc.} =
  for i, v in x:
    try:
      result += stop(v) * float(i + 1)
    except Worse as e:
      result += e.k
      continue
    except Stopped as e:
      for p in e.parts: result += p * p
      if e.value > 8.0: break
    except Other as e:
      result += e.a + e.b
proc finallys(x: openArray[float]): float {.exportc.} =
  var k = 1.0
  for v in x:
    try:
      try:
        result += stop(v)
      finally:
        k *= 1.5 + v
    except Stopped, Other:
      let e = getCurrentException()
      if e of Other: result += Other(e).b * k
      elif e of Stopped: result += (ref Stopped)(e).value
  result *= k
proc deeper(x: float): float =
  try:
    result = stop(x)
  except Other as e:
    e.a = e.a * 3.0
    raise
  except Stopped as e:
    raise Other(msg: "again", a: e.value, b: e.value * e.value)
proc rethrown(x: openArray[float]): float {.exportc.} =
  for v in x:
    try:
      result += deeper(v)
    except Other as e:
      result += e.a * 2.0 + e.b
proc nested(x: openArray[float]): float {.exportc.} =
  for v in x:
    try:
      result += stop(v)
    except Stopped as e:
      try:
        result += stop(e.value * 0.3)
      except Stopped as f:
        result += e.value * f.value
      except Other as o:
        result += e.value * o.a
    except Other: discard
proc defers(x: float): float {.exportc.} =
  var r = 1.0
  proc inner(): float =
    defer: r *= x
    result = stop(x)
  try: result = inner()
  except CatchableError as e:
    result = r
    if e of (ref Stopped): result += (ref Stopped)(e).value
proc kept(x: openArray[float]): float {.exportc.} =
  var caught: seq[ref Exception]
  for v in x:
    try: result += stop(v)
    except CatchableError as e: caught.add e
  for e in caught:
    if e of Other: result += Other(e).a * Other(e).b
    elif e of (ref Stopped): result += (ref Stopped)(e).value * (ref Stopped)(e).value
type
  Shape = ref object of RootObj
  Circle = ref object of Shape
    r: float
  Square = ref object of Shape
    a: float
method area(s: Shape): float {.base.} = 0.0
method area(s: Circle): float = 3.0 * s.r * s.r
method area(s: Square): float = s.a * s.a
proc cube(v: float): float =
  if v < 0: raise newException(ValueError, "negative")
  v * v * v
proc single(x: openArray[float]): float {.exportc.} =
  let k = x[0]
  let scale = proc (v: float): float = v * v * k
  for v in x:
    try: result += cube(v) * scale(v)
    except ValueError: result -= scale(v)
proc several(x: openArray[float]): float {.exportc.} =
  var fs: seq[proc (v: float): float]
  for i in 0 ..< x.len:
    let k = x[i]
    capture k:
      fs.add(proc (v: float): float = v * v * k)
  for f in fs:
    try: result += f(cube(x[1]))
    except ValueError: result += f(x[0])
proc shapes(x: openArray[float]): float {.exportc.} =
  var ss: seq[Shape]
  for i, v in x: (if i mod 2 == 0: ss.add Circle(r: v) else: ss.add Square(a: v))
  var fs: seq[proc (s: Shape): float]
  for v in x:
    let k = v
    capture k:
      fs.add(proc (s: Shape): float = s.area * k)
  for i, s in ss: result += fs[i](s)
proc mapped(x: openArray[float]): float {.exportc.} =
  let k = x[0]
  let ys = @x.mapIt(it * k).filterIt(it > -10.0)
  var acc = proc (a, b: float): float = a * 0.5 + b * b * k
  for s in [Shape(Circle(r: k)), Square(a: x[1])]: result += s.area
  try: result += ys.foldl(acc(a, b), 0.0) + cube(k)
  except ValueError as e: result += float(e.msg.len) * k
