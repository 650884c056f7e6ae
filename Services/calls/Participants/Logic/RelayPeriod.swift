package import Contract
import ServerCrypto

/// The time during which somebody gets the same credentials for relays, so that a relay's quota for each user counts
/// (contract §13a): an hour, and no more than a part of the credentials' life.
package struct RelayPeriod: Equatable, Sendable {
    package let startsAt: Timestamp
    /// The end of all credentials given out in this period.
    package let expiresAt: Timestamp

    /// Parts of the credentials' life, for an identity and for a guest. A guest's live for two hours, and a name of its own in every
    /// ten minutes would be twelve quotas.
    package static let identityParts = Int64(12)
    package static let guestParts = Int64(2)

    /// How long a principal gets the same credentials at most (contract §13a: an hour).
    package static let lengthMax = Duration.seconds(3_600)
    /// How long after its period began the key of the period's pseudonyms is deleted. Longer than a period, for clocks that differ.
    package static let keyLife = Duration.seconds(2 * 3_600)

    /// - Parameters:
    ///   - life: of credentials at the beginning of the period, in whole seconds.
    ///   - parts: so many periods go into it at least.
    package init(at now: Timestamp, life: Duration, parts: Int64 = Self.identityParts) {
        let seconds = life.components.seconds
        let length = 1_000 * max(1, min(Self.lengthMax.components.seconds, seconds / parts))
        self.startsAt = Timestamp(milliseconds: now.milliseconds / length * length)
        self.expiresAt = self.startsAt + life
    }

    /// The remaining life of credentials given out now; at least a second.
    package func remaining(at now: Timestamp) -> Duration {
        .seconds(max(1, (self.expiresAt.milliseconds - now.milliseconds) / 1_000))
    }

    /// A pseudonym names nobody. Without the key it can be linked neither to its principal nor to another period's
    /// pseudonym.
    /// - Parameter key: the period's. Relays do not have it.
    package func pseudonym(of principal: PrincipalID, key: [UInt8]) -> [UInt8] {
        let code = hmacSHA256(key: key, Array("whisper-relay\n\(principal)\n\(self.startsAt.milliseconds)".utf8))
        return Array(code.bytes.prefix(TurnCredentials.pseudonymBytes))
    }
}
