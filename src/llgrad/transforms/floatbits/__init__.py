"""Floats' bits in integers and vectors become operations on floats."""
