"""`python -m llgrad` is the command `llgrad`."""

from llgrad.cli import main

main()
