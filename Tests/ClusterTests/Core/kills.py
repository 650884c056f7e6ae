"""Processes with a core are killed at random moments, KILLS times for each kind of KINDS. Nothing may be lost or doubled.

Prints one JSON object: of each kind how often a process was killed, and how often in the middle of what it did.
"""

import json
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import time
import uuid

import peers
from peers import Peer, befriend, folder, library, server

sys.path.insert(0, str(peers.here.parents[2] / "Clients" / "Python"))
import whispercore  # noqa: E402

KILLS = int(os.environ.get("KILLS", "3"))
KINDS = os.environ.get("KINDS", "send receive files queue migrate seal rekey export import").split()
SEED = int(os.environ.get("SEED", "1"))
FILE_BYTES = 1_500_000
PAGE = 200
# What the server takes of one person at once, and in a second. Whoever sends more is refused until the attempts are used up.
BURST, RATE = 100, 2

chance = random.Random(SEED)
files = pathlib.Path(folder)
counts = {kind: {"kills": 0, "middle": 0} for kind in KINDS}
loaded = whispercore.Library(library)


def count(kind, is_middle):
    counts[kind]["kills"] += 1
    counts[kind]["middle"] += bool(is_middle)


def pause(longest):
    """The random moment."""
    time.sleep(chance.random() * longest)


# With a server.


def sent_and_received(sender_dies):
    """One of two is killed again and again. Each message arrives once, in its order, and is told under one number."""
    kind = "send" if sender_dies else "receive"
    ann, bob = Peer(f"ann-{kind}"), Peer(f"bob-{kind}")
    ann_id, bob_id = befriend(ann, bob)
    victim = ann if sender_dies else bob
    sent, told, acknowledged = [], {}, 0

    def hear():
        """What bob's host was told since it was started."""
        queue = bob.events["messageReceived"]
        while not queue.empty():
            envelope = queue.get()
            seq, text = envelope["seq"], envelope["event"]["message"]["text"]
            assert told.setdefault(seq, text) == text, "another event under the same number"
            assert seq > acknowledged, "an event that was acknowledged came again"

    begun = time.monotonic()
    while counts[kind]["kills"] < KILLS:
        time.sleep(max(0, begun + (len(sent) - BURST) / RATE - time.monotonic()))
        for number in range(len(sent), len(sent) + chance.randrange(1, 12)):
            sent.append((str(uuid.uuid4()), f"message {number}"))
            ann.command("message_send", to=bob_id, text=sent[-1][1], clientId=sent[-1][0])
        if sender_dies:
            # Nobody hears whether the last one was taken.
            sent.append((str(uuid.uuid4()), f"message {len(sent)}"))
            ann.process.stdin.write(
                "message_send " + json.dumps({"to": bob_id, "text": sent[-1][1], "clientId": sent[-1][0]}) + "\n")
            ann.process.stdin.flush()
        pause(chance.choice((0.01, 0.1, 0.4)))
        if not sender_dies:
            hear()
            if told and chance.random() < 0.5:
                acknowledged = max(told)
                bob.command("events_ack", consumer="test", seq=acknowledged)
        victim.kill()
        hear()
        victim.start()
        # Something was under way: to the server, or from there to the host.
        count(kind, ann.command("store_info")["unsettled"] if sender_dies else len(told) < len(sent))
        if chance.random() < 0.7:
            victim.online()
        if sender_dies:
            ann.command("message_send", to=bob_id, text=sent[-1][1], clientId=sent[-1][0])
    deadline = time.monotonic() + peers.PATIENCE
    while len(told) < len(sent):
        assert time.monotonic() < deadline, missing(sent, told, ann)
        time.sleep(0.05)
        hear()
    wanted = [text for _, text in sent]
    assert [told[seq] for seq in sorted(told)] == wanted, "lost, doubled or out of order"
    assert texts(bob.command, ann_id) == wanted, "the chat of the reader is another"
    assert texts(ann.command, bob_id) == wanted, "the chat of the writer is another"
    ann.end()
    bob.end()


def missing(sent, told, writer):
    """How messages stand that have not come."""
    come = set(told.values())
    infos = [writer.command("message_info", messageId=identity)["message"] for identity, text in sent if text not in come]
    return [(info["text"], info["state"], info.get("reason")) for info in infos]


def files_of_both():
    """The sender is killed while a file goes up, the reader while it comes down."""
    ann, bob = Peer("ann-files"), Peer("bob-files")
    ann_id, bob_id = befriend(ann, bob)
    source, target = files / "source", files / "target"
    while counts["files"]["kills"] < KILLS:
        content = os.urandom(chance.randrange(1, FILE_BYTES))
        source.write_bytes(content)
        target.unlink(missing_ok=True)
        message = ann.command("attachment_send", chat=bob_id, path=str(source))["message"]["messageId"]
        source.unlink()
        pause(0.2)
        ann.kill()
        count("files", not any(
            event["event"]["message"]["messageId"] == message and event["event"]["message"]["state"] == "sent"
            for event in list(ann.events["messageChanged"].queue)))
        ann.start()
        bob.wait("messageReceived", lambda event: event["message"]["messageId"] == message)
        bob.command("attachment_get", messageId=message, **{"from": ann_id}, to=str(target))
        pause(0.2)
        bob.kill()
        count("files", not target.exists())
        bob.start()
        deadline = time.monotonic() + peers.PATIENCE
        while True:
            state = bob.command("message_info", messageId=message, **{"from": ann_id})["message"]["attachment"]["state"]
            if state == "complete":
                break
            assert state == "waiting" and time.monotonic() < deadline, state
            time.sleep(0.05)
        assert target.read_bytes() == content, "the file is another"
    # They go once the message says that its file is complete.
    deadline = time.monotonic() + peers.PATIENCE
    while any(list((files / name / "files").glob("*")) for name in ("ann-files", "bob-files")):
        assert time.monotonic() < deadline, "sealed files were left"
        time.sleep(0.05)
    ann.end()
    bob.end()


def texts(command, chat):
    """All texts of a chat, the oldest first."""
    found, after = [], 0
    while True:
        page = command("chat_get", chat=chat, after=after, limit=PAGE)["messages"]
        if not page:
            return found
        found += [message["text"] for message in page]
        after = page[-1]["number"]


# Without a server: what is done to a store.


class Stores:
    """Copies of one identity with a chat."""

    def __init__(self, messages=300):
        ann, bob = Peer("ann-stores"), Peer("bob-stores")
        _, self.chat = befriend(ann, bob)
        for number in range(messages):
            ann.command("message_send", to=self.chat, text=f"message {number}")
        ann.end()
        bob.end()
        self.folder = files / "ann-stores"
        self.texts = self.read(self.config(self.folder), None)
        assert len(self.texts) == messages

    def config(self, path):
        return {"dir": str(path), "serverUrl": server}

    def read(self, config, key):
        """All texts. The store is whole."""
        with whispercore.Core(loaded, config, key=key) as core:
            assert core.query("store_check")["isWhole"], "the store is not whole"
            return texts(core.query, self.chat)

    def check(self, config, keys, more=()):
        """Returns the one of the keys that opens the store, in which everything is."""
        for key in keys:
            try:
                found = self.read(config, key)
            except whispercore.CoreError as error:
                assert error.code == "wrongKey", error
                continue
            assert found == self.texts + list(more), "the chat is another"
            return key
        raise AssertionError("no key opens the store")

    def copy(self, name, source=None):
        shutil.rmtree(files / name, ignore_errors=True)
        shutil.copytree(source or self.folder, files / name)
        return self.config(files / name)


def killed(kind, longest, **thing):
    """Lets a process do something, and kills it. Returns the words that it said, and for how long it worked."""
    thing["keys"] = [key.hex() if key else "" for key in thing["keys"]]
    process = subprocess.Popen(
        [sys.executable, str(peers.here / "victim.py"), library, json.dumps({"kind": kind, **thing})],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "begin\n", kind
    begun = time.monotonic()
    if longest is None:
        for line in process.stdout:
            if line == "end\n":
                break
        longest = time.monotonic() - begun
        process.kill()
        process.communicate()
        return ["end"], longest
    pause(longest * 1.2)
    process.kill()
    # A line that is not whole was not said. `communicate` would not see what the line before has brought into the buffer.
    words = process.stdout.read().split("\n")[:-1]
    process.communicate()
    assert process.returncode == -9, (kind, process.returncode)
    return words, longest


def repeat(kind, prepare, check):
    """prepare gives what is done; check looks at what is left, with the words that were said."""
    _, longest = killed(kind, None, **prepare())
    check(["end"])
    while counts[kind]["kills"] < KILLS:
        words, _ = killed(kind, longest, **prepare())
        count(kind, "end" not in words)
        check(words)


def queue(stores):
    config, more = stores.copy("queue"), []

    def prepare():
        return {"keys": [None], "config": config, "to": stores.chat, "first": len(more), "count": 20}

    def check(words):
        found = stores.read(config, None)[len(stores.texts):]
        # What was answered is there, and at most one that was not.
        answered = [word for word in words if word.isdigit()]
        if words != ["end"]:
            assert len(more) + len(answered) <= len(found) <= len(more) + len(answered) + 1, (len(found), words)
        assert found == [f"queued {number}" for number in range(len(found))], "lost or doubled"
        more[:] = found

    repeat("queue", prepare, check)


def migrate(stores):
    """A store of the release before the last migration."""
    def prepare():
        config = stores.copy("migrate")
        path = files / "migrate" / "whisper.sqlite"
        store = sqlite3.connect(path)
        migration, step = store.execute("SELECT migration, sql FROM down_steps ORDER BY number DESC LIMIT 1").fetchone()
        # This SQLite lacks our tokenizer: it changes no table with a trigger that needs it.
        triggers = store.execute(
            "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND sql LIKE '%messages_fts%'").fetchall()
        for name, _ in triggers:
            store.execute(f"DROP TRIGGER {name}")
        store.executescript(step)
        for _, sql in triggers:
            store.execute(sql)
        store.execute("DELETE FROM grdb_migrations WHERE identifier = ?", (migration,))
        store.execute("DELETE FROM down_steps WHERE migration = ?", (migration,))
        store.commit()
        store.close()
        return {"keys": [None], "config": config}

    def check(words):
        stores.check(stores.config(files / "migrate"), [None])

    repeat("migrate", prepare, check)


def seal(stores):
    key = os.urandom(32)

    def check(words):
        config = stores.config(files / "seal")
        stores.check(config, [key])
        for path in (files / "seal").rglob("*"):
            assert not path.is_file() or b"message 2" not in path.read_bytes(), path

    repeat("seal", lambda: {"keys": [key], "config": stores.copy("seal")}, check)


def sealed(stores, name):
    """A sealed copy."""
    config, key = stores.copy(name), os.urandom(32)
    stores.check(config, [key])
    return config, key


def rekey(stores):
    config, key = sealed(stores, "rekey")
    keys = [key, os.urandom(32)]

    def check(words):
        found = stores.check(config, keys)
        assert "end" not in words or found == keys[1], "the new key was confirmed, and the old one opens"
        keys[:] = [found, os.urandom(32)]

    repeat("rekey", lambda: {"keys": keys, "config": config}, check)


def export(stores):
    config, key = sealed(stores, "export")
    other, path = os.urandom(32), files / "export.file"

    def prepare():
        path.unlink(missing_ok=True)
        return {"keys": [key, other], "config": config, "path": str(path)}

    def check(words):
        stores.check(config, [key])
        assert "end" not in words or path.exists(), "the export was confirmed, and is not there"
        if path.exists():
            shutil.rmtree(files / "exported", ignore_errors=True)
            loaded.import_(str(path), stores.config(files / "exported"), other)
            stores.check(stores.config(files / "exported"), [other])

    repeat("export", prepare, check)


def import_(stores):
    config, key = sealed(stores, "import-source")
    path, target = files / "import.file", stores.config(files / "import")
    with whispercore.Core(loaded, config, key=key) as core:
        core.export(str(path), key)

    def prepare():
        shutil.rmtree(files / "import", ignore_errors=True)
        return {"keys": [key], "config": target, "path": str(path)}

    def check(words):
        # All of it or nothing; and nothing stands in the way of another attempt.
        try:
            loaded.import_(str(path), target, key)
            assert "end" not in words, "the import was confirmed, and is not there"
        except whispercore.CoreError as error:
            assert error.code == "identityExists", error
        stores.check(target, [key])

    repeat("import", prepare, check)


if "send" in KINDS:
    sent_and_received(sender_dies=True)
if "receive" in KINDS:
    sent_and_received(sender_dies=False)
if "files" in KINDS:
    files_of_both()
local = {"queue": queue, "migrate": migrate, "seal": seal, "rekey": rekey, "export": export, "import": import_}
if set(local) & set(KINDS):
    stores = Stores()
    for kind, play in local.items():
        if kind in KINDS:
            play(stores)
print(json.dumps(counts))
