import ClusterContract
import Contract

/// One router's memory of the identities in its partitions. None of it is stored.
struct RouterMemory {
    /// The live connections of these identities.
    var sessions = MailboxSessions()
    var mailboxes = MailboxMemory(recipientsMax: RouterLimits.recipientsRememberedMax)
    var loads: MailboxLoads
    var presence: PresenceMemory

    init(_ bounds: MailBounds, _ presence: PresenceConfiguration) {
        self.loads = MailboxLoads(bounds)
        self.presence = PresenceMemory(presence)
    }

    /// The recipient has no connection any more.
    /// - Returns: whether mail may wait that its client has not got.
    mutating func ended(_ session: MailboxSession, at now: Int64) -> Bool {
        let identity = session.caller.identity
        self.sessions[identity] = nil
        self.presence.left(identity, at: now)
        return session.mayLeaveMail && self.mailboxes.mayHold(identity)
    }

    /// Tells senders what became of their messages, if they are connected. If not, it waits until they are.
    func tell(_ outcomes: [SenderOutcome], isOurs: (Partition) -> Bool) -> [BatchAction] {
        var actions: [BatchAction] = []
        var elsewhere: [WhisperID: [Outcome]] = [:]
        for item in outcomes {
            if let session = self.sessions[item.sender] {
                actions.append(.tell(session.node, .outcomes(session.connection, [item.outcome])))
            } else if !isOurs(Partition(of: item.sender)) {
                elsewhere[item.sender, default: []].append(item.outcome)
            }
        }
        if !elsewhere.isEmpty { actions.append(.tellElsewhere(elsewhere)) }
        return actions
    }
}
