"""Debug info → the signature a user calls, in the terms of the source's language, and the names of functions.

`signature(module, name)` relates each declared parameter to the IR arguments that carry it: one argument for scalars
and pointers, `byval` and coerced arguments for structs (System V: pieces of eight bytes), two for slices, a hidden
first one for large results. Where the correspondence is not certain the parameter says why in `unsupported`; nothing is
guessed. Without debug info the IR types speak: pointers are opaque and names are the IR's, or `arg0`, `arg1`, ….
`candidates(module)` lists what may be called, `find(module, name)` looks a plain, qualified or mangled name up.
"""

from llgrad.signature.names import Candidate, candidates, find
from llgrad.signature.read import ir_ctype, parameter_name, signature
from llgrad.signature.signature import Parameter, Signature
from llgrad.signature.types import Array, Complex, CType, Field, Opaque, Pointer, Scalar, Struct, View, Void

__all__ = [
    "Array", "CType", "Candidate", "Complex", "Field", "Opaque", "Parameter", "Pointer", "Scalar", "Signature",
    "Struct", "View", "Void", "candidates", "find", "ir_ctype",
    "parameter_name", "signature",
]  # fmt: skip
