"""Passes over a program before it is differentiated, one folder a purpose."""
