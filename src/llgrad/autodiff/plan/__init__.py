"""The plan: decisions as a value one can print."""
