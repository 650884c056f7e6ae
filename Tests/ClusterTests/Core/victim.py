"""Does one thing to a store, says when it begins and ends, and waits to be killed. Arguments: library, and the thing as JSON."""

import json
import pathlib
import sys

root = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(root / "Clients" / "Python"))

import whispercore  # noqa: E402

library = whispercore.Library(sys.argv[1])
thing = json.loads(sys.argv[2])
keys = [bytes.fromhex(key) if key else None for key in thing["keys"]]
kind, config = thing["kind"], thing["config"]


def say(word):
    sys.stdout.write(word + "\n")
    sys.stdout.flush()


core = whispercore.Core(library, config, key=keys[0]) if kind in ("rekey", "export", "queue") else None
say("begin")
if kind == "rekey":
    core.rekey(keys[1])
elif kind == "export":
    core.export(thing["path"], keys[1])
elif kind == "import":
    library.import_(thing["path"], config, keys[0])
elif kind == "queue":
    for number in range(thing["first"], thing["first"] + thing["count"]):
        core.send("message_send", to=thing["to"], text=f"queued {number}")
        say(str(number))
else:
    # Of a plain store with a key: it is sealed. Of one that waits for a migration: it is brought up to date.
    core = whispercore.Core(library, config, key=keys[0])
say("end")
sys.stdin.read()
