"""What analyses could not accept is changed first: mixed words to memory, exceptions to results, copies."""
