"""Three cores in one process, in a group of a real cluster.

Prints one JSON object: how many copies the first message had.
"""

import json

from persons import Person, whispercore

ann, bob, carol = Person("ann"), Person("bob"), Person("carol")
group = ann.ask("group_create", title="Hiking", members=[bob.id, carol.id])["group"]["groupId"]
for person in (bob, carol):
    event = person.wait("groupChanged")
    # The list that is asked for after a login may say so before the event, and names nobody.
    assert event.get("actor", ann.id) == ann.id and event["group"]["members"] == 3, event

# Nobody is anybody's contact: keys are asked for when something goes to somebody.
first = ann.core.send("message_send", to=group, text="to all")["message"]["messageId"]
for person in (bob, carol):
    message = person.wait("messageReceived")["message"]
    assert message["messageId"] == first and message["groupId"] == group, message
    assert person.core.query("request_list")["contacts"] == []
    person.core.send("chat_read", chat=group, upTo=1_000)
ann.wait("messageChanged", lambda event: event["message"].get("state") == "read")
copies = ann.core.query("message_info", messageId=first)["members"]
assert {copy["whisperId"]: copy["state"] for copy in copies} == {bob.id: "read", carol.id: "read"}, copies

bob.core.send("message_send", to=group, text="an answer", replyTo=first, replyFrom=ann.id)
for person in (ann, carol):
    message = person.wait("messageReceived")["message"]
    assert message["replyTo"] == first and message["replyFrom"] == ann.id, message
ann.core.send("message_edit", messageId=first, text="to all of you")
carol.wait("messageChanged", lambda event: event["message"].get("text") == "to all of you")
carol.core.send("message_react", chat=group, messageId=first, **{"from": ann.id}, reaction="+")
bob.wait("messageChanged", lambda event: "reactions" in event["message"])

# A member who is away gets its copy later. Ann's core is opened anew with the copy unsent.
ann.core.send("disconnect")
later = ann.core.send("message_send", to=group, text="later")["message"]["messageId"]
ann.core.close()
ann.open()
for person in (bob, carol):
    person.wait("messageReceived", lambda event: event["message"]["messageId"] == later)

ann.ask("group_update", groupId=group, title="Walking", remove=[carol.id])
assert not carol.wait("groupChanged", lambda event: event["removed"])["group"]["isMember"]
try:
    carol.core.send("message_send", to=group, text="x")
    raise AssertionError("somebody who was removed writes")
except whispercore.CoreError as error:
    assert error.code == "notMember", error
bob.ask("group_leave", groupId=group)
ann.wait("groupChanged", lambda event: event["group"]["members"] == 1)
chats = ann.core.query("chat_list")["chats"]
assert chats[0]["chat"] == group and chats[0]["name"] == "Walking", chats
for person in (ann, bob, carol):
    person.core.close()
print(json.dumps({"copies": len(copies)}))
