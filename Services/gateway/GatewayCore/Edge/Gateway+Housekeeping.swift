import Bus
import ClusterContract
import Contract
import NIOCore
import Telemetry

/// Periodic work. One round a second; work for every connection is spread over many rounds.
extension Gateway {
    func tick() async throws {
        try await withThrowingDiscardingTaskGroup { group in
            while true {
                // The clock does not wait for the bus, which may be silent for seconds. The first look is before anybody
                // is here: what Redis loses from now on is noticed.
                group.addTask { await self.lookAtBus() }
                if self.second % GatewayLimits.aliveRefreshSeconds == 0 {
                    self.bus.setWithoutWaiting(
                        Keyspace.alive(self.node), to: Array(Release.version.utf8), for: GatewayLimits.aliveTTL)
                }
                try await self.bus.pause(for: .seconds(1))
                self.second += 1
                self.lookAround()
            }
        }
    }

    private func lookAround() {
        let now = self.now
        self.requests.check(self)
        self.metrics.framesInFlight.set(self.requests.count)
        self.announcer.check(self)
        self.lookAtConnections(now)
        self.enforceMemoryBudget()
        self.outcomes.check(self.second, self)
        self.rates.check(self.second, self)
        self.live.check(self.second, self)
    }

    private func lookAtConnections(_ now: Int64) {
        let pingEvery = Int(Limits.serverPingInterval.components.seconds)
        let presenceEvery = Int(GatewayLimits.presenceRefresh.components.seconds)
        var present: [KeyName] = []
        var guests: [Connection] = []
        let wallClock = Timestamp.now
        for connection in self.connections.values {
            switch connection.phase {
            case .handshake:
                if now - connection.openedAt > GatewayLimits.handshakeMax.milliseconds,
                    !self.peeks.failed(connection, .unavailable, self)
                {
                    connection.channel.close(promise: nil)
                }
            case .closing(let until): if now > until { connection.channel.close(promise: nil) }
            case .open:
                if now - connection.heardAt > Limits.idleTimeout.milliseconds {
                    self.close(connection, .idle)
                    continue
                }
                if connection.isDue(every: pingEvery, at: self.second) {
                    self.memory.lookAtUnsent(of: connection)
                    if self.outcomes.unconfirmed(on: connection.id) == 0 {
                        self.write(to: connection) { WebSocketWriter.ping([], to: &$0) }
                    }
                }
                if connection.machine.hasExpired(at: wallClock) {
                    // The owner of the socket must not receive mail for longer than its token may send some.
                    self.refuse(connection, .notRegistered, requestID: nil)
                    // Not as a replaced session: a client whose token has expired logs in again.
                    self.close(connection, .normal)
                    continue
                }
                let isPresenceDue = connection.isDue(every: presenceEvery, at: self.second)
                if let guest = connection.machine.guest {
                    if connection.isDue(every: GatewayLimits.guestCheckSeconds, at: self.second) {
                        guests.append(connection)
                    }
                    if isPresenceDue { present.append(Keyspace.presence(guest.id)) }
                    continue
                }
                guard let session = connection.session else { continue }
                self.announcer.announceIfDue(connection, at: now, self)
                if isPresenceDue { present.append(Keyspace.presence(session.caller.identity)) }
            }
        }
        self.guests.check(guests, self)
        if !present.isEmpty { self.bus.extendWithoutWaiting(present, for: GatewayLimits.presenceTTL) }
    }

    /// Closes connections while all together hold more memory than they may.
    private func enforceMemoryBudget() {
        for connection in self.memory.connectionsToEvict(self) {
            self.metrics.slowConsumersClosed.increment()
            self.close(connection, .slowConsumer)
            // Without the linger: the memory is needed now.
            connection.channel.close(promise: nil)
        }
    }

    // MARK: The bus

    /// Notices what Redis has lost: the routers hear again of every connection that it concerns, and presence is written as they
    /// confirm it.
    private func lookAtBus() async {
        guard let losses = await self.busWatch.look(self) else { return }
        let lost = Set(Partition.all.filter { losses.includes(Keyspace.mailbox($0).name) })
        let count = self.announceAll {
            lost.contains(Partition(of: $0)) || losses.includes(Keyspace.presence($0).name)
        }
        self.logger.warning("bus has lost something", [.count: .number(count)])
        self.live.mayHaveMissed(where: losses.includes, self)
        self.rates.sharedCountsWereLost(where: losses.includes, self)
    }
}
