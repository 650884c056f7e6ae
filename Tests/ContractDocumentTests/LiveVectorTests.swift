import Contract
import Testing

@testable import WhisperClient

/// `docs/vectors/live.json`, as a client reads it that gets what others made.
struct LiveVectorFile: Decodable {
    struct Conversation: Decodable {
        var convSecret, signPublicKey, encPublicKey, conversationId: String
    }
    struct Link: Decodable { var linkSecret, infoKey, text, textWithName: String }
    struct Guest: Decodable { var signSeed, encPrivateKey, signPublicKey, encPublicKey, guestId: String }
    struct Info: Decodable { var plain, nonce, ciphertext: String }
    struct Box: Decodable { var type, nonce, plain, ciphertext: String }
    struct Tag: Decodable {
        var listener, tag: String
        var timestamp: Int64
    }
    struct Signature: Decodable {
        var type, signPublicKey, sig, canonical: String
        var from, nonce, ciphertext, contentId, text: String?
        var timestamp: Int64?
        var line: Int?
    }
    struct Packet: Decodable {
        var epoch, seq: Int64
        var line, generation: Int
        var kind, plain, nonce, ciphertext: String
        var to: String?
    }
    var conversation: Conversation
    var link: Link
    var guest: Guest
    var info: Info
    var boxes: [Box]
    var knockTag: Tag
    var signatures: [Signature]
    var packets: [Packet]
}

@Suite struct LiveVectorTests {
    let file: LiveVectorFile
    let keys: ConversationKeys
    let guest: GuestKeys

    init() throws {
        self.file = try vectors("live.json")
        self.keys = ConversationKeys(secret: SecretBytes(hex(self.file.conversation.convSecret)))
        self.guest = GuestKeys(secret: SecretBytes(hex(self.file.guest.signSeed) + hex(self.file.guest.encPrivateKey)))
    }

    private func publicKeys(_ sign: String, _ enc: String) throws -> PublicKeys {
        PublicKeys(sign: try #require(Bytes32(hex(sign))), box: try #require(Bytes32(hex(enc))))
    }

    @Test func idsVouchForTheirKeys() throws {
        let conversation = try self.publicKeys(
            self.file.conversation.signPublicKey, self.file.conversation.encPublicKey)
        let guest = try self.publicKeys(self.file.guest.signPublicKey, self.file.guest.encPublicKey)
        let cid = try #require(ConversationID(self.file.conversation.conversationId))
        let gst = try #require(GuestID(self.file.guest.guestId))
        #expect(conversation.belong(to: cid) && guest.belong(to: gst) && guest.belong(to: .guest(gst)))
        #expect(!guest.belong(to: cid) && !conversation.belong(to: gst))
        #expect(self.keys.publicKeys == conversation && self.guest.pair.publicKeys == guest)
    }

    @Test func theInfoOpensWithTheLink() throws {
        for text in [self.file.link.text, self.file.link.textWithName] {
            let link = try #require(ListenLink(text))
            #expect(link.text == text && link.conversation == self.keys.id)
            let sealed = SealedBytes(nonce: hex(self.file.info.nonce), ciphertext: hex(self.file.info.ciphertext))
            let aad = LiveSeals.info(link.conversation)
            let plain = sealed.open(key: LinkKeys(secret: link.secret).infoKey, vouchingFor: aad)
            #expect(plain == Array(self.file.info.plain.utf8))
        }
    }

    @Test func boxesOpenForTheirReaderAndAsWhatTheyAre() throws {
        for box in self.file.boxes {
            let type = try #require(LiveSignature.FrameType(rawValue: box.type))
            let sealed = SealedBox(SealedBytes(nonce: hex(box.nonce), ciphertext: hex(box.ciphertext)))
            let (reader, other) =
                type == .knock ? (self.keys.pair, self.guest.pair) : (self.guest.pair, self.keys.pair)
            let aad = LiveSeals.box(type: type, id: "\(self.keys.id)")
            #expect(try reader.open(sealed, vouchingFor: aad) == Array(box.plain.utf8))
            #expect(throws: KeyError.notForUs) { try other.open(sealed, vouchingFor: aad) }
            let moved = LiveSeals.box(type: .refuse, id: "\(self.keys.id)")
            #expect(throws: KeyError.notForUs) { try reader.open(sealed, vouchingFor: moved) }
        }
    }

    @Test func aTagIsThatOfOneListenerAndTime() throws {
        let link = LinkKeys(secret: SecretBytes(hex(self.file.link.linkSecret)))
        let (vector, listener) = (self.file.knockTag, try #require(PrincipalID(self.file.knockTag.listener)))
        let time = Timestamp(milliseconds: vector.timestamp)
        #expect(link.isTag(hex(vector.tag), ofKnockBy: listener, on: self.keys.id, at: time))
        #expect(!link.isTag(hex(vector.tag), ofKnockBy: listener, on: self.keys.id, at: time + .milliseconds(1)))
        #expect(!link.isTag([], ofKnockBy: listener, on: self.keys.id, at: time))
    }

    @Test func signaturesVerify() throws {
        let listener = PrincipalID.guest(self.guest.id)
        let profile = try #require(UUIDText("9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10"))
        let kinds: [String: LiveSignature] = [
            "live_create": .create(profile: profile), "live_update": .update(profile: profile), "live_knock": .knock,
            "live_grant": .grant(to: listener), "live_refuse": .refuse(to: listener),
        ]
        for vector in self.file.signatures {
            let signer = vector.type == "live_knock" ? self.guest.pair.publicKeys : self.keys.publicKeys
            #expect(signer.sign.bytes == hex(vector.signPublicKey))
            if let text = vector.text, let line = vector.line {
                let content = try #require(vector.contentId.flatMap { UUIDText($0) })
                let signature = try base64(vector.sig)
                for (number, isGood) in [(line, true), (line + 1, false)] {
                    let verdict = signer.signed(
                        line: number, text: text, of: self.keys.id, content: content, signature: signature)
                    #expect(verdict == isGood)
                }
                continue
            }
            let kind = try #require(kinds[vector.type])
            let seal = LiveSigned(
                from: try #require(vector.from.flatMap { PrincipalID($0) }),
                timestamp: Timestamp(milliseconds: try #require(vector.timestamp)),
                nonce: try base64(#require(vector.nonce)), ciphertext: try base64(#require(vector.ciphertext)),
                signature: try #require(Bytes64(try base64(vector.sig))))
            #expect(seal.isSigned(as: kind, of: self.keys.id, by: signer))
            let others = [LiveSignature.knock, .grant(to: listener), .refuse(to: listener)].filter { $0 != kind }
            for other in others { #expect(!seal.isSigned(as: other, of: self.keys.id, by: signer)) }
        }
    }

    @Test func packetsOpenOnlyAsWhatTheyAre() throws {
        let content = try #require(UUIDText("0f8fad5b-d9cb-469f-a165-70867728950e"))
        var opener = PacketKeys(conversation: self.keys.id, publicKeys: self.keys.publicKeys)
        for vector in self.file.packets {
            let header = LivePacketHeader(
                conversation: self.keys.id, position: LivePosition(epoch: vector.epoch, seq: vector.seq),
                kind: try #require(LivePacketKind(rawValue: vector.kind)), line: vector.line,
                generation: vector.generation, to: try vector.to.map { try #require(PrincipalID($0)) })
            let sealed = SealedBytes(nonce: hex(vector.nonce), ciphertext: hex(vector.ciphertext))
            opener = PacketKeys(conversation: self.keys.id, publicKeys: self.keys.publicKeys)
            #expect(opener.open(sealed, as: header, content: content) == .keyMissing)
            opener.add(self.keys.contentKey(generation: 2))
            let plaintext = try #require(PacketPlaintext(Array(vector.plain.utf8), kind: header.kind))
            #expect(plaintext.bytes == Array(vector.plain.utf8))
            #expect(opener.open(sealed, as: header, content: content) == .content(plaintext.content))
            var moved = [header, header, header, header, header]
            moved[0].position.seq += 1
            moved[1].position.epoch += 1
            moved[2].line += 1
            moved[3].kind = header.kind == .cue ? .line : .cue
            moved[4].to = header.to == nil ? .guest(self.guest.id) : nil
            for header in moved { #expect(opener.open(sealed, as: header, content: content) == .unreadable) }
            guard header.kind == .line else { continue }
            // Signed for another stream.
            #expect(opener.open(sealed, as: header, content: UUIDText(high: 1, low: 2)) == .unreadable)
        }
    }
}
