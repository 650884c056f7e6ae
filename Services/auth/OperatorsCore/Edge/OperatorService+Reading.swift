import Bus
package import ClusterContract
package import Contract
import HTTPAccess
import Store

// Requests that viewers may make. Lists have `AdminPage.lookup` entries, one more than a page shows.
extension OperatorService {
    /// The cluster in numbers.
    package struct Figures: Equatable, Sendable {
        package var statistics: ClusterViews.Statistics
        package var online: Int64
        /// Gateways that they are connected to.
        package var gateways: Set<NodeID>
        /// Room for the database, in bytes.
        package var databaseBytesMax: Int64
    }

    func figures() async throws(HTTPRefusal) -> Figures {
        let now = self.clock.store
        let statistics = try await self.stored { () async throws(StoreError) in try await self.views.statistics(at: now)
        }
        let (online, gateways) = try await self.online(of: statistics.sessions, at: now)
        return Figures(
            statistics: statistics, online: online, gateways: gateways, databaseBytesMax: self.databaseBytesMax)
    }

    /// How many identities have a connection: those with a session and a presence key.
    ///
    /// Exact up to `OperatorsLimits.onlineSampleMax` identities. Beyond, projected from that many.
    private func online(
        of sessions: Int64, at now: StoreTime
    ) async throws(HTTPRefusal) -> (online: Int64, gateways: Set<NodeID>) {
        let sample = try await self.stored { () async throws(StoreError) in
            try await self.views.sample(limit: OperatorsLimits.onlineSampleMax, at: now)
        }
        var online: Int64 = 0
        var gateways: Set<NodeID> = []
        for start in stride(from: 0, to: sample.count, by: ClusterLimits.presencesPerReadMax) {
            let part = sample[start..<min(start + ClusterLimits.presencesPerReadMax, sample.count)]
            do throws(BusError) {
                let words = try await self.keys.get(part.map { Keyspace.presence($0) }).compactMap { $0 }
                online += Int64(words.count)
                gateways.formUnion(words.compactMap { (try? Presence(decoding: $0))?.node })
            } catch {
                self.logger.warning("admin call not answered", [.error: "\(error)"])
                throw .internalError
            }
        }
        guard sample.count == OperatorsLimits.onlineSampleMax, sessions > Int64(sample.count) else {
            return (online, gateways)
        }
        return (online * sessions / Int64(sample.count), gateways)
    }

    /// - Parameter status: nil for all.
    func reports(
        _ status: AdminOperations.ReportStatus?, _ page: AdminPage
    ) async throws(HTTPRefusal) -> [ReportTable.Entry] {
        try await self.stored { () async throws(StoreError) in
            try await self.reports.list(status, before: page.cursor, limit: page.lookup)
        }
    }

    func bans(_ page: AdminPage) async throws(HTTPRefusal) -> [BanTable.Entry] {
        let now = self.clock.store
        return try await self.stored { () async throws(StoreError) in
            try await self.bans.list(before: page.cursor, limit: page.lookup, at: now)
        }
    }

    /// - Parameter target: nil for all.
    func events(
        _ kind: AuditTable.Kind = .all, about target: String?, _ page: AdminPage
    ) async throws(HTTPRefusal) -> [AuditTable.Entry] {
        if let target, !(1...64).contains(target.utf8.count) || target.utf8.contains(0) {
            throw .badParameter("target")
        }
        return try await self.stored { () async throws(StoreError) in
            try await self.audit.list(kind, target: target, before: page.cursor, limit: page.lookup)
        }
    }

    /// The delivery of a message to each recipient, and the last wake-up of each.
    package struct MessageDeliveries: Sendable {
        package var deliveries: [ClusterViews.Delivery]
        package var wakes: [WhisperID: PushViews.LastWakeUp]
    }

    func deliveries(of message: UUIDText, _ call: inout AdminGate.Call) async throws(HTTPRefusal) -> MessageDeliveries {
        call.event.target = "\(message)"
        let deliveries = try await self.stored { () async throws(StoreError) in
            try await self.views.deliveries(of: message)
        }
        guard !deliveries.isEmpty else { throw .unknownMessage }
        let recipients = deliveries.map(\.recipient)
        let wakes = try await self.stored { () async throws(StoreError) in
            try await self.push.lastWakeUps(of: recipients)
        }
        return MessageDeliveries(deliveries: deliveries, wakes: wakes)
    }

    func fullestMailboxes(_ count: Int) async throws(HTTPRefusal) -> [ClusterViews.FullMailbox] {
        try await self.stored { () async throws(StoreError) in try await self.views.fullestMailboxes(count) }
    }

    func deadLetters(_ page: AdminPage) async throws(HTTPRefusal) -> [PushViews.DeadLetter] {
        try await self.stored { () async throws(StoreError) in
            try await self.push.deadLetters(before: page.cursor, limit: page.lookup)
        }
    }
}
