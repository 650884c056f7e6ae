"""One core in a process of its own. Commands come as lines: `verb {json}`. Events and answers go out as lines of JSON."""

import json
import pathlib
import sys
import threading

root = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(root / "Clients" / "Python"))

import whispercore  # noqa: E402

library, configuration, consumer = sys.argv[1:]
lock = threading.Lock()


def say(value):
    with lock:
        sys.stdout.write(json.dumps(value) + "\n")
        sys.stdout.flush()


def read(core):
    try:
        while True:
            event = core.receive(5)
            if event is not None:
                say(event)
    except whispercore.Closed:
        say({"closed": True})


core = whispercore.Core(library, json.loads(configuration))
if not core.query("identity_show")["hasIdentity"]:
    core.send("identity_create")
core.send("events_subscribe", consumer=consumer)
reader = threading.Thread(target=read, args=(core,))
reader.start()
core.send("connect")
for line in sys.stdin:
    verb, _, parameters = line.strip().partition(" ")
    try:
        say({"answer": core.send(verb, **json.loads(parameters or "{}"))})
    except whispercore.CoreError as error:
        say({"answer": error.error})
core.close()
reader.join()
core.close()
