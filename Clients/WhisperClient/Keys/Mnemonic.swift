/// The twelve words a person writes down: 128 bits of entropy and a checksum of four (BIP39).
package struct Mnemonic: Sendable, Equatable {
    package let words: [String]

    package static let wordCount = 12
    package static let entropyBytes = 16

    /// One phrase, words divided by single spaces.
    package var phrase: String { self.words.joined(separator: " ") }

    package static func random() -> Mnemonic {
        Mnemonic(entropy: Sodium.random(Self.entropyBytes))!
    }

    /// - Returns: `nil` unless there are exactly 16 bytes.
    package init?(entropy: [UInt8]) {
        guard entropy.count == Self.entropyBytes else { return nil }
        let bits = entropy + [Sodium.sha256(entropy)[0] & 0xF0]
        self.words = (0..<Self.wordCount).map { word in
            let position = (0..<11).reduce(0) { position, bit in
                let index = word * 11 + bit
                return position << 1 | Int(bits[index / 8] >> UInt8(7 - index % 8) & 1)
            }
            return String(Wordlist.english[position])
        }
    }

    /// Reads what a person typed: any white space, either case.
    package init(phrase: String) throws(MnemonicError) {
        let words = phrase.lowercased().split(whereSeparator: \.isWhitespace)
        guard words.count == Self.wordCount else { throw .wordCount(words.count) }
        var bits: [UInt8] = []
        for word in words {
            guard let position = Wordlist.positions[word] else { throw .unknownWord(String(word)) }
            for shift in stride(from: 10, through: 0, by: -1) { bits.append(UInt8(position >> shift & 1)) }
        }
        let bytes = stride(from: 0, to: 128, by: 8).map { start in
            bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | $1 }
        }
        let checksum = bits[128...].reduce(UInt8(0)) { $0 << 1 | $1 }
        guard Sodium.sha256(bytes)[0] >> 4 == checksum else { throw .checksum }
        self.words = words.map(String.init)
    }

    package static let passphraseBytes = 1...256

    /// Printable ASCII alone: there BIP39's NFKD changes nothing, so every device derives the same seed.
    package static func isPassphrase(_ text: String) -> Bool {
        self.passphraseBytes.contains(text.utf8.count) && text.utf8.allSatisfy { (0x20...0x7E).contains($0) }
    }

    /// The 64-byte seed of BIP39. Each passphrase gives another identity; empty: there is none.
    package func seed(passphrase: String = "") -> SecretBytes {
        SecretBytes(
            KeyDerivation.pbkdf2SHA512(
                password: Array(self.phrase.utf8), salt: Array("mnemonic".utf8) + Array(passphrase.utf8), rounds: 2_048)
        )
    }
}

/// Why typed words are no phrase. The cases differ in what the person should look at.
package enum MnemonicError: Error, Equatable {
    case wordCount(Int)
    case unknownWord(String)
    /// All words exist, but not in this combination: one is wrong, or two are swapped.
    case checksum
}
