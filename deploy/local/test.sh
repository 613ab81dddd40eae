#!/bin/bash
# All tests, or those that the arguments choose. The lag monitor's on real clusters wait for most of their time,
# for looks and for mirrors that write their offsets: they run beside all others.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=.venv/bin/python
if [ $# -gt 0 ]; then
    exec "$python" -m pytest tests "$@"
fi
lag=(tests/real/test_lag_*.py)
said=$(mktemp)
"$python" -m pytest -p no:cacheprovider "${lag[@]}" >"$said" 2>&1 &
beside=$!
trap 'kill -INT "$beside" 2>/dev/null || true; wait "$beside" || true; rm -f "$said"' EXIT
status=0
"$python" -m pytest tests "${lag[@]/#/--ignore=}" || status=$?
echo "The lag monitor's tests on real clusters, which ran beside:"
wait "$beside" || status=$?
cat "$said"
exit "$status"
