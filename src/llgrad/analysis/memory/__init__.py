"""Points-to, alias, mod/ref, MemorySSA, clobbers, reaching stores, ranges of bytes touched."""
