"""Code that is not ours: what library functions do to memory, and bodies in IR for those that move data."""
