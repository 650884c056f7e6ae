"""Two devices of one person on a real cluster: what one does, the other knows without asking anybody.

Prints one JSON object: how many listeners both know at the end, and the seconds from a change on one device until it was
seen on the other.
"""

import json
import time

from peers import Peer

phone, tablet = Peer("phone"), Peer("tablet")
bob, bobs_tablet = Peer("bob"), Peer("bobs-tablet")
phone_id, tablet_id, bob_id, bobs_tablet_id = (peer.online() for peer in (phone, tablet, bob, bobs_tablet))
for peer in (phone, tablet, bob, bobs_tablet):
    peer.command("settings_set", profiles="core")
for owner, other in ((phone, tablet), (bob, bobs_tablet)):
    other.ask("profile_join", link=owner.ask("profile_share")["profile"]["link"])


def own(peer):
    return {one["conversationId"]: one for one in peer.command("live_known")["own"]}


def seen(peer, test):
    """Waits until the peer has what another device has changed. Returns how long it took."""
    start = time.monotonic()
    while not test():
        peer.events["conversationsChanged"].get(timeout=90)
    return time.monotonic() - start


def settled(*peers):
    while any(peer.command("profile_status")["owed"] for peer in peers):
        time.sleep(0.05)


talk = phone.command("live_create", name="talk", title="A talk", whisperer="Ann")["conversation"]
named = {"conversationId": talk["conversationId"]}
took = seen(tablet, lambda: own(tablet).get(named["conversationId"]) == talk)
settled(phone, tablet)

# A listener that the phone lets in is none that the tablet asks about.
phone.command("live_start", **named)
phone.wait("liveStarted")
bob.ask("live_listen", link=talk["link"], name="Bob")
phone.wait("liveKnocked")
phone.command("live_accept", listener=bob_id, **named)
bob.wait("liveJoined", lambda event: event["state"] == "live")
phone.ask("live_stop", **named)
bob.ask("live_leave", **named)
seen(tablet, lambda: tablet.command("live_known").get("lastId") == named["conversationId"])
settled(phone, tablet)

tablet.command("live_start", **named)
tablet.wait("liveStarted")
bob.ask("live_listen", name="Bob", **named)
bob.wait("liveJoined", lambda event: event["state"] == "live")
tablet.command("live_type", text="from the tablet\n", **named)
assert bob.wait("liveLine")["event"]["text"] == "from the tablet"
# So it is with another device of the listener, which has the link from the first.
seen(bobs_tablet, lambda: [one["link"] for one in bobs_tablet.command("live_known")["heard"]] == [talk["link"]])
bobs_tablet.ask("live_listen", name="Bob", **named)
bobs_tablet.wait("liveJoined", lambda event: event["state"] == "live")
tablet.wait("liveListener", lambda event: event["listener"] == bobs_tablet_id and event["status"] == "joined")
assert tablet.events["liveKnocked"].empty()
# Who is removed on one is a stranger on the other.
tablet.command("live_remove", listener=bobs_tablet_id, **named)
assert bobs_tablet.wait("liveEnded")["event"]["reason"] == "removed"
tablet.ask("live_stop", **named)
bob.ask("live_leave", **named)
settled(phone, tablet)

# Both are away, and both change.
for peer in (phone, tablet):
    peer.command("disconnect")
    peer.wait("connection", lambda event: event["state"] == "stopped")
for peer, title in ((phone, "Phone"), (tablet, "Tablet")):
    assert peer.refused("live_update", title=title, **named) == "offline"
    peer.command("live_create", name="news", whisperer=title)
    peer.command("favorite_set", name=title, text="from the " + title)
for peer in (phone, tablet):
    peer.command("connect")
    peer.online()
deadline = time.monotonic() + 90
while True:
    alike = own(phone) == own(tablet)
    alike = alike and phone.command("favorite_list") == tablet.command("favorite_list")
    if alike and len(own(phone)) == 4 and not any(peer.command("profile_status")["owed"] for peer in (phone, tablet)):
        break
    assert time.monotonic() < deadline, (own(phone), own(tablet))
    time.sleep(0.1)
# Which change is the later one is said by two estimates of the server's clock.
assert own(phone)[named["conversationId"]]["title"] in ("Phone", "Tablet"), own(phone)
assert sorted(one["name"] for one in own(phone).values()) == ["default", "news", "news 2", "talk"], own(phone)

# The phone asks about the removed listener, and about nobody else.
phone.command("live_start", **named)
phone.wait("liveStarted")
bob.ask("live_listen", name="Bob", **named)
phone.wait("liveListener", lambda event: event["listener"] == bob_id and event["status"] == "joined")
assert phone.events["liveKnocked"].empty()
bobs_tablet.ask("live_listen", name="Bob", **named)
assert phone.wait("liveKnocked")["event"]["listener"] == bobs_tablet_id
listeners = phone.command("live_roster", **named)["listeners"]

# The tablet draws another link, and the phone, which whispers, knows who has it.
other = tablet.ask("live_update", newLink=True, **named)["conversation"]["link"]
assert other != talk["link"]
seen(phone, lambda: own(phone)[named["conversationId"]]["link"] == other)
carol = Peer("carol")
carol_id = carol.online()
carol.ask("live_listen", link=other, name="Carol")
assert phone.wait("liveKnocked")["event"]["listener"] == carol_id
for peer in (phone, tablet, bob, bobs_tablet, carol):
    peer.end()
print(json.dumps({"listeners": len(listeners), "seconds": round(took, 2)}))
