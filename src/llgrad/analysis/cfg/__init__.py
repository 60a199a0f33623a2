"""Control flow: dominators, loops, add recurrences, trip counts, value sets."""
