"""Two cores in two processes see each other come, type and call through a cluster.

Prints one JSON object: the reason with which each side saw the call end, and the relays that were given.
"""

import json

from peers import Peer, befriend

ann, bob = Peer("ann"), Peer("bob")
ann_id, bob_id = befriend(ann, bob)

# Presence and typing are for people who have written to each other.
for peer, other, to in ((ann, bob, bob_id), (bob, ann, ann_id)):
    peer.command("message_send", to=to, text="hello")
    other.wait("messageReceived")

# Who comes back learns who is there.
bob.command("disconnect")
bob.wait("connection", lambda event: event["state"] == "stopped")
bob.command("connect")
bob.online()
here = bob.wait("presence", lambda event: event["status"] == "online")["event"]
assert here["whisperId"] == ann_id, here
listed = bob.command("presence_list")["presences"]
assert [(one["whisperId"], one["status"]) for one in listed] == [(ann_id, "online")], listed

for is_typing in (True, False):
    said = ann.command("typing", chat=bob_id, isTyping=is_typing)
    assert said["state"] == ("now" if is_typing else "later"), said
    event = bob.wait("typing")["event"]
    assert event["chat"] == ann_id and event["isTyping"] == is_typing, event

call = ann.command("call_start", chat=bob_id, isVideo=False, sdp="offer")["callId"]
rings = bob.wait("callIncoming")["event"]
assert (rings["callId"], rings["chat"], rings["sdp"]) == (call, ann_id, "offer"), rings
assert ann.wait("callRinging")["event"]["callId"] == call
bob.command("call_answer", callId=call, sdp="answer")
assert ann.wait("callAnswered")["event"]["sdp"] == "answer"
for peer, other in ((ann, bob), (bob, ann)):
    peer.command("call_ice", callId=call, candidate=f"path of {peer.name}")
    assert other.wait("callCandidate")["event"]["candidate"] == f"path of {peer.name}"
ann.command("call_end", callId=call)
reasons = [peer.wait("callEnded")["event"]["reason"] for peer in (ann, bob)]

ann.command("call_turn")
relays = ann.wait("answer")["event"]
ann.end()
bob.end()
print(json.dumps({"reasons": reasons, "relays": len(relays.get("result", {}).get("urls", []))}))
