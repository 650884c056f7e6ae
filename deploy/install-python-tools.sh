#!/bin/sh
# Installs the Python tools that some tests run, from PyPI: each set into a folder of its own below .build. `requirements.txt`
# names what is wanted, `requirements.lock` beside it every package with its hash (`make lock`). Does nothing for a set that is
# there. With an argument it installs the set of this folder alone. Needs the network the first time; without it the tests that need the tools say so.
set -eu
cd "$(dirname "$0")/.."
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
mkdir -p .build
started=""

install() { # what, folder of the lists, folder
    # The copy is written last: a folder without it, or with another list, is incomplete.
    cmp -s "$2/requirements.lock" "$3/installed.lock" && return
    echo "· installing $1"
    rm -rf "$3"
    if /usr/bin/python3 -m venv "$3" && "$3/bin/pip" install -q --no-input --require-hashes --only-binary :all: \
        -r "$2/requirements.lock"; then
        cp "$2/requirements.lock" "$3/installed.lock"
    else
        rm -rf "$3"
        echo "error: could not install what $2/requirements.lock names; is PyPI reachable?"
        return 1
    fi
}

# The sets share nothing, and mostly wait for the network.
only=${1-}
start() { # as install
    [ -z "$only" ] || [ ".build/$only" = "$3" ] || return 0
    install "$@" >"$logs/$(basename "$3")" 2>&1 &
    started="$started $!:$(basename "$3")"
}

start "an HTTP fuzzer" TestSupport/HTTPFuzz .build/python-tools
start "an S3 server" Tests/AttachmentsTests .build/s3-tools
start "a WebRTC stack" Tests/ClusterTests/WebRTC .build/webrtc
start "axe-core" Tests/ClusterTests/Page .build/axe
start "Helm and schemas of Kubernetes" Tests/ArchitectureTests/Chart .build/chart-tools
start "what builds wheels" Clients/Python .build/wheel-tools
start "Patroni" deploy/ha .build/ha-tools

status=0
for job in $started; do
    wait "${job%%:*}" || status=1
    tail -n 6 "$logs/${job#*:}"
done
exit $status
