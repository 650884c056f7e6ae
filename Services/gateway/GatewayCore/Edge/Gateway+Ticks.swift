import Bus
import Contract
import NIOCore
import Telemetry

/// What happens because time passes. One look around a second; what concerns every connection is spread over many looks.
extension Gateway {
    func tick() async throws {
        // Before anybody is here: what Redis loses from now on is noticed.
        await self.lookAtCanary()
        while true {
            try await Task.sleep(for: .seconds(1))
            self.second += 1
            let now = self.now
            while let question = self.questions.popExpired(at: now) { self.failed(question) }
            self.metrics.framesInFlight.set(self.questions.count)
            self.lookAtConnections(now)
            if self.second % GatewayLimits.confirmedRememberedSeconds == 0 { self.confirmed.age() }
            self.sendConfirmed()
            self.tellDepartures()
            await self.lookAtBus()
        }
    }

    private func lookAtConnections(_ now: Int64) {
        let pingEvery = Int(Limits.serverPingInterval.components.seconds)
        let presenceEvery = Int(GatewayLimits.presenceRefresh.components.seconds)
        var announcementsLeft = 4 * GatewayLimits.announcementsPerJobMax
        var present: [KeyName] = []
        for connection in self.connections.values {
            switch connection.phase {
            case .handshake:
                if now - connection.openedAt > GatewayLimits.handshakeMax.milliseconds {
                    connection.channel.close(promise: nil)
                }
            case .closing(let since):
                if now - since > GatewayLimits.closeLinger.milliseconds { connection.channel.close(promise: nil) }
            case .open:
                if now - connection.heardAt > Limits.idleTimeout.milliseconds {
                    self.close(connection, .idle)
                    continue
                }
                let turn = Int(truncatingIfNeeded: connection.id.value) + self.second
                if let confirmation = connection.confirmation {
                    self.confirm(confirmation, on: connection, isPingDue: turn % pingEvery == 0)
                } else if turn % pingEvery == 0 {
                    self.write(to: connection) { WebSocketWriter.ping([], to: &$0) }
                }
                guard let session = connection.session else { continue }
                if announcementsLeft > 0, connection.mayHaveMore || connection.mailbox.isAnnouncementDue(at: now) {
                    announcementsLeft -= 1
                    connection.mayHaveMore = false
                    self.announce(connection)
                }
                if turn % presenceEvery == 0 { present.append(Keyspace.presence(session.caller.identity)) }
            }
        }
        if !present.isEmpty { self.bus.touchSoon(present, for: GatewayLimits.presenceTTL) }
    }

    /// Sends a ping behind outcomes that none covers yet, one at a time for each connection.
    private func confirm(_ confirmation: Confirmation, on connection: Connection, isPingDue: Bool) {
        if confirmation.awaitingPong.isEmpty, !confirmation.written.isEmpty {
            self.lastPing += 1
            confirmation.pingNumber = self.lastPing
            swap(&confirmation.awaitingPong, &confirmation.written)
        } else if !isPingDue {
            return
        }
        self.write(to: connection) { WebSocketWriter.ping(Self.pingPayload(confirmation.pingNumber), to: &$0) }
    }

    func sendConfirmed() {
        let numbers = self.confirmed.takeUnsaid()
        guard !numbers.isEmpty else { return }
        // Any partition does; the node's own number spreads the nodes. Lost, they are sent and confirmed again.
        let partition = Partition.all[Int(self.node.value % UInt64(Partition.count))]
        self.bus.append(
            MailboxJob.outcomesConfirmed(numbers), to: Keyspace.mailbox(partition), failed: { _ in })
    }

    private func tellDepartures() {
        let departures = self.untold.prefix(GatewayLimits.departuresAtOnceMax)
        self.untold.removeFirst(departures.count)
        for departure in departures { self.tell(departure) }
    }

    // MARK: The bus

    private func lookAtBus() async {
        if self.hasAppendedSinceDepth || self.partitionDepth.contains(where: { $0 > 0 }) {
            self.hasAppendedSinceDepth = false
            if let depth = try? await self.bus.depth(of: Partition.all.map { Keyspace.mailbox($0).name }) {
                self.partitionDepth = depth
            }
        }
        await self.lookAtCanary()
    }

    /// Notices that Redis has lost everything: the routers hear of every connection, and presence is written as they confirm it.
    private func lookAtCanary() async {
        // Away: whether it comes back with what it knew shows then.
        guard (try? await self.canary.sawEmptied(self.bus)) == true else { return }
        self.logger.warning("bus was emptied", [.count: .number(self.bound.count)])
        self.announceAll()
    }
}
