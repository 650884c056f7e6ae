#!/bin/sh
# Installs the Python tools that some tests run, from PyPI into .build/python-tools, every version fixed. Does nothing
# when they are there. Needs the network the first time; without it the tests that need the tools say so.
set -eu
cd "$(dirname "$0")/.."

list=Tests/HTTPFuzz/requirements.txt
folder=.build/python-tools

# Written last: a folder without it, or with another list, is incomplete.
cmp -s "$list" "$folder/installed.txt" && exit 0

echo "· installing Python tools for tests"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
rm -rf "$folder"
mkdir -p .build
if ! { /usr/bin/python3 -m venv "$folder" && "$folder/bin/pip" install -q --no-input -r "$list"; } >"$log" 2>&1; then
    tail -n 5 "$log" >&2
    rm -rf "$folder"
    echo "error: could not install Python tools ($list); is PyPI reachable?" >&2
    exit 1
fi
cp "$list" "$folder/installed.txt"
