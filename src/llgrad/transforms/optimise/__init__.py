"""LLVM's optimiser as it runs before differentiation, and the normal form that it leaves."""
