import ClusterContract
import Contract
import Telemetry

/// Outcomes and group events on their way to clients. They leave the database when the client's own WebSocket layer has answered a
/// ping sent behind them: a socket that took the bytes proves nothing about a phone in a tunnel.
final class OutcomeConfirmations {
    private let node: NodeID
    private let jobs: MailboxJobs
    private let announcer: Announcer
    private let pingSeconds = Int(Limits.serverPingInterval.components.seconds)
    private var confirmed = ConfirmedNumbers()
    /// The number of the last ping sent behind outcomes. No two pings share one: a late pong must not confirm what was written after its
    /// ping.
    private var lastPing: UInt64 = 0
    /// By connection; absent while nothing is on its way to it.
    private var underWay: [ConnectionID: Confirmation] = [:]

    private final class Confirmation {
        /// Written, and not yet covered by a ping.
        var written: [Int64] = []
        /// Covered by the ping under way.
        var awaitingPong: [Int64] = []
        var pingNumber: UInt64 = 0
        /// Payloads of the group events among them.
        var groupEventBytes = 0
        /// A page of outcomes or group events was full: ask for more when it is confirmed.
        var hasMore = false

        func holds(_ number: Int64) -> Bool { self.written.contains(number) || self.awaitingPong.contains(number) }
        var count: Int { self.written.count + self.awaitingPong.count }
        var isFull: Bool { self.written.count >= ClusterLimits.outcomesPerBindMax }

        /// - Returns: whether it is not on its way already.
        func keep(_ number: Int64, bytes: Int) -> Bool {
            guard !self.holds(number) else { return false }
            let bytesAfter = self.groupEventBytes + bytes
            guard !self.isFull, self.groupEventBytes == 0 || bytesAfter <= Limits.groupEventsBytesMax else {
                self.hasMore = true
                return false
            }
            self.written.append(number)
            self.groupEventBytes = bytesAfter
            if bytesAfter > Limits.groupEventsBytesMax - GatewayLimits.groupEventBytesMax { self.hasMore = true }
            return true
        }
    }

    init(node: NodeID, jobs: MailboxJobs, announcer: Announcer) {
        self.node = node
        self.jobs = jobs
        self.announcer = announcer
    }

    /// How many outcomes and group events were written to the connection, and not yet confirmed by its client.
    func unconfirmed(on connection: ConnectionID) -> Int { self.underWay[connection]?.count ?? 0 }

    func deliver(_ outcomes: [Outcome], to connection: Connection, _ host: isolated some EdgeHost) {
        let isFull = outcomes.count >= ClusterLimits.outcomesPerBindMax
        let unconfirmed = outcomes.filter { !self.confirmed.sayAgain(ifConfirmed: $0.number) }
        guard !unconfirmed.isEmpty else {
            // The page was read before what was confirmed had left it. The rest behind it is still to be written.
            if isFull { self.announcer.askForMore(connection) }
            return
        }
        let confirmation = self.confirmation(on: connection.id)
        if isFull { confirmation.hasMore = true }
        for outcome in unconfirmed where !confirmation.holds(outcome.number) {
            guard !confirmation.isFull else {
                confirmation.hasMore = true
                break
            }
            confirmation.written.append(outcome.number)
            self.write(outcome, to: connection, host)
        }
    }

    private func write(_ outcome: Outcome, to connection: Connection, _ host: isolated some EdgeHost) {
        host.logger.debug(
            "outcome written",
            [
                .messageId: "\(outcome.messageID)", .connId: .number(connection.id.value), .reason: "\(outcome.kind)",
            ])
        switch outcome.kind {
        case .delivered, .read:
            let delivered = MessageDelivered(
                messageID: outcome.messageID, status: outcome.kind == .read ? .read : .delivered,
                timestamp: outcome.timestamp, from: outcome.peer, groupID: outcome.group)
            host.reply(connection, delivered, requestID: nil)
        case .expired:
            host.reply(connection, MessageExpired(messageID: outcome.messageID, to: outcome.peer), requestID: nil)
        }
    }

    /// The `group_event` written next is confirmed by the client's own pong, like an outcome.
    /// - Returns: whether it is to be written: it was not confirmed, and is not on its way already.
    @discardableResult
    func keep(_ number: Int64, bytes: Int, on connection: Connection) -> Bool {
        guard !self.confirmed.sayAgain(ifConfirmed: number) else {
            // It may have come in a page, in place of one that is still to be written.
            self.announcer.askForMore(connection)
            return false
        }
        return self.confirmation(on: connection.id).keep(number, bytes: bytes)
    }

    private func confirmation(on connection: ConnectionID) -> Confirmation {
        if let known = self.underWay[connection] { return known }
        let new = Confirmation()
        self.underWay[connection] = new
        return new
    }

    /// The client has answered a ping.
    func receivedPong(_ payload: [UInt8], on connection: Connection, _ host: isolated some EdgeHost) {
        guard let confirmation = self.underWay[connection.id], !confirmation.awaitingPong.isEmpty,
            payload == WebSocketWriter.payload(confirmation.pingNumber)
        else { return }
        self.confirmed.add(confirmation.awaitingPong)
        confirmation.awaitingPong = []
        guard confirmation.written.isEmpty else { return }
        self.underWay[connection.id] = nil
        if confirmation.hasMore {
            self.tellRouters(host)
            self.announcer.askForMore(connection)
        }
    }

    /// The connection has ended.
    func leave(_ connection: ConnectionID) { self.underWay[connection] = nil }

    /// Runs once a second.
    func check(_ second: Int, _ host: isolated some EdgeHost) {
        for (id, confirmation) in self.underWay {
            if let connection = host.connection(id) { self.ping(connection, confirmation, second, host) }
        }
        if second % GatewayLimits.confirmedRememberedSeconds == 0 { self.confirmed.age() }
        self.tellRouters(host)
    }

    /// Sends a ping behind outcomes that none covers yet, one at a time for each connection.
    private func ping(
        _ connection: Connection, _ confirmation: Confirmation, _ second: Int, _ host: isolated some EdgeHost
    ) {
        if confirmation.awaitingPong.isEmpty, !confirmation.written.isEmpty {
            self.lastPing += 1
            confirmation.pingNumber = self.lastPing
            swap(&confirmation.awaitingPong, &confirmation.written)
        } else if !connection.isDue(every: self.pingSeconds, at: second) {
            return
        }
        host.write(to: connection) { WebSocketWriter.ping(WebSocketWriter.payload(confirmation.pingNumber), to: &$0) }
    }

    private func tellRouters(_ host: isolated some EdgeHost) {
        let numbers = self.confirmed.takeUnsaid()
        guard !numbers.isEmpty else { return }
        // Any partition does; the node's own number spreads the nodes. If the Job is lost, they are written and confirmed again.
        let partition = Partition.all[Int(self.node.value % UInt64(Partition.count))]
        self.jobs.append(.outcomesConfirmed(numbers), to: partition, host)
    }
}
