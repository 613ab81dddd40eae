#!/bin/bash
# What `make test` runs: real tests one after the other, since they share clusters and time what they see, and
# meanwhile the unit tests with what the processors have left. Those marked `long` are `make trials`. Arguments
# choose tests themselves.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=.venv/bin/python
if [ $# -gt 0 ]; then
    exec "$python" -m pytest "$@"
fi
unit_log=$(mktemp)
nice -n 19 "$python" -m pytest tests -m "not real" -n "$(($(nproc) + 2))" --dist worksteal >"$unit_log" 2>&1 &
unit=$!
trap 'kill "$unit" 2>/dev/null || true; rm -f "$unit_log"' EXIT
status=0
"$python" -m pytest tests -m "real and not long" || status=$?
wait "$unit" || status=$?
echo "Unit tests:"
cat "$unit_log"
echo "Not run: the tests that take long (make trials)."
exit "$status"
