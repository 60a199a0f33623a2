"""Enzyme's C interface: names, calls read, statements, wrappers written, split forward mode."""
