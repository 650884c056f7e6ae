"""Two cores in two processes exchange files through a cluster. Each is killed while its file is on the way.

Prints one JSON object: bytes of the file, and how often a process was killed in the middle.
"""

import json
import os
import pathlib

from peers import Peer, befriend, folder

SIZE = 5_000_000

ann, bob = Peer("ann"), Peer("bob")
ann_id, bob_id = befriend(ann, bob)
here = pathlib.Path(folder)
plain = os.urandom(SIZE)
(here / "plain").write_bytes(plain)
middle = 0


def check_secrecy():
    """Nothing but the host's own files has plain bytes."""
    for path in here.rglob("*"):
        if path.is_file() and path.name not in ("plain", "target"):
            content = path.read_bytes()
            assert not any(plain[place:place + 32] in content for place in (0, SIZE // 2, SIZE - 32)), path


message = ann.command("attachment_send", chat=bob_id, path=str(here / "plain"), name="a.bin")["message"]
assert message["attachment"]["state"] == "waiting", message
# From here on the sealed copy is all that the sender has.
(here / "plain").unlink()
ann.wait("fileProgress")
ann.kill()
check_secrecy()
if not [event for event in ann.events["messageChanged"].queue if event["event"]["message"]["state"] == "sent"]:
    middle += 1
ann.start()
ann.online()
came = bob.wait("messageReceived")["event"]["message"]
assert came["attachment"]["size"] == SIZE and came["attachment"]["name"] == "a.bin", came
assert came["attachment"]["state"] == "offered", came

target = here / "target"
bob.command("attachment_get", messageId=came["messageId"], **{"from": ann_id}, to=str(target))
bob.wait("fileProgress")
bob.kill()
check_secrecy()
if not target.exists():
    middle += 1
bob.start()
bob.online()


def stands():
    return bob.command("message_info", messageId=came["messageId"], **{"from": ann_id})["message"]["attachment"]["state"]


while stands() != "complete":
    bob.wait("messageChanged", lambda event: event["message"]["messageId"] == came["messageId"])
assert target.read_bytes() == plain, "the file is another"
check_secrecy()
ann.end()
bob.end()
print(json.dumps({"bytes": SIZE, "middle": middle}))
