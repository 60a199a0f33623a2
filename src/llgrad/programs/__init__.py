"""Whole programs that ask for derivatives: calls found and replaced, excerpts, two versions."""
