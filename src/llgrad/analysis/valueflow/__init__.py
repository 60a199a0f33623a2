"""Where bits of floats go through integers and back: provenance, unions, copies in pieces."""
