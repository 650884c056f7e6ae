import Contract
import ServerCrypto

/// Checks the signatures of a batch: a few at once, many on all cores.
enum Verification {
    /// - Returns: for each envelope whether its signature is its sender's.
    nonisolated(nonsending) static func verify(_ envelopes: [AcceptEnvelope]) async -> [Bool] {
        guard envelopes.count > RouterLimits.verifyTogetherMax else { return envelopes.map(Self.isValid) }
        let middle = envelopes.count / 2
        async let first = envelopes[..<middle].map(Self.isValid)
        async let second = envelopes[middle...].map(Self.isValid)
        return await first + second
    }

    private static func isValid(_ envelope: AcceptEnvelope) -> Bool {
        Signatures.isValid(envelope.signature, over: envelope.digest, by: envelope.senderKey)
    }
}
