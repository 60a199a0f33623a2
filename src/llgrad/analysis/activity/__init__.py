"""Which values and memory have derivatives."""
