"""The script that spark-submit runs: the command line, because spark-submit takes a file and not a module.

Python puts this file's folder first on its path, where some modules have names of the standard library.
"""

import sys

if __name__ == "__main__":
    sys.path.pop(0)

    from mirrorwatch.__main__ import main

    main()
