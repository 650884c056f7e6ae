import ClusterContract
import Contract

/// A bug that a developer might write one day, put into the simulated edge. Each must be found.
enum Mutation: String, CaseIterable, Sendable {
    /// Postgres answers that it has committed, and commits a moment later (`synchronous_commit = off`).
    case answersBeforeCommit
    /// Mail without an acknowledgement is not sent again.
    case sendsOnce
    /// A connection is announced when it binds, and never again.
    case announcesOnce
    /// A router that takes over a partition does not announce it.
    case takesOverInSilence
    /// No process notices that Redis was emptied.
    case missesEmptiedBus
    /// Routers and gateways do not reconcile connections, so one whose end was lost stays live for ever.
    case skipsReconciliation
    /// Any answer of a router confirms a connection, also the answer to an older announcement.
    case confirmsByAnyAnswer
    /// A repeated announcement calls its connection new.
    case announcesAsNew
    /// A repeated announcement does not contain the client's progress.
    case announcesWithoutProgress
    /// Announcements do not contain the time of the bind: if two are repeated, no router knows the newer connection.
    case forgetsWhenBound
    /// A partition may have two owners.
    case sharesPartitions
    /// A repeated message counts as a new one.
    case acceptsRepetitions
    /// A receipt leaves the mail where it is.
    case keepsAcknowledgedMail
    /// The delivery status of a message is sent once, and not stored.
    case storesNoOutcomes
    /// Mail for an absent recipient sends no wake-up.
    case wakesNobody

    // Bugs of a Redis Cluster.

    /// No process learns that a master was replaced.
    case keepsPositionAcrossTerms
    /// A trim meant for a lost master is sent again to the new one.
    case trimsAcrossTerms
    /// The loss of one master counts as the loss of the whole bus.
    case takesMasterForBus
    /// A Job that a lost master did not accept is sent to the new one, behind newer Jobs.
    case reroutesMoved
    /// A Notice has no receivers because its listeners have not reached a new master yet: they count as gone.
    case takesZeroForGone

    // Bugs of a Postgres with a standby that may take its place.

    /// A router owns partitions although possibly no standby has the previous owner's writes.
    case takesOverWithoutBarrier
    /// Includes `takesOverWithoutBarrier`, whose wait comes first: a router answers a repetition although possibly no
    /// standby has the message.
    case answersRepeatedWithoutBarrier

    // Bugs with two connections that show one token.

    /// A gateway is not told that its guest is at another one.
    case movesGuestsInSilence
    /// Each announcement of a connection counts as a new bind.
    case bindsWithEachAnnouncement

    // Bugs of live conversations (contract §17.1).

    /// A gateway is not told that a listener is removed.
    case removalDoesNotCut
    /// A snapshot of an older generation follows `live_joined`, from a cache that was not emptied.
    case keepsOlderGeneration
    /// A gateway sends lines from before a listener first joined.
    case showsEarlierLines
    /// A listener counts a packet to it alone as the next of the sequence.
    case addressedMovesPosition
    /// A listener compares numbers of packets without their epochs.
    case comparesNoEpochs

    // Bugs of rooms (contract §15).

    /// A code is not retired in the tables.
    case keepsSpentCodes
    /// The tables keep the first revision of a room.
    case keepsRoomRevision
    /// The tables do not count the given seats.
    case reusesSeats
    /// The tables keep the seat of a participant that was removed or has left.
    case keepsSeatsOfRemoved
    /// The tables do not remember removed participants.
    case forgetsRemoved
    /// No participant receives the event `back`.
    case returnsInSilence
    /// A participant that joins gets the last signal that another one got in the room.
    case givesSignalsToNewcomers
    /// Each signal is sent twice.
    case tellsSignalsTwice
    /// Candidates are not delivered.
    case losesCandidates
    /// A client offers from any seat.
    case offersFromAnySeat
    /// Messages go to those alone who have greeted.
    case sendsToOpenOnly
    /// A written message counts as received.
    case countsSentAsGot
    /// A message that goes again is another one.
    case resendsWithNewId
    /// Each connection begins another life.
    case forgetsSeenIds
    /// A participant that comes back after it left has the seat of before.
    case keepsQueueOfRemoved
    /// A participant is believed without its greeting.
    case takesBeforeHello

    /// The masters of Redis in worlds where the bug shows.
    var masters: World.Masters {
        switch self {
        case .keepsPositionAcrossTerms, .trimsAcrossTerms, .reroutesMoved: .many
        case .takesMasterForBus, .takesZeroForGone: .lost
        default: .one
        }
    }

    /// Whether Postgres has a standby in worlds where the bug shows.
    var hasStandby: Bool { self == .takesOverWithoutBarrier || self == .answersRepeatedWithoutBarrier }

    /// The kind of worlds in which the bug shows.
    var kind: World.Kind {
        switch self {
        case .removalDoesNotCut, .keepsOlderGeneration, .showsEarlierLines, .addressedMovesPosition, .comparesNoEpochs:
            .live
        case .keepsSpentCodes, .keepsRoomRevision, .reusesSeats, .keepsSeatsOfRemoved, .forgetsRemoved,
            .returnsInSilence, .givesSignalsToNewcomers, .tellsSignalsTwice, .losesCandidates,
            .offersFromAnySeat, .sendsToOpenOnly, .countsSentAsGot, .resendsWithNewId, .forgetsSeenIds,
            .keepsQueueOfRemoved, .takesBeforeHello:
            .rooms
        case .movesGuestsInSilence, .bindsWithEachAnnouncement: .rivals
        default: .mail
        }
    }

    /// - Returns: nil if the Job is not appended.
    func mutated(job bytes: [UInt8], on stream: String) -> [UInt8]? {
        switch self {
        case .announcesOnce:
            guard stream.hasPrefix("mailbox:"), case .bound(let bound) = try? MailboxJob(decoding: bytes) else {
                return bytes
            }
            let first = bound.filter { $0.state == .new }
            return first.isEmpty ? nil : MailboxJob.bound(first).encoded()
        case .announcesAsNew: return self.changed(bytes, on: stream) { $0.state = .new }
        case .announcesWithoutProgress:
            return self.changed(bytes, on: stream) { if $0.state != .new { $0.progress = .fresh } }
        case .forgetsWhenBound: return self.changed(bytes, on: stream) { $0.boundAt = Timestamp(milliseconds: 0) }
        case .bindsWithEachAnnouncement: return self.changed(bytes, on: stream) { $0.boundAt = .now }
        case .movesGuestsInSilence:
            guard stream == Keyspace.auth.name, case .guestMoved = try? ServiceRequest(decoding: bytes).body else {
                return bytes
            }
            return nil
        case .wakesNobody: return stream == Keyspace.wakes.name ? nil : bytes
        default: return bytes
        }
    }

    private func changed(
        _ bytes: [UInt8], on stream: String, _ change: (inout BoundConnection) -> Void
    ) -> [UInt8] {
        guard stream.hasPrefix("mailbox:"), case .bound(var bound) = try? MailboxJob(decoding: bytes) else {
            return bytes
        }
        for index in bound.indices { change(&bound[index]) }
        return MailboxJob.bound(bound).encoded()
    }

    /// Adds the last signal that was sent in a room behind the event that a participant has entered it.
    private func withLastSignal(_ event: NodeEvent) -> [NodeEvent] {
        let type = RoomSignal.definition.type
        switch event {
        case .frame(_, type: type, let payload):
            let text = String(decoding: payload, as: UTF8.self)
            if let room = text.firstMatch(of: /"roomId":"([^"]+)"/)?.1 {
                World.current.lastSignals["\(room)"] = payload
            }
            return [event]
        case .live(let connection, .entered(let room)):
            let signal = World.current.lastSignals["\(room)"]
            return [event] + (signal.map { [.frame(connection, type: type, payload: $0)] } ?? [])
        default: return [event]
        }
    }

    /// - Returns: nil if the Notice is not published.
    func mutated(notice bytes: [UInt8], on channel: String) -> [UInt8]? {
        switch self {
        case .takesOverInSilence:
            guard channel == Keyspace.nodes.name, case .partitionsAdopted = try? ClusterNotice(decoding: bytes) else {
                return bytes
            }
            return nil
        case .sendsOnce:
            guard channel != Keyspace.nodes.name, let notice = try? NodeNotice(decoding: bytes) else { return bytes }
            return NodeNotice(
                events: notice.events.filter { if case .mail(_, _, again: true) = $0 { false } else { true } }
            ).encoded()
        case .confirmsByAnyAnswer:
            guard channel != Keyspace.nodes.name, let notice = try? NodeNotice(decoding: bytes) else { return bytes }
            return NodeNotice(
                events: notice.events.map {
                    if case .bound(let id, let isCaughtUp, _) = $0 {
                        .bound(id, isCaughtUp: isCaughtUp, answering: .max)
                    } else {
                        $0
                    }
                }
            ).encoded()
        case .removalDoesNotCut:
            guard channel != Keyspace.nodes.name, let notice = try? NodeNotice(decoding: bytes) else { return bytes }
            return NodeNotice(
                events: notice.events.filter { if case .live(_, .attendsNoLonger) = $0 { false } else { true } }
            ).encoded()
        case .showsEarlierLines:
            guard channel != Keyspace.nodes.name, let notice = try? NodeNotice(decoding: bytes) else { return bytes }
            return NodeNotice(
                events: notice.events.map {
                    guard case .live(let id, .attends(var attendance)) = $0 else { return $0 }
                    attendance.since = Timestamp(milliseconds: 1)
                    return .live(id, .attends(attendance))
                }
            ).encoded()
        case .returnsInSilence:
            guard channel != Keyspace.nodes.name, let notice = try? NodeNotice(decoding: bytes) else { return bytes }
            return NodeNotice(
                events: notice.events.filter {
                    guard case .frame(_, type: RoomEvent.definition.type, let payload) = $0 else { return true }
                    return !String(decoding: payload, as: UTF8.self).contains(#""event":"back""#)
                }
            ).encoded()
        case .losesCandidates:
            guard channel != Keyspace.nodes.name, let notice = try? NodeNotice(decoding: bytes) else { return bytes }
            return NodeNotice(
                events: notice.events.filter {
                    guard case .frame(_, type: RoomSignal.definition.type, let payload) = $0 else { return true }
                    return !String(decoding: payload, as: UTF8.self).contains(#""kind":"candidate""#)
                }
            ).encoded()
        case .tellsSignalsTwice:
            guard channel != Keyspace.nodes.name, let notice = try? NodeNotice(decoding: bytes) else { return bytes }
            return NodeNotice(
                events: notice.events.flatMap {
                    if case .frame(_, type: RoomSignal.definition.type, _) = $0 { [$0, $0] } else { [$0] }
                }
            ).encoded()
        case .givesSignalsToNewcomers:
            guard channel != Keyspace.nodes.name, let notice = try? NodeNotice(decoding: bytes) else { return bytes }
            return NodeNotice(events: notice.events.flatMap { self.withLastSignal($0) }).encoded()
        case .skipsReconciliation:
            guard channel != Keyspace.nodes.name, let notice = try? NodeNotice(decoding: bytes) else { return bytes }
            return NodeNotice(events: notice.events.filter { if case .connectionSnapshot = $0 { false } else { true } })
                .encoded()
        default: return bytes
        }
    }
}
