import Contract

/// The record of every message at the clients, and of broken promises.
final class Record {
    private struct Message {
        var sender: WhisperID
        var recipient: WhisperID
        var acceptedAt: Int64?
        /// Milliseconds of the wall clock.
        var arrivals: [(at: Int64, isLive: Bool)] = []
        var isTold = false
    }

    private unowned let world: World
    private var messages: [UUIDText: Message] = [:]
    private var order: [UUIDText] = []
    private(set) var faults: [String] = []
    /// Live arrivals of messages that had already arrived live.
    private(set) var repeatedLive = 0
    private(set) var live = 0
    /// Each identity's last opened or logged-in connection, unless it has left that connection.
    private var newest: [WhisperID: (line: Line, number: Int)] = [:]
    private var owners: [ObjectIdentifier: (identity: WhisperID, number: Int)] = [:]
    private var lastNumber = 0

    init(_ world: World) { self.world = world }

    func fault(_ text: String) {
        self.faults.append(text)
        self.world.trace("FAULT \(text)")
    }

    // MARK: Messages

    func sends(_ id: UUIDText, from sender: WhisperID, to recipient: WhisperID) {
        self.messages[id] = Message(sender: sender, recipient: recipient)
        self.order.append(id)
    }

    func accepted(_ id: UUIDText) {
        guard let message = self.messages[id] else { return self.fault("\(id) is accepted, and nobody sent it") }
        if message.acceptedAt == nil { self.messages[id]!.acceptedAt = Timestamp.now.milliseconds }
    }

    /// - Parameters:
    ///   - askedAt: when the message's page was requested; nil for live mail.
    ///   - acknowledgedAt: when the message's receipt was honoured.
    /// - Returns: whether this is the first arrival.
    func arrives(
        _ id: UUIDText, from sender: WhisperID, to recipient: WhisperID, askedAt: Int64?, acknowledgedAt: Int64?
    ) -> Bool {
        guard let message = self.messages[id], message.sender == sender, message.recipient == recipient else {
            self.fault("\(id) reaches somebody for whom nobody sent it")
            return false
        }
        self.world.trace("\(id) is seen \(askedAt == nil ? "live" : "in a page")")
        if askedAt == nil { self.live += 1 }
        self.messages[id]!.arrivals.append((Timestamp.now.milliseconds, askedAt == nil))
        guard let first = message.arrivals.first else { return true }
        if askedAt == nil, first.isLive { self.repeatedLive += 1 }
        if let acknowledgedAt {
            if let askedAt, askedAt > acknowledgedAt {
                self.fault("twice: \(id), in a page asked for after its receipt was honoured")
            } else if askedAt == nil, Timestamp.now.milliseconds > acknowledgedAt + World.onTheWay {
                self.fault(
                    "twice: \(id), live, \(Timestamp.now.milliseconds - acknowledgedAt) ms after its receipt was honoured"
                )
            }
        }
        return false
    }

    func told(_ id: UUIDText) {
        guard self.messages[id] != nil else { return self.fault("news of a message that nobody sent") }
        self.messages[id]!.isTold = true
    }

    // MARK: Connections

    func opens(_ line: Line, of identity: WhisperID) {
        self.lastNumber += 1
        self.owners[ObjectIdentifier(line)] = (identity, self.lastNumber)
        self.newest[identity] = (line, self.lastNumber)
    }

    func logsIn(_ line: Line, _ identity: WhisperID) {
        self.lastNumber += 1
        self.owners[ObjectIdentifier(line)] = (identity, self.lastNumber)
        self.newest[identity] = (line, self.lastNumber)
    }

    func leaves(_ line: Line?) {
        guard let line, let owner = self.owners[ObjectIdentifier(line)] else { return }
        if self.newest[owner.identity]?.line === line { self.newest[owner.identity] = nil }
    }

    /// A gateway must not close the last connection of a client, unless it was silent.
    func closed(_ line: Line, code: UInt16) {
        guard let owner = self.owners[ObjectIdentifier(line)], self.newest[owner.identity]?.line === line else {
            return
        }
        switch code {
        case CloseCode.sessionReplaced.rawValue:
            if !self.world.mayReplace(owner.identity) { self.fault("a live session is ended without cause (\(code))") }
        case CloseCode.idle.rawValue where line.silentUntil + World.onTheWay * 1_000_000 > Machine.current.now: break
        case CloseCode.goingAway.rawValue: break
        default: self.fault("a connection is closed: \(code)")
        }
    }

    // MARK: Judging

    /// Reports broken promises, after all clients have had the time to receive everything.
    /// - Parameter isAway: whether an identity still sleeps; its mail waits.
    func judge(isAway: (WhisperID) -> Bool) {
        for id in self.order {
            let message = self.messages[id]!
            let isPending = self.world.isPending(id, from: message.sender, to: message.recipient)
            let hasExpired = self.world.hasExpired(id, from: message.sender, to: message.recipient)
            if message.acceptedAt != nil, message.arrivals.isEmpty, !isPending, !hasExpired {
                self.fault("lost: \(id)")
            }
            if isPending, !isAway(message.recipient) { self.fault("not delivered: \(id)") }
            if message.acceptedAt == nil, !isAway(message.sender) { self.fault("not accepted: \(id)") }
            // Acknowledged, or expired.
            let isSettled = self.world.acknowledgedAt(id, from: message.sender, to: message.recipient) != nil
            if isSettled, !message.isTold, !isAway(message.sender) {
                self.fault("untold: \(id)")
            } else if isSettled, !message.isTold, !self.world.expires, !self.world.hasOutcome(id) {
                self.fault("what became of \(id) is lost")
            }
        }
    }

    /// Whether all clients have received everything.
    func isComplete(isAway: (WhisperID) -> Bool) -> Bool {
        self.messages.values.allSatisfy { message in
            (isAway(message.sender) || message.acceptedAt != nil)
                && (isAway(message.recipient) || !message.arrivals.isEmpty || message.acceptedAt == nil
                    || message.isTold)
                && (isAway(message.sender) || isAway(message.recipient) || message.isTold)
        }
    }

    var count: (sent: Int, accepted: Int, arrived: Int) {
        (
            self.messages.count, self.messages.values.count { $0.acceptedAt != nil },
            self.messages.values.count { !$0.arrivals.isEmpty }
        )
    }
}
