import ClusterContract
import Contract

/// One router's memory for presence and typing. None of it is stored, and losing it announces nothing. A session that a
/// gateway announces to a new router (`.live`, `.paging`) counts as online silently. A router that gives a partition up
/// in good order hands over the identities that are just coming or going.
struct PresenceMemory {
    /// Announcements about the identities in our partitions.
    var machine: PresenceMachine
    /// Announcements to the identities in our partitions.
    var pairs: PresencePairs
    var typing: TypingMachine
    var written = WrittenPairs()
    /// Identities that have just connected and are to learn which peers are online.
    var newcomers: Set<WhisperID> = []
    /// Changes that count as told while their peers are being looked up.
    var telling: [PresenceMachine.Change] = []
    /// Pairs of whom it is not known whether they are peers.
    var toLookUp: Set<PeerPair> = []
    /// When we took each partition over.
    var adoptedAt: [Partition: Int64] = [:]
    /// News that reached a partition before its gateways had told us who is there: by listener, then by peer.
    private var early: [WhisperID: [WhisperID: PresenceState]] = [:]
    private var earlyCount = 0
    private var earlyUntil: Int64 = 0
    private let offlineAfter: Int64

    init(_ configuration: PresenceConfiguration) {
        self.machine = PresenceMachine(configuration)
        self.pairs = PresencePairs(configuration)
        self.typing = TypingMachine(configuration)
        self.offlineAfter = configuration.offlineAfter.milliseconds
    }

    /// Nobody is told, looked up or forgotten before something is noted.
    var isAtRest: Bool {
        self.machine.pendingTransitions == 0 && self.pairs.isAtRest && self.typing.pairs == 0
            && self.newcomers.isEmpty && self.toLookUp.isEmpty && self.telling.isEmpty && self.earlyCount == 0
    }

    /// A gateway says that a connection is its identity's live one.
    /// - Parameter known: the session that the identity had before.
    mutating func came(_ bound: BoundConnection, known: MailboxSession?, at now: Int64) {
        // Said again until we have confirmed it.
        if let known, known.connection == bound.connection, known.node == bound.node { return }
        let identity = bound.caller.identity
        // Nobody here knows it, and it is not new: the router before us has told of it. That is so even if no router has
        // confirmed it yet: the first announcement would lie before this one if it had not been dealt with.
        guard bound.state == .new || (known != nil && bound.state == .unconfirmed) else {
            guard known == nil else { return }
            self.machine.announced(identity)
            self.pairs.inherited(identity, at: now)
            for (peer, state) in self.early.removeValue(forKey: identity) ?? [:] {
                self.earlyCount -= 1
                // Told at the end of the pause: the router before us may have told something a moment ago.
                _ = self.pairs.heard(state, about: peer, by: identity, at: now)
            }
            return
        }
        self.pairs.bound(identity)
        if self.newcomers.count < PresenceLimits.newcomersMax { self.newcomers.insert(identity) }
        guard known == nil else { return }
        let adoptedAt = self.adoptedAt[Partition(of: identity)] ?? 0
        self.machine.came(identity, at: now, notBefore: adoptedAt + self.offlineAfter)
    }

    /// News for a listener whom we do not know. If we are new here, it may be there all the same.
    mutating func hold(_ state: PresenceState, about peer: WhisperID, for listener: WhisperID, at now: Int64) {
        guard let adoptedAt = self.adoptedAt[Partition(of: listener)] else { return }
        let end = adoptedAt + PresenceLimits.earlyNewsHeldFor.milliseconds
        guard now < end, self.earlyCount < PresenceLimits.earlyNewsMax else { return }
        if self.early[listener, default: [:]].updateValue(state, forKey: peer) == nil { self.earlyCount += 1 }
        self.earlyUntil = max(self.earlyUntil, end)
    }

    /// Forgets news for listeners who have not been announced by now: they are not connected.
    mutating func forgetEarlyNews(at now: Int64) {
        guard self.earlyCount > 0, now >= self.earlyUntil else { return }
        self.early = [:]
        self.earlyCount = 0
    }

    /// An identity has no connection any more.
    mutating func left(_ identity: WhisperID, at now: Int64) {
        self.newcomers.remove(identity)
        self.machine.left(identity, at: now)
    }

    /// A connection went that is not the one we know; we know none at all. If we are new here, it went while nobody owned
    /// the partition.
    mutating func leftUnseen(_ identity: WhisperID, at now: Int64) {
        guard let adoptedAt = self.adoptedAt[Partition(of: identity)],
            now - adoptedAt < PresenceLimits.unsettledFor.milliseconds
        else { return }
        self.left(identity, at: now)
    }

    /// State that the next owner of a partition needs.
    struct HandoverState {
        /// Identities of the partition that are connecting or leaving.
        var transitions: [PendingTransition] = []
        /// Updates that listeners in the partition have not been sent yet.
        var news: [PresencePairs.Update] = []
    }

    /// Forgets identities of other routers' partitions. Peer pairs stay, because they remain true.
    @discardableResult
    mutating func keep(_ isOurs: (WhisperID) -> Bool) -> HandoverState {
        var handover = HandoverState(news: self.pairs.keep(isOurs))
        for (listener, news) in self.early where !isOurs(listener) {
            self.early[listener] = nil
            self.earlyCount -= news.count
            handover.news += news.map { PresencePairs.Update(listener: listener, about: $0.key, state: $0.value) }
        }
        self.newcomers = self.newcomers.filter(isOurs)
        // While peers are looked up, nobody has been told yet.
        self.machine.untold(self.telling.filter { !isOurs($0.identity) })
        handover.transitions = self.machine.keep(isOurs)
        return handover
    }
}
