import Bus
import ClusterContract
import Contract

/// Tells routers, and Redis, which identities have a live connection at this gateway.
final class Announcer {
    private let node: NodeID
    private let bus: any Bus
    private let jobs: MailboxJobs
    /// Announcements to send at the end of this turn, by partition.
    private var announcements: [Int: [BoundConnection]] = [:]
    /// Announcements that this second still allows.
    private var announcementsLeft = 0
    /// More outcomes or group events may wait for these connections than one page held. Routers are asked at the next check, after they
    /// have been told what was confirmed.
    private var mayHaveMore: Set<ConnectionID> = []
    /// Departures that the bus has not taken.
    private var untold: [Departure] = []

    /// A bound connection that has ended.
    private struct Departure: Sendable {
        let identity: WhisperID
        let connection: ConnectionID
        /// The value that the connection left under its identity's presence key.
        let presence: [UInt8]
    }

    init(node: NodeID, bus: any Bus, jobs: MailboxJobs) {
        self.node = node
        self.bus = bus
        self.jobs = jobs
    }

    // MARK: Announcements

    /// Tells the router of the identity's mailbox about this connection: at once, or together with others at the end of
    /// this turn. If it is lost on the way, it is sent again, because no router confirms it.
    /// - Parameter now: it has just been bound.
    func announce(_ connection: Connection, now: Bool = false, _ host: isolated some EdgeHost) {
        guard let session = connection.session, connection.isOpen else { return }
        let announcement = BoundConnection(
            caller: session.caller, node: self.node, connection: connection.id,
            boundAt: connection.deliveryCursor.boundAt,
            progress: connection.deliveryCursor.progress, state: connection.deliveryCursor.state,
            number: connection.deliveryCursor.nextNumber)
        connection.deliveryCursor.announced(at: host.now)
        let partition = Partition(of: session.caller.identity)
        if now { return self.jobs.append(.bound([announcement]), to: partition, host) }
        self.announcements[partition.index, default: []].append(announcement)
        host.scheduleFlush()
    }

    /// Sends what this turn has for routers.
    func send(_ host: isolated some EdgeHost) {
        guard !self.announcements.isEmpty else { return }
        for (index, announced) in self.announcements {
            // Skip connections that ended in this turn. Their departure has been sent: announced now, they would stay for good.
            let list = announced.filter { host.connection($0.connection)?.isOpen == true }
            for start in stride(from: 0, to: list.count, by: GatewayLimits.announcementsPerJobMax) {
                let part = Array(list[start..<min(start + GatewayLimits.announcementsPerJobMax, list.count)])
                self.jobs.append(.bound(part), to: Partition(index)!, host)
            }
        }
        self.announcements.removeAll(keepingCapacity: true)
    }

    /// More may wait for the connection than it was told.
    func askForMore(_ connection: Connection) { self.mayHaveMore.insert(connection.id) }

    /// Announces a connection if it is due, as far as this second's part goes.
    func announceIfDue(_ connection: Connection, at now: Int64, _ host: isolated some EdgeHost) {
        guard self.announcementsLeft > 0,
            self.mayHaveMore.contains(connection.id) || connection.deliveryCursor.isAnnouncementDue(at: now)
        else { return }
        self.announcementsLeft -= 1
        self.mayHaveMore.remove(connection.id)
        self.announce(connection, host)
    }

    // MARK: Departures

    /// The connection is no longer its identity's live one. Until its router is told, mail for it wakes no device.
    func left(_ connection: Connection, of session: Session, _ host: isolated some EdgeHost) {
        self.mayHaveMore.remove(connection.id)
        self.tell(
            Departure(
                identity: session.caller.identity, connection: connection.id,
                presence: self.presence(of: connection, session)), host)
    }

    private func tell(_ departure: Departure, _ host: isolated some EdgeHost) {
        self.bus.deleteWithoutWaiting(Keyspace.presence(departure.identity), ifStill: departure.presence)
        // The bus calls back on the host's loop, where the announcer lives.
        nonisolated(unsafe) let announcer = self
        self.tellEnd(of: departure.connection, of: departure.identity, host) { _ in
            host.assumeIsolated { _ in announcer.notTold(departure) }
        }
    }

    private func notTold(_ departure: Departure) {
        if self.untold.count < GatewayLimits.departuresUntoldMax { self.untold.append(departure) }
    }

    private func tellEnd(
        of connection: ConnectionID, of identity: WhisperID, _ host: isolated some EdgeHost,
        failed: @escaping @Sendable (BusError) -> Void = { _ in }
    ) {
        self.jobs.append(
            .unbound(identity: identity, node: self.node, connection: connection), to: Partition(of: identity), host,
            failed: failed)
    }

    /// Repeats a departure for each connection that this node no longer has. The next snapshot covers lost or surplus
    /// ones.
    func reconcile(with entries: [ConnectionSnapshotEntry], _ host: isolated some SessionHost) {
        let gone = entries.filter { host.bound(.identity($0.identity))?.id != $0.connection }
        for entry in gone.prefix(GatewayLimits.departuresAtOnceMax) {
            self.tellEnd(of: entry.connection, of: entry.identity, host)
        }
    }

    /// Runs once a second.
    func check(_ host: isolated some EdgeHost) {
        self.announcementsLeft = 4 * GatewayLimits.announcementsPerJobMax
        let departures = self.untold.prefix(GatewayLimits.departuresAtOnceMax)
        self.untold.removeFirst(departures.count)
        for departure in departures { self.tell(departure, host) }
    }

    // MARK: Presence

    /// Says in Redis where the identity is.
    func showPresence(of connection: Connection) {
        guard let session = connection.session else { return }
        self.bus.setWithoutWaiting(
            Keyspace.presence(session.caller.identity), to: self.presence(of: connection, session),
            for: GatewayLimits.presenceTTL)
    }

    /// The value of an identity's presence key.
    private func presence(of connection: Connection, _ session: Session) -> [UInt8] {
        Presence(node: self.node, connection: connection.id, epoch: session.caller.epoch).encoded()
    }
}
