"""One core whispers and another listens, in two processes, through a cluster.

Prints one JSON object: how many lines were heard.
"""

import json

from peers import Peer

ann, bob = Peer("ann"), Peer("bob")
ann_id, bob_id = ann.online(), bob.online()

own = ann.command("live_create", name="talk", title="A talk", whisperer="Ann", transcriptDays=1)["conversation"]
named = {"conversationId": own["conversationId"]}
ann.command("live_start", **named)
assert not ann.wait("liveStarted")["event"]["isResumed"]
assert [one["state"] for one in ann.ask("live_list")["conversations"]] == ["live"]

look = bob.ask("live_look", link=own["link"])
assert (look["title"], look["whisperer"], look["state"], look["isTranscribed"]) == ("A talk", "Ann", "live", True), look
bob.ask("live_listen", link=own["link"], name="Bob", note="it is me")
bob.wait("liveWaiting")
assert bob.command("live_get", **named)["state"] == "waiting"
knock = ann.wait("liveKnocked")["event"]
assert (knock["listener"], knock["name"], knock["note"]) == (bob_id, "Bob", "it is me"), knock
assert [one["listener"] for one in ann.command("live_roster", **named)["callers"]] == [bob_id]
ann.command("live_refuse", listener=bob_id, **named)
assert bob.wait("liveEnded")["event"]["reason"] == "declined"
bob.ask("live_listen", name="Bob", **named)
ann.wait("liveKnocked")
ann.command("live_accept", listener=bob_id, **named)
bob.wait("liveJoined", lambda event: event["state"] == "live")
ann.wait("liveListener", lambda event: event["status"] == "joined" and event["joined"] == 1)
assert [one["isPresent"] for one in ann.command("live_roster", **named)["listeners"]] == [True]

# Key by key: what is under the hands is heard before it is a line.
for text in ("I", "Is", "Is th", "Is this on?"):
    ann.command("live_type", text=text, **named)
bob.wait("liveText", lambda event: event["text"] == "Is this on?")
ann.command("live_type", text="Is this on?\nYe", **named)
ann.command("live_line", text="(in between)", **named)
heard = [bob.wait("liveLine")["event"] for _ in range(2)]
assert [(one["line"], one["text"]) for one in heard] == [(1, "Is this on?"), (2, "(in between)")], heard
bob.wait("liveText", lambda event: event["text"] == "Ye")
assert [ann.wait("liveSaid")["event"]["line"] for _ in range(2)] == [1, 2]
# A program that has seen no event finds the same.
for peer, role in ((ann, "whisperer"), (bob, "listener")):
    view = peer.command("live_get", **named)
    assert (view["role"], view["state"], view["text"], view["isTranscribed"]) == (role, "live", "Ye", True), view
    assert [(one["line"], one["text"]) for one in view["lines"]] == [(1, "Is this on?"), (2, "(in between)")], view
    assert (view["hasOlder"], view["waiting"]) == (False, []), view
ann.command("live_cue", sound="bike-bell", **named)
assert bob.wait("liveCue")["event"]["sound"] == "bike-bell"
bob.command("live_attention", want="slower", **named)
wanted = ann.wait("liveAttention")["event"]
assert (wanted["listener"], wanted["want"]) == (bob_id, "slower"), wanted

# Comes back without knocking.
bob.ask("live_leave", **named)
ann.wait("liveListener", lambda event: event["status"] == "left")
assert [one["conversationId"] for one in bob.command("live_known")["heard"]] == [own["conversationId"]]
bob.ask("live_listen", name="Bob", **named)
bob.wait("liveJoined")
ann.command("live_remove", listener=bob_id, **named)
assert bob.wait("liveEnded")["event"]["reason"] == "removed"
view = bob.command("live_get", **named)
assert (view["state"], view["reason"]) == ("over", "removed"), view
ann.wait("liveListener", lambda event: event["status"] == "refused" and event["joined"] == 0)

ann.ask("live_stop", **named)
transcripts = ann.ask("live_transcripts", **named)["transcripts"]
assert len(transcripts) == 1 and transcripts[0]["lines"] >= 2, transcripts
content = {"contentId": transcripts[0]["contentId"], **named}
share = ann.ask("live_share", expiresInSeconds=3600, **content)
assert "/transcript/" + share["shareId"] + "#" in share["link"], share
ann.ask("live_unshare", shareId=share["shareId"], **named)
ann.ask("live_forget", **content)
assert ann.ask("live_update", title="Another talk", newLink=True, **named)["conversation"]["link"] != own["link"]
assert bob.refused("live_look", link=own["link"]) == "notFound"
ann.ask("live_delete", **named)
assert ann.command("live_known")["own"] == []
ann.end()
bob.end()
print(json.dumps({"lines": len(heard)}))
