"""Intrinsics and inline assembly written out in LLVM's own operations."""
