package import Contract

/// How two of us find out who is at the other end of a connection: both say it, and both prove it.
///
/// A proof signs both nonces, so that recorded ones prove nothing. Before the other's proof nothing else is taken. After
/// it a connection is trusted with nothing: messages and receipts are signed each.
package struct NearbyHandshake: Sendable {
    package enum Verdict: Sendable {
        /// Nothing is to be done.
        case wait
        /// They have said who they are. Whoever agrees to it answers with `proof`.
        case said(NearbyHello)
        /// They have proven it.
        case proven(NearbyHello)
        /// It came from somebody who has proven who they are.
        case from(NearbyHello, NearbyWord)
        /// Hang up: it is no word of this release, out of place, or its signature is not theirs.
        case refuse
    }

    package let hello: NearbyHello
    private let keys: IdentityKeys
    private var other: NearbyHello?
    private var isProven = false

    /// - Parameter nonce: fresh random bytes.
    package init(id: WhisperID, keys: IdentityKeys, nonce: [UInt8]) {
        self.hello = NearbyHello(id: id, keys: keys.publicKeys, nonce: nonce)
        self.keys = keys
    }

    /// Who is at the other end, once it is proven.
    package var proven: NearbyHello? { self.isProven ? self.other : nil }

    /// What is said to them once they have said who they are.
    package var proof: [UInt8]? {
        self.other.map {
            NearbyWord.bytes(ofProof: self.keys.pair.sign(digestOf: NearbyHello.proof(of: self.hello, to: $0)))
        }
    }

    /// What is said to them of a message of theirs, once they have proven who they are.
    package func receipt(_ id: UUIDText, _ status: NearbyStatus) -> [UInt8]? {
        self.proven.map { other in
            let receipt = NearbyReceipt(id: id, from: self.hello.id, to: other.id, status)
            return NearbyWord.bytes(
                of: receipt, signature: self.keys.pair.sign(digestOf: receipt.signed(by: self.hello, for: other)))
        }
    }

    package mutating func take(_ value: [UInt8]) -> Verdict {
        guard let word = NearbyWord(value) else { return .refuse }
        guard let other else {
            // Whoever says that they are us repeats our own words.
            guard case .hello(let hello) = word, hello.id != self.hello.id, hello.nonce != self.hello.nonce else {
                return .refuse
            }
            self.other = hello
            return .said(hello)
        }
        guard self.isProven else {
            guard case .proof(let signature) = word,
                Self.isSigned(NearbyHello.proof(of: other, to: self.hello), signature, by: other)
            else { return .refuse }
            self.isProven = true
            return .proven(other)
        }
        switch word {
        case .hello, .proof: return .refuse
        case .unknown: return .wait
        case .message: return .from(other, word)
        case .receipt(let receipt, let signature):
            guard receipt.from == other.id, receipt.to == self.hello.id,
                Self.isSigned(receipt.signed(by: other, for: self.hello), signature, by: other)
            else { return .refuse }
            return .from(other, word)
        }
    }

    private static func isSigned(_ bytes: [UInt8], _ signature: [UInt8], by other: NearbyHello) -> Bool {
        Sodium.verify(signature, of: Sodium.sha256(bytes), publicKey: other.keys.sign.bytes)
    }
}
