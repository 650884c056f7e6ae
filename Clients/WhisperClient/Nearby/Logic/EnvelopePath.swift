package import Contract

/// Decides the path of a message: over the air to a contact that is connected nearby, otherwise to the server.
///
/// A message takes one path at a time, under one id. A message without a receipt over the air in time goes to the
/// server for a while, and may then go over the air again. So it arrives as long as either path works. It may arrive
/// twice, and then the receiver already has the id. One message to each contact is in the air at a time, in the order
/// written.
package struct EnvelopePath<MessageID: Hashable & Sendable> {
    package typealias Instant = ContinuousClock.Instant

    /// The state of a message on the server's path.
    package enum Standing: Sendable {
        /// The message waits, and may go over the air.
        case free
        /// The message waits, and may only go to the server.
        case serverAlone
        /// The message was sent to the server, and is unanswered. Later messages wait for it.
        case underWay
    }

    private struct Way {
        /// The message in the air without a receipt, and its deadline.
        var inTheAir: (id: MessageID, until: Instant)?
        /// The message of the server's turn, which lasts until this time or until the message is settled.
        var rest: (id: MessageID, until: Instant)?
    }

    /// Paths to the connected contacts.
    private var ways: [WhisperID: Way] = [:]

    package init() {}

    /// Connected contacts, ordered by id.
    package var contacts: [WhisperID] { self.ways.keys.sorted { "\($0)" < "\($1)" } }

    package func isHere(_ contact: WhisperID) -> Bool { self.ways[contact] != nil }

    package func inTheAir(to contact: WhisperID) -> MessageID? { self.ways[contact]?.inTheAir?.id }

    /// A contact is connected, and has proven its identity.
    package mutating func came(_ contact: WhisperID) {
        if self.ways[contact] == nil { self.ways[contact] = Way() }
    }

    /// - Returns: the message that was in the air, for the server.
    package mutating func went(_ contact: WhisperID) -> MessageID? {
        self.ways.removeValue(forKey: contact)?.inTheAir?.id
    }

    /// - Parameters:
    ///   - waiting: waiting messages for the contact, in the order written.
    ///   - standing: the standing of one of them.
    /// - Returns: the message to send over the air now.
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

    /// The other radio has the whole message. The receipt is pending.
    package mutating func handedOver(_ id: MessageID, to contact: WhisperID, at now: Instant) {
        guard self.inTheAir(to: contact) == id else { return }
        self.ways[contact]?.inTheAir?.until = now + NearbyLimits.receiptWait
    }

    /// The message is settled, by either path.
    package mutating func settled(_ id: MessageID, to contact: WhisperID) {
        guard self.inTheAir(to: contact) == id else { return }
        self.ways[contact]?.inTheAir = nil
    }

    /// The radio has not delivered the message.
    /// - Parameter hasServer: whether there is a session with the server.
    /// - Returns: whether the message was in the air: then it is the server's turn.
    package mutating func failed(_ id: MessageID, to contact: WhisperID, at now: Instant, hasServer: Bool) -> Bool {
        guard self.inTheAir(to: contact) == id else { return false }
        self.ways[contact]?.inTheAir = nil
        self.ways[contact]?.rest = (id, now + (hasServer ? NearbyLimits.serverTurn : NearbyLimits.airPause))
        return true
    }

    /// Time has passed.
    /// - Returns: messages without a receipt in time, for the server.
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
