"""Numba's compiler."""
