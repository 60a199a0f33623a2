"""MLIR and StableHLO."""
