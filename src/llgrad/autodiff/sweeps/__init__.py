"""Writers: augmented forward sweep, reverse sweep, forward mode."""
