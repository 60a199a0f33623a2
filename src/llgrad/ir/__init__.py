"""The SSA data structure: types, values, module, parser, writer, verifier."""
