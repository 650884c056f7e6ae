"""Two phones call each other through a running cluster and its relay, with a real WebRTC stack.

Registers two identities, signs and seals every call frame, sends candidates one by one as they would be found, opens a data
channel that may use the relay only, and sends bytes both ways. Prints what happened as one JSON object.

Usage: call.py ws://host:port/ws BYTES
"""

import asyncio
import base64
import hashlib
import json
import os
import sys
import time
import uuid

import nacl.public
import nacl.signing
import websockets
from aiortc import (
    RTCBundlePolicy,
    RTCConfiguration,
    RTCIceServer,
    RTCPeerConnection,
    RTCSessionDescription,
)
from aiortc.rtcconfiguration import RTCIceTransportPolicy
from aiortc.sdp import candidate_from_sdp

STEP_SECONDS = 30
CHUNK = 16_384


def b64(data):
    return base64.b64encode(data).decode()


class Phone:
    """One identity on one connection."""

    def __init__(self, name):
        self.name = name
        self.sign_key = nacl.signing.SigningKey.generate()
        self.box_key = nacl.public.PrivateKey.generate()
        self.versions = {"protocolVersion": 1, "cryptoVersion": 1}
        self.frames = asyncio.Queue()
        self.answers = {}

    async def connect(self, url):
        self.socket = await websockets.connect(url, max_size=1_000_000)
        self.reader = asyncio.create_task(self.read())
        device = str(uuid.uuid4())
        begin = await self.ask("register_begin", {**self.versions, "deviceId": device, "platform": "ios"})
        challenge = base64.b64decode(begin["challenge"])
        assert challenge.startswith(b"whisper-register")
        proof = await self.ask(
            "register_proof",
            {
                **self.versions,
                "challengeId": begin["challengeId"],
                "deviceId": device,
                "platform": "ios",
                "encPublicKey": b64(bytes(self.box_key.public_key)),
                "signPublicKey": b64(bytes(self.sign_key.verify_key)),
                "signature": b64(self.sign_key.sign(challenge).signature),
            },
        )
        self.id, self.token = proof["whisperId"], proof["sessionToken"]

    async def read(self):
        async for text in self.socket:
            frame = json.loads(text)
            waiting = self.answers.pop(frame.get("requestId"), None)
            if waiting is not None:
                waiting.set_result(frame)
            else:
                await self.frames.put(frame)

    async def send(self, kind, payload, request_id=None):
        envelope = {"type": kind, "payload": payload}
        if request_id:
            envelope["requestId"] = request_id
        await self.socket.send(json.dumps(envelope))

    async def ask(self, kind, payload):
        request_id = str(uuid.uuid4())
        answer = asyncio.get_running_loop().create_future()
        self.answers[request_id] = answer
        await self.send(kind, payload, request_id)
        frame = await asyncio.wait_for(answer, STEP_SECONDS)
        if frame["type"] == "error":
            raise RuntimeError(f"{self.name}: {kind}: {frame}")
        return frame["payload"]

    def privileged(self, **fields):
        return {**self.versions, "sessionToken": self.token, **fields}

    def sealed(self, kind, call_id, peer, content, **more):
        """The payload of a signed call frame; only the peer can read the content."""
        nonce = os.urandom(24)
        box = nacl.public.Box(self.box_key, peer.box_key.public_key)
        ciphertext = box.encrypt(json.dumps(content).encode(), nonce).ciphertext
        fields = {
            "callId": call_id,
            "from": self.id,
            "to": peer.id,
            "timestamp": int(time.time() * 1000),
            "nonce": b64(nonce),
            "ciphertext": b64(ciphertext),
        }
        names = ["callId", "from", "to", "timestamp", "nonce", "ciphertext"]
        text = "".join(line + "\n" for line in ["v1", kind] + [str(fields[name]) for name in names])
        fields["sig"] = b64(self.sign_key.sign(hashlib.sha256(text.encode()).digest()).signature)
        return self.privileged(**fields, **more)

    def opened(self, kind, payload, peer):
        """What the peer said, after checking that it said it."""
        names = ["callId", "from", "to", "timestamp", "nonce", "ciphertext"]
        text = "".join(line + "\n" for line in ["v1", kind] + [str(payload[name]) for name in names])
        digest = hashlib.sha256(text.encode()).digest()
        peer.sign_key.verify_key.verify(digest, base64.b64decode(payload["sig"]))
        box = nacl.public.Box(self.box_key, peer.box_key.public_key)
        nonce, ciphertext = base64.b64decode(payload["nonce"]), base64.b64decode(payload["ciphertext"])
        return json.loads(box.decrypt(ciphertext, nonce))

    async def next(self, kind):
        """The next frame of this type; candidates go to the connection meanwhile."""
        while True:
            frame = await asyncio.wait_for(self.frames.get(), STEP_SECONDS)
            if frame["type"] == kind:
                return frame["payload"]
            if frame["type"] == "error":
                raise RuntimeError(f"{self.name}: {frame}")
            if frame["type"] == "call_ice_candidate":
                self.early.append(frame["payload"])

    async def connection(self):
        """A connection that may use the relay and nothing else."""
        self.early = []
        turn = await self.ask("get_turn_credentials", self.privileged())
        server = RTCIceServer(urls=turn["urls"], username=turn["username"], credential=turn["credential"])
        self.turn_user = turn["username"]
        return RTCPeerConnection(
            RTCConfiguration(
                iceServers=[server],
                iceTransportPolicy=RTCIceTransportPolicy.RELAY,
                bundlePolicy=RTCBundlePolicy.MAX_BUNDLE,
            )
        )


def without_candidates(sdp):
    lines = sdp.splitlines()
    candidates = [line[len("a=candidate:"):] for line in lines if line.startswith("a=candidate:")]
    kept = [line for line in lines if not line.startswith(("a=candidate:", "a=end-of-candidates"))]
    return "\r\n".join(kept) + "\r\n", candidates


async def trickle(phone, peer, call_id, candidates):
    for text in candidates:
        await phone.send("call_ice_candidate", phone.sealed("call_ice_candidate", call_id, peer, {"candidate": text}))


async def take_candidates(phone, peer, connection, count):
    """Gives the connection what the peer has found, early or late."""
    taken = 0

    async def take(payload):
        text = phone.opened("call_ice_candidate", payload, peer)["candidate"]
        candidate = candidate_from_sdp(text)
        candidate.sdpMid, candidate.sdpMLineIndex = "0", 0
        await connection.addIceCandidate(candidate)

    for payload in phone.early:
        await take(payload)
        taken += 1
    while taken < count:
        await take(await phone.next("call_ice_candidate"))
        taken += 1


def selected(connection):
    """Kinds of the two ends of the path in use."""
    pair = connection.sctp.transport.transport._connection._nominated[1]
    return [pair.local_candidate.type, pair.remote_candidate.type]


async def main(url, size):
    alice, bob = Phone("alice"), Phone("bob")
    await alice.connect(url)
    await bob.connect(url)
    call_id = str(uuid.uuid4())
    outgoing, incoming = await alice.connection(), await bob.connection()
    data = os.urandom(size)

    opened, echoed = asyncio.Event(), asyncio.Event()
    back = bytearray()
    channel = outgoing.createDataChannel("bytes")
    channel.on("open", opened.set)

    @channel.on("message")
    def got_echo(message):
        back.extend(message)
        if len(back) >= size:
            echoed.set()

    @incoming.on("datachannel")
    def got_channel(other):
        @other.on("message")
        def got(message):
            other.send(message)

    # The offer, and behind it at once what the caller has found: in this order it must arrive.
    started = time.monotonic()
    await outgoing.setLocalDescription(await outgoing.createOffer())
    offer, candidates = without_candidates(outgoing.localDescription.sdp)
    assert candidates, "no relay gave the caller an address"
    await alice.send(
        "call_initiate", alice.sealed("call_initiate", call_id, bob, {"sdp": offer}, isVideo=False), "ring"
    )
    await trickle(alice, bob, call_id, candidates)
    ring = await bob.next("call_incoming")
    ringing = await alice.next("call_ringing")
    assert ringing["callId"] == call_id and ringing["from"] == bob.id

    await incoming.setRemoteDescription(
        RTCSessionDescription(sdp=bob.opened("call_initiate", ring, alice)["sdp"], type="offer")
    )
    await incoming.setLocalDescription(await incoming.createAnswer())
    answer, answered = without_candidates(incoming.localDescription.sdp)
    assert answered, "no relay gave the callee an address"
    await bob.send("call_answer", bob.sealed("call_answer", call_id, alice, {"sdp": answer}))
    await trickle(bob, alice, call_id, answered)
    await take_candidates(bob, alice, incoming, len(candidates))

    taken = await alice.next("call_answer")
    await outgoing.setRemoteDescription(
        RTCSessionDescription(sdp=alice.opened("call_answer", taken, bob)["sdp"], type="answer")
    )
    await take_candidates(alice, bob, outgoing, len(answered))
    await asyncio.wait_for(opened.wait(), STEP_SECONDS)
    connected = time.monotonic() - started
    for start in range(0, size, CHUNK):
        channel.send(data[start : start + CHUNK])
    await asyncio.wait_for(echoed.wait(), STEP_SECONDS)
    assert bytes(back) == data

    await alice.send("call_end", alice.sealed("call_end", call_id, bob, {}, reason="ended"))
    end = await bob.next("call_end")
    assert end["reason"] == "ended" and bob.opened("call_end", end, alice) == {}
    paths = selected(outgoing) + selected(incoming)
    await outgoing.close()
    await incoming.close()
    print(
        json.dumps(
            {
                "bytes": len(back),
                "paths": paths,
                "users": [alice.turn_user, bob.turn_user],
                "candidates": len(candidates) + len(answered),
                "connectMs": round(connected * 1000),
            }
        )
    )


asyncio.run(main(sys.argv[1], int(sys.argv[2])))
