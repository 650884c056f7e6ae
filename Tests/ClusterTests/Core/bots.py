"""A daemon and its bots, and friends who talk to them through a cluster. Daemon and bots are killed with events in hand.

Prints one JSON object: how often an event came again, how many texts were echoed, how many lines were sent as alerts.
"""

import atexit
import json
import os
import pathlib
import signal
import stat
import subprocess
import sys

from peers import PATIENCE, Peer, folder, library, server

root = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(root / "Clients" / "Python"))

import whisperbot  # noqa: E402
import whispercore  # noqa: E402
import whisperdaemon  # noqa: E402

KILLS = 2
ECHOES = 20
KEY = pathlib.Path(folder) / "key"
KEY.touch(0o600)
KEY.write_bytes(os.urandom(32))
PLAIN = [str(pathlib.Path(library).parent / "whisper"), "daemon", "--profile", "bot", "--server", server]
WHISPER = [*PLAIN, "--key-file", str(KEY)]
ENVIRONMENT = {**os.environ, "WHISPER_HOME": f"{folder}/home"}
path = f"{folder}/run/socket"


def hangs(*_):
    raise TimeoutError("a bot hangs")


def started(command, **options):
    process = subprocess.Popen(command, env=ENVIRONMENT, stderr=subprocess.PIPE, text=True, **options)
    # However this ends.
    atexit.register(process.kill)
    return process


def daemon():
    return started([*WHISPER, "--socket", path], stdin=subprocess.DEVNULL)


def bot(name, *words):
    return started([sys.executable, str(root / "Clients" / "Python" / "examples" / name), path, *words], stdin=subprocess.PIPE)


def killed(process):
    process.kill()
    process.wait(timeout=PATIENCE)


def received(peer, chat):
    messages = peer.command("chat_get", chat=chat, limit=200)["messages"]
    return [message["text"] for message in messages if message["direction"] == "in"]


class Witness(whisperbot.Bot):
    """Notes what it serves."""

    numbers = []

    def serve(self, event):
        if event["event"]["type"] == "messageReceived":
            self.numbers.append(event["seq"])
        super().serve(event)


signal.signal(signal.SIGALRM, hangs)
signal.alarm(3 * PATIENCE)
# A daemon makes the identity. It is the only one of its profile, and serves several programs.
process = daemon()
with whisperdaemon.Daemon(path, timeout=PATIENCE, wait=PATIENCE) as core:
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    core.send("identity_create")
    core.send("events_subscribe", consumer="echo")
    core.send("connect")
    while (event := core.receive(PATIENCE)["event"])["type"] != "connection" or event["state"] != "online":
        pass
    bot_id = core.query("identity_show")["whisperId"]
    second = subprocess.run([*WHISPER, "--socket", f"{path}2"], env=ENVIRONMENT, capture_output=True, timeout=PATIENCE)
    assert second.returncode != 0 and not os.path.exists(f"{path}2"), second
    # Another program is served beside the first, but not for the same consumer.
    with whisperdaemon.Daemon(path, timeout=PATIENCE) as other:
        assert other.query("identity_show")["whisperId"] == bot_id
        try:
            other.send("events_subscribe", consumer="echo")
            raise AssertionError("two programs read for one consumer")
        except whispercore.CoreError as error:
            assert error.code == "busyReader", error
        # What the first asks the server is not answered to the second, and both hear of a change.
        other.send("events_subscribe", consumer="other")
        for title in ("one", "two"):
            core.ask("group_create", title=title, members=[])
        heard = []
        while heard.count("groupChanged") < 2:
            heard.append(other.receive(PATIENCE)["event"]["type"])
        assert "answer" not in heard, heard
        other.send("events_unsubscribe", consumer="other")
    assert core.query("identity_show")["whisperId"] == bot_id

ann = Peer("ann")
ann_id = ann.online()
ann.ask("contact_add", whisperId=bot_id)

# The daemon dies between an event and its acknowledgement, when the reply is queued already.
ann.command("message_send", to=bot_id, text="hello")
for life in range(KILLS + 1):
    with whisperdaemon.Daemon(path, timeout=PATIENCE, wait=PATIENCE) as core:
        witness = Witness(core, "echo")

        @witness.on("messageReceived")
        def answer(event):
            # Another text each time, as of a bot that tells the time. The first one counts.
            witness.reply(event["message"], f"answer {life}")
            if life < KILLS:
                killed(process)

        @witness.on("messageChanged")
        def leave(event):
            if life == KILLS and event["message"]["state"] == "delivered":
                core.close()

        witness.run()
    if life < KILLS:
        process = daemon()
assert len(Witness.numbers) == KILLS + 1 and len(set(Witness.numbers)) == 1, Witness.numbers
ann.wait("messageReceived", lambda event: event["message"]["text"] == "answer 0")
assert received(ann, bot_id) == ["answer 0"], received(ann, bot_id)

# A bot dies, and its daemon goes on.
echo = bot("echo.py")
for number in range(ECHOES):
    ann.command("message_send", to=bot_id, text=f"text {number}")
    if number in (ECHOES // 3, ECHOES // 2):
        ann.wait("messageReceived", lambda event: event["message"]["text"] == f"text {number // 2}")
        killed(echo)
        ann.command("message_send", to=bot_id, text="while you were away")
        echo = bot("echo.py")
ann.command("message_send", to=bot_id, text="/time")
ann.wait("messageReceived", lambda event: event["message"]["text"].endswith("UTC"))
echoed = received(ann, bot_id)[1:-1]
texts = [text for text in echoed if text != "while you were away"]
assert texts == [f"text {number}" for number in range(ECHOES)], echoed
assert len(echoed) == ECHOES + 2, echoed
killed(echo)

alert = bot("alert.py", ann_id)
alert.communicate("the disk is full\n\nthe disk is fuller\n", timeout=PATIENCE)
assert alert.returncode == 0
ann.wait("messageReceived", lambda event: event["message"]["text"] == "the disk is fuller")
alerts = received(ann, bot_id)[ECHOES + 4:]
assert alerts == ["the disk is full", "the disk is fuller"], alerts

# A bot that owns a group removes who says the word.
carol = Peer("carol")
carol_id = carol.online()
with whisperdaemon.Daemon(path, timeout=PATIENCE) as core:
    # What the bots have done does not come again.
    assert core.send("events_subscribe", consumer="echo")["acked"] > Witness.numbers[0] + ECHOES
    # The bot begins here, however long it takes to start.
    core.send("events_subscribe", consumer="moderator")
    group = core.ask("group_create", title="Hiking", members=[ann_id, carol_id])["group"]["groupId"]
moderator = bot("moderator.py", "spam", "scam")
for peer in (ann, carol):
    peer.wait("groupChanged")
ann.command("message_send", to=group, text="No spammers here.")
carol.command("message_send", to=group, text="Buy SPAM!")
ann.wait("groupChanged", lambda event: event.get("removed") == [carol_id])
assert not carol.wait("groupChanged", lambda event: event["removed"])["event"]["group"]["isMember"]
ann.wait("messageReceived", lambda event: event["message"]["text"].startswith("A member was removed"))
killed(moderator)



def whisper(command, *words):
    return subprocess.run(
        [WHISPER[0], command, "--profile", "bot", *words], env=ENVIRONMENT, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=PATIENCE)


# Other commands of the profile go through the daemon, which alone has the key.
done = whisper("do", "identity_show")
assert done.returncode == 0 and json.loads(done.stdout)["whisperId"] == bot_id, done
done = whisper("do", "contact_add", json.dumps({"whisperId": ann_id}))
assert done.returncode == 0 and json.loads(done.stdout)["type"] == "contact", done
done = whisper("do", "message_send", "{}")
assert done.returncode == 64 and json.loads(done.stderr)["code"] == "invalidField", done
done = whisper("send", "--until", "delivered", ann_id, "from", "cron")
assert done.returncode == 0 and "delivered" in done.stdout, done
ann.wait("messageReceived", lambda event: event["message"]["text"] == "from cron")



def says(command, *words, input=None):
    """What a command prints that must succeed."""
    done = subprocess.run(
        [WHISPER[0], *command.split(), "--profile", "bot", *words], env=ENVIRONMENT, capture_output=True, text=True,
        input=input or "", timeout=PATIENCE)
    assert done.returncode == 0, (command, done)
    return done.stdout


class Running:
    """A command that keeps something open beside the daemon."""

    def __init__(self, command, *words):
        self.lines = []
        self.process = subprocess.Popen(
            [WHISPER[0], *command.split(), "--profile", "bot", *words], env=ENVIRONMENT, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        atexit.register(self.process.kill)

    def types(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def shows(self, text):
        """Waits for a line that has this text."""
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))
            if text in line:
                return self.lines[-1]
        raise AssertionError((text, self.lines))

    def ends(self, status=0):
        """Its input ends, or it ends by itself."""
        rest, _ = self.process.communicate(timeout=PATIENCE)
        assert self.process.returncode == status, (self.process.returncode, self.lines, rest)
        return rest

    def interrupted(self):
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(timeout=PATIENCE) == 0, self.lines


assert says("id").strip() == bot_id
assert f"Added {carol_id}" in says("add", carol_id)
named = says("add", ann_id, "ann")
assert "Added ann." in named, named
contacts = says("contacts")
assert "ann" in contacts and carol_id in contacts, contacts
says("inbox")
news = ann.command("message_send", to=bot_id, text="read me")["message"]["messageId"]
ann.wait("messageChanged", lambda event: event["message"]["messageId"] == news and event["message"]["state"] == "delivered")
assert "1 unread" in says("contacts")
for words in (["--peek"], ["--peek"], []):
    shown = says("inbox", *words)
    assert "read me" in shown and "away" not in shown, shown
assert says("inbox") == "Nothing new.\n"
# It is read for everybody, the sender too.
ann.wait("messageChanged", lambda event: event["message"]["messageId"] == news and event["message"]["state"] == "read")
chat = says("chat", "--linger", "5", "ann", input="by chat\nand again\n")
assert "● online" in chat and "by chat ✓" in chat, chat
for text in ("by chat", "and again"):
    ann.wait("messageReceived", lambda event: event["message"]["text"] == text)
assert "Nothing was given up." in says("retry", "ann")
assert "Nothing was waiting." in says("cancel", "ann")
assert "You have no conversation." in says("conversation list")
assert "You have a seat in no room." in says("room list")
# It listens to ann, and leaves with Ctrl-C.
talk = ann.command("live_create", name="talk", title="A talk", whisperer="Ann")["conversation"]
named = {"conversationId": talk["conversationId"]}
ann.command("live_start", **named)
ann.wait("liveStarted")
listening = Running("listen", talk["link"], "--name", "Bot")
listening.shows("A talk, whispered by Ann. Lines are not kept.")
assert ann.wait("liveKnocked")["event"]["listener"] == bot_id
ann.command("live_accept", listener=bot_id, **named)
listening.shows("● Connected.")
ann.wait("liveListener", lambda event: event["status"] == "joined")
ann.command("live_type", text="one\ntwo\n", **named)
listening.shows("two")
assert listening.lines[-2:] == ["one", "two"], listening.lines
# A second command is told, and the first goes on.
second = Running("listen", "a TALK", "--name", "Bot")
assert "Another program of this profile listens" in second.ends(status=1)
ann.command("live_type", text="three\n", **named)
listening.shows("three")
listening.interrupted()
ann.wait("liveListener", lambda event: event["status"] == "left")
# Whoever is killed has left as well.
listening = Running("listen", talk["link"], "--name", "Bot")
listening.shows("● Connected.")
killed(listening.process)
ann.wait("liveListener", lambda event: event["status"] == "left")
ended = Running("listen", talk["link"], "--name", "Bot", "--once")
ended.shows("● Connected.")
ann.ask("live_stop", **named)
ended.ends()
# It whispers, and ann listens. What is typed last arrives.
whispering = Running("whisper", "news", "--admission", "link", "--as", "Bot")
link = whispering.shows("/listen/")
news = {"conversationId": ann.ask("live_listen", link=link, name="Ann")["conversationId"]}
ann.wait("liveJoined", lambda event: event["state"] == "live")
whispering.shows("+ Ann listens (1 listens).")
whispering.types("hello\n//who\n/who")
assert ann_id in whispering.shows("● Ann (")
second = Running("whisper", "news")
assert "Another program of this profile whispers" in second.ends(status=1)
whispering.types("good bye")
whispering.ends()
heard = [ann.wait("liveLine")["event"]["text"] for _ in range(3)]
assert heard == ["hello", "/who", "good bye"], heard
ann.wait("liveState", lambda event: event["state"] == "ended")
for end in (Running.interrupted, lambda command: killed(command.process)):
    whispering = Running("whisper", "news")
    assert whispering.shows("/listen/") == link
    whispering.types("again")
    ann.wait("liveLine", lambda event: event["text"] == "again")
    end(whispering)
    ann.wait("liveState", lambda event: event["state"] == "ended")
# It opens a room, and ann comes in.
room = Running("room create")
room_id = room.shows("Room: ").removeprefix("Room: ")
ann.ask("room_join", code=room.shows("Code: ").removeprefix("Code: "))
room.shows(f"+ {ann_id} has come in.")
room.shows(f"Safety number with {ann_id}")
second = Running("room join", room_id)
assert "Another program of this profile is in this room" in second.ends(status=1)
room.interrupted()
ann.wait("roomEvent", lambda event: (event["roomId"], event["event"], event["participant"]) == (room_id, "left", bot_id))
# It comes into a room of hers, with a stack that this script plays.
hers = ann.ask("room_create")["room"]
named = {"roomId": hers["roomId"], "to": bot_id}
stack = Running("room join", hers["code"], "--signals")
offer = ann.wait("roomSignal", lambda event: event["kind"] == "offer")["event"]
ann.command("room_signal", kind="offer", sdp="v=0 of ann", link=offer["link"], **named)
accept = json.loads(stack.shows('"type":"accept"'))
assert (accept["peer"], accept["sdp"], accept["isFresh"]) == (ann_id, "v=0 of ann", True), accept
answer = {"type": "answer", "peer": ann_id, "link": accept["link"], "sdp": "v=0 of bot"}
stack.types(json.dumps(answer))
assert ann.wait("roomSignal", lambda event: event["kind"] == "answer")["event"]["sdp"] == "v=0 of bot"
stack.types("{}")
stack.shows("a line is not understood")
stack.types(json.dumps({**answer, "sdp": ""}))
stack.shows("a report is not taken")
stack.types(json.dumps({"type": "connected", "peer": ann_id, "link": accept["link"]}))
shown = json.loads(stack.shows('"isLinked":true'))
assert shown["roomId"] == hers["roomId"] and shown["turn"]["urls"], shown
stack.ends()
ann.wait("roomEvent", lambda event: (event["roomId"], event["event"]) == (hers["roomId"], "left"))

# The daemon ends when it is asked to, says nothing of what it has seen, and takes its socket away.
process.terminate()
_, said = process.communicate(timeout=PATIENCE)
assert process.returncode == 0 and said == "", (process.returncode, said)
assert not os.path.exists(path) and not os.path.exists(f"{folder}/home/.bot.socket")
done = whisper("do", "identity_show")
assert done.returncode == 77, done
lines = subprocess.run(
    WHISPER, env=ENVIRONMENT, input='{"jsonrpc":"2.0","id":"a","method":"identity_show"}', stdout=subprocess.PIPE,
    text=True, timeout=PATIENCE, check=True).stdout.splitlines()
assert [json.loads(line) for line in lines][0]["result"]["whisperId"] == bot_id and len(lines) == 1, lines
sealed = subprocess.run(PLAIN, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE)
assert sealed.returncode != 0 and "sealed" in sealed.stderr, sealed
description = subprocess.run([*WHISPER, "--openrpc"], env=ENVIRONMENT, stdout=subprocess.PIPE, timeout=PATIENCE, check=True)
assert json.loads(description.stdout)["openrpc"]
ann.end()
carol.end()
print(json.dumps({"again": len(Witness.numbers) - 1, "echoed": len(texts), "alerts": len(alerts)}))
