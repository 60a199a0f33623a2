"""What debug info, TBAA and types declare of bytes."""
