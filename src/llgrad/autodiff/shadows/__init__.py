"""Shadows of globals, statics and of what variables held before."""
