package import Bus
package import ClusterContract
package import Contract
package import Logging
package import Store
import Telemetry

/// Erases identities while the services run: a decision, and the news behind its commit (contract §20.4).
package struct Eraser: Sendable {
    private let decision: ErasureDecision
    private let news: ProfileNews
    private let bus: any Bus
    private let metrics = ErasureMetrics()
    private let logger: Logger

    package init(pool: PostgresPool, bus: any Bus, clock: ServiceClock = .real, logger: Logger) {
        self.decision = ErasureDecision(pool: pool, clock: clock)
        self.news = ProfileNews(bus: bus)
        self.bus = bus
        self.logger = logger
    }

    /// See `ErasureDecision`.
    package func erase(
        _ order: ErasureOrder, in transaction: borrowing Transaction,
        forget: (borrowing Transaction) async throws(StoreError) -> Void
    ) async throws(StoreError) -> DecidedErasure? {
        try await self.decision.make(order, in: transaction, forget: forget)
    }

    /// Tells what follows from a commit. Each piece may be lost: caches end, gateways ask, and calls look at their tables.
    package func enforce(_ erasure: DecidedErasure, by origin: ErasureOperations.Origin) async {
        self.metrics.begun[ErasureOrigin(origin)].increment()
        self.logger.notice("erasure decided", [.erasureId: "\(erasure.id)"])
        do throws(BusError) {
            let isGuest = if case .guest = erasure.principal { true } else { false }
            try await self.bus.delete(erasure.tokens.map { isGuest ? Keyspace.guest($0) : Keyspace.session($0) })
        } catch {
            self.logger.warning("ended tokens left in the cache", [.error: "\(error)"])
        }
        for profile in erasure.profiles {
            self.news.tell(.members, of: profile.id, to: profile.others)
            self.news.tellConversations(of: profile.id)
        }
    }

    /// Closes connections of the identity or guest.
    package static func end(of erasure: DecidedErasure) -> ClusterNotice {
        let next = Epoch(value: erasure.epoch.value + 1)
        return switch erasure.principal {
        case .identity(let identity): .sessionsEnded(identity, before: next, why: .replaced)
        case .guest(let guest): .guestEnded(guest, before: next, why: .replaced)
        }
    }

    /// The same, for an operator who has no connection of the identity.
    package func close(_ erasure: DecidedErasure) { self.bus.publish(Self.end(of: erasure), to: Keyspace.nodes) }
}

extension ErasureOrigin {
    fileprivate init(_ origin: ErasureOperations.Origin) {
        self =
            switch origin {
            case .person: .person
            case .operator: .operator
            case .guest: .guest
            case .retention: .retention
            }
    }
}
