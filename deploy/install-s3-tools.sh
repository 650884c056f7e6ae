#!/bin/sh
# Installs from PyPI, into .build/s3-tools, what attachments are tested against: a real S3 server (rclone), and the signer of AWS's
# own client (botocore). Every version is fixed. Does nothing when they are there. Needs the network the first time; without
# them the tests that need them say so.
set -eu
cd "$(dirname "$0")/.."

list=Tests/AttachmentsTests/requirements.txt
folder=.build/s3-tools

# Written last: a folder without it, or with another list, is incomplete.
cmp -s "$list" "$folder/installed.txt" && exit 0

echo "· installing an S3 server for tests"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
rm -rf "$folder"
mkdir -p .build
if ! { /usr/bin/python3 -m venv "$folder" && "$folder/bin/pip" install -q --no-input -r "$list"; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    rm -rf "$folder"
    echo "error: could not install what $list names; is PyPI reachable?" >&2
    exit 1
fi
cp "$list" "$folder/installed.txt"
