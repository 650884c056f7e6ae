import Contract
import Testing

@testable import WhisperClient

func hex(_ text: String) -> [UInt8] {
    stride(from: 0, to: text.utf8.count, by: 2).map { start in
        let digits = text.utf8.dropFirst(start).prefix(2)
        return UInt8(String(decoding: digits, as: UTF8.self), radix: 16)!
    }
}

func base64(_ bytes: [UInt8]) -> String { String(decoding: Base64.encode(bytes), as: UTF8.self) }

let aliceWords = try! Mnemonic(phrase: Array(repeating: "abandon", count: 11).joined(separator: " ") + " about")
let bobWords = try! Mnemonic(phrase: "ozone drill grab fiber curtain grace pudding thank cruise elder eight picnic")

/// The vectors of contract §12, and others made with PyNaCl and the `mnemonic` package.
@Suite struct VectorTests {
    let alice = IdentityKeys(aliceWords)
    let bob = IdentityKeys(bobWords)
    let nonce = [UInt8](0..<24)

    @Test func theWordlistIsTheEnglishOne() {
        #expect(Wordlist.english.count == 2_048)
        let file = Array((Wordlist.english.joined(separator: "\n") + "\n").utf8)
        #expect(Sodium.sha256(file) == hex("2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda"))
    }

    @Test func theSeedIsThatOfBIP39() {
        #expect(
            aliceWords.seed().bytes
                == hex(
                    "5eb00bbddcf069084889a8ab9155568165f5c453ccb85e70811aaed6f6da5fc19a5ac40b389cd370d086206dec8aa6c43daea6690f20ad3d8d48b2d2ce9e38e4"
                ))
        #expect(
            aliceWords.seed(passphrase: "TREZOR").bytes
                == hex(
                    "c55257c360c07c72029aebc1b53c05ed0362ada38ead3e3e9efa3708e53495531f09a6987599d18264c1e1c92f2cf141630c7a3c4ab7c81b2f001698e7463b04"
                ))
    }

    /// BIP39's own vectors of twelve words, all with this passphrase.
    @Test(arguments: [
        (
            "legal winner thank year wave sausage worth useful legal winner thank yellow",
            "2e8905819b8723fe2c1d161860e5ee1830318dbf49a83bd451cfb8440c28bd6fa457fe1296106559a3c80937a1c1069be3a3a5bd381ee6260e8d9739fce1f607"
        ),
        (
            "letter advice cage absurd amount doctor acoustic avoid letter advice cage above",
            "d71de856f81a8acc65e6fc851a38d4d7ec216fd0796d0a6827a3ad6ed5511a30fa280f12eb2e47ed2ac03b5c462a0358d18d69fe4f985ec81778c1b370b652a8"
        ),
        (
            "zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo zoo wrong",
            "ac27495480225222079d7be181583751e86f571027b0497b5b5d11218e0a8a13332572917f0f8e5a589620c6f15b11c61dee327651a14c34e18231052e48c069"
        ),
        (
            "ozone drill grab fiber curtain grace pudding thank cruise elder eight picnic",
            "274ddc525802f7c828d8ef7ddbcdc5304e87ac3535913611fbbfa986d0c9e5476c91689f9c8a54fd55bd38606aa6a8595ad213d4c9c9f9aca3fb217069a41028"
        ),
        (
            "scheme spot photo card baby mountain device kick cradle pact join borrow",
            "ea725895aaae8d4c1cf682c1bfd2d358d52ed9f0f0591131b559e2724bb234fca05aa9c02c57407e04ee9dc3b454aa63fbff483a8b11de949624b9f1831a9612"
        ),
        (
            "cat swing flag economy stadium alone churn speed unique patch report train",
            "deb5f45449e615feff5640f2e49f933ff51895de3b4381832b3139941c57b59205a42480c52175b6efcffaa58a2503887c1e8b363a707256bdd2b587b46541f5"
        ),
        (
            "vessel ladder alter error federal sibling chat ability sun glass valve picture",
            "2aaa9242daafcee6aa9d7269f17d4efe271e1b9a529178d7dc139cd18747090bf9d60295d0ce74309a78852a9caadf0af48aae1c6253839624076224374bc63f"
        ),
    ])
    func aPassphraseGivesTheSeedsOfBIP39(phrase: String, seed: String) throws {
        let mnemonic = try Mnemonic(phrase: phrase)
        #expect(mnemonic.seed(passphrase: "TREZOR").bytes == hex(seed))
        #expect(IdentityKeys(mnemonic, passphrase: "TREZOR").publicKeys != IdentityKeys(mnemonic).publicKeys)
    }

    @Test func derivedSeedsAreThoseOfTheContract() {
        let seed = aliceWords.seed().bytes
        func derived(_ info: String) -> [UInt8] { KeyDerivation.hkdfSHA256(seed, salt: "whisper", info: info) }
        #expect(derived("whisper/enc") == hex("08851144b1bdf8b99c563bd408f4a613943fef2d9120397573932bd9833e0149"))
        #expect(derived("whisper/sign") == hex("457f5c29bc4ab25ea84b9d076fee560db80b9994725106594400e28672f3e5be"))
        let contactsKey = hex("de3d0fda0659df936a71ee48cf6519da84b285344916511b5244d2ac36c23ff2")
        #expect(derived("whisper/contacts") == contactsKey)
        #expect(self.alice.contactsKey.bytes == contactsKey)
    }

    @Test func publicKeysAreThoseOfTheContract() {
        let keys = self.alice.publicKeys
        #expect(keys.sign.bytes == hex("bd930cbbf856bb76f2c25c64062a2944cc6065ba54b9af7242d2bfbde5d7c95b"))
        #expect(keys.box.bytes == hex("b0320981778570beffbb299b237642115b80c714ff2fafd39b9989dc94ba8a38"))
        #expect(
            self.bob.publicKeys.sign.bytes == hex("ad257002e91a42c49f2a28c785673d7f809cafdf3dd926aee1603e754e7463b8"))
        #expect(
            self.bob.publicKeys.box.bytes == hex("3565d18fd4ec7e32082bcdaa9cbb7e880aba5378842d873c987a3304a2552e19"))
    }

    @Test func anIDComesFromItsKeysAndTheCounter() {
        let keys = self.alice.publicKeys
        #expect("\(keys.id(counter: 0))" == "WSP-JBPU-D452-TLT4")
        #expect("\(keys.id(counter: 1))" == "WSP-7NUF-DNEU-IGIL")
        #expect("\(self.bob.publicKeys.id(counter: 0))" == "WSP-F4YH-3J4Z-7RP7")
        for counter: UInt8 in [0, 1, 127, 255] { #expect(keys.belong(to: keys.id(counter: counter))) }
        #expect(!keys.belong(to: self.bob.publicKeys.id(counter: 0)))
        #expect(!self.bob.publicKeys.belong(to: keys.id(counter: 1)))
    }

    @Test func theCanonicalDigestAndItsSignatureAreThoseOfTheContract() {
        let message = CanonicalMessage(
            type: "send_message", messageID: "9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10", from: "WSP-JBPU-D452-TLT4",
            toOrGroupID: "WSP-AAAA-AAAA-AAAA", timestamp: 1_730_000_000_000, nonce: base64(self.nonce),
            ciphertext: base64(Array("ciphertext".utf8)))
        let digest = Sodium.sha256(message.bytes)
        #expect(digest == hex("a3f5cb632768c6b6126a602d87fd84e5e874d481903aadcd8fd391b70e9e2251"))
        let signature =
            "oofhBFIEzdUuTLSm/1BQ3QmWPc97/792V5wdhGBJGGKkzbIP/Z0792BlgcrrNuqW4E6vGKjFkLzHGU0nS80cAg=="
        #expect(Sodium.verify(Base64.decode(signature)!, of: digest, publicKey: self.alice.publicKeys.sign.bytes))
        #expect(base64(self.alice.sign(message)) == signature)
    }

    @Test func aLoginChallengeIsSigned() throws {
        let challenge = Array("whisper-register".utf8) + [UInt8](0..<16)
        let signature = try self.alice.answer(challenge: challenge)
        #expect(
            base64(signature)
                == "2ePUni8MgyJVKuqqHhKDXQCxMANCJGgyx4FXBVhr6CrvNM0o663HWHiKiw9GnloXe9VONfXOzRhtCRi6z6pgBQ==")
        #expect(Sodium.verify(signature, of: challenge, publicKey: self.alice.publicKeys.sign.bytes))
    }

    @Test func nothingElseIsSignedAsAChallenge() {
        // A digest of a message would pass for a challenge if only its length counted.
        for foreign in [
            Sodium.sha256([1]), Array("whisper-register".utf8), Array("whisper-registry".utf8) + nonce.prefix(16),
        ] {
            #expect(throws: KeyError.foreignChallenge) { try self.alice.answer(challenge: foreign) }
        }
    }

    @Test func aBoxIsThatOfNaCl() throws {
        let text = Array("grüße, Bob".utf8)
        let sealed = try self.alice.box(text, nonce: self.nonce, to: self.bob.publicKeys)
        #expect(sealed == hex("13f4788afb636d00db5c1b3fac1a865318493b257de827abac271c23"))
        #expect(try self.bob.openBox(sealed, nonce: self.nonce, from: self.alice.publicKeys) == text)
        var changed = sealed
        changed[3] ^= 1
        #expect(throws: KeyError.notForUs) {
            try self.bob.openBox(changed, nonce: self.nonce, from: self.alice.publicKeys)
        }
    }

    @Test func aSecretboxIsThatOfNaCl() {
        let key = self.alice.contactsKey.bytes
        let sealed = Sodium.secretbox(Array(#"{"version":1}"#.utf8), nonce: self.nonce, key: key)
        #expect(sealed == hex("e377c579001f386f686e380a2c7614b6b9616d0d331e7fa6a25445e07c"))
        #expect(Sodium.openSecretbox(sealed, nonce: self.nonce, key: key) == Array(#"{"version":1}"#.utf8))
        #expect(Sodium.openSecretbox(sealed, nonce: self.nonce, key: self.bob.contactsKey.bytes) == nil)
    }

    @Test func aLowOrderKeyIsRefused() {
        let weak = PublicKeys(sign: self.bob.publicKeys.sign, box: Bytes32([UInt8](repeating: 0, count: 32))!)
        #expect(throws: KeyError.weakKey) { try self.alice.box([1], nonce: self.nonce, to: weak) }
    }

    @Test func aSealedMessageOpensOnlyUnchanged() throws {
        let (from, to) = (self.alice.publicKeys.id(counter: 0), self.bob.publicKeys.id(counter: 0))
        let sealed = try SealedMessage(
            Array("hello".utf8), messageID: "9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10", from: from, to: to,
            reader: self.bob.publicKeys, timestamp: Timestamp(milliseconds: 1), nonce: self.nonce, keys: self.alice)
        #expect(try sealed.open(writer: self.alice.publicKeys, keys: self.bob) == Array("hello".utf8))
        var later = sealed
        later.timestamp += 1
        #expect(throws: SealError.unverified) { try later.open(writer: self.alice.publicKeys, keys: self.bob) }
        var moved = sealed
        moved.groupID = "grp-9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10"
        #expect(throws: SealError.unverified) { try moved.open(writer: self.alice.publicKeys, keys: self.bob) }
        #expect(throws: SealError.unreadable) { try sealed.open(writer: self.alice.publicKeys, keys: self.alice) }
    }
}

@Suite struct MnemonicTests {
    @Test(arguments: [
        (
            String(repeating: "7f", count: 16),
            "legal winner thank year wave sausage worth useful legal winner thank yellow"
        ),
        ("9e885d952ad362caeb4efe34a8e91bd2", bobWords.phrase),
        (String(repeating: "00", count: 16), aliceWords.phrase),
    ])
    func entropyBecomesWords(entropy: String, phrase: String) throws {
        #expect(Mnemonic(entropy: hex(entropy))?.phrase == phrase)
        #expect(try Mnemonic(phrase: phrase).phrase == phrase)
    }

    @Test func typingIsForgivenMistakesAreNamed() throws {
        #expect(
            try Mnemonic(phrase: "  Ozone DRILL grab fiber curtain grace\npudding thank cruise elder eight picnic ")
                == bobWords)
        #expect(throws: MnemonicError.wordCount(2)) { try Mnemonic(phrase: "ozone drill") }
        #expect(throws: MnemonicError.unknownWord("ozonne")) {
            try Mnemonic(phrase: bobWords.phrase.replacing("ozone", with: "ozonne"))
        }
        #expect(throws: MnemonicError.checksum) {
            try Mnemonic(phrase: "drill ozone grab fiber curtain grace pudding thank cruise elder eight picnic")
        }
    }

    @Test func randomPhrasesAreValidAndDiffer() throws {
        let phrases = (0..<50).map { _ in Mnemonic.random().phrase }
        #expect(Set(phrases).count == 50)
        for phrase in phrases { _ = try Mnemonic(phrase: phrase) }
    }
}
