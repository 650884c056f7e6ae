#!/usr/bin/python3
"""Computes docs/vectors/live.json anew, from the contract's words and with the package `cryptography`, and compares. It
shares nothing with the project's own implementation.

    live_vectors.py FILE   exits with 1, and names each difference, if the file does not say the same
"""
import base64
import hashlib
import hmac
import json
import sys
import unicodedata

from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

RAW = (serialization.Encoding.Raw, serialization.PublicFormat.Raw)
TEXT_BYTES_MAX = 8_000


def b64(data):
    return base64.b64encode(data).decode()


def b64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def sha256(data):
    return hashlib.sha256(data).digest()


def hkdf(secret, info):
    if isinstance(info, str):
        info = info.encode()
    return HKDF(hashes.SHA256(), 32, b"whisper", info).derive(secret)


def uuid(digest):
    text = digest[:16].hex()
    return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))


def lines(*values):
    return "".join(f"{value}\n" for value in values)


class Pair:
    def __init__(self, sign_seed, enc_private):
        self.signing = Ed25519PrivateKey.from_private_bytes(sign_seed)
        self.sign_key = self.signing.public_key().public_bytes(*RAW)
        self.enc_key = X25519PrivateKey.from_private_bytes(enc_private).public_key().public_bytes(*RAW)

    def sign(self, canonical):
        return b64(self.signing.sign(sha256(canonical.encode())))


CONV_SECRET, LINK_SECRET, SHARE_SECRET = bytes(range(32)), bytes(range(16)), bytes(range(0x10, 0x20))
CONVERSATION = Pair(hkdf(CONV_SECRET, "whisper/live/sign"), hkdf(CONV_SECRET, "whisper/live/enc"))
GUEST = Pair(bytes(range(0x20, 0x40)), bytes(range(0x40, 0x60)))
CID = uuid(sha256(b"whisper-live\n" + CONVERSATION.sign_key + CONVERSATION.enc_key))
GST = "gst-" + sha256(b"whisper-guest\n" + GUEST.sign_key + GUEST.enc_key)[:16].hex()
EPHEMERAL, NONCE = bytes(range(0x60, 0x80)), bytes(range(12))
CONTENT, PROFILE = "0f8fad5b-d9cb-469f-a165-70867728950e", "9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10"
ROOM = "3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61"
WHISPERER = "WSP-JBPU-D452-TLT4"
TIME = 1_730_000_000_000


def content_key(generation):
    return hkdf(CONV_SECRET, f"whisper/live/content/{generation}")


def line_key(generation):
    return hkdf(content_key(generation), "whisper/live/line")


# Keys


def conversation():
    return {
        "convSecret": CONV_SECRET.hex(),
        "signSeed": hkdf(CONV_SECRET, "whisper/live/sign").hex(),
        "encPrivateKey": hkdf(CONV_SECRET, "whisper/live/enc").hex(),
        "signPublicKey": CONVERSATION.sign_key.hex(),
        "encPublicKey": CONVERSATION.enc_key.hex(),
        "conversationId": CID,
        "contentKeys": [
            {"generation": g, "key": content_key(g).hex(), "lineKey": line_key(g).hex()} for g in (1, 2, 1_000)
        ],
    }


def link():
    proof = hkdf(LINK_SECRET, "whisper/live/proof")
    return {
        "linkSecret": LINK_SECRET.hex(),
        "infoKey": hkdf(LINK_SECRET, "whisper/live/info").hex(),
        "linkProof": proof.hex(),
        "linkVerifier": sha256(proof).hex(),
        "text": f"https://whisper.example/listen/{CID}#{b64url(LINK_SECRET)}",
        "name": "Story time!",
        "textWithName": f"https://whisper.example/listen/{CID}/Story-time-#{b64url(LINK_SECRET)}",
    }


def share():
    proof = hkdf(SHARE_SECRET, "whisper/live/share/proof")
    return {
        "shareSecret": SHARE_SECRET.hex(),
        "sealKey": hkdf(SHARE_SECRET, "whisper/live/share").hex(),
        "shareProof": proof.hex(),
        "shareVerifier": sha256(proof).hex(),
        "contentId": CONTENT,
        "aad": lines("v1", "live_share", CID, CONTENT),
    }


def guest():
    return {
        "signSeed": bytes(range(0x20, 0x40)).hex(),
        "encPrivateKey": bytes(range(0x40, 0x60)).hex(),
        "signPublicKey": GUEST.sign_key.hex(),
        "encPublicKey": GUEST.enc_key.hex(),
        "guestId": GST,
    }


# Seals and signatures

INFO = '{"conversation":"Story time","whisperer":"Alice","admission":"knock"}'
INFO_AAD = lines("v1", "live_info", CID)
INFO_CIPHERTEXT = AESGCM(hkdf(LINK_SECRET, "whisper/live/info")).encrypt(NONCE, INFO.encode(), INFO_AAD.encode())
KNOCK_MESSAGE = lines(CID, GST, TIME)
KNOCK_TAG = hmac.new(hkdf(LINK_SECRET, "whisper/live/knock"), KNOCK_MESSAGE.encode(), hashlib.sha256).digest()


def box(kind, reader, plain):
    private = X25519PrivateKey.from_private_bytes(EPHEMERAL)
    sender = private.public_key().public_bytes(*RAW)
    shared = private.exchange(X25519PublicKey.from_public_bytes(reader))
    key = hkdf(shared, b"whisper/seal\n" + sender + reader)
    aad = lines("v1", kind, CID)
    return {
        "type": kind,
        "readerPublicKey": reader.hex(),
        "ephemeralPrivateKey": EPHEMERAL.hex(),
        "nonce": NONCE.hex(),
        "plain": plain,
        "aad": aad,
        "ciphertext": (sender + AESGCM(key).encrypt(NONCE, plain.encode(), aad.encode())).hex(),
    }


KNOCK = box("live_knock", CONVERSATION.enc_key, '{"name":"Zoë 🦉","tag":"' + b64(KNOCK_TAG) + '"}')
GRANT = box("live_grant", GUEST.enc_key, '{"generation":1,"key":"' + b64(content_key(1)) + '"}')


def signed(kind, about, ciphertext, sender, signer):
    canonical = lines("v1", kind, CID, sender, about, TIME, b64(NONCE), b64(ciphertext))
    return {
        "type": kind,
        "from": sender,
        "timestamp": TIME,
        "nonce": b64(NONCE),
        "ciphertext": b64(ciphertext),
        "canonical": canonical,
        "signPublicKey": signer.sign_key.hex(),
        "sig": signer.sign(canonical),
    }


def line_statement(number, text):
    return lines("v1", "live_line", CID, CONTENT, number, b64(sha256(text.encode())))


def signatures():
    knock, grant = bytes.fromhex(KNOCK["ciphertext"]), bytes.fromhex(GRANT["ciphertext"])
    text = "Hello, 🌍!"
    return [
        signed("live_create", PROFILE, INFO_CIPHERTEXT, WHISPERER, CONVERSATION),
        signed("live_update", PROFILE, INFO_CIPHERTEXT, WHISPERER, CONVERSATION),
        signed("live_knock", CID, knock, GST, GUEST),
        signed("live_grant", GST, grant, WHISPERER, CONVERSATION),
        signed("live_refuse", GST, grant, WHISPERER, CONVERSATION),
        {
            "type": "live_line",
            "contentId": CONTENT,
            "line": 7,
            "text": text,
            "canonical": line_statement(7, text),
            "signPublicKey": CONVERSATION.sign_key.hex(),
            "sig": CONVERSATION.sign(line_statement(7, text)),
        },
    ]


# Packets


def packet(seq, kind, line, members, to=None):
    plain = json.dumps(members, ensure_ascii=False, separators=(",", ":"))
    plain += " " * (-len(plain.encode()) % 32)
    aad = lines("v1", "live_packet", CID, 7, seq, kind, line, 2, to or "all")
    key = line_key(2) if kind == "line" else content_key(2)
    header = {"epoch": 7, "seq": seq, "kind": kind, "line": line, "generation": 2}
    if to:
        header["to"] = to
    return header | {
        "plain": plain,
        "aad": aad,
        "key": key.hex(),
        "nonce": NONCE.hex(),
        "ciphertext": AESGCM(key).encrypt(NONCE, plain.encode(), aad.encode()).hex(),
    }


def packets():
    line = {"p": ["-2|Hello, 🌍!"], "sig": CONVERSATION.sign(line_statement(7, "Hello, 🌍!"))}
    return [
        packet(1, "snapshot", 6, {"p": ['-3|say "hi"\t🌍'], "n": 10}),
        packet(2, "diff", 6, {"p": ["11|lo"], "n": 13}),
        packet(3, "line", 7, line),
        packet(3, "line", 7, line, to=GST),
        packet(4, "cue", 7, {"p": ["-7|bike-bell"]}),
        packet(5, "cue", 7, {"p": ["-8|one moment"]}),
        packet(5, "cue", 7, {"p": [f"-50|{ROOM}#{b64url(SHARE_SECRET)}"]}, to=WHISPERER),
    ]


# Texts


def json_bytes(text):
    return len(json.dumps(text, ensure_ascii=False).encode()) - 2


def split(text):
    text = text.replace("\r\n", "\n")
    for end in "\r\u2028\u2029":
        text = text.replace(end, "\n")
    text = "".join(c for c in text if c in "\n\t" or unicodedata.category(c) != "Cc")
    completed = []
    *ended, live = text.split("\n")
    for part in ended + [live]:
        while json_bytes(part) > TEXT_BYTES_MAX:
            count, size = 0, 0
            while size + json_bytes(part[count]) <= TEXT_BYTES_MAX:
                size += json_bytes(part[count])
                count += 1
            completed.append(part[:count])
            part = part[count:]
        completed.append(part)
    return completed[:-1], completed[-1]


def edit(before, after):
    if before == after:
        return {}
    same = 0
    while same < min(len(before), len(after)) and before[same] == after[same]:
        same += 1
    return {"p": [f"{same}|{after[same:]}"], "n": len(after)}


def apply(live, steps, count):
    for step in steps:
        offset, _, text = step.partition("|")
        if int(offset) > len(live):
            return None
        live = live[: int(offset)] + text
    return live if len(live) == count else None


def inputs():
    for text in (
        "hello", "one\ntwo\r\nthree\rfour", "a\u2028b\u2029c", "tab\tstays", "nul\0 bell\a nel\x85x del\x7f",
        "\n\n", "cr\r\r\nlf\n\r", "👩‍👩‍👧‍👦 family\n🏳️‍🌈", "e\u0301\ne\u0301",
    ):
        completed, live = split(text)
        yield {"input": text, "lines": completed, "live": live}


def long():
    for character, times in (("x", 8_000), ("x", 8_001), ('"', 8_001), ("\t", 4_001), ("é", 4_001), ("😀", 4_500)):
        completed, live = split(character * times)
        yield {"character": character, "times": times, "lines": [len(line) for line in completed], "live": len(live)}


def edits():
    for before, after in (
        ("", "h"), ("h", "he"), ("hello", "hello"), ("hello", "hell"), ("hello", ""), ("hello world", "hello there"),
        ("👍", "👍🏽"), ("👩‍👧", "👩‍👦"), ("🇩🇪", "🇩🇰"), ("e", "e\u0301"), ("caf\u00e9", "cafe\u0301"),
        ("a|b", "a|c"), ("😀😀", "😀x😀"),
    ):
        yield {"from": before, "to": after} | edit(before, after)


def applied():
    for live, steps, count in (
        ("hello", ["5| 🌍"], 7), ("hello", ["0|"], 0), ("hello", ["1|i", "2||!"], 4), ("👩‍👧", ["2|👦"], 3),
        ("hello", ["6|x"], 7), ("hello", ["5|!"], 5), ("", ["0|e\u0301"], 2),
    ):
        yield {"live": live, "p": steps, "n": count, "result": apply(live, steps, count)}


def safety_numbers():
    for people in ([CONVERSATION, GUEST], [GUEST, CONVERSATION]):
        keys = sorted(person.sign_key + person.enc_key for person in people)
        digest = sha256(b"whisper-room\n" + ROOM.encode() + b"".join(keys))
        yield {
            "roomId": ROOM,
            "signPublicKeys": [person.sign_key.hex() for person in people],
            "encPublicKeys": [person.enc_key.hex() for person in people],
            "safetyNumber": base64.b32encode(digest).decode()[:24],
        }


def document():
    return {
        "conversation": conversation(),
        "link": link(),
        "share": share(),
        "guest": guest(),
        "info": {"plain": INFO, "aad": INFO_AAD, "nonce": NONCE.hex(), "ciphertext": INFO_CIPHERTEXT.hex()},
        "boxes": [KNOCK, GRANT],
        "knockTag": {"listener": GST, "timestamp": TIME, "message": KNOCK_MESSAGE, "tag": KNOCK_TAG.hex()},
        "signatures": signatures(),
        "packets": packets(),
        "inputs": list(inputs()),
        "long": list(long()),
        "edits": list(edits()),
        "applied": list(applied()),
        "safetyNumbers": list(safety_numbers()),
    }


def differences(ours, theirs, path):
    if isinstance(ours, dict) and isinstance(theirs, dict):
        for name in sorted(ours.keys() | theirs.keys()):
            if name not in ours or name not in theirs:
                yield f"{path}.{name} is only in {'ours' if name in ours else 'the file'}"
            else:
                yield from differences(ours[name], theirs[name], f"{path}.{name}")
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for index, (one, other) in enumerate(zip(ours, theirs)):
            yield from differences(one, other, f"{path}[{index}]")
    elif ours != theirs:
        yield f"{path}: {ours!r} here, {theirs!r} in the file"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        theirs = {name: value for name, value in json.load(file).items() if not name.startswith("about")}
    found = list(differences(document(), theirs, ""))
    for difference in found:
        print(difference)
    if found:
        sys.exit(f"{len(found)} differences")


main()
