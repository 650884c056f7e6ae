#!/bin/sh
# Installs the Python tools that some tests run, from PyPI: each set into a folder of its own below .build, every version
# named in its list fixed. Does nothing for those that are there. Needs the network the first time; without it the tests that
# need the tools say so.
set -eu
cd "$(dirname "$0")/.."
status=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
mkdir -p .build

install() { # what, list of packages, folder
    # The copy is written last: a folder without it, or with another list, is incomplete.
    cmp -s "$2" "$3/installed.txt" && return
    echo "· installing $1"
    rm -rf "$3"
    if /usr/bin/python3 -m venv "$3" >"$log" 2>&1 && "$3/bin/pip" install -q --no-input -r "$2" >"$log" 2>&1; then
        cp "$2" "$3/installed.txt"
    else
        tail -n 5 "$log" >&2
        rm -rf "$3"
        echo "error: could not install what $2 names; is PyPI reachable?" >&2
        status=1
    fi
}

install "an HTTP fuzzer" TestSupport/HTTPFuzz/requirements.txt .build/python-tools
install "an S3 server" Tests/AttachmentsTests/requirements.txt .build/s3-tools
install "a WebRTC stack" Tests/ClusterTests/WebRTC/requirements.txt .build/webrtc
install "axe-core" Tests/ClusterTests/Page/requirements.txt .build/axe
install "Helm and schemas of Kubernetes" Tests/ArchitectureTests/Chart/requirements.txt .build/chart-tools
install "Patroni" deploy/ha/requirements.txt .build/ha-tools
exit $status
