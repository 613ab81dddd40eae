"""`python -m mirrorwatch` is the command."""

import sys

try:
    from mirrorwatch.cli import main

    main()
except KeyboardInterrupt:  # while modules were still being loaded
    sys.exit(130)
