"""Which bytes are floats, integers, pointers: a constraint-based type analysis with a lattice (*kinds*)."""
