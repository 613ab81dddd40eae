#!/bin/sh
# Install the programs that are missing, with Debian's package manager, where that is allowed.
#
#   install.sh [--optional] TOOL...      tools: venv java maven prometheus alertmanager chromium postgresql systemd
#
# Silent when nothing is missing. Without root, or on another system, it names the one command to type and
# fails; with --optional it prints what is left out and continues.
set -eu

optional=no
if [ "${1:-}" = --optional ]; then
    optional=yes
    shift
fi

has() { command -v "$1" >/dev/null 2>&1; }

present() {
    case $1 in
        venv) "${PYTHON:-python3}" -c 'import ensurepip' >/dev/null 2>&1 ;;
        java) has java && has javac ;;
        maven) has mvn ;;
        prometheus) has prometheus && has promtool ;;
        alertmanager) has prometheus-alertmanager || has alertmanager ;;
        chromium) has chromium ;;
        postgresql) has initdb || ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 ;;
        systemd) has systemd-analyze ;;
        *)
            echo "install.sh: there is no tool named '$1'" >&2
            exit 2
            ;;
    esac
}

package() {
    case $1 in
        venv) echo python3-venv ;;
        # A JDK, since the local stack compiles its transformation. Debian's Maven brings none that compiles.
        java) echo "${MIRRORWATCH_JDK:-openjdk-17-jdk-headless}" ;;
        alertmanager) echo prometheus-alertmanager ;;
        *) echo "$1" ;;
    esac
}

tools=
packages=
for tool in "$@"; do
    if ! present "$tool"; then
        tools="$tools $tool"
        packages="$packages $(package "$tool")"
    fi
done
[ -n "$packages" ] || exit 0

remedy="type: sudo apt-get install --no-install-recommends$packages"
give_up() {
    if [ "$optional" = yes ]; then
        echo "Left out:$tools ($1). To have it, $remedy"
        exit 0
    fi
    echo "Missing:$tools ($1). To go on, $remedy" >&2
    exit 1
}

if ! has apt-get; then
    remedy="install with your system's package manager what Debian calls$packages"
    give_up "there is no apt-get here"
fi
[ "$(id -u)" = 0 ] || give_up "to install it needs root"

# Debian's packages start their services when they are installed. A policy-rc.d that says 101 forbids it; one
# that is there already is another's and stays.
shield=/usr/sbin/policy-rc.d
log=$(mktemp)
shielded=no
finish() {
    rm -f "$log"
    if [ "$shielded" = yes ]; then
        rm -f "$shield"
    fi
}
trap finish EXIT
trap 'exit 130' INT TERM HUP
if [ ! -e "$shield" ]; then
    shielded=yes
    printf '#!/bin/sh\nexit 101\n' >"$shield"
    chmod 755 "$shield"
fi

echo "Installing$packages"
export DEBIAN_FRONTEND=noninteractive
# The lists may be old or missing; if they cannot be updated, the install itself reports the error.
apt-get update -q >"$log" 2>&1 || true
# One word for each package.
# shellcheck disable=SC2086
if ! apt-get install -y -q --no-install-recommends $packages >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    give_up "apt-get could not install it"
fi
for tool in $tools; do
    present "$tool" || give_up "it was installed, but $tool cannot be found"
done
