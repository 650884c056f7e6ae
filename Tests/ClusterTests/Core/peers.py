"""Processes with one core each, and what comes of them. For scripts that get library, folder and server as arguments."""

import atexit
import collections
import json
import pathlib
import queue
import subprocess
import sys
import threading

library, folder, server = sys.argv[1:]
here = pathlib.Path(__file__).resolve().parent
PATIENCE = 90


class Peer:
    """A process with a core. Its events are acknowledged when this side says so."""

    def __init__(self, name, to=server, radio=None):
        """A server other than the script's, and a radio for phones nearby, are for some scripts."""
        self.name = name
        self.configuration = {"dir": f"{folder}/{name}", "serverUrl": to}
        if radio is not None:
            self.configuration["radio"] = radio
        self.start()
        # However this ends.
        atexit.register(self.kill)

    def start(self):
        self.process = subprocess.Popen(
            [sys.executable, str(here / "peer.py"), library, json.dumps(self.configuration), "test"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.answers = queue.Queue()
        # By type: whoever waits for one leaves the others where they are.
        self.events = collections.defaultdict(queue.Queue)
        self.thread = threading.Thread(
            target=self.listen, args=(self.process, self.events, self.answers), daemon=True)
        self.thread.start()

    @staticmethod
    def listen(process, events, answers):
        for line in process.stdout:
            value = json.loads(line)
            if "answer" in value:
                answers.put(value)
            elif "event" in value:
                events[value["event"]["type"]].put(value)

    def command(self, verb, **parameters):
        self.process.stdin.write(f"{verb} {json.dumps(parameters)}\n")
        self.process.stdin.flush()
        answer = self.answers.get(timeout=PATIENCE)["answer"]
        assert "code" not in answer, (self.name, verb, answer)
        return answer

    def wait(self, kind, test=lambda event: True):
        while True:
            envelope = self.events[kind].get(timeout=PATIENCE)
            if test(envelope["event"]):
                return envelope

    def online(self):
        self.wait("connection", lambda event: event["state"] == "online")
        return self.command("identity_show")["whisperId"]

    def kill(self):
        self.process.kill()
        self.process.wait()
        self.thread.join()

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=PATIENCE) == 0, self.name
        self.thread.join()

    def ask(self, verb, **parameters):
        """A verb that asks the server, and must succeed."""
        outcome = self.outcome(verb, **parameters)
        assert "result" in outcome, (self.name, verb, outcome)
        return outcome["result"]

    def refused(self, verb, **parameters):
        outcome = self.outcome(verb, **parameters)
        assert "error" in outcome, (self.name, verb, outcome)
        return outcome["error"]["code"]

    def outcome(self, verb, **parameters):
        request = self.command(verb, **parameters)["request"]
        return self.wait("answer", lambda event: event["request"] == request)["event"]


def befriend(ann, bob):
    """Each adds the other as a contact. Returns their ids."""
    ann_id, bob_id = ann.online(), bob.online()
    for peer, other in ((ann, bob_id), (bob, ann_id)):
        peer.ask("contact_add", whisperId=other)
    return ann_id, bob_id
