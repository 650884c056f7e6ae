import Contract
import ServerCrypto

/// Checks the signatures of a batch, on all cores when there are enough of them.
enum Verification {
    /// - Returns: for each envelope whether its signature is its sender's.
    static func verify(_ envelopes: [AcceptEnvelope]) async -> [Bool] {
        guard envelopes.count > RouterLimits.verifyTogetherMax else { return envelopes.map(Self.isValid) }
        let middle = envelopes.count / 2
        async let first = envelopes[..<middle].map(Self.isValid)
        let second = envelopes[middle...].map(Self.isValid)
        return await first + second
    }

    private static func isValid(_ envelope: AcceptEnvelope) -> Bool {
        Signatures.isValid(envelope.signature, over: envelope.digest, by: envelope.senderKey)
    }
}
