"""Rust by rustc and cargo."""
