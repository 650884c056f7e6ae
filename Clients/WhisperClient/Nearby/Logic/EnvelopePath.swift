package import Contract

/// Decides which copy of a message goes where: over the air to a contact who is here, else to the server.
///
/// A message goes one way at a time, under one id. What was not acknowledged over the air in time is the server's for a
/// while, and may go over the air again after that. So it arrives as long as either way works. It may arrive twice, and
/// then the receiver has the id already. One message to each contact is in the air at a time, in the order written.
package struct EnvelopePath<MessageID: Hashable & Sendable> {
    package typealias Instant = ContinuousClock.Instant

    /// How a message stands with the server.
    package enum Standing: Sendable {
        /// It waits, and may go over the air.
        case free
        /// It waits, and is for the server alone.
        case serverAlone
        /// It was sent to the server, and has no answer yet. What is behind it waits.
        case underWay
    }

    private struct Way {
        /// In the air, without a receipt, and until when.
        var inTheAir: (id: MessageID, until: Instant)?
        /// The server's turn, until then or until it is settled.
        var rest: (id: MessageID, until: Instant)?
    }

    /// Of contacts who are here.
    private var ways: [WhisperID: Way] = [:]

    package init() {}

    /// Who is here, by their ids.
    package var contacts: [WhisperID] { self.ways.keys.sorted { "\($0)" < "\($1)" } }

    package func isHere(_ contact: WhisperID) -> Bool { self.ways[contact] != nil }

    package func inTheAir(to contact: WhisperID) -> MessageID? { self.ways[contact]?.inTheAir?.id }

    /// A contact is connected, and has proven who they are.
    package mutating func came(_ contact: WhisperID) {
        if self.ways[contact] == nil { self.ways[contact] = Way() }
    }

    /// - Returns: what was in the air: the server's turn.
    package mutating func went(_ contact: WhisperID) -> MessageID? {
        self.ways.removeValue(forKey: contact)?.inTheAir?.id
    }

    /// - Parameters:
    ///   - waiting: what waits for the contact, in the order written.
    ///   - standing: of one of them.
    /// - Returns: what goes over the air now.
    package mutating func next<Failure: Error>(
        to contact: WhisperID, of waiting: [MessageID], at now: Instant,
        standing: (MessageID) throws(Failure) -> Standing
    ) throws(Failure) -> MessageID? {
        guard let way = self.ways[contact], way.inTheAir == nil else { return nil }
        if let rest = way.rest {
            guard rest.until <= now || !waiting.contains(rest.id) else { return nil }
            self.ways[contact]?.rest = nil
        }
        for id in waiting {
            switch try standing(id) {
            case .free:
                self.ways[contact]?.inTheAir = (id, now + NearbyLimits.bringingMax)
                return id
            case .serverAlone: continue
            case .underWay: return nil
            }
        }
        return nil
    }

    /// The other radio has all of it. The receipt is still to come.
    package mutating func handedOver(_ id: MessageID, to contact: WhisperID, at now: Instant) {
        guard self.inTheAir(to: contact) == id else { return }
        self.ways[contact]?.inTheAir?.until = now + NearbyLimits.receiptWait
    }

    /// It is settled, by whichever way.
    package mutating func settled(_ id: MessageID, to contact: WhisperID) {
        guard self.inTheAir(to: contact) == id else { return }
        self.ways[contact]?.inTheAir = nil
    }

    /// The radio has not brought it over.
    /// - Parameter hasServer: whether there is a session with the server.
    /// - Returns: whether it was in the air: then it is the server's turn.
    package mutating func failed(_ id: MessageID, to contact: WhisperID, at now: Instant, hasServer: Bool) -> Bool {
        guard self.inTheAir(to: contact) == id else { return false }
        self.ways[contact]?.inTheAir = nil
        self.ways[contact]?.rest = (id, now + (hasServer ? NearbyLimits.serverTurn : NearbyLimits.airPause))
        return true
    }

    /// Time has passed.
    /// - Returns: what got no receipt in time: the server's turn.
    package mutating func timerFired(at now: Instant, hasServer: Bool) -> [MessageID] {
        for (contact, way) in self.ways where way.rest.map({ $0.until <= now }) == true {
            self.ways[contact]?.rest = nil
        }
        let overdue = self.ways.compactMap { contact, way in
            way.inTheAir.flatMap { $0.until <= now ? (id: $0.id, contact: contact) : nil }
        }
        return overdue.filter { self.failed($0.id, to: $0.contact, at: now, hasServer: hasServer) }.map(\.id)
    }

    /// When `timerFired` or `next` has something to do.
    package var nextWake: Instant? {
        self.ways.values.compactMap { $0.inTheAir?.until ?? $0.rest?.until }.min()
    }
}
