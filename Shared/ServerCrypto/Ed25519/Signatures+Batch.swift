package import Contract

/// What is said to be a key's signature over a digest.
package struct SignedDigest: Sendable {
    package let signature: Bytes64
    package let digest: Bytes32
    package let key: Bytes32

    package init(signature: Bytes64, digest: Bytes32, key: Bytes32) {
        self.signature = signature
        self.digest = digest
        self.key = key
    }
}

extension Signatures {
    /// Fewer are checked one by one: together they would not be cheaper.
    package static let togetherMin = 2
    /// More are checked in several batches. What a batch shares is by then hardly anything for each, and its points (2.5 KiB for each
    /// signature) still fit the processor's cache.
    package static let togetherMax = 128
    /// When a batch's equation does not hold, it is asked of parts of this size, and the signatures of those for which it does not
    /// hold go to libsodium one by one.
    ///
    /// So somebody's bad signature costs the others of its batch a second equation, without decoding and tables anew (half of
    /// the first), and its fifteen neighbours a check of their own: together less than without batches. Bad ones in every part,
    /// or nothing else, cost 1.6 times what one by one would have. Bisecting would find a single one cheaper, and cost more the more
    /// of them there are.
    package static let suspectsMax = 16

    /// For each whether it is valid: as if asked one by one (`isValid`), in less than half of the time. What does not pass with others is
    /// judged by libsodium alone, so every refusal is its own. Which signatures only this accepts, see `SignatureBatch`.
    package static func areValid(_ signed: [SignedDigest]) -> [Bool] {
        var verdicts = [Bool](repeating: false, count: signed.count)
        let batches = (signed.count + Self.togetherMax - 1) / Self.togetherMax
        for batch in 0..<batches {
            let range = batch * signed.count / batches..<(batch + 1) * signed.count / batches
            Self.judge(signed[range], &verdicts)
        }
        return verdicts
    }

    private static func judge(_ signed: ArraySlice<SignedDigest>, _ verdicts: inout [Bool]) {
        if signed.count >= Self.togetherMin {
            for index in Self.provenTogether(signed) { verdicts[index] = true }
        }
        for index in signed.indices where !verdicts[index] {
            verdicts[index] = Self.isValid(signed[index].signature, over: signed[index].digest, by: signed[index].key)
        }
    }

    /// The places of those that the equation has shown to be valid.
    private static func provenTogether(_ signed: ArraySlice<SignedDigest>) -> [Int] {
        let batch = SignatureBatch(signed)
        if batch.holds(0..<batch.count) { return batch.indices(0..<batch.count) }
        guard batch.count > Self.suspectsMax else { return [] }
        return stride(from: 0, to: batch.count, by: Self.suspectsMax).flatMap { start in
            let part = start..<min(start + Self.suspectsMax, batch.count)
            return batch.holds(part) ? batch.indices(part) : []
        }
    }
}
