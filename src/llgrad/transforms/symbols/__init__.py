"""Names, linkage and visibility: which functions and variables are whose, and what a root reaches."""
