"""The vocabulary of all analyses: fixed points, memory objects."""
