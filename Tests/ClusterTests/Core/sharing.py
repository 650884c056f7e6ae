"""Four cores in one process share files: between two, in a group, and beyond the quota.

The folder's server lets each identity have QUOTA bytes. Prints one JSON object: files that arrived whole, and sealed bytes
that the store has kept.
"""

import json
import os
import pathlib

from persons import Person, folder

here = pathlib.Path(folder)
QUOTA = 6_000_000
TAG = 16


class Sharer(Person):
    """A person with files."""

    def write(self, name, size):
        """A file of this person's own. Returns its path and what is in it."""
        path, content = here / f"{self.name}-{name}", os.urandom(size)
        path.write_bytes(content)
        return str(path), content

    def becomes(self, message, state):
        """Waits for a state of a message's file."""
        return self.wait(
            "messageChanged",
            lambda event: event["message"]["messageId"] == message
            and event["message"].get("attachment", {}).get("state") == state,
        )["message"]

    def gets(self, author, name):
        """Waits for a message with a file, and downloads it. Returns what is in it, and the message."""
        message = self.wait("messageReceived", lambda event: "attachment" in event["message"])["message"]
        assert message["attachment"]["state"] == "offered" and message["attachment"]["name"] == name, message
        target = here / f"{self.name}-got-{name}"
        self.core.send("attachment_get", messageId=message["messageId"], **{"from": author.id}, to=str(target))
        self.becomes(message["messageId"], "complete")
        return target.read_bytes(), message


ann, bob, carol, dave = Sharer("ann"), Sharer("bob"), Sharer("carol"), Sharer("dave")
ann.ask("contact_add", whisperId=bob.id)
bob.ask("contact_add", whisperId=ann.id)
whole = 0

# Between two, with words and a small picture.
path, plain = ann.write("one.png", 1_000_000)
thumbnail = "AAECAwQ="
ann.core.send(
    "attachment_send", chat=bob.id, path=path, mimeType="image/png", text="the map", thumbnail=thumbnail)
content, message = bob.gets(ann, "ann-one.png")
assert content == plain and message["text"] == "the map", message
assert message["attachment"]["thumbnail"] == thumbnail and message["attachment"]["mimeType"] == "image/png", message
whole += 1

# In a group, uploaded once for all members.
group = ann.ask("group_create", title="Hiking", members=[bob.id, carol.id])["group"]["groupId"]
for person in (bob, carol):
    person.wait("groupChanged")
path, plain = ann.write("two.bin", 4_000_000)
ann.core.send("attachment_send", chat=group, path=path)
for person in (bob, carol):
    content, message = person.gets(ann, "ann-two.bin")
    assert content == plain and message["groupId"] == group, (person.name, message)
    whole += 1

# What does not fit any more is refused by the server, and told.
left = QUOTA - 5_000_000 - 2 * TAG
path, _ = ann.write("three.bin", left - TAG + 1)
refused = ann.core.send("attachment_send", chat=bob.id, path=path)["message"]["messageId"]
failed = ann.becomes(refused, "failed")
assert failed["attachment"]["reason"] == "quota", failed
assert failed["state"] == "failed" and failed["reason"] == "fileNotUploaded", failed
path, plain = ann.write("four.bin", left - TAG)
ann.core.send("attachment_send", chat=bob.id, path=path)
content, message = bob.gets(ann, "ann-four.bin")
assert content == plain and message["messageId"] != refused, message
whole += 1

# Another identity has a quota of its own, and writes to somebody who has not added it.
path, plain = dave.write("five.bin", 1_000)
dave.ask("contact_add", whisperId=carol.id)
dave.core.send("attachment_send", chat=carol.id, path=path)
content, message = carol.gets(dave, "dave-five.bin")
assert content == plain, message
whole += 1
for person in (ann, bob, carol, dave):
    person.core.close()
print(json.dumps({"whole": whole, "bytes": QUOTA + 1_000 + TAG}))
