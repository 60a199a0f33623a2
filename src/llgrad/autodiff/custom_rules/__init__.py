"""Derivatives that call the user's rules, or ours of library routines."""
