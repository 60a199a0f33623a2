"""Calls and ABIs in simpler terms before analysis."""
