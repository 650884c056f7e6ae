// The page's modules against docs/vectors/live.json. `args` are the vectors, those of identities, and the folder of the modules.
const [vectors, identities, folder] = args;
const { fromBase64, hex, toBase64, utf8 } = await import(`${folder}/bytes.js`);
const keys = await import(`${folder}/crypto.js`);
const { apply, readContent, scalars, textBytesMax, isLiveText } = await import(`${folder}/content.js`);

const faults = [];
const same = (what, one, other) => {
  if (JSON.stringify(one) !== JSON.stringify(other)) faults.push(`${what}: ${JSON.stringify(one)}, not ${JSON.stringify(other)}`);
};
const bytes = (text) => Uint8Array.from(text.match(/../g) ?? [], (pair) => parseInt(pair, 16));
const base64 = (text) => toBase64(bytes(text));

/** PKCS #8 around 32 bytes of a private key (RFC 8410). */
const privateKey = (text, name, uses) => {
  const oid = { X25519: "6e", Ed25519: "70" }[name];
  return crypto.subtle.importKey("pkcs8", bytes(`302e020100300506032b65${oid}04220420${text}`), name, false, uses);
};

// Keys and ids.
const { conversation, link, guest, info } = vectors;
const [sign, enc] = [bytes(conversation.signPublicKey), bytes(conversation.encPublicKey)];
same("conversation id", await keys.conversationID(sign, enc), conversation.conversationId);
same("guest id", await keys.guestID(bytes(guest.signPublicKey), bytes(guest.encPublicKey)), guest.guestId);
for (const { signPublicKey, encPublicKey, whisperIds } of identities) {
  const pair = [bytes(signPublicKey), bytes(encPublicKey)];
  for (const { whisperId } of whisperIds) same(whisperId, await keys.isIDOf(whisperId, ...pair), true);
  same("foreign id", await keys.isIDOf(whisperIds[0].whisperId, ...pair.toReversed()), false);
}
for (const { generation, key, lineKey } of conversation.contentKeys) {
  same("content key", hex(await keys.derive(bytes(conversation.convSecret), `whisper/live/content/${generation}`)), key);
  same("line key", hex(await keys.derive(bytes(key), "whisper/live/line")), lineKey);
}

// Links.
for (const text of [link.text, link.textWithName]) {
  const { pathname, hash } = new URL(text);
  const read = await keys.readLink(pathname, hash);
  same("link", [read.id, hex(read.proof), hex(read.infoKey)], [conversation.conversationId, link.linkProof, link.infoKey]);
  const { listener, timestamp, tag } = vectors.knockTag;
  same("tag", await keys.knockTag(read, listener, timestamp), base64(tag));
  const looked = {
    signPublicKey: base64(conversation.signPublicKey), encPublicKey: base64(conversation.encPublicKey),
    nonce: base64(info.nonce), ciphertext: base64(info.ciphertext),
  };
  const opened = await keys.openInfo(read, looked);
  same("info", [opened.conversation, opened.whisperer, opened.admission], Object.values(JSON.parse(info.plain)));
  same("foreign keys", await keys.openInfo(read, { ...looked, signPublicKey: base64(guest.signPublicKey) }), null);
  for (const broken of ["", "#", hash.slice(0, -1), `${hash}A`, hash.replace(/.$/, "*")]) {
    same(`fragment ${broken}`, await keys.readLink(pathname, broken), null);
  }
}

// Links to transcripts.
const shareSecret = "EBESExQVFhcYGRobHB0eHw";
const shareLink = await keys.readShareLink(`/transcript/${vectors.share.contentId}`, `#${shareSecret}`);
same("share", [hex(shareLink.key), hex(shareLink.proof)], [vectors.share.sealKey, vectors.share.shareProof]);
const sealShare = async (lineKeys) => {
  const names = { conversation: "Story time", whisperer: "Alice" };
  const key = await crypto.subtle.importKey("raw", shareLink.key, "AES-GCM", false, ["encrypt"]);
  const parameters = { name: "AES-GCM", iv: new Uint8Array(12), additionalData: utf8(vectors.share.aad) };
  const sealed = await crypto.subtle.encrypt(parameters, key, utf8(JSON.stringify({ lineKeys, ...names })));
  return {
    conversationId: conversation.conversationId, contentId: vectors.share.contentId, signPublicKey: base64(conversation.signPublicKey),
    encPublicKey: base64(conversation.encPublicKey), nonce: toBase64(new Uint8Array(12)), ciphertext: toBase64(new Uint8Array(sealed)),
  };
};
const answer = await sealShare(Object.fromEntries(conversation.contentKeys.map(({ generation, lineKey }) => [generation, base64(lineKey)])));
const share = await keys.openShare(shareLink, answer);
same("what is shared", [share.conversation, share.whisperer, share.content], ["Story time", "Alice", vectors.share.contentId]);
for (const other of [{ contentId: conversation.conversationId }, { signPublicKey: base64(guest.signPublicKey) }]) {
  same("what is not", await keys.openShare(shareLink, { ...answer, ...other }), null);
}
for (const packet of vectors.packets.filter(({ kind }) => kind === "line")) {
  const sealed = { ...packet, nonce: base64(packet.nonce), ciphertext: base64(packet.ciphertext) };
  same("shared line", new TextDecoder().decode(await share.keys.open(sealed)), packet.plain);
}

// Boxes: made, and opened.
const readers = { live_knock: conversation, live_grant: guest };
for (const { type, readerPublicKey, ephemeralPrivateKey, nonce, plain, ciphertext } of vectors.boxes) {
  const id = conversation.conversationId;
  const ephemeral = {
    privateKey: await privateKey(ephemeralPrivateKey, "X25519", ["deriveBits"]),
    publicKey: await crypto.subtle.importKey("raw", bytes(ciphertext).slice(0, 32), "X25519", true, []),
  };
  const made = await keys.box(JSON.parse(plain), bytes(readerPublicKey), type, id, undefined, ephemeral, bytes(nonce));
  same(`box ${type}`, made, { nonce: base64(nonce), ciphertext: base64(ciphertext) });
  const own = await privateKey(readers[type].encPrivateKey, "X25519", ["deriveBits"]);
  same(`opened ${type}`, await keys.unbox(made, type, id, own, bytes(readerPublicKey)), JSON.parse(plain));
  same(`moved ${type}`, await keys.unbox(made, "live_refuse", id, own, bytes(readerPublicKey)), null);
  const changed = bytes(ciphertext);
  changed[40] ^= 1;
  same(`changed ${type}`, await keys.unbox({ ...made, ciphertext: toBase64(changed) }, type, id, own, bytes(readerPublicKey)), null);
}

// Rooms.
for (const { roomId, signPublicKeys, encPublicKeys, safetyNumber } of vectors.safetyNumbers) {
  const people = signPublicKeys.map((sign, at) => ({ sign: bytes(sign), enc: bytes(encPublicKeys[at]) }));
  same("safety number", await keys.safetyNumber(roomId, ...people), safetyNumber);
}
{
  // Two boxes with the same keys and nonce, one of them with the secret of a room's link: each opens with its own salt alone.
  const reader = await crypto.subtle.generateKey("X25519", false, ["deriveBits"]);
  const raw = new Uint8Array(await crypto.subtle.exportKey("raw", reader.publicKey));
  const salt = keys.roomSalt(bytes("000102030405060708090a0b0c0d0e0f"));
  same("salt", hex(salt), "77686973706572000102030405060708090a0b0c0d0e0f");
  for (const [made, other] of [[salt, undefined], [undefined, salt]]) {
    const sealed = await keys.box({ kind: "bye" }, raw, "room_signal", "id", made);
    same("its salt", await keys.unbox(sealed, "room_signal", "id", reader.privateKey, raw, made), { kind: "bye" });
    same("another salt", await keys.unbox(sealed, "room_signal", "id", reader.privateKey, raw, other), null);
  }
  const secret = keys.roomSecret("#AAECAwQFBgcICQoLDA0ODw");
  same("secret", [hex(secret), keys.roomSecret().length], ["000102030405060708090a0b0c0d0e0f", 16]);
  for (const broken of ["", "#", "#AAEC", "#AAECAwQFBgcICQoLDA0OD*"]) same(`secret ${broken}`, keys.roomSecret(broken), null);
  const key = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveBits"]);
  const parameters = { name: "HKDF", hash: "SHA-256", salt: utf8("whisper"), info: utf8("whisper/room/proof") };
  same("proof", hex(await keys.roomProof(secret)), hex(new Uint8Array(await crypto.subtle.deriveBits(parameters, key, 256))));
}

// Signatures.
const packetKeys = new keys.PacketKeys(conversation.conversationId, await keys.verifyingKey(sign));
for (const entry of vectors.signatures) {
  if (entry.type === "live_line") {
    const { line, text, contentId, sig } = entry;
    same("line", await packetKeys.isSigned(line, text, contentId, sig), true);
    same("another number", await packetKeys.isSigned(line + 1, text, contentId, sig), false);
    same("another stream", await packetKeys.isSigned(line, text, conversation.conversationId, sig), false);
    continue;
  }
  const about = entry.canonical.split("\n")[4];
  const digest = await keys.signedDigest(entry.type, conversation.conversationId, about, entry);
  same(`digest of ${entry.type}`, hex(digest), hex(await keys.sha256(utf8(entry.canonical))));
  const key = await keys.verifyingKey(bytes(entry.signPublicKey));
  same(`signature of ${entry.type}`, await keys.isSigned(key, entry.sig, digest), true);
  digest[0] ^= 1;
  same(`false signature of ${entry.type}`, await keys.isSigned(key, entry.sig, digest), false);
}

// Packets.
for (const { generation, key } of conversation.contentKeys) await packetKeys.add(generation, bytes(key));
for (const packet of vectors.packets) {
  const sealed = { ...packet, nonce: base64(packet.nonce), ciphertext: base64(packet.ciphertext) };
  const plain = await packetKeys.open(sealed);
  same(`packet ${packet.kind}`, new TextDecoder().decode(plain), packet.plain);
  const content = readContent(plain, packet.kind);
  same(`content of ${packet.kind}`, content?.kind, packet.kind);
  same("moved packet", await packetKeys.open({ ...sealed, seq: packet.seq + 1 }), "unreadable");
  same("packet of another generation", await packetKeys.open({ ...sealed, generation: 3 }), "keyMissing");
}

// Texts.
const read = (kind, members) => readContent(utf8(JSON.stringify(members)), kind);
for (const { live, p, n, result } of vectors.applied) {
  const diff = read("diff", { p, n });
  const text = diff && apply(live, diff.edits);
  same(`${p} on ${live}`, text !== null && scalars(text).length === n ? text : null, result);
}
for (const { from, to, p, n } of vectors.edits) {
  if (p) same(`${from} to ${to}`, apply(from, read("diff", { p, n }).edits), to);
}
for (const { character, times } of vectors.long) {
  const size = { '"': 2, "\t": 2 }[character] ?? utf8(character).length;
  const fits = Math.floor(textBytesMax / size);
  same("longest", [isLiveText(character.repeat(fits)), isLiveText(character.repeat(fits + 1)), times > fits || size * times <= textBytesMax],
    [true, false, true]);
}
const refused = [
  ["diff", { p: ["0|a"] }], ["diff", { p: [], n: 0 }], ["diff", { p: ["-1|a"], n: 1 }], ["diff", { p: ["01|a"], n: 1 }],
  ["diff", { p: ["0|a\nb"], n: 3 }], ["diff", { p: Array(65).fill("0|"), n: 0 }], ["diff", { p: ["0"], n: 0 }], ["diff", { p: [5], n: 0 }],
  ["snapshot", { p: ["-2|a"], n: 1 }], ["snapshot", { p: ["-3|a"] }], ["snapshot", { p: ["-3|a", "-3|b"], n: 1 }],
  ["line", { p: ["-3|a"] }], ["line", { p: ["-2|a\u0085"] }], ["line", { p: ["-2|\u2028"] }], ["cue", { p: ["-9|a"] }],
  ["cue", { p: ["-50|x#y"] }], ["cue", { p: ["-50|0f8fad5b-d9cb-469f-a165-70867728950e#AAAA"] }], ["other", { p: ["-2|a"] }],
];
for (const [kind, members] of refused) same(`${kind} ${JSON.stringify(members)}`, read(kind, members), null);
same("no JSON", [readContent(utf8("{"), "line"), readContent(utf8('{"p":["-2|\\ud800"]}'), "line"), readContent(new Uint8Array([255]), "line")], [null, null, null]);
same("sound", read("cue", { p: ["-7|air-horn"] }).cue, { sound: "air-horn" });
const secret = "AAECAwQFBgcICQoLDA0ODw";
same("share", read("cue", { p: [`-50|0f8fad5b-d9cb-469f-a165-70867728950e#${secret}`] }).cue, { share: "0f8fad5b-d9cb-469f-a165-70867728950e", secret });
same("base64", [fromBase64("AA=="), fromBase64("AB=="), fromBase64("AA"), fromBase64(" AA=="), fromBase64(5)], [{ 0: 0 }, null, null, null, null]);
return faults;
