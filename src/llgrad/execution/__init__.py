"""Machine code as Python calls it: entries, arguments, cache, child process, libraries."""
