import Contract
import ServerCrypto
import Testing

/// The vectors of contract §12, and what a strict verifier must refuse.
@Suite struct SignatureTests {
    private let signKey = hex("bd930cbbf856bb76f2c25c64062a2944cc6065ba54b9af7242d2bfbde5d7c95b")
    private let encKey = hex("b0320981778570beffbb299b237642115b80c714ff2fafd39b9989dc94ba8a38")
    private let digest = hex("a3f5cb632768c6b6126a602d87fd84e5e874d481903aadcd8fd391b70e9e2251")
    private let signature = Base64.decode(
        "oofhBFIEzdUuTLSm/1BQ3QmWPc97/792V5wdhGBJGGKkzbIP/Z0792BlgcrrNuqW4E6vGKjFkLzHGU0nS80cAg==")!
    private let challengeSignature = Base64.decode(
        "2ePUni8MgyJVKuqqHhKDXQCxMANCJGgyx4FXBVhr6CrvNM0o663HWHiKiw9GnloXe9VONfXOzRhtCRi6z6pgBQ==")!

    private var message: CanonicalMessage {
        CanonicalMessage(
            type: "send_message", messageID: "9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10", from: "WSP-JBPU-D452-TLT4",
            toOrGroupID: "WSP-AAAA-AAAA-AAAA", timestamp: 1_730_000_000_000,
            nonce: text(Base64.encode(UInt8(0)..<24)), ciphertext: text(Base64.encode("ciphertext".utf8)))
    }

    @Test(arguments: [(UInt8(0), "WSP-JBPU-D452-TLT4"), (UInt8(1), "WSP-7NUF-DNEU-IGIL")])
    func theIDFollowsFromTheKeys(counter: UInt8, id: String) {
        let derived = WhisperID.derived(signPublicKey: self.signKey, encPublicKey: self.encKey, counter: counter) {
            SHA256.hash($0).bytes
        }
        #expect(derived.description == id)
    }

    @Test func theCanonicalBytesHashToTheVector() {
        #expect(SHA256.hash(self.message.bytes).bytes == self.digest)
    }

    @Test func theCanonicalBytesAreEightLines() {
        let lines = text(self.message.bytes).split(separator: "\n", omittingEmptySubsequences: false)
        #expect(
            lines == [
                "v1", "send_message", "9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10", "WSP-JBPU-D452-TLT4",
                "WSP-AAAA-AAAA-AAAA",
                "1730000000000", "AAECAwQFBgcICQoLDA0ODxAREhMUFRYX", "Y2lwaGVydGV4dA==", "",
            ])
    }

    @Test func theSignatureVectorsAreValid() throws {
        let key = try #require(Bytes32(self.signKey))
        #expect(
            Signatures.isValid(try #require(Bytes64(self.signature)), over: try #require(Bytes32(self.digest)), by: key)
        )
        let challenge = Array("whisper-register".utf8) + (UInt8(0)..<16)
        #expect(Signatures.isValid(try #require(Bytes64(self.challengeSignature)), over: challenge, by: key))
    }

    @Test func aFlippedBitAnywhereIsRefused() throws {
        let key = try #require(Bytes32(self.signKey))
        let digest = try #require(Bytes32(self.digest))
        for bit in 0..<512 {
            var forged = self.signature
            forged[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(
                !Signatures.isValid(try #require(Bytes64(forged)), over: digest, by: key), "bit \(bit) of the signature"
            )
        }
        for bit in 0..<256 {
            var other = self.digest
            other[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(
                !Signatures.isValid(try #require(Bytes64(self.signature)), over: try #require(Bytes32(other)), by: key))
        }
        let wrongKey = try #require(Bytes32(self.encKey))
        #expect(!Signatures.isValid(try #require(Bytes64(self.signature)), over: digest, by: wrongKey))
    }

    /// S + L verifies just as well in the equation: only the check S < L (RFC 8032 §5.1.7) tells them apart.
    @Test func aScalarBeyondTheOrderIsRefused() throws {
        let order = hex("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010")
        var forged = self.signature
        var carry = 0
        for index in 0..<32 {
            let sum = Int(forged[32 + index]) + Int(order[index]) + carry
            forged[32 + index] = UInt8(sum & 255)
            carry = sum >> 8
        }
        #expect(carry == 0)
        let key = try #require(Bytes32(self.signKey))
        #expect(!Signatures.isValid(try #require(Bytes64(forged)), over: try #require(Bytes32(self.digest)), by: key))
    }

    /// Points of order 1, 2, 4 and 8, and other spellings of them. Under the identity point the signature
    /// (identity, 0) fits every message.
    @Test(arguments: [
        "0100000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000080",
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0000000000000000000000000000000000000000000000000000000000000080",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
        "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
        "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
    ])
    func smallOrderSigningKeysAreRefused(key: String) throws {
        let key = try #require(Bytes32(hex(key)))
        #expect(!Signatures.isUsableSignKey(key))
        let identity = [UInt8(1)] + [UInt8](repeating: 0, count: 63)
        #expect(!Signatures.isValid(try #require(Bytes64(identity)), over: Bytes32(), by: key))
    }

    @Test(arguments: [
        "0000000000000000000000000000000000000000000000000000000000000000",
        "0100000000000000000000000000000000000000000000000000000000000000",
        "e0eb7a7c3b41b8ae1656e3faf19fc46ada098deb9c32b1fd866205165f49b800",
        "5f9c95bca3508c24b1d0b1559c83ef5b04445cc4581c8e86d8224eddd09f1157",
        "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
        "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
    ])
    func lowOrderEncryptionKeysAreRefused(key: String) throws {
        #expect(!Signatures.isUsableEncKey(try #require(Bytes32(hex(key)))))
    }

    /// Each is a good key in another spelling: 9 + p, 9 with bit 255, 2 + p with bit 255, and the vector's key with
    /// bit 255.
    @Test func encryptionKeysAreTakenInCanonicalFormOnly() throws {
        let nine = [9] + [UInt8](repeating: 0, count: 31)
        #expect(Signatures.isUsableEncKey(try #require(Bytes32(nine))))
        // The prime less 2. (The prime less 1 is of low order.)
        let greatest = hex("ebffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f")
        #expect(Signatures.isUsableEncKey(try #require(Bytes32(greatest))))
        for key in [
            hex("f6ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f"), nine.dropLast() + [0x80],
            hex("efffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff"),
            self.encKey.dropLast() + [self.encKey[31] | 0x80],
        ] {
            #expect(!Signatures.isUsableEncKey(try #require(Bytes32(key))), "\(key)")
        }
    }

    @Test func theVectorsKeysAreUsable() throws {
        #expect(Signatures.isUsableSignKey(try #require(Bytes32(self.signKey))))
        #expect(Signatures.isUsableEncKey(try #require(Bytes32(self.encKey))))
        // Not on the curve at all.
        #expect(
            !Signatures.isUsableSignKey(
                try #require(Bytes32([UInt8](repeating: 2, count: 1) + [UInt8](repeating: 0, count: 31)))))
    }
}

func hex(_ text: String) -> [UInt8] {
    stride(from: 0, to: text.count, by: 2).map { UInt8(text.dropFirst($0).prefix(2), radix: 16)! }
}

func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
