"""How the reverse sweep has a primal value again: kept, recomputed, reloaded, selected, replayed."""
