import ClusterContract
import Contract
import ServerCrypto

/// Checks the signatures of a batch together: a few at once, many on all cores.
enum Verification {
    /// - Returns: for each envelope whether its signature is its sender's.
    nonisolated(nonsending) static func verify(_ envelopes: [AcceptEnvelope]) async -> [Bool] {
        guard envelopes.count > RouterLimits.verifyTogetherMax else { return Self.areValid(envelopes[...]) }
        let middle = envelopes.count / 2
        // Not where the router itself runs: it would wait.
        return await withTaskExecutorPreference(globalConcurrentExecutor) {
            async let first = Self.areValid(envelopes[..<middle])
            async let second = Self.areValid(envelopes[middle...])
            return await first + second
        }
    }

    private static func areValid(_ envelopes: ArraySlice<AcceptEnvelope>) -> [Bool] {
        Signatures.areValid(
            envelopes.map { SignedDigest(signature: $0.signature, digest: $0.digest, key: $0.senderKey) })
    }
}
