"""Two people at real terminals: one sends a file by its path, the other one saves it. Then the same beside a daemon, which
also whispers for one of them.

Prints one JSON object: bytes of each saved file.
"""

import atexit
import json
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import termios
import time

program, folder, server = sys.argv[1:]
here = pathlib.Path(folder)
PATIENCE = 60


def whisper(name, *words):
    environment = {**os.environ, "WHISPER_HOME": f"{folder}/home", "TERM": "xterm"}
    return [program, *words, "--profile", name], environment


def says(name, *words):
    command, environment = whisper(name, *words)
    done = subprocess.run(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        timeout=PATIENCE)
    assert done.returncode == 0, (name, words, done.stdout)
    return done.stdout


class Terminal:
    def __init__(self, name, *words):
        command, environment = whisper(name, *words)
        self.name, self.screen, self.all = name, "", ""
        main, other = pty.openpty()
        self.process = subprocess.Popen(
            command, env=environment, stdin=other, stdout=other, stderr=other, cwd=folder, start_new_session=True)
        os.close(other)
        self.main = main

    def types(self, line):
        self.presses(line + "\r")

    def presses(self, keys):
        os.write(self.main, keys.encode())

    def shows(self, text):
        """Waits until the screen has had this text since the last time."""
        deadline = time.monotonic() + PATIENCE
        while text not in self.screen:
            left = deadline - time.monotonic()
            ready, _, _ = select.select([self.main], [], [], max(left, 0))
            assert ready, (self.name, text, self.screen)
            new = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", os.read(self.main, 65_536).decode(errors="replace"))
            self.screen += new
            self.all += new
        self.screen = self.screen.split(text, 1)[1]

    def leaves(self):
        self.types("/quit")
        assert self.process.wait(timeout=PATIENCE) == 0, self.name


ids = {}
for name in ("ann", "bob"):
    said = says(name, "init", "--server", server)
    ids[name] = re.search(r"WSP(-[0-9A-Z]{4}){3}", said).group()
says("ann", "add", ids["bob"], "bob")
says("bob", "add", ids["ann"], "ann")
plain = os.urandom(300_000)


def a_file_goes(name):
    (here / f"{name}.png").write_bytes(plain)
    ann, bob = Terminal("ann", "chat", "bob"), Terminal("bob", "chat", "ann")
    for terminal in (ann, bob):
        terminal.shows("●")
    ann.types(f"/file {name}.png")
    ann.shows(f"[{name}.png, 300 KB")
    bob.shows(f"[{name}.png, 300 KB]")
    bob.types(f"/save got-{name}.png")
    bob.shows(f"{name}.png, 300 KB: saved.")
    assert (here / f"got-{name}.png").read_bytes() == plain, "the file is another"
    return ann, bob


def end(*terminals):
    for terminal in terminals:
        terminal.leaves()


bob = Terminal("bob", "chat", "ann")
bob.shows("●")
bob.types("/save nothing")
bob.shows("There is no file of theirs here.")
bob.types("/file nowhere.png")
bob.shows("There is no file nowhere.png.")
end(bob)
end(*a_file_goes("map"))

# Beside a daemon of one of them the other commands have the profile all the same.
command, environment = whisper("bob", "daemon", "--socket", f"{folder}/run/socket")
daemon = subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL)
atexit.register(daemon.kill)
deadline = time.monotonic() + PATIENCE
while not (os.path.exists(f"{folder}/home/.bob.socket") and os.path.exists(f"{folder}/run/socket")):
    assert time.monotonic() < deadline and daemon.poll() is None, "the daemon does not listen"
    time.sleep(0.05)
says("bob", "do", "connect")
ann, bob = a_file_goes("plan")
ann.types("Is this thing on?")
bob.shows("Is this thing on?")
bob.types("It is.")
ann.shows("It is.")
# What looks like an order is never sent. One press takes one picture.
ann.types("/blokc bob")
ann.shows("There is no order /blokc, and nothing was sent. /help lists the orders")
ann.types("one \U0001f469\u200d\U0001f469\u200d\U0001f467\U0001f1e8\U0001f1ed\x7f\x7f!")
ann.types("//blokc")
bob.shows("/blokc")
# What becomes of a message is drawn where it stands.
chat = json.loads(says("bob", "do", "chat_get", json.dumps({"chat": ids["ann"]})))["messages"]
texts = [message["text"] for message in chat if "text" in message and "attachment" not in message]
assert texts == ["Is this thing on?", "It is.", "one !", "/blokc"], texts
theirs, ours = (next(m["messageId"] for m in chat if m.get("text") == text) for text in texts[:2])
says("bob", "do", "message_react", json.dumps({"messageId": theirs, "chat": ids["ann"], "from": ids["ann"], "reaction": "+1"}))
ann.shows("Is this thing on? [+1]")
says("bob", "do", "message_delete", json.dumps({"messageId": ours}))
ann.shows("(this message was deleted)")
# Another program has the daemon disconnect, and connect again.
says("bob", "do", "disconnect")
bob.shows("Can't reach the server")
says("bob", "do", "connect")
bob.shows("The server is back.")
end(ann)
# Bob whispers through the daemon, key by key, and decides by keys. Ann listens without one.
whispering = Terminal("bob", "whisper", "talk", "--as", "Bob")
whispering.shows("You are live.")
link = json.loads(says("bob", "do", "live_known"))["own"][0]["link"]
# Alone on its line, and nothing inside it.
whispering.shows(f"\r{link}\r\n")
listening = Terminal("ann", "listen", link, "--name", "Ann")
whispering.shows("Ann asks to listen")
whispering.presses("\x19")
whispering.shows("Ann is let in.")
listening.shows("Connected.")
# An order has a row of its own from its first key on, which listeners do not see.
whispering.types("/who")
whispering.shows("Ann (WSP-")
whispering.presses("Is th")
listening.shows("Is th")
whispering.types("is on?")
listening.shows("Is this on?\r\n")
whispering.presses("\x0f")
whispering.types("who")
whispering.shows("Ann (WSP-")
whispering.presses("\x04")
listening.shows("Bob has ended.")
assert whispering.process.wait(timeout=PATIENCE) == 0, whispering.screen
listening.process.send_signal(signal.SIGINT)
assert listening.process.wait(timeout=PATIENCE) == 0, listening.screen
# A passphrase is typed without being shown, at its making and when the words come back.
made = Terminal("cat", "init", "--server", server, "--passphrase")
for prompt in ("A passphrase beside the words: ", "The same once more: "):
    made.shows(prompt)
    made.types("correct horse")
made.shows("Write them down.")
made.shows("Your Whisper ID is ")
made.shows(". Give it")
assert made.process.wait(timeout=PATIENCE) == 0
assert "correct horse" not in made.all, made.all
# They stand in columns, each with its number.
numbered = re.findall(r"(\d+) ([a-z]+)", made.all.split("Write them down.")[1])[:12]
words = " ".join(word for _, word in sorted((int(number), word) for number, word in numbered))
made_id = re.search(r"WSP(-[0-9A-Z]{4}){3}", made.all).group()
back = Terminal("cat-again", "restore", "--server", server)
back.shows("Your twelve words: ")
back.types(words)
back.shows("or Enter if you have none: ")
back.types("correct horse")
back.shows(made_id)
assert back.process.wait(timeout=PATIENCE) == 0 and "correct horse" not in back.all, back.all
# Ctrl-C and Enter leave nothing behind, and the terminal echoes again.
left = Terminal("dan", "init", "--server", server, "--passphrase")
left.shows("A passphrase beside the words: ")
left.types("half\x03")
assert left.process.wait(timeout=PATIENCE) == 1
assert termios.tcgetattr(left.main)[3] & termios.ECHO and not os.path.exists(f"{folder}/home/dan")
daemon.terminate()
bob.shows("The daemon has gone.")
assert bob.process.wait(timeout=PATIENCE) == 1 and daemon.wait(timeout=PATIENCE) == 0
print(json.dumps({"bytes": len(plain)}))
