"""A WebRTC stack beside `whisper room … --signals` (docs/rooms.md). It may use the relay and nothing else.

Starts the command, does what it says, and reports what has come of it. Prints a line for everything that happens. Each line of
its own input is said to everybody, but for these: /fail breaks all connections, /vanish kills the command, /leave ends its
input, and /hold makes no connection until /release.

Usage: peer.py [--plain] PROGRAM ARGUMENT…
With --plain it is a stack of before: it knows the channel `chat` alone, and talks without the command.
"""

import asyncio
import json
import sys

from aiortc import RTCBundlePolicy, RTCConfiguration, RTCIceServer, RTCPeerConnection, RTCSessionDescription
from aiortc.rtcconfiguration import RTCIceTransportPolicy
from aiortc.sdp import candidate_from_sdp

LINE_BYTES = 1_048_576
TALK = "whisper-talk-1"
BUFFERED_LOW = 262_144


def say(text):
    print(text, flush=True)


def without_candidates(sdp):
    """The description, and the candidates that stood in it: they are sent one by one, as browsers do."""
    lines = sdp.splitlines()
    candidates = [line[len("a="):] for line in lines if line.startswith("a=candidate:")]
    kept = [line for line in lines if not line.startswith(("a=candidate:", "a=end-of-candidates"))]
    return "\r\n".join(kept) + "\r\n", candidates


class Link:
    """One connection to another participant."""

    def __init__(self, peer, number, connection):
        self.peer, self.number, self.connection = peer, number, connection
        self.channels = {}
        # Data for channels that are not open yet.
        self.held = []


class Stack:
    def __init__(self, command, is_plain):
        self.command = command
        self.is_plain = is_plain
        self.released = asyncio.Event()
        self.released.set()
        self.links = {}
        self.turn = None
        self.said = set()
        self.was_offline = False

    def report(self, link, kind, **more):
        line = {"type": kind, "peer": link.peer, "link": link.number, **more}
        if self.command.stdin.is_closing():
            return
        self.command.stdin.write((json.dumps(line) + "\n").encode())

    def make(self, peer, number):
        server = RTCIceServer(
            urls=self.turn["urls"], username=self.turn["username"], credential=self.turn["credential"]
        )
        connection = RTCPeerConnection(
            RTCConfiguration(
                iceServers=[server],
                iceTransportPolicy=RTCIceTransportPolicy.RELAY,
                bundlePolicy=RTCBundlePolicy.MAX_BUNDLE,
            )
        )
        link = Link(peer, number, connection)
        self.links[peer] = link

        @connection.on("connectionstatechange")
        def changed():
            if connection.connectionState in ("failed", "closed") and self.links.get(peer) is link:
                self.lost(link)

        @connection.on("datachannel")
        def opened(channel):
            self.use(link, channel)

        return link

    def use(self, link, channel):
        label = channel.label
        if label != "chat" and (self.is_plain or label != "talk" or channel.protocol != TALK):
            return
        link.channels[label] = channel
        channel.bufferedAmountLowThreshold = BUFFERED_LOW

        @channel.on("message")
        def heard(text):
            if self.is_plain:
                say(f"heard {text}")
            else:
                self.report(link, "data", channel=label, **({"text": text} if isinstance(text, str) else {}))

        @channel.on("close")
        def closed():
            if self.links.get(link.peer) is link:
                self.lost(link)

        @channel.on("bufferedamountlow")
        def drained():
            self.flush(link)

        def linked():
            if label == "talk":
                self.flush(link)
                return
            pair = link.connection.sctp.transport.transport._connection._nominated[1]
            kinds = f"{pair.local_candidate.type}-{pair.remote_candidate.type}"
            say(f"linked {link.number} {channel.label} {channel.ordered} {kinds}")
            self.report(link, "connected")
            self.flush(link)

        if channel.readyState == "open":
            linked()
        else:
            channel.on("open", linked)

    def flush(self, link):
        """Writes what is held, in order for each channel, and says so."""
        for name, text in link.held[:]:
            channel = link.channels.get(name)
            if channel is None or channel.readyState != "open" or channel.bufferedAmount > BUFFERED_LOW:
                continue
            link.held.remove((name, text))
            channel.send(text)
        if not link.held and all(channel.bufferedAmount <= BUFFERED_LOW for channel in link.channels.values()):
            self.report(link, "low")

    def lost(self, link):
        del self.links[link.peer]
        say(f"lost {link.number}")
        self.report(link, "failed")

    async def describe(self, link, kind, description):
        await link.connection.setLocalDescription(description)
        sdp, candidates = without_candidates(link.connection.localDescription.sdp)
        if self.links.get(link.peer) is not link:
            return
        self.report(link, kind, sdp=sdp)
        for text in candidates:
            candidate = {"candidate": text, "sdpMid": "0", "sdpMLineIndex": 0}
            self.report(link, "candidate", candidate=candidate)
        say(f"{kind} {link.number} {len(candidates)}")

    async def drop(self, peer, number):
        link = self.links.get(peer)
        if link is not None and link.number == number:
            del self.links[peer]
            await link.connection.close()

    async def order(self, line):
        kind, peer, number = line["type"], line["peer"], line["link"]
        if kind == "data":
            link = self.links.get(peer)
            if link is not None and link.number == number:
                link.held.append((line["channel"], line["text"]))
                self.flush(link)
            return
        await self.released.wait()
        if kind == "offer":
            link = self.make(peer, number)
            self.use(link, link.connection.createDataChannel("chat"))
            if not self.is_plain:
                self.use(link, link.connection.createDataChannel("talk", protocol=TALK))
            await self.describe(link, "offer", await link.connection.createOffer())
            return
        if kind == "drop":
            await self.drop(peer, number)
            say(f"drop {number}")
            return
        if kind == "accept" and line["isFresh"]:
            self.make(peer, number)
        link = self.links.get(peer)
        if link is None or link.number != number:
            return
        if kind == "accept":
            await link.connection.setRemoteDescription(RTCSessionDescription(sdp=line["sdp"], type="offer"))
            await self.describe(link, "answer", await link.connection.createAnswer())
        elif kind == "answer":
            await link.connection.setRemoteDescription(RTCSessionDescription(sdp=line["sdp"], type="answer"))
        elif kind == "candidate":
            candidate = candidate_from_sdp(line["candidate"]["candidate"][len("candidate:"):])
            candidate.sdpMid = line["candidate"].get("sdpMid")
            candidate.sdpMLineIndex = line["candidate"].get("sdpMLineIndex")
            await link.connection.addIceCandidate(candidate)

    def show(self, room):
        self.turn = room.get("turn", self.turn)
        for name in ("roomId", "code", "link"):
            if room.get(name) and (name, room[name]) not in self.said:
                self.said.add((name, room[name]))
                say(f"{name} {room[name]}")
        for participant in room["participants"]:
            number = participant.get("safetyNumber")
            if number and number not in self.said:
                self.said.add(number)
                say(f"safety {number}")
            if participant["isOwn"] and "own" not in self.said:
                self.said.add("own")
                say(f"own {participant['participant']}")
            if participant["isHost"]:
                say(f"host {participant['participant']}")

    async def serve(self):
        while line := await self.command.stdout.readline():
            try:
                line = json.loads(line)
            except ValueError:
                say(f"output {line!r}")
                continue
            kind = line["type"]
            if kind == "room":
                self.show(line)
            elif kind == "event":
                say(f"event {line['event']} {line.get('participant', '')}")
            elif kind == "connection":
                self.was_offline = self.was_offline or not line["isOnline"]
                say("offline" if not line["isOnline"] else "online again" if self.was_offline else "online")
            elif kind == "message":
                say(f"heard {line['text']}")
            elif kind == "state":
                say(f"state {line['state']} {line['peer']} {line['id']}")
            elif kind == "person":
                say(f"person {line.get('name', '-')} {'plain' if line['isPlain'] else 'greeted'}")
            elif kind == "over":
                say(f"over {line['reason']}")
            elif kind == "error":
                say(f"error {line['message']}")
            else:
                await self.order(line)

    async def obey(self, orders):
        while line := (await orders.readline()).decode().rstrip("\n"):
            if line == "/fail":
                for link in list(self.links.values()):
                    await link.connection.close()
                    if self.links.get(link.peer) is link:
                        self.lost(link)
            elif line == "/vanish":
                self.command.kill()
            elif line == "/leave":
                self.command.stdin.close()
            elif line == "/hold":
                self.released.clear()
            elif line == "/release":
                self.released.set()
            elif self.is_plain:
                for link in self.links.values():
                    if "chat" in link.channels and link.channels["chat"].readyState == "open":
                        link.channels["chat"].send(line)
            else:
                self.command.stdin.write((json.dumps({"type": "say", "text": line}) + "\n").encode())


async def main(words):
    is_plain = words[0] == "--plain"
    words = words[1:] if is_plain else words
    command = await asyncio.create_subprocess_exec(
        *words, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=LINE_BYTES
    )
    orders = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(orders)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    stack = Stack(command, is_plain)
    obeying = asyncio.create_task(stack.obey(orders))
    await stack.serve()
    status = await command.wait()
    obeying.cancel()
    for link in list(stack.links.values()):
        await link.connection.close()
    say(f"ended {status}")


asyncio.run(main(sys.argv[1:]))
