#!/bin/bash
# All tests, or those that the arguments choose. Those on real clusters wait for most of their time: they run in
# three streams beside all others, which give way to them.
set -euo pipefail
cd "$(dirname "$0")/../.."
python=.venv/bin/python
if [ $# -gt 0 ]; then
    exec "$python" -m pytest tests "$@"
fi
real=tests/real
said=$(mktemp -d)
streams=() elsewhere=()
trap 'kill -INT "${streams[@]}" 2>/dev/null || true; wait || true; rm -rf "$said"' EXIT
beside() {
    "$python" -m pytest -p no:cacheprovider "$@" >"$said/${#streams[@]}" 2>&1 &
    streams+=($!) elsewhere+=("${@/#/--ignore=}")
}
beside $real/test_lag_[a-l]*.py $real/test_[s-z]*.py
beside $real/test_lag_[m-z]*.py
beside $real/test_[a-k]*.py $real/test_l[!a]*.py $real/test_[m-r]*.py
status=0
nice "$python" -m pytest tests "${elsewhere[@]}" || status=$?
for stream in "${!streams[@]}"; do
    echo "On real clusters, stream $((stream + 1)) of ${#streams[@]}:"
    wait "${streams[$stream]}" || status=$?
    cat "$said/$stream"
done
exit "$status"
