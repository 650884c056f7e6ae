import Contract
import ContractDocuments
import ServerCrypto
import Testing

/// The vectors, read by what the server is made of.
@Suite struct ServerVectorTests {
    let keys: KeyVectors
    let signatures: SignatureVectors
    let frames: FormVectors

    init() throws {
        self.keys = try vectors("keys.json")
        self.signatures = try vectors("signatures.json")
        self.frames = try vectors("frames.json")
    }

    @Test func idsComeFromKeys() {
        for identity in self.keys.identities {
            for id in identity.whisperIds {
                let derived = WhisperID.derived(
                    signPublicKey: hex(identity.signPublicKey), encPublicKey: hex(identity.encPublicKey),
                    counter: id.counter, sha256: { SHA256.hash($0).bytes })
                #expect("\(derived)" == id.whisperId)
                #expect(WhisperID(id.whisperId) == derived)
            }
        }
    }

    @Test func aPushIsTaggedForItsIdentity() throws {
        for vector in try vectors("wake.json", as: WakeVectors.self).tags {
            let (secret, wakeID) = (WakeSecret(hex(vector.wakeSecret)), UUIDText(vector.wakeId))
            #expect(
                try #require(secret).tag(of: try #require(wakeID), hmacSHA256: { hmacSHA256(key: $0, $1).bytes })
                    == vector.tag)
        }
    }

    @Test func weakKeysAreRefused() throws {
        for identity in self.keys.identities {
            #expect(Signatures.isUsableSignKey(try #require(Bytes32(hex(identity.signPublicKey)))))
            #expect(Signatures.isUsableEncKey(try #require(Bytes32(hex(identity.encPublicKey)))))
        }
        for key in self.keys.weakEncPublicKeys { #expect(!Signatures.isUsableEncKey(try #require(Bytes32(hex(key))))) }
    }

    @Test func signaturesHold() throws {
        for message in self.signatures.messages {
            let canonical = CanonicalMessage(
                type: message.messageType, messageID: message.messageId, from: message.from,
                toOrGroupID: message.toOrGroupId, timestamp: message.timestamp, nonce: message.nonce,
                ciphertext: message.ciphertext)
            #expect(canonical.bytes == Array(message.canonical.utf8))
            let digest = SHA256.hash(canonical.bytes)
            #expect(digest.bytes == hex(message.digest))
            let (signature, key) = (Bytes64(try base64(message.sig))!, Bytes32(hex(message.signPublicKey))!)
            #expect(Signatures.isValid(signature, over: digest, by: key))
        }
        for challenge in self.signatures.challenges {
            let (signature, key) = (Bytes64(try base64(challenge.sig))!, Bytes32(hex(challenge.signPublicKey))!)
            #expect(Signatures.isValid(signature, over: try base64(challenge.challenge), by: key))
        }
    }

    @Test func forgeriesDoNot() throws {
        for forgery in self.signatures.forgeries {
            let (signature, key) = (Bytes64(try base64(forgery.sig))!, Bytes32(hex(forgery.signPublicKey))!)
            #expect(!Signatures.isValid(signature, over: Bytes32(hex(forgery.digest))!, by: key), "\(forgery.why)")
        }
    }

    /// A frame's canonical bytes, as the gateway hashes them, are those of the vectors.
    @Test func framesHaveTheCanonicalBytesOfTheirVectors() throws {
        for message in self.signatures.messages where message.messageType.hasSuffix("send_message") {
            let isGroup = message.messageType == "group_send_message"
            let recipient = isGroup ? "WSP-AAAA-AAAA-AAAA" : message.toOrGroupId
            let group = isGroup ? #""groupId":"\#(message.toOrGroupId)","# : ""
            let payload = """
                {"protocolVersion":1,"cryptoVersion":1,\(group)"messageId":"\(message.messageId)","from":"\(message.from)",\
                "to":"\(recipient)","msgType":"text","timestamp":\(message.timestamp),"nonce":"\(message.nonce)",\
                "ciphertext":"\(message.ciphertext)","sig":"\(message.sig)"}
                """
            let definition = isGroup ? GroupSendMessage.definition : SendMessage.definition
            let read = try FrameDecoder.payload(bare: Array(payload.utf8), schema: definition.schema)
            let frame: any EnvelopeFrame = try isGroup ? GroupSendMessage(read) : SendMessage(read)
            #expect(canonical(frame) == Array(message.canonical.utf8))
        }
    }

    @Test func formsAreJudgedAsExpected() {
        #expect(self.frames.forms.count > 300)
        for form in self.frames.forms {
            let violation = FrameVerdict.violation(of: Array(form.frame.utf8), from: .client)
            #expect((violation == nil ? "VALID" : "INVALID_PAYLOAD") == form.expect, "\(form.name)")
            #expect(violation?.field == form.field, "\(form.name)")
        }
    }

    @Test func checksComeInOrder() throws {
        for check in self.frames.checks {
            #expect(try code(of: check)?.rawValue ?? "VALID" == check.expect, "\(check.name)")
        }
    }

    /// Steps 1, 3, 5, 6 and 8 of the order of checks.
    private func code(of check: FormVectors.Check) throws -> ErrorCode? {
        let message = Array(check.frame.utf8)
        guard FrameVerdict.violation(of: message, from: .client) == nil else { return .invalidPayload }
        let definition = SendMessage.definition
        let payload = try FrameDecoder.payload(
            try FrameDecoder.envelope(of: message), of: message, schema: definition.schema)
        let token = try #require(definition.sessionField)
        guard payload.has(token), payload.withText(token, { Limits.sessionTokenCharacters.contains($0.count) }) else {
            return .notRegistered
        }
        let frame = try SendMessage(payload)
        guard "\(frame.from)" == check.session else { return .forbidden }
        let key = try #require(Bytes32(hex(check.signPublicKey)))
        guard Signatures.isValid(frame.signature, over: SHA256.hash(canonical(frame)), by: key) else {
            return .authFailed
        }
        return frame.timestamp.isWithinSkew(of: Timestamp(milliseconds: check.serverTime)) ? nil : .invalidTimestamp
    }
}

func canonical(_ frame: any EnvelopeFrame) -> [UInt8] {
    var bytes: [UInt8] = []
    frame.canonicalBytes { bytes += $0 }
    return bytes
}
