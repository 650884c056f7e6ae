import Contract
package import ContractSchema
import WhisperClient

/// Computations of live conversations, step by step, for clients in any language (`docs/vectors/live.json`).
package enum LiveVectors {
    package static var document: Document {
        [
            "about":
                "Live conversations. Binary values are in hex; what stands in a frame as base64 is base64 here. HKDF is HKDF-SHA256 with the salt whisper, 32 bytes. aad is the text that a seal vouches for, canonical the text whose SHA-256 is signed. Ed25519 may sign with randomness: verify, do not compare.",
            "conversation": self.conversation, "link": self.link, "share": self.share, "guest": self.guest,
            "info": self.info, "boxes": .array([self.knock.box, self.grant.box]), "knockTag": self.knockTag,
            "signatures": .array(self.signatures), "packets": .array(self.packets),
            "aboutTexts":
                "inputs: what is typed or pasted, the lines that it completes, and what stays live. long: the same for one character many times, as numbers of scalars. edits: what is sent when live text changes. applied: what becomes of live text; null if the packet does not fit.",
            "inputs": .array(self.inputs), "long": .array(self.long), "edits": .array(self.edits),
            "applied": .array(self.applied), "safetyNumbers": .array(self.safetyNumbers),
        ]
    }

    // MARK: What goes in

    private static func bytes(_ first: UInt8, _ count: UInt8) -> [UInt8] { Array(first..<first + count) }
    private static func secret(_ first: UInt8, _ count: UInt8) -> SecretBytes { SecretBytes(self.bytes(first, count)) }

    private static let convSecret = secret(0, 32)
    private static let keys = ConversationKeys(secret: convSecret)
    private static let linkSecret = secret(0, 16)
    private static let shareSecret = secret(0x10, 16)
    private static let guestKeys = GuestKeys(secret: secret(0x20, 64))
    private static let ephemeral = secret(0x60, 32)
    private static let nonce = bytes(0, 12)
    private static let content = UUIDText("0f8fad5b-d9cb-469f-a165-70867728950e")!
    private static let profile = UUIDText("9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10")!
    private static let room = UUIDText("3d6f1f0e-8a55-4c7e-9d55-0c4b7d1f2a61")!
    private static let whisperer = PrincipalID("WSP-JBPU-D452-TLT4")!
    private static let listener = PrincipalID.guest(guestKeys.id)
    private static let time = Timestamp(milliseconds: 1_730_000_000_000)

    // MARK: Keys

    private static var conversation: Document {
        [
            "convSecret": .hex(self.convSecret.bytes),
            "signSeed": .hex(KeyDerivation.key(of: self.convSecret, info: LiveKeyNames.sign).bytes),
            "encPrivateKey": .hex(KeyDerivation.key(of: self.convSecret, info: LiveKeyNames.enc).bytes),
            "signPublicKey": .hex(self.keys.publicKeys.sign.bytes),
            "encPublicKey": .hex(self.keys.publicKeys.box.bytes), "conversationId": .string("\(self.keys.id)"),
            "contentKeys": .array(
                [1, 2, 1_000].map { generation in
                    let key = self.keys.contentKey(generation: generation)
                    return [
                        "generation": .integer(Int64(generation)), "key": .hex(key.key.bytes),
                        "lineKey": .hex(key.lineKey.bytes),
                    ]
                }),
        ]
    }

    private static var link: Document {
        let link = LinkKeys(secret: self.linkSecret)
        func text(_ name: String?) -> Document {
            .string(
                ListenLink(
                    origin: "https://whisper.example", conversation: self.keys.id, name: name, secret: self.linkSecret
                ).text)
        }
        return [
            "linkSecret": .hex(self.linkSecret.bytes), "infoKey": .hex(link.infoKey.bytes),
            "linkProof": .hex(link.proof), "linkVerifier": .hex(link.verifier), "text": text(nil),
            "name": "Story time!", "textWithName": text("Story time!"),
        ]
    }

    private static var share: Document {
        let share = ShareKeys(secret: self.shareSecret)
        return [
            "shareSecret": .hex(self.shareSecret.bytes), "sealKey": .hex(share.sealKey.bytes),
            "shareProof": .hex(share.proof), "shareVerifier": .hex(share.verifier),
            "contentId": .string("\(self.content)"),
            "aad": .text(LiveSeals.share(self.keys.id, content: self.content)),
        ]
    }

    private static var guest: Document {
        [
            "signSeed": .hex(self.bytes(0x20, 32)), "encPrivateKey": .hex(self.bytes(0x40, 32)),
            "signPublicKey": .hex(self.guestKeys.pair.publicKeys.sign.bytes),
            "encPublicKey": .hex(self.guestKeys.pair.publicKeys.box.bytes), "guestId": .string("\(self.guestKeys.id)"),
        ]
    }

    // MARK: Seals and signatures

    private static let infoText = #"{"conversation":"Story time","whisperer":"Alice","admission":"knock"}"#
    private static let infoSeal = SealedBytes(
        Array(infoText.utf8), key: LinkKeys(secret: linkSecret).infoKey, nonce: nonce,
        vouchingFor: LiveSeals.info(keys.id))

    private static var info: Document {
        [
            "plain": .string(self.infoText), "aad": .text(LiveSeals.info(self.keys.id)), "nonce": .hex(self.nonce),
            "ciphertext": .hex(self.infoSeal.ciphertext),
        ]
    }

    private static var tag: [UInt8] {
        LinkKeys(secret: self.linkSecret).tag(ofKnockBy: self.listener, on: self.keys.id, at: self.time)
    }

    private static var knockTag: Document {
        [
            "listener": .string("\(self.listener)"), "timestamp": .integer(self.time.milliseconds),
            "message": .text(LiveStatement.knock(by: self.listener, on: self.keys.id, at: self.time)),
            "tag": .hex(self.tag),
        ]
    }

    private static var knock: (box: Document, sealed: SealedBytes) {
        self.box(
            .knock, to: self.keys.publicKeys,
            #"{"name":"Zoë 🦉","tag":"\#(String(decoding: Base64.encode(self.tag), as: UTF8.self))"}"#)
    }

    private static var grant: (box: Document, sealed: SealedBytes) {
        let key = Base64.encode(self.keys.contentKey(generation: 1).key.bytes)
        return self.box(
            .grant, to: self.guestKeys.pair.publicKeys,
            #"{"generation":1,"key":"\#(String(decoding: key, as: UTF8.self))"}"#)
    }

    private static func box(
        _ type: LiveSignature.FrameType, to reader: PublicKeys, _ plain: String
    )
        -> (box: Document, sealed: SealedBytes)
    {
        let aad = LiveSeals.box(type: type, id: "\(self.keys.id)")
        guard
            let sealed = try? SealedBox(
                Array(plain.utf8), to: reader.box, ephemeral: self.ephemeral, nonce: self.nonce, vouchingFor: aad
            ).sealed
        else { preconditionFailure("the keys of vectors are good") }
        let document: Document = [
            "type": .string(type.rawValue), "readerPublicKey": .hex(reader.box.bytes),
            "ephemeralPrivateKey": .hex(self.ephemeral.bytes), "nonce": .hex(self.nonce), "plain": .string(plain),
            "aad": .text(aad), "ciphertext": .hex(sealed.ciphertext),
        ]
        return (document, sealed)
    }

    private static var signatures: [Document] {
        let (conversation, guest) = (self.keys.pair, self.guestKeys.pair)
        let knock = self.signed(.knock, self.knock.sealed, from: self.listener, by: guest)
        let grant = self.signed(.grant(to: self.listener), self.grant.sealed, from: self.whisperer, by: conversation)
        let create = self.signed(.create(profile: self.profile), self.infoSeal, from: self.whisperer, by: conversation)
        let update = self.signed(.update(profile: self.profile), self.infoSeal, from: self.whisperer, by: conversation)
        let refuse = self.signed(.refuse(to: self.listener), self.grant.sealed, from: self.whisperer, by: conversation)
        let text = "Hello, 🌍!"
        let statement = LiveStatement.line(
            7, textDigest: Sodium.sha256(Array(text.utf8)), of: self.keys.id, content: self.content)
        let line: Document = [
            "type": "live_line", "contentId": .string("\(self.content)"), "line": 7, "text": .string(text),
            "canonical": .text(statement), "signPublicKey": .hex(conversation.publicKeys.sign.bytes),
            "sig": .base64(self.keys.sign(line: 7, text: text, content: self.content)),
        ]
        return [create, update, knock, grant, refuse, line]
    }

    private static func signed(
        _ kind: LiveSignature, _ sealed: SealedBytes, from: PrincipalID, by signer: KeyPair
    )
        -> Document
    {
        let seal = LiveSigned(sealed, as: kind, of: self.keys.id, from: from, timestamp: self.time, signer: signer)
        return [
            "type": .string(kind.type.rawValue), "from": .string("\(from)"),
            "timestamp": .integer(self.time.milliseconds), "nonce": .string(sealed.nonceText),
            "ciphertext": .string(sealed.ciphertextText),
            "canonical": .text(seal.message(kind, of: self.keys.id).bytes),
            "signPublicKey": .hex(signer.publicKeys.sign.bytes), "sig": .base64(seal.signature.bytes),
        ]
    }

    // MARK: Packets

    private static var packets: [Document] {
        let live = LiveText("say \"hi\"\t🌍")!
        let line = LiveText("Hello, 🌍!")!
        let transcript = SharedTranscript(share: self.room, secret: self.shareSecret.bytes)
        return [
            self.packet(.snapshot(live, count: live.count), seq: 1, line: 6),
            self.packet(.diff([TextEdit(offset: 11, text: LiveText("lo")!)], count: 13), seq: 2, line: 6),
            self.packet(.line(line), seq: 3, line: 7), self.packet(.line(line), seq: 3, line: 7, to: self.listener),
            self.packet(.cue(.sound(.bikeBell)), seq: 4, line: 7),
            self.packet(.cue(.say(LiveText("one moment")!)), seq: 5, line: 7),
            self.packet(.cue(.transcript(transcript)), seq: 5, line: 7, to: self.whisperer),
        ]
    }

    private static func packet(
        _ content: LiveContent, seq: Int64, line: Int, to listener: PrincipalID? = nil
    )
        -> Document
    {
        let header = LivePacketHeader(
            conversation: self.keys.id, position: LivePosition(epoch: 7, seq: seq), kind: content.kind, line: line,
            generation: 2, to: listener)
        let key = self.keys.contentKey(generation: 2)
        var plaintext = PacketPlaintext(content)
        if case .line(let text) = content {
            plaintext.signature = self.keys.sign(line: line, text: text.string, content: self.content)
        }
        return Document.members([
            ("epoch", 7), ("seq", .integer(seq)), ("kind", .string(content.kind.rawValue)),
            ("line", .integer(Int64(line))), ("generation", 2), ("to", listener.map { .string("\($0)") }),
            ("plain", .text(plaintext.bytes)), ("aad", .text(LiveSeals.packet(header))),
            ("key", .hex(content.kind == .line ? key.lineKey.bytes : key.key.bytes)), ("nonce", .hex(self.nonce)),
            ("ciphertext", .hex(key.seal(plaintext.bytes, as: header, nonce: self.nonce).ciphertext)),
        ])
    }

    // MARK: Texts

    private static var inputs: [Document] {
        [
            "hello", "one\ntwo\r\nthree\rfour", "a\u{2028}b\u{2029}c", "tab\tstays",
            "nul\u{0} bell\u{7} nel\u{85}x del\u{7F}",
            "\n\n", "cr\r\r\nlf\n\r", "👩‍👩‍👧‍👦 family\n🏳️‍🌈", "e\u{301}\ne\u{301}",
        ].map { input in
            let (lines, rest) = TypedText.split(input)
            return [
                "input": .string(input), "lines": .array(lines.map { .string($0.string) }),
                "live": .string(rest.string),
            ]
        }
    }

    private static var long: [Document] {
        [("x", 8_000), ("x", 8_001), ("\"", 8_001), ("\t", 4_001), ("é", 4_001), ("😀", 4_500)].map { text, times in
            let (lines, rest) = TypedText.split(String(repeating: text, count: times))
            return [
                "character": .string(text), "times": .integer(Int64(times)),
                "lines": .array(lines.map { .integer(Int64($0.count)) }), "live": .integer(Int64(rest.count)),
            ]
        }
    }

    private static var edits: [Document] {
        [
            ("", "h"), ("h", "he"), ("hello", "hello"), ("hello", "hell"), ("hello", ""),
            ("hello world", "hello there"),
            ("👍", "👍🏽"), ("👩‍👧", "👩‍👦"), ("🇩🇪", "🇩🇰"), ("e", "e\u{301}"), ("caf\u{E9}", "cafe\u{301}"),
            ("a|b", "a|c"), ("😀😀", "😀x😀"),
        ].map { before, after in
            let (from, to) = (LiveText(before)!, LiveText(after)!)
            let edit = to.edit(from: from)
            return Document.members([
                ("from", .string(before)), ("to", .string(after)),
                ("p", edit.map { .array([.string("\($0.offset)|\($0.text.string)")]) }),
                ("n", edit.map { _ in .integer(Int64(to.count)) }),
            ])
        }
    }

    private static var applied: [Document] {
        let cases: [(String, [(Int, String)], Int)] = [
            ("hello", [(5, " 🌍")], 7), ("hello", [(0, "")], 0), ("hello", [(1, "i"), (2, "|!")], 4),
            ("👩‍👧", [(2, "👦")], 3), ("hello", [(6, "x")], 7), ("hello", [(5, "!")], 5), ("", [(0, "e\u{301}")], 2),
        ]
        return cases.map { before, edits, count in
            let steps = edits.map { TextEdit(offset: $0.0, text: LiveText($0.1)!) }
            let after = LiveText(before)!.applying(steps).flatMap { $0.count == count ? $0 : nil }
            return [
                "live": .string(before), "p": .array(edits.map { .string("\($0.0)|\($0.1)") }),
                "n": .integer(Int64(count)), "result": after.map { .string($0.string) } ?? .null,
            ]
        }
    }

    // MARK: Rooms

    private static var safetyNumbers: [Document] {
        let keys = (self.keys.publicKeys, self.guestKeys.pair.publicKeys)
        return [(keys.0, keys.1), (keys.1, keys.0)].map { one, other in
            [
                "roomId": .string("\(self.room)"), "signPublicKeys": [.hex(one.sign.bytes), .hex(other.sign.bytes)],
                "encPublicKeys": [.hex(one.box.bytes), .hex(other.box.bytes)],
                "safetyNumber": .string(SafetyNumber.text(room: self.room, one, other)),
            ]
        }
    }
}

extension Document {
    fileprivate static func hex(_ bytes: [UInt8]) -> Document { .string(Hexadecimal.text(bytes)) }
    fileprivate static func base64(_ bytes: [UInt8]) -> Document {
        .string(String(decoding: Base64.encode(bytes), as: UTF8.self))
    }
    fileprivate static func text(_ bytes: [UInt8]) -> Document { .string(String(decoding: bytes, as: UTF8.self)) }
}
