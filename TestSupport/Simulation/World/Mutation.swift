import Contract

/// A bug that somebody might write one day, put into the simulated edge. Each must be found.
enum Mutation: String, CaseIterable, Sendable {
    /// Postgres says that it has committed, and does so a moment later (`synchronous_commit = off`).
    case answersBeforeCommit
    /// Mail that nobody acknowledged is not sent again.
    case sendsOnce
    /// A connection is announced when it binds, and never again.
    case announcesOnce
    /// A router that takes a partition over does not say so.
    case takesOverInSilence
    /// Nobody notices that Redis was emptied.
    case missesEmptiedBus
    /// Routers and gateways do not reconcile connections, so one whose end was lost stays live for ever.
    case skipsReconciliation
    /// Any answer of a router confirms a connection, also the answer to an older announcement.
    case confirmsByAnyAnswer
    /// A connection that is announced again says that it is new.
    case announcesAsNew
    /// A connection that is announced again does not say how far its client is.
    case announcesWithoutProgress
    /// Of two connections that are announced again, nobody knows which was bound later.
    case forgetsWhenBound
    /// A partition may have two owners.
    case sharesPartitions
    /// A message that comes again is a new one.
    case acceptsRepetitions
    /// A receipt leaves the mail where it is.
    case keepsAcknowledgedMail
    /// What became of a message is told once, and not stored.
    case storesNoOutcomes
    /// Mail for somebody who is away wakes nobody.
    case wakesNobody

    // Of a Redis Cluster.

    /// Nobody hears that a master was replaced.
    case keepsPositionAcrossTerms
    /// What is to leave a stream leaves it on the new master, too.
    case trimsAcrossTerms
    /// One master's loss is taken for the whole bus's.
    case takesMasterForBus
    /// A Job that a lost master did not take is sent to the new one, behind newer Jobs.
    case reroutesMoved
    /// Nobody hears a Notice, because its listeners have not come to a new master yet: they are taken for gone.
    case takesZeroForGone

    // Of a Postgres with a standby that may take its place.

    /// A router owns partitions although no standby may have what their owner before has stored.
    case takesOverWithoutBarrier
    /// On the ground of `takesOverWithoutBarrier`, whose wait comes first: it answers a repetition although no standby may have
    /// the message.
    case answersRepeatedWithoutBarrier

    // Mistakes with two connections that show one token.

    /// Nobody tells a gateway that its guest is at another one.
    case movesGuestsInSilence
    /// A connection counts as bound when it is announced, each time anew.
    case bindsWithEachAnnouncement

    // Of live conversations (contract §17.1).

    /// A gateway does not hear that a listener is removed.
    case removalDoesNotCut
    /// Behind `live_joined` comes a snapshot of the generation before: somebody's cache was not emptied.
    case keepsOlderGeneration
    /// A gateway gives lines from before a listener first joined.
    case showsEarlierLines
    /// A listener counts a packet to it alone as the next of the sequence.
    case addressedMovesPosition
    /// A listener compares numbers of packets without their epochs.
    case comparesNoEpochs

    // Of rooms (contract §15).

    /// A code is not retired in the tables.
    case keepsSpentCodes
    /// The tables keep the first revision of a room.
    case keepsRoomRevision
    /// The tables do not count the seats that were given.
    case reusesSeats
    /// The tables keep the seat of whoever was removed or has left.
    case keepsSeatsOfRemoved
    /// The tables do not know who was removed.
    case forgetsRemoved
    /// Nobody hears that somebody is back.
    case returnsInSilence
    /// Whoever enters a room is given the last signal that somebody else got there.
    case givesSignalsToNewcomers
    /// Each signal is told twice.
    case tellsSignalsTwice
    /// Candidates reach nobody.
    case losesCandidates
    /// A client offers, whatever its seat is.
    case offersFromAnySeat

    /// What happens to masters of Redis where it shows.
    var masters: World.Masters {
        switch self {
        case .keepsPositionAcrossTerms, .trimsAcrossTerms, .reroutesMoved: .many
        case .takesMasterForBus, .takesZeroForGone: .lost
        default: .one
        }
    }

    /// Whether Postgres has a standby where it shows.
    var hasStandby: Bool { self == .takesOverWithoutBarrier || self == .answersRepeatedWithoutBarrier }

    /// The worlds in which it shows.
    var kind: World.Kind {
        switch self {
        case .removalDoesNotCut, .keepsOlderGeneration, .showsEarlierLines, .addressedMovesPosition, .comparesNoEpochs:
            .live
        case .keepsSpentCodes, .keepsRoomRevision, .reusesSeats, .keepsSeatsOfRemoved, .forgetsRemoved,
            .returnsInSilence, .givesSignalsToNewcomers, .tellsSignalsTwice, .losesCandidates,
            .offersFromAnySeat:
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

    /// Behind the news that somebody has entered, the last signal that was told in that room.
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
