"""A release: every file of it, from the last commit, with the same bytes at each build.

    checks    what is refused: uncommitted changes, a missing changelog section, another version in the docs
    manual    man pages and shell completion, from the command line itself
    build     sdist, wheel, requirements, SBOMs, the archive of man pages and completion, sums
    deb       the Debian package: a virtual environment in /opt/mirrorwatch, units, man pages, completion
    debian    the scripts that dpkg runs

`python -m deploy.release` makes one in dist/release.
"""
