"""What knows nothing of LLVM or derivatives (LLVM's Support): text, ELF, files, the collector."""
