"""Loops in the shape that analyses want."""
