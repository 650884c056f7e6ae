#!/bin/sh
# Installs the WebRTC stack that plays the phones' part in the tests of calls (aiortc, from PyPI) into a folder of its
# own under .build. Does nothing when it is there. Needs python3-venv (install-dependencies.sh).
set -eu

folder=$(dirname "$0")/../.build/webrtc
packages="aiortc==1.16.0 websockets==17.4 PyNaCl==1.6.2"

if [ "$(cat "$folder/packages" 2>/dev/null || true)" = "$packages" ]; then exit 0; fi

echo "· installing $packages"
mkdir -p "$(dirname "$folder")"
rm -rf "$folder"
python3 -m venv "$folder"
log=$(mktemp)
# shellcheck disable=SC2086
if ! "$folder/bin/pip" install --quiet --disable-pip-version-check $packages >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    rm -f "$log"
    echo "error: could not install $packages" >&2
    exit 1
fi
rm -f "$log"
printf '%s' "$packages" >"$folder/packages"
