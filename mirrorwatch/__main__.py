"""`python -m mirrorwatch` is the command."""

from mirrorwatch.cli import main

main()
