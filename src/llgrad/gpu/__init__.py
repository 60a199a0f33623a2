"""Programs for GPUs: docs/gpu.md."""
