"""Two cores in two processes talk through a cluster. One of them is killed in the middle, again and again.

Prints one JSON object: how much was sent, how often an event came again.
"""

import json
import uuid

from peers import Peer, befriend

MESSAGES = 60
KILLS = 3

ann, bob = Peer("ann"), Peer("bob")
ann_id, bob_id = befriend(ann, bob)

sent = []
for number in range(MESSAGES):
    client_id = str(uuid.uuid4())
    # Each command is given twice, as by a host that has lost the answer.
    for _ in range(2):
        message = ann.command("message_send", to=bob_id, text=f"message {number}", clientId=client_id)["message"]
    assert message["messageId"] == client_id
    sent.append(client_id)

# Bob's host is killed before it has acknowledged what it has read.
came, by_seq, again = [], {}, 0
for life in range(KILLS + 1):
    wanted = MESSAGES * (life + 1) // (KILLS + 1)
    seen = set()
    while len(came) < wanted:
        envelope = bob.wait("messageReceived")
        seq, identity = envelope["seq"], envelope["event"]["message"]["messageId"]
        assert seq not in seen, "twice in one life"
        seen.add(seq)
        if seq in by_seq:
            assert by_seq[seq] == identity, "another event under the same number"
            again += 1
            continue
        by_seq[seq] = identity
        came.append(identity)
    if life < KILLS:
        # A part of what came is acknowledged, the rest comes again.
        numbers = sorted(by_seq)
        bob.command("events_ack", consumer="test", seq=numbers[len(numbers) // 2])
        bob.kill()
        bob.start()
        bob.online()

assert came == sent, "lost, doubled or out of order"
chat = bob.command("chat_get", chat=ann_id, limit=200)["messages"]
assert [message["messageId"] for message in chat] == sent, "the chat is another"
bob.command("events_ack", consumer="test", seq=max(by_seq))
bob.command("message_send", to=ann_id, text="all of them")
reply = ann.wait("messageReceived")["event"]["message"]
assert reply["text"] == "all of them" and reply["chat"] == bob_id, reply
while ann.command("message_info", messageId=sent[-1])["message"]["state"] != "delivered":
    ann.wait("messageChanged")
ann.end()
bob.end()
print(json.dumps({"sent": len(sent), "again": again}))
