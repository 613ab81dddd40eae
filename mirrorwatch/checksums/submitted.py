"""What spark-submit runs: the command line, from a file, since a module's name is none to it.

Started by its path, Python looks for modules in this folder first, where some have the names of its own.
"""

import sys

if __name__ == "__main__":
    sys.path.pop(0)

    from mirrorwatch.__main__ import main

    main()
