"""Two cores in two processes chat over the air while no server is there. Then the radio goes, and the rest goes by the server.

A phone that knows BlueChat alone writes and reads plain text. Prints one JSON object: how many messages each side has.
"""

import atexit
import collections
import json
import subprocess
import sys
import urllib.parse

from bluechat import Phone
from gate import Gate
from peers import Peer, folder, here, server

COUNT = 20

socket = f"{folder}/air"
air = subprocess.Popen(
    [sys.executable, str(here / "ether.py"), socket, "--drop", "0.02", "--duplicate", "0.02", "--seed", "1"],
    stdin=subprocess.PIPE,
    stdout=subprocess.PIPE,
    text=True,
)
atexit.register(air.kill)
assert "ready" in json.loads(air.stdout.readline())


def control(what, **members):
    air.stdin.write(json.dumps({"control": what, **members}) + "\n")
    air.stdin.flush()
    return json.loads(air.stdout.readline())


address = urllib.parse.urlsplit(server)
gate = Gate(address.hostname, address.port)
ann, bob = (Peer(name, to=gate.url, radio=f"unix:{socket}") for name in ("ann", "bob"))
ann_id, bob_id = ann.online(), bob.online()
peers = ((ann, bob, bob_id), (bob, ann, ann_id))


def away(peer):
    peer.wait("connection", lambda event: event["state"] == "away")


def change(peer, kind, test=lambda phone: True):
    return peer.wait("nearbyChanged", lambda event: event["change"] == kind and test(event["phone"]))["event"]


def connect(title):
    """Ann finds somebody and connects. Whoever has just ended a chat may not be shown again yet."""
    while True:
        phones = ann.command("nearby_list")["phones"]
        peer = next((phone["peer"] for phone in phones if phone.get("title") == title), None)
        if peer is None:
            change(ann, "found")
            continue
        ann.command("nearby_connect", peer=peer)
        end = ann.wait("nearbyChanged", lambda event: event["change"] in ("connected", "disconnected"))["event"]
        if end["change"] == "connected":
            return peer


def send(peer, to, texts):
    return [peer.command("message_send", to=to, text=text)["message"]["messageId"] for text in texts]


def settled(peer, ids):
    """Waits until all of these messages have arrived."""
    missing = set(ids)
    while missing:
        message = peer.wait("messageChanged")["event"]["message"]
        if message["state"] == "delivered":
            missing.discard(message["messageId"])


gate.shut()
for peer, _, _ in peers:
    away(peer)
    peer.command("nearby_start", title=peer.name.title())
connect("Bob")
for peer, _, other_id in peers:
    assert change(peer, "known")["phone"]["whisperId"] == other_id

# Keys that were proven over the air are pinned without a server. To write first makes a request, to answer a contact.
ann.ask("contact_add", whisperId=bob_id, name="Bob")
for peer, other, to in peers:
    texts = [f"{peer.name} {number}" for number in range(COUNT)]
    settled(peer, send(peer, to, texts))
    came = [other.wait("messageReceived")["event"]["message"]["text"] for _ in texts]
    assert came == texts, came
assert bob.wait("requestReceived")["event"]["contact"]["whisperId"] == ann_id
newest = bob.command("chat_list")["chats"][0]["latest"]["number"]
bob.command("chat_read", chat=ann_id, upTo=newest)
ann.wait("messageChanged", lambda event: event["message"]["state"] == "read")

# From here on radios get no answers: what is under way may have arrived. Then there is no radio at all.
control("faults", mute=0.5)
late = {peer: send(peer, to, [f"{peer.name} late {number}" for number in range(5)]) for peer, _, to in peers}
for peer, _, _ in peers:
    control("state", radio=peer.name.title(), state="off")
    peer.wait("nearbyChanged", lambda event: event.get("radio") == "off")
for peer, _, to in peers:
    late[peer] += send(peer, to, [f"{peer.name} late {number}" for number in range(5, 10)])
gate.open()
for peer, _, _ in peers:
    settled(peer, late[peer])
counts = []
for peer, other, own_id in ((ann, bob, ann_id), (bob, ann, bob_id)):
    texts = [message["text"] for message in other.command("chat_get", chat=own_id, limit=200)["messages"]]
    mine = collections.Counter(text for text in texts if text.startswith(peer.name))
    expected = [f"{peer.name} {number}" for number in range(COUNT)]
    expected += [f"{peer.name} late {number}" for number in range(10)]
    assert mine == collections.Counter(expected), mine
    counts.append(sum(mine.values()))

# A phone that knows BlueChat alone: it connects to her, she to it. It sends nothing again.
control("faults", mute=0, drop=0, duplicate=0)
control("state", radio="Ann", state="on")
blue = Phone(socket, "Blue")
blue.connect("Ann")
change(ann, "connected", lambda phone: not phone["isOurs"])
assert blue.next("chat")["role"] == "central"
blue.say("hi")
text = ann.wait("nearbyText")["event"]
assert text["text"] == "hi", text
sent = ann.command("nearby_send", peer=text["peer"], text="hello")["number"]
assert blue.next("text")["text"] == "hello"
assert ann.wait("nearbySent", lambda event: event["number"] == sent)["event"]["arrived"]
ann.command("nearby_disconnect", peer=text["peer"])
blue.next("over")
change(ann, "disconnected")
found = connect("Blue")
assert blue.next("chat")["role"] == "peripheral"
ann.command("nearby_send", peer=found, text="again")
assert blue.next("text")["text"] == "again"
blue.say("bye")
assert ann.wait("nearbyText")["event"]["text"] == "bye"
assert len(ann.command("chat_list")["chats"]) == 1
ann.command("nearby_stop")
blue.next("over")

ann.end()
bob.end()
print(json.dumps({"messages": counts}))
