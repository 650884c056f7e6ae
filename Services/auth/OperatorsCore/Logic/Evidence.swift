package import ClusterContract
package import Contract
import ServerCrypto

/// Checks the evidence of a report.
package enum Evidence {
    /// How far the evidence of a report is proven, as operators are told.
    package enum Verification: Equatable, Sendable {
        case none
        /// The target has signed it. Whether it was sent is unknown: the ledger forgets, and a client may sign without sending.
        case signed
        /// The target has signed it, and the router has accepted it from the target for the reporter.
        case verified

        package init(isThere: Bool, isVerified: Bool) {
            self = isVerified ? .verified : isThere ? .signed : .none
        }
    }

    /// Whether this message is one that `target` wrote to `reporter`.
    /// - Parameter key: the target's Ed25519 key.
    package static func isGenuine(
        _ message: SignedEnvelope, from target: WhisperID, key: Bytes32, to reporter: WhisperID
    ) -> Bool {
        guard message.from == target, message.to == reporter else { return false }
        let digest = SHA256()
        message.canonicalBytes { digest.update($0) }
        return Signatures.isValid(message.signature, over: digest.finish(), by: key)
    }

    /// The id of a report. It follows from the Job's address, so that a Job taken twice makes one report.
    package static func reportID(for question: AnswerAddress) -> UUIDText {
        var bytes = Array("report\n".utf8)
        for number in [question.node.value, question.question] {
            withUnsafeBytes(of: number.bigEndian) { bytes += $0 }
        }
        let digest = SHA256.hash(bytes).bytes
        func word(_ start: Int) -> UInt64 { digest[start..<start + 8].reduce(0) { $0 << 8 | UInt64($1) } }
        // Version 8: made by a rule of the application (RFC 9562, 5.8).
        return UUIDText(
            high: word(0) & 0xFFFF_FFFF_FFFF_0FFF | 0x8000, low: word(8) & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
        )
    }
}
