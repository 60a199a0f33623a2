"""Loops whose forward and reverse sweep run together, and what waits for them."""
