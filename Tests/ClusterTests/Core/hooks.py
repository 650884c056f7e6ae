"""A daemon that talks HTTP: its webhook's receiver and itself are killed with an event in hand, and a reader comes back.

Prints one JSON object: how many texts the webhook and the stream have had, and how many events came again.
"""

import atexit
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time

from peers import PATIENCE, Peer, folder, library, server

TEXTS = 12
# Seconds between two looks.
PAUSE = 0.05
WHISPER = [str(pathlib.Path(library).parent / "whisper"), "daemon", "--profile", "hook", "--server", server]
ENVIRONMENT = {**os.environ, "WHISPER_HOME": f"{folder}/home"}
RECEIVER = pathlib.Path(__file__).with_name("receiver.py")
LOG, DEADLY = pathlib.Path(folder) / "events", pathlib.Path(folder) / "deadly"


def hangs(*_):
    raise TimeoutError("a daemon hangs")


def secret(name):
    path = pathlib.Path(folder) / name
    path.touch(0o600)
    path.write_text(os.urandom(32).hex() + "\n")
    return path


def free_port():
    with socket.socket() as end:
        end.bind(("127.0.0.1", 0))
        return end.getsockname()[1]


def started(command, **options):
    process = subprocess.Popen(command, env=ENVIRONMENT, stdin=subprocess.DEVNULL, text=True, **options)
    # However this ends.
    atexit.register(process.kill)
    return process


def receiver():
    process = started([sys.executable, str(RECEIVER), str(hook_port), str(key), str(LOG), str(DEADLY)], stdout=subprocess.PIPE)
    assert process.stdout.readline() == "listens\n"
    return process


def daemon():
    return started([
        *WHISPER, "--http", f"127.0.0.1:{http_port}", "--http-token", str(token),
        "--webhook", f"http://127.0.0.1:{hook_port}/hook", "--webhook-key", str(key)])


def connected(method, path, body=None, **headers):
    """A request to the daemon, as soon as it listens."""
    while True:
        connection = http.client.HTTPConnection("127.0.0.1", http_port, timeout=PATIENCE)
        try:
            connection.request(method, path, body, {"Authorization": f"Bearer {token.read_text().strip()}", **headers})
            return connection.getresponse()
        except ConnectionError:
            # It does not listen yet, or has all the connections that it takes.
            connection.close()
            time.sleep(PAUSE)


def rpc(verb, **parameters):
    request = {"jsonrpc": "2.0", "id": 1, "method": verb, "params": parameters}
    answer = json.loads(connected("POST", "/rpc", json.dumps(request)).read())
    assert "result" in answer, answer
    return answer["result"]


def online():
    while connected("GET", "/check").status != 200:
        time.sleep(PAUSE)


class Stream:
    """Numbered events of a stream, and the last number that was seen."""

    def __init__(self, last=None):
        headers = {} if last is None else {"Last-Event-ID": str(last)}
        self.answer = connected("GET", "/events?consumer=stream", **headers)
        assert self.answer.status == 200, self.answer.read()
        self.last = last

    def text(self):
        """The next text that has come."""
        number = None
        while True:
            line = self.answer.readline().decode().rstrip("\n")
            assert not self.answer.closed
            if line.startswith("id: "):
                number = int(line[4:])
            elif line.startswith("data: ") and number is not None:
                event = json.loads(line[6:])["event"]
                assert self.last is None or number > self.last, (number, self.last)
                self.last, number = number, None
                if event["type"] == "messageReceived":
                    return event["message"]["text"]


signal.signal(signal.SIGALRM, hangs)
signal.alarm(3 * PATIENCE)
token, key, http_port, hook_port = secret("token"), secret("hook-key"), free_port(), free_port()
subprocess.run(
    WHISPER, env=ENVIRONMENT, input='{"jsonrpc":"2.0","id":1,"method":"identity_create"}', stdout=subprocess.DEVNULL,
    text=True, timeout=PATIENCE, check=True)
taker, process = receiver(), daemon()
online()
hook_id = rpc("identity_show")["whisperId"]
batch = [{"jsonrpc": "2.0", "id": number, "method": "identity_show"} for number in range(3)]
assert [answer["id"] for answer in json.loads(connected("POST", "/rpc", json.dumps(batch)).read())] == [0, 1, 2]
wrong = http.client.HTTPConnection("127.0.0.1", http_port, timeout=PATIENCE)
wrong.request("POST", "/rpc", "{}", {"Authorization": "Bearer wrong"})
assert wrong.getresponse().status == 401

stream = Stream()
ann = Peer("ann")
ann.online()
ann.ask("contact_add", whisperId=hook_id)
texts = [f"text {number}" for number in range(TEXTS)]
seen = []
for number, text in enumerate(texts):
    if number in (TEXTS // 3, TEXTS // 2):
        # The receiver dies between an event and its answer. The second time the daemon dies too.
        DEADLY.touch()
    ann.command("message_send", to=hook_id, text=text)
    if number == TEXTS // 3:
        taker.wait(timeout=PATIENCE)
        taker = receiver()
        while len(seen) <= number:
            seen.append(stream.text())
        # It comes back when more has happened.
        stream.answer.close()
        last = stream.last
    if number == TEXTS // 2:
        taker.wait(timeout=PATIENCE)
        process.kill()
        process.wait(timeout=PATIENCE)
        process, taker = daemon(), receiver()
        online()
        stream = Stream(last)
while len(seen) < TEXTS:
    seen.append(stream.text())
assert seen == texts, seen


def had():
    return [json.loads(line) for line in LOG.read_text().splitlines()] if LOG.exists() else []


while [entry for entry in had() if entry[2] == texts[-1]] == []:
    time.sleep(PAUSE)
received = [entry for entry in had() if entry[1] == "messageReceived"]
numbers = [entry[0] for entry in had()]
assert numbers == sorted(numbers), numbers
# In their order, and again only if the receiver has died with it in hand.
once = [entry[2] for index, entry in enumerate(received) if entry not in received[:index]]
again = len(received) - len(once)
assert once == texts and 2 <= again <= 3, received
process.terminate()
assert process.wait(timeout=PATIENCE) == 0
ann.end()
print(json.dumps({"webhook": len(once), "stream": len(seen), "again": again}))
