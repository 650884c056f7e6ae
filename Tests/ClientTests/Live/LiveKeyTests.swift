import Contract
import Testing

@testable import WhisperClient

/// Seals, boxes and links of live conversations; `LiveVectorTests` compares them with another implementation.
@Suite struct LiveKeyTests {
    let conversation = ConversationKeys(secret: SecretBytes([UInt8](0..<32)))
    let guest = GuestKeys(secret: SecretBytes([UInt8](32..<96)))
    let nonce = [UInt8](0..<12)

    /// NIST SP 800-38D, as McGrew and Viega's "The Galois/Counter Mode of Operation", test case 16.
    @Test func aesIsThatOfTheStandard() {
        let key = SecretBytes(hex("feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"))
        let plain = hex(
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a721c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39"
        )
        let sealed = AES256GCM.seal(
            plain, key: key, nonce: hex("cafebabefacedbaddecaf888"),
            vouchingFor: hex("feedfacedeadbeeffeedfacedeadbeefabaddad2"))
        #expect(
            sealed
                == hex(
                    "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f66276fc6ece0f4e1768cddf8853bb2d551b"
                ))
    }

    @Test func eachChangeOfASealIsSeen() {
        let key = SecretBytes([UInt8](repeating: 7, count: 32))
        for plain in [[], Array("hello".utf8)] {
            let sealed = SealedBytes(plain, key: key, nonce: self.nonce, vouchingFor: [1])
            #expect(sealed.open(key: key, vouchingFor: [1]) == plain)
            #expect(sealed.open(key: key, vouchingFor: [2]) == nil)
            #expect(sealed.open(key: SecretBytes([UInt8](repeating: 8, count: 32)), vouchingFor: [1]) == nil)
            for index in sealed.ciphertext.indices {
                var changed = sealed
                changed.ciphertext[index] ^= 1
                #expect(changed.open(key: key, vouchingFor: [1]) == nil)
            }
            var changed = sealed
            changed.nonce[0] ^= 1
            #expect(changed.open(key: key, vouchingFor: [1]) == nil)
            let short = SealedBytes(nonce: self.nonce, ciphertext: Array(sealed.ciphertext.prefix(15)))
            #expect(short.open(key: key, vouchingFor: [1]) == nil)
            #expect(SealedBytes(nonce: [], ciphertext: sealed.ciphertext).open(key: key, vouchingFor: [1]) == nil)
        }
    }

    @Test func aBoxHidesTheSenderAndOpensForItsReader() throws {
        let (plain, data) = (Array("hello".utf8), LiveSeals.box(type: .knock, id: "\(self.conversation.id)"))
        let box = try SealedBox(
            plain, to: self.conversation.publicKeys.box, ephemeral: SecretBytes(Sodium.random(32)), nonce: self.nonce,
            vouchingFor: data)
        #expect(box.sealed.ciphertext.count == plain.count + LiveLimits.boxOverheadBytes)
        #expect(try self.conversation.pair.open(box, vouchingFor: data) == plain)
        #expect(throws: KeyError.notForUs) { try self.guest.pair.open(box, vouchingFor: data) }
        for index in box.sealed.ciphertext.indices {
            var sealed = box.sealed
            sealed.ciphertext[index] ^= 1
            #expect(throws: KeyError.notForUs) {
                try self.conversation.pair.open(SealedBox(sealed), vouchingFor: data)
            }
        }
        for count in [0, 31, 32, 47] {
            let short = SealedBytes(nonce: self.nonce, ciphertext: Array(box.sealed.ciphertext.prefix(count)))
            #expect(throws: KeyError.notForUs) { try self.conversation.pair.open(SealedBox(short), vouchingFor: data) }
        }
    }

    @Test(arguments: [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
    ])
    func keysOfLowOrderAreRefused(key: String) {
        let weak = Bytes32(hex(key))!
        #expect(throws: KeyError.weakKey) {
            try SealedBox([1], to: weak, ephemeral: SecretBytes(Sodium.random(32)), nonce: self.nonce, vouchingFor: [])
        }
        // Nor is a box opened that pretends to be from such a key.
        let box = SealedBox(SealedBytes(nonce: self.nonce, ciphertext: weak.bytes + [UInt8](repeating: 0, count: 17)))
        #expect(throws: KeyError.notForUs) { try self.guest.pair.open(box, vouchingFor: []) }
    }

    @Test func onlyAGuestsChallengeIsAnswered() throws {
        let challenge = Array("whisper-guest-v1".utf8) + [UInt8](0..<16)
        let signature = try self.guest.answer(challenge: challenge)
        #expect(Sodium.verify(signature, of: challenge, publicKey: self.guest.pair.publicKeys.sign.bytes))
        for foreign in [Array("whisper-register".utf8) + [UInt8](0..<16), Array(challenge.dropLast()), []] {
            #expect(throws: KeyError.foreignChallenge) { try self.guest.answer(challenge: foreign) }
        }
    }

    @Test func aLinkIsReadAsItWasWritten() throws {
        let secret = SecretBytes(Sodium.random(16))
        for origin in ["https://whisper.example", "http://127.0.0.1:8080"] {
            for name in [nil, "Story time", "Zoë/🦉?#", "-", ""] {
                let link = ListenLink(origin: origin, conversation: self.conversation.id, name: name, secret: secret)
                let read = try #require(ListenLink(link.text), "\(link.text)")
                #expect(read.origin == origin && read.conversation == self.conversation.id && read.name == link.name)
                #expect(read.secret.bytes == secret.bytes)
                #expect(link.text.utf8.allSatisfy { (0x21...0x7E).contains($0) })
            }
        }
        #expect(
            ListenLink(origin: "https://a", conversation: self.conversation.id, name: "Zoë/🦉", secret: secret).name
                == "Zoë--")
    }

    @Test func otherTextIsNoLink() {
        let id = "\(self.conversation.id)"
        let secret = "AAECAwQFBgcICQoLDA0ODw"
        #expect(ListenLink("https://a/listen/\(id)#\(secret)") != nil)
        for text in [
            "", "https://a/listen/\(id)", "https://a/listen/\(id)#", "https://a/listen/\(id)#\(secret)#",
            "https://a/listen/\(id)#\(secret)==", "https://a/listen/\(id)#\(secret)A", "https://a/listen/#\(secret)",
            "https:///listen/\(id)#\(secret)", "ftp://a/listen/\(id)#\(secret)", "a/listen/\(id)#\(secret)",
            "https://a/b/listen/\(id)#\(secret)", "https://a/listen/\(id)/x/y#\(secret)",
            "https://a/listen/\(id)?x#\(secret)", "https://a/listen/\(id.uppercased())#\(secret)",
            "https://a/join/\(id)#\(secret)", "https://a/listen/\(id)/%zz#\(secret)",
        ] {
            #expect(ListenLink(text) == nil, "\(text)")
        }
    }

    @Test func generationsAndLinesHaveKeysOfTheirOwn() {
        let keys = (1...3).map { self.conversation.contentKey(generation: $0) }
        #expect(Set(keys.flatMap { [$0.key.bytes, $0.lineKey.bytes] }).count == 6)
    }
}
