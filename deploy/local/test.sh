#!/bin/bash
# What `make test` runs: unit tests on all cores (some wait for processes), then real ones in two lanes with brokers
# of their own; the tests of a file share them. Those marked `long` are `make trials`. Arguments choose tests
# themselves.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=.venv/bin/python
if [ $# -gt 0 ]; then
    exec "$python" -m pytest "$@"
fi
status=0
"$python" -m pytest tests -m "not real and not long" -n "$(($(nproc) + 2))" --dist worksteal || status=$?
"$python" -m pytest tests -m "real and not long" -n 2 --dist loadfile || status=$?
echo "Not run: the tests that take long (make trials)."
exit "$status"
