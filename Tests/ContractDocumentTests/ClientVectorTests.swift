import Contract
import ContractDocuments
import Testing

@testable import WhisperClient

/// The vectors, read by what the client is made of.
@Suite struct ClientVectorTests {
    let keys: KeyVectors
    let signatures: SignatureVectors
    let boxes: BoxVectors

    init() throws {
        self.keys = try vectors("keys.json")
        self.signatures = try vectors("signatures.json")
        self.boxes = try vectors("boxes.json")
    }

    private func identity(_ phrase: String) throws -> IdentityKeys { IdentityKeys(try Mnemonic(phrase: phrase)) }

    @Test func aPhraseGivesSeedsKeysAndIDs() throws {
        for vector in self.keys.identities {
            let mnemonic = try Mnemonic(phrase: vector.mnemonic)
            let seed = mnemonic.seed().bytes
            #expect(seed == hex(vector.seed))
            #expect(KeyDerivation.hkdfSHA256(seed, salt: "whisper", info: "whisper/enc") == hex(vector.encSeed))
            #expect(KeyDerivation.hkdfSHA256(seed, salt: "whisper", info: "whisper/sign") == hex(vector.signSeed))
            let keys = IdentityKeys(mnemonic)
            #expect(keys.contactsKey.bytes == hex(vector.contactsKey))
            #expect(keys.publicKeys.sign.bytes == hex(vector.signPublicKey))
            #expect(keys.publicKeys.box.bytes == hex(vector.encPublicKey))
            for id in vector.whisperIds { #expect("\(keys.publicKeys.id(counter: id.counter))" == id.whisperId) }
        }
    }

    @Test func aPushIsTaggedForItsIdentity() throws {
        for vector in try vectors("wake.json", as: WakeVectors.self).tags {
            let (secret, wakeID) = (WakeSecret(hex(vector.wakeSecret)), UUIDText(vector.wakeId))
            #expect(try #require(secret).tag(of: try #require(wakeID), hmacSHA256: Sodium.hmacSHA256) == vector.tag)
        }
    }

    @Test func weakKeysAreNotEncryptedFor() throws {
        let own = try self.identity(self.keys.identities[0].mnemonic)
        for key in self.keys.weakEncPublicKeys {
            let weak = PublicKeys(sign: own.publicKeys.sign, box: try #require(Bytes32(hex(key))))
            #expect(throws: KeyError.weakKey) { try own.box([1], nonce: [UInt8](0..<24), to: weak) }
        }
    }

    @Test func messagesAreSignedAndVerified() throws {
        for vector in self.signatures.messages {
            let message = CanonicalMessage(
                type: vector.messageType, messageID: vector.messageId, from: vector.from,
                toOrGroupID: vector.toOrGroupId, timestamp: vector.timestamp, nonce: vector.nonce,
                ciphertext: vector.ciphertext)
            #expect(message.bytes == Array(vector.canonical.utf8))
            let digest = Sodium.sha256(message.bytes)
            #expect(digest == hex(vector.digest))
            let signature = try base64(vector.sig)
            #expect(Sodium.verify(signature, of: digest, publicKey: hex(vector.signPublicKey)))
            let writer = try #require(self.keys.identities.first { $0.signPublicKey == vector.signPublicKey })
            #expect(try self.identity(writer.mnemonic).sign(message) == signature)
        }
        for forgery in self.signatures.forgeries {
            let isValid = Sodium.verify(
                try base64(forgery.sig), of: hex(forgery.digest), publicKey: hex(forgery.signPublicKey))
            #expect(!isValid, "\(forgery.why)")
        }
    }

    @Test func onlyLoginChallengesAreAnswered() throws {
        for vector in self.signatures.challenges {
            let owner = try #require(self.keys.identities.first { $0.signPublicKey == vector.signPublicKey })
            #expect(try self.identity(owner.mnemonic).answer(challenge: base64(vector.challenge)) == base64(vector.sig))
        }
        let own = try self.identity(self.keys.identities[0].mnemonic)
        for challenge in self.signatures.foreignChallenges {
            let bytes = try base64(challenge)
            #expect(throws: KeyError.foreignChallenge) { try own.answer(challenge: bytes) }
        }
    }

    @Test func boxesAreThoseOfNaCl() throws {
        for vector in self.boxes.boxes {
            let (writer, reader) = (try self.identity(vector.writer), try self.identity(vector.reader))
            let nonce = hex(vector.nonce)
            #expect(try writer.box(hex(vector.plain), nonce: nonce, to: reader.publicKeys) == hex(vector.sealed))
            #expect(try reader.openBox(hex(vector.sealed), nonce: nonce, from: writer.publicKeys) == hex(vector.plain))
        }
        for vector in self.boxes.secretboxes {
            let (nonce, key) = (hex(vector.nonce), hex(vector.key))
            #expect(Sodium.secretbox(hex(vector.plain), nonce: nonce, key: key) == hex(vector.sealed))
            #expect(Sodium.openSecretbox(hex(vector.sealed), nonce: nonce, key: key) == hex(vector.plain))
        }
    }
}
