"""Makes the repository's `examples` and `benchmarks` importable, however pytest is started."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
