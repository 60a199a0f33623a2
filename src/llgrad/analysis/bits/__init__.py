"""Bits in registers: which bytes move where, what integers are."""
