package import Contract

/// When an attachment is of no use any more (contract §9). Decides, and touches nothing.
package struct Retention: Sendable {
    /// Times and links of one attachment, which decide how long it stays.
    package struct Usage: Equatable, Sendable {
        package var createdAt: Timestamp
        package var uploadedAt: Timestamp?
        /// When the last upload URL ends.
        package var expiresAt: Timestamp
        package var links = 0
        /// The links whose message is not acknowledged, and the links whose recipient has had no download URL.
        package var unacknowledged = 0
        package var unfetched = 0
        package var lastLinkedAt: Timestamp?
        package var lastAcknowledgedAt: Timestamp?
        package var lastFetchedAt: Timestamp?

        package init(createdAt: Timestamp, uploadedAt: Timestamp? = nil, expiresAt: Timestamp) {
            self.createdAt = createdAt
            self.uploadedAt = uploadedAt
            self.expiresAt = expiresAt
        }
    }

    package enum Reason: Equatable, Sendable {
        /// Every linked recipient has acknowledged its messages and got a download URL.
        case received
        /// Long enough since the last acknowledgement.
        case acknowledged
        /// No message points to it.
        case unlinked
        /// As old as an attachment becomes.
        case old
    }

    /// How long an attachment stays that nothing points to.
    package var unlinkedLife = Duration.seconds(24 * 3_600)
    /// How long after the last acknowledgement, or the last message that points to it if that is later.
    package var acknowledgedLife = Duration.seconds(7 * 86_400)
    /// How long after its upload, whatever happens.
    package var life = Duration.seconds(30 * 86_400)
    /// How long a download URL is good for.
    package var downloadURLLife = Limits.downloadURLLife

    package init() {}

    /// - Parameter sparingURLs: keep attachments that a URL given out may still be used for. A run by an operator follows the
    ///   contract literally instead.
    /// - Returns: why it is to be removed; nil if it stays.
    package func reason(toRemove usage: Usage, at now: Timestamp, sparingURLs: Bool) -> Reason? {
        if sparingURLs, usage.uploadedAt == nil, usage.expiresAt > now { return nil }
        if (usage.uploadedAt ?? usage.createdAt) + self.life <= now { return .old }
        guard usage.links > 0 else {
            return usage.createdAt + self.unlinkedLife <= now ? .unlinked : nil
        }
        if usage.unacknowledged == 0, usage.unfetched == 0 {
            let isInUse = sparingURLs && usage.lastFetchedAt.map { $0 + self.downloadURLLife > now } == true
            if !isInUse { return .received }
        }
        if let acknowledged = usage.lastAcknowledgedAt {
            let last = max(acknowledged, usage.lastLinkedAt ?? acknowledged)
            if last + self.acknowledgedLife <= now { return .acknowledged }
        }
        return nil
    }
}
