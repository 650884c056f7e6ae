"""Two cores in two processes meet in a room through a cluster. This script plays their WebRTC stacks.

Prints one JSON object: the safety number that both show, and how often a connection was made.
"""

import itertools
import json

from peers import Peer

descriptions = itertools.count()


def signal(peer, kind):
    return peer.wait("roomSignal", lambda event: event["kind"] == kind)["event"]


def connect(ann, bob, room):
    """Ann has the lower seat: her stack offers. Each of its descriptions is another one."""
    offer = signal(ann, "offer")
    assert offer["from"] == bob_id and offer["roomId"] == room, offer
    out = {"roomId": room, "to": bob_id, "link": offer["link"]}
    described = f"v=0 of ann, {next(descriptions)}"
    ann.command("room_signal", kind="offer", sdp=described, **out)
    ann.command("room_signal", kind="candidate", candidate="address of ann", sdpMLineIndex=0, sdpMid="0", **out)
    accept = signal(bob, "accept")
    assert accept["from"] == ann_id and accept["sdp"] == described and accept["isFresh"], accept
    candidate = signal(bob, "candidate")
    assert (candidate["candidate"], candidate["sdpMLineIndex"], candidate["sdpMid"]) == ("address of ann", 0, "0")
    back = {"roomId": room, "to": ann_id, "link": accept["link"]}
    bob.command("room_signal", kind="answer", sdp="v=0 of bob", **back)
    bob.command("room_signal", kind="candidate", candidate="address of bob", **back)
    assert signal(ann, "answer")["sdp"] == "v=0 of bob"
    assert signal(ann, "candidate")["candidate"] == "address of bob"
    for peer, to in ((ann, out), (bob, back)):
        peer.command("room_signal", kind="connected", **to)
        peer.wait("roomChanged", lambda event: any(one.get("isLinked") for one in event["room"]["participants"]))
    return out


def number(peer, room):
    shown = peer.command("room_get", roomId=room)["room"]["participants"]
    return [one["safetyNumber"] for one in shown if "safetyNumber" in one]


ann, bob = Peer("ann"), Peer("bob")
ann_id, bob_id = ann.online(), bob.online()

# By code, and sent out.
room = ann.ask("room_create")["room"]
by_code = room["roomId"]
assert bob.refused("room_join", code="0" * 10) == "notFound"
assert bob.ask("room_join", code=room["code"])["room"]["state"] == "accepted"
ann.wait("roomEvent", lambda event: event["event"] == "joined" and event["participant"] == bob_id)
out = connect(ann, bob, by_code)
numbers = number(ann, by_code)
assert len(numbers) == 1 and numbers == number(bob, by_code), numbers

# A connection that breaks is made anew, under another number.
ann.command("room_signal", kind="failed", **out)
again = connect(ann, bob, by_code)
assert again["link"] > out["link"], again
assert bob.refused("room_close", roomId=by_code) == "forbidden"
ann.ask("room_remove", roomId=by_code, participant=bob_id)
signal(bob, "drop")
assert bob.wait("roomEnded")["event"] == {"type": "roomEnded", "roomId": by_code, "reason": "removed"}
assert bob.refused("room_join", code=room["code"]) == "notFound"
ann.ask("room_close", roomId=by_code)
ann.wait("roomEnded", lambda event: event["roomId"] == by_code)

# By link, and all that a host may change.
room = ann.ask("room_create", participantsMax=3, codeDigits=0)["room"]
by_link = room["roomId"]
assert "code" not in room, room
assert ann.ask("room_update", roomId=by_link, isLocked=True)["room"]["isLocked"]
assert bob.refused("room_join", link=room["link"]) == "forbidden"
ann.ask("room_update", roomId=by_link, isLocked=False, participantsMax=4)
bob.ask("room_join", link=room["link"])
connect(ann, bob, by_link)
assert len(ann.ask("room_code", roomId=by_link, codeDigits=8)["code"]) == 8
assert bob.ask("room_turn", roomId=by_link)["turn"]["urls"], "no relay"
assert ann.ask("room_poke", roomId=by_link)["woken"] == 0
assert [one["roomId"] for one in bob.ask("room_list")["rooms"]] == [by_link]
ann.ask("room_update", roomId=by_link, host=bob_id)
bob.wait("roomChanged", lambda event: event["room"]["host"] == bob_id)
bob.ask("room_leave", roomId=by_link)
signal(ann, "drop")
assert ann.ask("room_purge") == {"type": "roomPurged", "left": 0, "closed": 1}
ann.end()
bob.end()
print(json.dumps({"number": numbers[0], "connections": 3}))
