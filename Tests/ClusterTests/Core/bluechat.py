"""A phone with the app BlueChat alone: three characteristics, plain text, one chat at a time, and no server.

As a program: `bluechat.py SOCKET TITLE` takes lines such as `connect Anna`, `say hello`, `leave` from standard input, and prints
what happens as lines of JSON: found, chat, text, sent, over. As a module: `Phone(path, title)`, see there.
"""

import base64
import json
import queue
import socket
import sys
import threading
import time

SERVICE, TO_PERIPHERAL, TO_CENTRAL, HANG_UP = (f"920D547{it}-95D8-4289-8BF3-504058B0BCB1" for it in range(4))
SUBSCRIBED_WITHIN = 3.0


class Phone:
    """Shown under its title from the beginning. `connect` and `next` wait, in bounds."""

    def __init__(self, path, title):
        self.title = title
        self.lock = threading.RLock()
        self.happened = queue.Queue()
        self.found = {}
        # Whom we chat with, and whether we are the central; the name alone while we connect.
        self.peer = self.role = None
        self.is_chatting = False
        self.subscribed = set()
        self.visitors = set()
        self.tokens = self.attempts = 0
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(path)
        threading.Thread(target=self.listen, daemon=True).start()

    # What its person does

    def connect(self, title, within=20.0):
        """Taps on a friend until they chat: whoever was in a chat shows itself a moment later."""
        end = time.monotonic() + within
        while time.monotonic() < end:
            with self.lock:
                if self.is_chatting:
                    return
                peer = next((peer for peer, name in self.found.items() if name == title), None)
                if peer is not None and self.peer is None:
                    self.peer, self.role, self.subscribed = peer, "central", set()
                    self.attempts += 1
                    self.call("stopAdvertising")
                    self.call("connect", peer=peer)
                    threading.Timer(SUBSCRIBED_WITHIN, self.late, [self.attempts]).start()
            time.sleep(0.02)
        raise TimeoutError(f"{self.title} does not chat with {title}")

    def say(self, text):
        with self.lock:
            if not self.is_chatting:
                return self.tell("sent", text=text, ok=False)
            self.tokens += 1
            characteristic, call = (TO_PERIPHERAL, "write") if self.role == "central" else (TO_CENTRAL, "indicate")
            self.packet(call, self.peer, characteristic, text.encode())

    def leave(self):
        with self.lock:
            if self.role == "central":
                self.call("disconnect", peer=self.peer)
            elif self.role == "peripheral":
                self.packet("indicate", self.peer, HANG_UP, b"\x01")

    def next(self, kind, within=20.0):
        """The next happening of a kind, as a dictionary. Others before it are skipped."""
        end = time.monotonic() + within
        while True:
            try:
                happening = self.happened.get(timeout=max(end - time.monotonic(), 0.001))
            except queue.Empty:
                raise TimeoutError(f"{self.title} hears no {kind}") from None
            if happening["event"] == kind:
                return happening

    def close(self):
        self.socket.close()

    # Its radio

    def call(self, call, **members):
        self.socket.sendall(json.dumps({"call": call, **members}).encode() + b"\n")

    def packet(self, call, peer, characteristic, value):
        self.tokens += 1
        value = base64.b64encode(value).decode()
        self.call(call, peer=peer, characteristic=characteristic, value=value, token=self.tokens)

    def show(self):
        self.call("advertise", service=SERVICE, name=self.title, characteristics=[TO_PERIPHERAL, TO_CENTRAL, HANG_UP])

    def tell(self, event, **members):
        self.happened.put({"event": event, **members})

    def listen(self):
        try:
            for line in self.socket.makefile("r", encoding="utf-8"):
                with self.lock:
                    self.heard(json.loads(line))
        except (OSError, ValueError):
            pass
        self.tell("off")

    def late(self, attempt):
        with self.lock:
            if self.attempts == attempt and self.role == "central" and not self.is_chatting:
                self.call("disconnect", peer=self.peer)

    def begin(self):
        self.is_chatting = True
        self.tell("chat", role=self.role, title=self.found.get(self.peer))

    def over(self):
        if self.is_chatting:
            self.tell("over")
        self.peer = self.role = None
        self.is_chatting = False
        self.show()

    def heard(self, event):
        kind, peer = event["event"], event.get("peer")
        characteristic = event.get("characteristic", "").upper()
        if kind == "state" and event["state"] == "on":
            self.show()
            self.call("scan", service=SERVICE)
        elif kind == "state":
            self.found = {}
        elif kind == "found":
            if self.found.get(peer) != event["name"]:
                self.found[peer] = event["name"]
                self.tell("found", title=event["name"])
        elif kind in ("wrote", "indicated"):
            self.tell("sent", ok=event["ok"])
        elif kind.startswith("central"):
            self.heard_central(kind, peer, characteristic, event)
        elif peer == self.peer and self.role == "central":
            self.heard_peripheral(kind, peer, characteristic, event)

    def heard_peripheral(self, kind, peer, characteristic, event):
        if kind == "connected":
            self.call("discover", peer=peer)
        elif kind == "characteristics":
            for wanted in (TO_CENTRAL, HANG_UP):
                self.call("subscribe", peer=peer, characteristic=wanted)
        elif kind == "subscribed" and event["ok"]:
            self.subscribed.add(characteristic)
            if self.subscribed == {TO_CENTRAL, HANG_UP} and not self.is_chatting:
                self.begin()
        elif kind == "value" and characteristic == TO_CENTRAL:
            self.tell("text", text=base64.b64decode(event["value"]).decode())
        elif kind == "value" and characteristic == HANG_UP:
            self.call("disconnect", peer=peer)
        elif kind == "disconnected":
            self.over()

    def heard_central(self, kind, peer, characteristic, event):
        if kind == "centralSubscribed" and characteristic == TO_CENTRAL and self.peer is None:
            self.peer, self.role = peer, "peripheral"
            self.call("stopAdvertising")
            self.begin()
        elif kind == "centralSubscribed":
            # There is room for one. Whoever subscribes to the question later is asked then.
            if characteristic == TO_CENTRAL:
                self.visitors.add(peer)
            if peer in self.visitors:
                self.packet("indicate", peer, HANG_UP, b"\x01")
        elif kind == "centralUnsubscribed" and characteristic == TO_CENTRAL:
            self.visitors.discard(peer)
            if peer == self.peer and self.role == "peripheral":
                self.over()
        elif kind == "centralWrote" and peer == self.peer and self.role == "peripheral":
            self.tell("text", text=base64.b64decode(event["value"]).decode())


def main():
    phone = Phone(sys.argv[1], sys.argv[2])

    def pass_on():
        while True:
            print(json.dumps(phone.happened.get()), flush=True)

    threading.Thread(target=pass_on, daemon=True).start()
    for line in sys.stdin:
        word, _, rest = line.rstrip("\n").partition(" ")
        {"connect": lambda: phone.connect(rest), "say": lambda: phone.say(rest), "leave": phone.leave}[word]()


if __name__ == "__main__":
    main()
