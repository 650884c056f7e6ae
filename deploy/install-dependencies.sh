#!/bin/sh
# Installs what this Debian machine lacks, and does nothing when all is there:
#   install-dependencies.sh build   headers of C libraries, for the compiler
#   install-dependencies.sh run     these, and the servers that `make run` starts
#   install-dependencies.sh test    these, and what only tests use
#   install-dependencies.sh package headers, and what builds Debian packages
# The packages' own daemons are not started: the project starts its own servers, on its own ports and data.
set -eu

packages="pkg-config libpq-dev libhiredis-dev libssl-dev libnghttp2-dev libsodium-dev libsqlite3-dev libqrencode-dev"
for_running="postgresql redis-server haproxy openssl util-linux coturn"
for_testing="
    python3-jsonschema python3-nacl python3-cryptography python3-venv prometheus systemd libfaketime
    chromium chromium-driver curl zbar-tools etcd-server etcd-client patroni node-typescript mypy
"
case ${1-} in
build) ;;
run) packages="$packages $for_running" ;;
test) packages="$packages $for_running $for_testing" ;;
package) packages="$packages debhelper lintian libcurl4-openssl-dev python3-venv debootstrap iproute2 podman" ;;
*)
    echo "usage: $0 build|run|test|package" >&2
    exit 2
    ;;
esac

missing=""
for package in $packages; do
    state=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -eq 0 ]; then
    as_root=""
elif command -v sudo >/dev/null; then
    as_root="sudo"
else
    echo "error: not root and no sudo; please install:$missing" >&2
    exit 1
fi

echo "· installing:$missing"

# Debian asks this program before it starts a service at installation; 101 means no. An own policy of the machine
# is left in place, and ours is taken away again.
policy=/usr/sbin/policy-rc.d
if [ ! -e "$policy" ]; then
    printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
    $as_root chmod 755 "$policy"
    trap '$as_root rm -f "$policy"' EXIT
    trap 'exit 1' INT TERM HUP
fi

log=$(mktemp)
install() {
    # shellcheck disable=SC2086
    $as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        -o DPkg::Lock::Timeout=300 -o Dpkg::Options::=--force-confold $missing >"$log" 2>&1
}
if ! install; then
    echo "· fetching the package lists"
    if ! $as_root apt-get update -q >"$log" 2>&1 || { echo "· installing"; ! install; }; then
        tail -n 20 "$log" >&2
        echo "error: could not install:$missing" >&2
        rm -f "$log"
        exit 1
    fi
fi
rm -f "$log"

# Debian starts these with the machine, with data of their own. Nothing here wants them: the project starts its own.
for service in etcd patroni; do
    case $missing in
    *" $service"*) ! command -v systemctl >/dev/null || $as_root systemctl disable -q "$service" 2>/dev/null || true ;;
    esac
done
echo "· installed"
