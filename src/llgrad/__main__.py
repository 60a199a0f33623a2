"""The command `llgrad`, also as `python -m llgrad`: Python's collector waits from the first import on."""

from llgrad.support.gc_pause import collecting_rarely


def main() -> None:
    """Run the command line, see `llgrad.cli`."""
    with collecting_rarely():
        from llgrad.cli import main

        main()


if __name__ == "__main__":
    main()
