import ClusterContract
import Contract

/// Rooms in which connections of this gateway are participants: their shares are told when a connection ends, and of all in reports.
final class RoomsEntered {
    private let node: NodeID
    private let jobs: ShareJobs
    private var rooms: [ConnectionID: [UUIDText]] = [:]
    /// Shares that the last report named participants to.
    private var reportedShares: Set<RoomShare> = []

    init(node: NodeID, jobs: ShareJobs) {
        self.node = node
        self.jobs = jobs
    }

    func entered(_ room: UUIDText, _ connection: ConnectionID) {
        guard self.rooms[connection]?.contains(room) != true else { return }
        self.rooms[connection, default: []].append(room)
    }

    func left(_ room: UUIDText, _ connection: ConnectionID) {
        self.rooms[connection]?.removeAll { $0 == room }
        if self.rooms[connection]?.isEmpty == true { self.rooms[connection] = nil }
    }

    /// The connection has ended. If this is lost, it heals: reports omit the connection.
    func leave(_ connection: ConnectionID) {
        for room in self.rooms.removeValue(forKey: connection) ?? [] { self.tellLeft(room, connection) }
    }

    func tellLeft(_ room: UUIDText, _ connection: ConnectionID) {
        self.jobs.append(
            RoomJob.left(room, LiveConnection(node: self.node, connection: connection)), to: RoomShare(of: room))
    }

    func report(_ host: isolated some EdgeHost) {
        var entries: [RoomShare: [RoomReportEntry]] = [:]
        for (connection, rooms) in self.rooms {
            guard let participant = host.connection(connection)?.principal else { continue }
            for room in rooms {
                entries[RoomShare(of: room), default: []].append(
                    RoomReportEntry(room: room, connection: connection, participant: participant))
            }
        }
        // A share is told once more that there is nothing left.
        for share in self.reportedShares.union(entries.keys) {
            self.jobs.append(RoomJob.report(self.node, entries[share] ?? []), to: share)
        }
        self.reportedShares = Set(entries.keys)
    }
}
