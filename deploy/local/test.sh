#!/bin/bash
# What `make test` runs: unit tests on all cores (some wait for processes), then real ones, one after the other
# since they share clusters and time what they see. Those marked `long` are `make trials`. Arguments choose tests
# themselves.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=.venv/bin/python
if [ $# -gt 0 ]; then
    exec "$python" -m pytest "$@"
fi
status=0
"$python" -m pytest tests -m "not real" -n "$(($(nproc) + 2))" --dist worksteal || status=$?
"$python" -m pytest tests -m "real and not long" || status=$?
echo "Not run: the tests that take long (make trials)."
exit "$status"
