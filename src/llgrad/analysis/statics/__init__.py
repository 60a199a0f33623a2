"""The whole program's pointers in static variables (a points-to of its own)."""
