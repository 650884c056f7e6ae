"""Persons with a core each, all in this process. For scripts that get library, folder and server as arguments."""

import os
import pathlib
import sys
import time

root = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(root / "Clients" / "Python"))

import whispercore  # noqa: E402

library, folder, server = sys.argv[1:]
PATIENCE = 90


class Person:
    def __init__(self, name):
        self.name = name
        self.open()

    def open(self):
        config = {"dir": f"{folder}/{self.name}", "serverUrl": server}
        if "CA_FILE" in os.environ:
            config["caFile"] = os.environ["CA_FILE"]
        self.core = whispercore.Core(library, config)
        if not self.core.query("identity_show")["hasIdentity"]:
            self.core.send("identity_create")
        self.core.send("events_subscribe", consumer="test")
        self.core.send("connect")
        self.wait("connection", lambda event: event["state"] == "online")
        self.id = self.core.query("identity_show")["whisperId"]

    def wait(self, kind, test=lambda event: True):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            envelope = self.core.receive(5)
            if envelope is not None and envelope["event"]["type"] == kind and test(envelope["event"]):
                return envelope["event"]
        raise AssertionError((self.name, kind))

    def ask(self, verb, **parameters):
        self.core.send(verb, **parameters)
        answer = self.wait("answer", lambda event: event["verb"] == verb)
        assert "result" in answer, (self.name, answer)
        return answer["result"]
