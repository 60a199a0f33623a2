"""C and C++ by clang."""
