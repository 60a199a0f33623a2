"""Points-to, alias, mod/ref, clobbers, reaching stores, ranges of bytes touched."""
