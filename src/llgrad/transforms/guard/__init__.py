"""What is hidden from LLVM, or put otherwise, only while a derivative is made."""
