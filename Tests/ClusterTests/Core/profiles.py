"""Three devices of one person share a profile on a real cluster, and whisper in turn.

Prints one JSON object: how many devices are in the profile at the end.
"""

import json

from peers import Peer

phone, tablet, stranger = Peer("phone"), Peer("tablet"), Peer("stranger")
phone_id, tablet_id, stranger_id = phone.online(), tablet.online(), stranger.online()


def members(profile):
    return [member["whisperId"] for member in profile["members"]]


assert phone.refused("profile_get") == "notFound"
shared = phone.ask("profile_share")["profile"]
assert members(shared) == [phone_id] and shared["documents"] == [], shared
link = shared["link"]
assert stranger.refused("profile_join", link=link[:-43] + "A" * 43) == "forbidden"

joined = tablet.ask("profile_join", link=link)["profile"]
assert joined["link"] == link and members(joined) == [phone_id, tablet_id], joined
for peer in (phone, tablet):
    assert members(peer.ask("profile_get")["profile"]) == [phone_id, tablet_id]
assert stranger.refused("profile_get") == "notFound"

# Profiles of people without peers hold less.
for peer, other, to in ((phone, stranger, stranger_id), (stranger, phone, phone_id)):
    peer.ask("contact_add", whisperId=to)
    peer.command("message_send", to=to, text="hello")
    other.wait("messageReceived")

# The documents are these hosts' own, unless they leave them to the core.
stranger.command("settings_set", profiles="core")
assert stranger.refused("profile_write", name="settings", version=0, content="dark") == "managed"
stranger.command("settings_set", profiles="host")

# A document as long as the server keeps it goes through one command, and comes back.
longest = "x" * 262_000
assert phone.ask("profile_write", name="settings", version=0, content=longest)["version"] == 1
assert tablet.ask("profile_read", name="settings")["content"] == longest
assert tablet.refused("profile_write", name="settings", version=1, content="x" * 262_144) == "tooLong"

# A conversation of a device that has joined is one of the profile.
talk = tablet.command("live_create", name="talk", whisperer="Ann")["conversation"]["conversationId"]
tablet.command("live_start", conversationId=talk)
tablet.wait("liveStarted", lambda event: event["conversationId"] == talk)
assert talk in [own["conversationId"] for own in tablet.ask("live_list")["conversations"]]
assert tablet.refused("profile_leave") == "inUse"
assert tablet.refused("profile_join", link=link[:-80] + "00000000-0000-4000-8000-000000000000#" + link[-43:]) == "inUse"

# Whoever is taken out is no member any more.
stranger.ask("profile_join", link=link)
tablet.ask("profile_remove", whisperId=stranger_id)
assert stranger.refused("profile_join", link=link) == "forbidden"
assert stranger.refused("profile_get") == "notFound"
left = phone.ask("profile_get")["profile"]
phone.ask("profile_leave")
assert members(tablet.ask("profile_get")["profile"]) == [tablet_id]
for peer in (phone, tablet, stranger):
    peer.end()
print(json.dumps({"members": len(left["members"])}))
