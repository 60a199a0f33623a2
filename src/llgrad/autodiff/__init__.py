"""From a request to a function."""
