package import Contract

/// Identifies the phones at both ends of a connection: each says its identity and proves it.
///
/// A proof signs both nonces, so that a recorded proof is useless. Before the peer's proof nothing else is accepted.
/// Even after it the connection itself is not trusted: each message and receipt is signed.
package struct NearbyHandshake: Sendable {
    package enum Verdict: Sendable {
        /// No action is needed.
        case wait
        /// The peer has said its identity. A caller that accepts it answers with `proof`.
        case said(NearbyHello)
        /// The peer has proven its identity.
        case proven(NearbyHello)
        /// A word of a peer with a proven identity.
        case from(NearbyHello, NearbyWord)
        /// Disconnect: the value is no valid word, is out of place, or has a wrong signature.
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

    /// The peer's identity, once proven.
    package var proven: NearbyHello? { self.isProven ? self.other : nil }

    /// Our proof, once the peer has said its identity.
    package var proof: [UInt8]? {
        self.other.map {
            NearbyWord.bytes(ofProof: self.keys.pair.sign(digestOf: NearbyHello.proof(of: self.hello, to: $0)))
        }
    }

    /// Our receipt for a message of the peer, once its identity is proven.
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
            // A peer that claims our identity reflects our own words.
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
