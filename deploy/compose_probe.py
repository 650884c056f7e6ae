"""What deploy/compose-test asks of a deployed cluster as a client, through its public port alone.

Two identities register; one uploads a file with a presigned URL and sends the other a message that points to it; the other
downloads it, and a third may not. Then TURN credentials are asked for, and used over TLS. Prints one JSON object: bytes, urls,
username, credential.

Usage: compose_probe.py HOST:PORT AUTHORITY.PEM
"""

import base64
import contextlib
import hashlib
import hmac
import json
import os
import socket
import ssl
import struct
import sys
import time
import urllib.error
import urllib.request
import uuid

import nacl.public
import nacl.signing
from websockets.sync.client import connect

STEP_SECONDS = 20
FILE_BYTES = 3_000_000
VERSIONS = {"protocolVersion": 1, "cryptoVersion": 1}


def b64(data):
    return base64.b64encode(data).decode()


class Phone:
    """One identity on one connection."""

    def __init__(self, origin, tls, socket):
        self.origin, self.tls, self.socket = origin, tls, socket
        self.sign_key = nacl.signing.SigningKey.generate()
        self.box_key = nacl.public.PrivateKey.generate()
        device = {"deviceId": str(uuid.uuid4()), "platform": "ios"}
        begin = self.ask("register_begin", {**VERSIONS, **device})
        challenge = base64.b64decode(begin["challenge"])
        assert challenge.startswith(b"whisper-register")
        proof = {
            "challengeId": begin["challengeId"],
            "encPublicKey": b64(bytes(self.box_key.public_key)),
            "signPublicKey": b64(bytes(self.sign_key.verify_key)),
            "signature": b64(self.sign_key.sign(challenge).signature),
        }
        known = self.ask("register_proof", {**VERSIONS, **device, **proof})
        self.id, self.token = known["whisperId"], known["sessionToken"]

    def ask(self, kind, payload):
        """Sends a frame and returns the payload of its answer."""
        request = str(uuid.uuid4())
        self.socket.send(json.dumps({"type": kind, "requestId": request, "payload": payload}))
        while True:
            frame = json.loads(self.socket.recv(timeout=STEP_SECONDS))
            if frame.get("requestId") == request:
                assert frame["type"] != "error", frame
                return frame["payload"]

    def privileged(self, kind, **fields):
        return self.ask(kind, {**VERSIONS, "sessionToken": self.token, **fields})

    def send_file(self, peer, key):
        """A message that points to an object. The server cannot tell noise from sealed content."""
        fields = {
            "messageId": str(uuid.uuid4()),
            "from": self.id,
            "to": peer.id,
            "timestamp": int(time.time() * 1000),
            "nonce": b64(os.urandom(24)),
            "ciphertext": b64(os.urandom(64)),
        }
        text = "".join(f"{line}\n" for line in ["v1", "send_message", *fields.values()])
        signature = self.sign_key.sign(hashlib.sha256(text.encode()).digest()).signature
        attachment = {
            "objectKey": key,
            "contentType": "image/jpeg",
            "ciphertextSize": FILE_BYTES,
            "fileNonce": b64(os.urandom(24)),
            "fileKeyBox": {"nonce": b64(os.urandom(24)), "ciphertext": b64(os.urandom(48))},
        }
        self.privileged("send_message", **fields, msgType="image", sig=b64(signature), attachment=attachment)

    def http(self, method, path, fields=None):
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        body = json.dumps(fields).encode() if fields else None
        status, answer = fetch(method, f"https://{self.origin}{path}", self.tls, headers, body)
        return status, json.loads(answer)


def fetch(method, url, tls, headers, body=None):
    request = urllib.request.Request(url, data=body, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, context=tls, timeout=STEP_SECONDS) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def allocates(url, tls, username, credential):
    """Whether the relay of a `turns:` URL gives this client an address (RFC 8656 §6.2, long-term credentials of RFC 8489 §9.2)."""
    host, port = url.removeprefix("turns:").split("?")[0].rsplit(":", 1)
    with socket.create_connection((host, int(port)), timeout=STEP_SECONDS) as plain:
        with tls.wrap_socket(plain, server_hostname=host) as relay:
            transport = attribute(0x0019, bytes([17, 0, 0, 0]))  # UDP
            kind, refusal = stun(relay, transport)
            assert kind == 0x0113 and refusal[0x0009][2:4] == bytes([4, 1]), ("401 first, with realm and nonce", kind, refusal)
            realm, nonce = refusal[0x0014], refusal[0x0015]
            signed = transport + attribute(0x0006, username.encode()) + attribute(0x0014, realm) + attribute(0x0015, nonce)
            key = hashlib.md5(f"{username}:{realm.decode()}:{credential}".encode()).digest()
            return stun(relay, signed, key)[0] == 0x0103


def attribute(number, value):
    return struct.pack("!HH", number, len(value)) + value + bytes(-len(value) % 4)


def stun(connection, attributes, key=None):
    """Sends an Allocate request; returns the type of its answer, and the answer's attributes."""
    integrity = 24 if key else 0
    message = struct.pack("!HHI12s", 0x0003, len(attributes) + integrity, 0x2112A442, os.urandom(12)) + attributes
    if key:
        message += attribute(0x0008, hmac.new(key, message, hashlib.sha1).digest())
    connection.sendall(message)
    answer = connection.makefile("rb")
    kind, length = struct.unpack("!HH16x", answer.read(20))
    rest, found = answer.read(length), {}
    while rest:
        number, size = struct.unpack("!HH", rest[:4])
        found[number] = rest[4 : 4 + size]
        rest = rest[4 + size + -size % 4 :]
    return kind, found


def main():
    origin, authority = sys.argv[1:]
    tls = ssl.create_default_context(cafile=authority)
    with contextlib.ExitStack() as sockets:
        phones = [
            Phone(origin, tls, sockets.enter_context(connect(f"wss://{origin}/ws", ssl=tls, open_timeout=STEP_SECONDS)))
            for _ in range(3)
        ]
        prove(origin, tls, *phones)


def prove(origin, tls, alice, bob, carol):
    content = os.urandom(FILE_BYTES)
    wanted = {"contentType": "image/jpeg", "sizeBytes": FILE_BYTES, "purpose": "message_attachment"}
    status, presigned = alice.http("POST", "/attachments/presign", wanted)
    assert status == 200, (status, presigned)
    upload, headers = presigned["uploadUrl"], presigned["headers"]
    assert upload.startswith(f"https://{origin}/"), upload
    # So short that it is sent before the refusal comes: the store closes without reading what it does not want.
    status, answer = fetch("PUT", upload, tls, headers, content[:10])
    assert status == 403, ("a shorter file was taken", status, answer)
    status, answer = fetch("PUT", upload, tls, headers, content)
    assert status == 200, (status, answer)

    path = f"/attachments/{presigned['objectKey']}/download"
    status, answer = bob.http("GET", path)
    assert status == 403, ("before the message", status, answer)
    alice.send_file(bob, presigned["objectKey"])
    status, answer = bob.http("GET", path)
    assert status == 200, (status, answer)
    download = answer["downloadUrl"]
    assert download.startswith(f"https://{origin}/"), download
    status, got = fetch("GET", download, tls, {})
    assert status == 200 and got == content, (status, len(got))
    status, answer = fetch("GET", download[:-1] + ("0" if download[-1] != "0" else "1"), tls, {})
    assert status == 403, ("a forged URL", status, answer)
    status, answer = carol.http("GET", path)
    assert status == 403, ("a stranger", status, answer)

    relay = alice.privileged("get_turn_credentials")
    found = {name: relay[name] for name in ("username", "credential")}
    secure = next(url for url in relay["urls"] if url.startswith("turns:"))
    assert allocates(secure, tls, **found), "the relay refuses its credentials over TLS"
    assert not allocates(secure, tls, found["username"], "wrong"), "the relay takes a wrong credential"
    print(json.dumps({"bytes": len(got), "urls": " ".join(relay["urls"]), **found}))


main()
