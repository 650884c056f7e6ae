"""Sends each line of standard input to a conversation, and ends when the last one is at the server.

    tail -F /var/log/errors | python3 alert.py $XDG_RUNTIME_DIR/whisper/socket WSP-AAAA-AAAA-AAAA
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from whispercore import Daemon  # noqa: E402

# Characters of a message. The rest of a longer line is left out.
CHARACTERS_MAX = 2_000
WAITING = ("queued", "sending")

path, chat = sys.argv[1:]
with Daemon(path) as daemon:
    daemon.send("events_subscribe", consumer="alert")
    daemon.send("connect")
    sent = []
    for line in sys.stdin:
        if line.strip():
            message = daemon.send("message_send", to=chat, text=line.strip()[:CHARACTERS_MAX])["message"]
            sent.append(message["messageId"])
        # Nobody else reads the events.
        while event := daemon.receive(0):
            if "seq" in event:
                daemon.send("events_ack", consumer="alert", seq=event["seq"])
    # Messages go out in their order.
    while sent and daemon.query("message_info", messageId=sent[-1])["message"]["state"] in WAITING:
        event = daemon.receive()
        if event and "seq" in event:
            daemon.send("events_ack", consumer="alert", seq=event["seq"])
    daemon.send("events_unsubscribe", consumer="alert")
