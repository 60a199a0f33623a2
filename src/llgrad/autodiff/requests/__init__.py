"""What is asked for, and what the program says of its functions."""
