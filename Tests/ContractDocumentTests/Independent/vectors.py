#!/usr/bin/python3
"""Makes docs/vectors/{keys,signatures,boxes,wake}.json with an implementation that shares nothing with the project's own:
hashlib for derivations and digests, PyNaCl for curves and boxes.

    vectors.py FOLDER           writes the files
    vectors.py --check FOLDER   exits with 1 if a file there is not what would be written
"""
import base64
import hashlib
import hmac
import json
import pathlib
import sys

from nacl.bindings import crypto_scalarmult_base
from nacl.public import Box, PrivateKey, PublicKey
from nacl.secret import SecretBox
from nacl.signing import SigningKey

PHRASES = [
    "abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about",
    "ozone drill grab fiber curtain grace pudding thank cruise elder eight picnic",
    "legal winner thank year wave sausage worth useful legal winner thank yellow",
]
NONCE = bytes(range(24))
GROUP = "grp-3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61"
# The order of the Ed25519 group (RFC 8032, 5.1).
L = 2**252 + 27742317777372353535851937790883648493


def b64(data):
    return base64.b64encode(data).decode()


def hkdf(secret, info):
    """HKDF-SHA256 (RFC 5869), one block."""
    key = hmac.new(b"whisper", secret, hashlib.sha256).digest()
    return hmac.new(key, info.encode() + b"\x01", hashlib.sha256).digest()


def base32(value, symbols):
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
    return "".join(alphabet[value >> 5 * (symbols - 1 - place) & 31] for place in range(symbols))


def whisper_id(sign_key, enc_key, counter):
    digest = hashlib.sha256(b"whisper-id\n" + sign_key + enc_key + bytes([counter])).digest()
    payload = base32(int.from_bytes(digest, "big") >> 256 - 50, 10)
    check = hashlib.sha256(b"whisper-id-check\n" + payload.encode()).digest()
    text = payload + base32(int.from_bytes(check, "big") >> 256 - 10, 2)
    return f"WSP-{text[:4]}-{text[4:8]}-{text[8:]}"


class Identity:
    def __init__(self, phrase):
        self.phrase = phrase
        self.seed = hashlib.pbkdf2_hmac("sha512", phrase.encode(), b"mnemonic", 2048, 64)
        self.enc_seed = hkdf(self.seed, "whisper/enc")
        self.sign_seed = hkdf(self.seed, "whisper/sign")
        self.contacts_key = hkdf(self.seed, "whisper/contacts")
        self.signing = SigningKey(self.sign_seed)
        self.sign_key = bytes(self.signing.verify_key)
        self.enc_key = crypto_scalarmult_base(self.enc_seed)
        self.ids = [whisper_id(self.sign_key, self.enc_key, counter) for counter in (0, 1, 2, 255)]

    def vector(self):
        return {
            "mnemonic": self.phrase,
            "seed": self.seed.hex(),
            "encSeed": self.enc_seed.hex(),
            "signSeed": self.sign_seed.hex(),
            "contactsKey": self.contacts_key.hex(),
            "signPublicKey": self.sign_key.hex(),
            "encPublicKey": self.enc_key.hex(),
            "whisperIds": [{"counter": c, "whisperId": w} for c, w in zip((0, 1, 2, 255), self.ids)],
        }


def message(writer, kind, message_id, to, timestamp, nonce, ciphertext):
    lines = ["v1", kind, message_id, writer.ids[0], to, str(timestamp), b64(nonce), b64(ciphertext)]
    canonical = "".join(line + "\n" for line in lines)
    digest = hashlib.sha256(canonical.encode()).digest()
    return {
        "messageType": kind,
        "messageId": message_id,
        "from": writer.ids[0],
        "toOrGroupId": to,
        "timestamp": timestamp,
        "nonce": b64(nonce),
        "ciphertext": b64(ciphertext),
        "canonical": canonical,
        "digest": digest.hex(),
        "signPublicKey": writer.sign_key.hex(),
        "sig": b64(writer.signing.sign(digest).signature),
    }


def forgeries(genuine):
    """Signatures over the genuine digest that must be refused."""
    signature = base64.b64decode(genuine["sig"])
    changed = bytes([signature[0] ^ 1]) + signature[1:]
    scalar = int.from_bytes(signature[32:], "little") + L
    unreduced = signature[:32] + scalar.to_bytes(32, "little")
    identity_point = bytes([1]) + bytes(31)

    def forgery(why, key, sig):
        return {"why": why, "digest": genuine["digest"], "signPublicKey": key, "sig": b64(sig)}

    return [
        forgery("one bit changed", genuine["signPublicKey"], changed),
        forgery("S is not below L (RFC 8032, 5.1.7)", genuine["signPublicKey"], unreduced),
        forgery("a key of small order, under which this verifies anything", identity_point.hex(), identity_point + bytes(32)),
        forgery("all zero", genuine["signPublicKey"], bytes(64)),
    ]


def files():
    alice, bob, carol = (Identity(phrase) for phrase in PHRASES)
    yield "keys.json", {
        "about": "BIP39 phrase without passphrase -> seed -> HKDF-SHA256 seeds -> keys -> Whisper ID. All binary values in hex. "
        "encSeed is the X25519 private key, signSeed the Ed25519 seed.",
        "identities": [identity.vector() for identity in (alice, bob, carol)],
        "weakEncPublicKeys": [
            bytes(32).hex(), (1).to_bytes(32, "little").hex(),
            "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
            "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        ],
    }

    plain = "grüße, Bob".encode()
    sealed = bytes(Box(PrivateKey(alice.enc_seed), PublicKey(bob.enc_key)).encrypt(plain, NONCE).ciphertext)
    signed = [
        message(alice, "send_message", "9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10", "WSP-AAAA-AAAA-AAAA", 1730000000000, NONCE, b"ciphertext"),
        message(alice, "send_message", "9B2A1F64-0f7c-4E51-9d0c-3c7d1d2b7A10", bob.ids[0], 1, NONCE, sealed),
        message(bob, "group_send_message", "9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a12", GROUP, 1730000000001, bytes(24), bytes(range(256))),
        message(carol, "call_initiate", "c1d2e3f4-0f7c-4e51-9d0c-3c7d1d2b7a10", bob.ids[0], 1730000000002, NONCE, b"v=0\r\n"),
    ]
    challenge = b"whisper-register" + bytes(range(16))
    yield "signatures.json", {
        "about": "canonical is the UTF-8 text whose SHA-256 (digest, hex) is signed. sig in base64, keys in hex. Other Ed25519 "
        "libraries may sign with randomness: verify, do not compare. A challenge is signed itself, not its digest.",
        "messages": signed,
        "challenges": [{
            "challenge": b64(challenge),
            "signPublicKey": identity.sign_key.hex(),
            "sig": b64(identity.signing.sign(challenge).signature),
        } for identity in (alice, bob)],
        "foreignChallenges": [b64(hashlib.sha256(b"").digest()), b64(b"whisper-register"), b64(b"whisper-registry" + bytes(16))],
        "forgeries": forgeries(signed[0]),
    }

    def box(writer, reader, text, nonce):
        ciphertext = Box(PrivateKey(writer.enc_seed), PublicKey(reader.enc_key)).encrypt(text, nonce).ciphertext
        return {
            "writer": writer.phrase, "reader": reader.phrase, "nonce": nonce.hex(), "plain": text.hex(),
            "sealed": bytes(ciphertext).hex(),
        }

    def secretbox(owner, text, nonce):
        ciphertext = SecretBox(owner.contacts_key).encrypt(text, nonce).ciphertext
        return {
            "key": owner.contacts_key.hex(), "nonce": nonce.hex(), "plain": text.hex(), "sealed": bytes(ciphertext).hex(),
        }

    yield "boxes.json", {
        "about": "NaCl box (X25519, XSalsa20, Poly1305) and secretbox; sealed is the 16-byte tag and the ciphertext. All in hex.",
        "boxes": [
            box(alice, bob, plain, NONCE), box(bob, alice, b"", NONCE), box(carol, bob, bytes(range(256)), bytes(24)),
        ],
        "secretboxes": [secretbox(alice, b'{"version":1}', NONCE), secretbox(bob, b"", bytes(24))],
    }

    def tag(secret, wake_id):
        code = hmac.new(secret, b"whisper/wake\n" + wake_id.lower().encode(), hashlib.sha256).digest()
        return {
            "wakeSecret": secret.hex(), "wakeId": wake_id,
            "tag": base64.urlsafe_b64encode(code[:8]).decode().rstrip("="),
        }

    yield "wake.json", {
        "about": "tag is the first 8 bytes of HMAC-SHA256(wakeSecret, UTF-8 of whisper/wake, a line feed and the wake id in lower "
        "case), in base64url. wakeSecret is in hex here, and in base64 in frames.",
        "tags": [
            tag(bytes(range(16)), "0f8fad5b-d9cb-469f-a165-70867728950e"),
            tag(bytes(range(16)), "0F8FAD5B-D9CB-469F-A165-70867728950E"),
            tag(bytes(range(16, 32)), "0f8fad5b-d9cb-469f-a165-70867728950e"),
            tag(bytes(16), "7e4f3f0a-2b0b-4b58-8f7e-6a5d0d1f9c21"),
        ],
    }


def main():
    check = sys.argv[1:2] == ["--check"]
    folder = pathlib.Path(sys.argv[-1])
    stale = []
    for name, content in files():
        text = json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        path = folder / name
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
    if stale:
        sys.exit(f"not what this implementation makes: {', '.join(stale)}")


main()
