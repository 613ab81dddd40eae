"""The command `mirrorwatch`, which is `python -m mirrorwatch` too."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C ends it quietly from the first moment on."""
    try:
        from mirrorwatch.cli.main import main as command  # noqa: PLC0415 - loading it is what may be interrupted

        command()
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
