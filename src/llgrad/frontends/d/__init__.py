"""D by ldc."""
