#!/bin/bash
# What `make audit` runs: look up each pinned dependency in OSV, a database of known vulnerabilities.
#
#   audit.sh [--optional]      with it, a database that does not answer is reported and is no failure
#
# MIRRORWATCH_OSV names another address of the database, such as a company's copy.
set -euo pipefail
cd "$(dirname "$0")/../.."
database=${MIRRORWATCH_OSV:-https://api.osv.dev/v1/query}
ask='import sys, requests
requests.post(sys.argv[1], json={"package": {"name": "pip", "ecosystem": "PyPI"}}, timeout=20).raise_for_status()'
if ! why=$(.venv/bin/python -c "$ask" "$database" 2>&1 | tail -n 1); then
    echo "Not audited: the database of vulnerabilities does not answer: $why" >&2
    [ "${1:-}" = --optional ]
    exit
fi
files=(requirements/*.txt)
export PIP_AUDIT_LOGLEVEL=ERROR  # it warns that OSV knows no hashes: pip compares them at the installation
exec .venv/bin/pip-audit --strict --require-hashes --disable-pip --progress-spinner off \
    --vulnerability-service osv --osv-url "$database" "${files[@]/#/--requirement=}"
