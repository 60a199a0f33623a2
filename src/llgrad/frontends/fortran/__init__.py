"""Fortran by flang."""
