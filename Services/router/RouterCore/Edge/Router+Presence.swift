import Bus
import Contract
package import Store
import Telemetry

/// What one router remembers for presence and typing. None of it is stored, and losing it tells nobody anything: a
/// session that a gateway announces to a new router (`.live`, `.paging`) is taken for online without a word.
/// A router that gives a partition up in good order leaves word of those who are just coming or going.
struct PresenceMemory {
    /// What is told of the identities in our partitions.
    var machine: PresenceMachine
    /// What the identities in our partitions are told.
    var pairs: PresencePairs
    var typing: TypingMachine
    var written = WrittenPairs()
    /// Who has just connected and is to learn which peers are online.
    var newcomers: Set<WhisperID> = []
    /// Pairs of whom it is not known whether they are peers.
    var toLookUp: Set<PeerPair> = []
    /// When we took each partition over.
    var adoptedAt: [Partition: Int64] = [:]
    var nodesSeenAt: Int64 = 0

    init(_ configuration: PresenceConfiguration) {
        self.machine = PresenceMachine(configuration)
        self.pairs = PresencePairs(configuration)
        self.typing = TypingMachine(configuration)
    }

    /// Forgets identities that are another router's now. Who wrote to whom today remains true.
    /// - Returns: what that one has to know.
    @discardableResult
    mutating func keep(_ isOurs: (WhisperID) -> Bool) -> [RestlessIdentity] {
        self.pairs.keep(isOurs)
        self.newcomers = self.newcomers.filter(isOurs)
        return self.machine.keep(isOurs)
    }
}

/// Telling peers who comes and goes, and who is writing (contract §7). Batches only note what happened; looking up peers
/// and telling them is a task beside them, with a database connection of its own, so that no message waits for it.
extension Router {
    // MARK: What batches note

    /// Positions of messages whose pairs have not been written down today, one of each pair. Group mail makes nobody peers.
    func unwritten(_ envelopes: [AcceptEnvelope], at now: Timestamp) -> [Int] {
        var seen: Set<PeerPair> = []
        return envelopes.indices.filter {
            let envelope = envelopes[$0]
            guard envelope.group == nil else { return false }
            let pair = PeerPair(from: envelope.sender.identity, to: envelope.to)
            return !self.presence.written.contains(pair, at: now.milliseconds) && seen.insert(pair).inserted
        }
    }

    /// The message's pair is written down.
    func wrote(_ envelope: AcceptEnvelope, at now: Timestamp) {
        self.presence.written.insert(
            PeerPair(from: envelope.sender.identity, to: envelope.to), at: now.milliseconds)
    }

    /// - Parameter known: the session that the identity had before.
    func came(_ bound: BoundConnection, known: MailboxSession?, at now: Int64) {
        // Said again until we have confirmed it.
        if let known, known.connection == bound.connection, known.node == bound.node { return }
        let identity = bound.caller.identity
        guard bound.progress == .fresh else {
            guard known == nil else { return }
            self.presence.machine.announced(identity)
            return self.presence.pairs.inherited(identity, at: now)
        }
        self.presence.pairs.bound(identity)
        if self.presence.newcomers.count < PresenceLimits.newcomersMax { self.presence.newcomers.insert(identity) }
        guard known == nil else { return }
        let adoptedAt = self.presence.adoptedAt[Partition(of: identity)] ?? 0
        self.presence.machine.came(
            identity, at: now, notBefore: adoptedAt + self.configuration.presence.offlineAfter.milliseconds)
    }

    func left(_ identity: WhisperID) {
        self.presence.newcomers.remove(identity)
        self.presence.machine.left(identity, at: self.now)
    }

    /// A connection went that is not the one we know. If we know none at all, and are new here, it went while nobody
    /// owned the partition.
    func leftUnseen(_ identity: WhisperID) {
        guard self.sessions[identity] == nil, let adoptedAt = self.presence.adoptedAt[Partition(of: identity)],
            self.now - adoptedAt < PresenceLimits.unsettledFor.milliseconds
        else { return }
        self.left(identity)
    }

    /// Partitions go to another router: what it must know of those coming and going awaits it in their streams. A router
    /// that dies leaves nothing: whoever went in its last seconds is offline for those who ask, and for nobody else.
    func handOverPresence() {
        let restless = self.presence.keep { self.owned[Partition(of: $0)] != nil }
        for (partition, list) in Dictionary(grouping: restless, by: { Partition(of: $0.identity) }) {
            for start in stride(from: 0, to: list.count, by: PresenceLimits.newsPerJobMax) {
                let part = Array(list[start..<min(start + PresenceLimits.newsPerJobMax, list.count)])
                self.bus.append(MailboxJob.presenceHandedOver(part), to: Keyspace.mailbox(partition), failed: { _ in })
            }
        }
    }

    /// What other routers say about peers, what they ask, and who is typing.
    func heardPresence(_ batch: Batch, _ outbox: inout Outbox) {
        self.presence.machine.inherit(batch.restless)
        guard !batch.presence.isEmpty || !batch.presenceQuestions.isEmpty || !batch.typing.isEmpty else { return }
        let now = self.now
        for news in batch.presence { self.pass(news, at: now, &outbox) }
        var answers: [Partition: [PresenceNews]] = [:]
        for question in batch.presenceQuestions { self.answer(question, at: now, &answers, &outbox) }
        self.send(answers)
        for typing in batch.typing {
            // Nobody is there to see it.
            guard self.sessions[typing.to] != nil else { continue }
            let pair = PeerPair(from: typing.from, to: typing.to)
            switch self.presence.typing.heard(typing.isTyping, pair, at: now) {
            case .tell: self.tell(typing, &outbox)
            case .lookUp: self.presence.toLookUp.insert(pair)
            case .drop: break
            }
        }
    }

    // MARK: Rounds

    /// Tells peers until cancelled.
    package func tellPresence(_ pool: PostgresPool) async throws {
        while true {
            try await Task.sleep(for: PresenceLimits.roundPause)
            guard self.isReady else { continue }
            do throws(StoreError) {
                try await self.presenceRound(pool)
            } catch {
                self.logger.warning("presence interrupted", [.error: "\(error)"])
            }
        }
    }

    private func presenceRound(_ pool: PostgresPool) async throws(StoreError) {
        let now = self.now
        self.lookAtNodes(now)
        var outbox = self.makeOutbox()
        for update in self.presence.pairs.due(at: now) {
            self.tell(update.state, about: update.about, to: update.listener, &outbox)
        }
        outbox.send()
        try await self.lookUpTyping(pool)
        try await self.tellChanges(pool)
    }

    private func tellChanges(_ pool: PostgresPool) async throws(StoreError) {
        let changes = self.presence.machine.changes(at: self.now, limit: PresenceLimits.identitiesPerRoundMax)
        let newcomers = self.takeNewcomers(PresenceLimits.identitiesPerRoundMax - changes.count)
        let identities = Array(Set(changes.map(\.identity)).union(newcomers))
        guard !identities.isEmpty else { return }
        let peers: [WhisperID: [WhisperID]]
        do throws(StoreError) {
            peers = try PeersTable.peers(
                try await pool.query(PeersTable.read(identities, at: .now)), of: identities)
        } catch {
            self.presence.machine.untold(changes)
            self.presence.newcomers.formUnion(newcomers)
            throw error
        }

        let now = self.now
        var outbox = self.makeOutbox()
        var news: [Partition: [PresenceNews]] = [:]
        for change in changes {
            for (partition, list) in Dictionary(grouping: peers[change.identity] ?? [], by: { Partition(of: $0) }) {
                let item = PresenceNews(about: change.identity, state: change.state, to: list)
                if self.owned[partition] != nil {
                    self.pass(item, at: now, &outbox)
                } else {
                    news[partition, default: []].append(item)
                }
            }
        }
        var questions: [Partition: [PresenceQuestion]] = [:]
        for newcomer in newcomers {
            for (partition, list) in Dictionary(grouping: peers[newcomer] ?? [], by: { Partition(of: $0) }) {
                let question = PresenceQuestion(asker: newcomer, about: list)
                if self.owned[partition] != nil {
                    self.answer(question, at: now, &news, &outbox)
                } else {
                    questions[partition, default: []].append(question)
                }
            }
        }
        outbox.send()
        self.send(news)
        for (partition, list) in questions {
            self.bus.append(MailboxJob.presenceAsked(list), to: Keyspace.mailbox(partition), failed: { _ in })
        }
    }

    private func takeNewcomers(_ limit: Int) -> [WhisperID] {
        guard !self.presence.newcomers.isEmpty else { return [] }
        let newcomers = Array(self.presence.newcomers.prefix(limit))
        self.presence.newcomers.subtract(newcomers)
        return newcomers
    }

    private func lookUpTyping(_ pool: PostgresPool) async throws(StoreError) {
        self.presence.typing.forget(at: self.now)
        guard !self.presence.toLookUp.isEmpty else { return }
        let pairs = Array(self.presence.toLookUp)
        self.presence.toLookUp = []
        let peers = try PeersTable.positions(try await pool.query(PeersTable.check(pairs, at: .now)))
        let now = self.now
        var outbox = self.makeOutbox()
        for (position, pair) in pairs.enumerated() {
            let isPeer = peers.contains(position)
            guard let isTyping = self.presence.typing.lookedUp(pair, isPeer: isPeer, at: now) else { continue }
            self.tell(TypingNews(from: pair.from, to: pair.to, isTyping: isTyping), &outbox)
        }
        outbox.send()
    }

    /// Says nothing to every gateway that has connections here. Whoever does not hear it is gone, and its clients with it.
    private func lookAtNodes(_ now: Int64) {
        guard now - self.presence.nodesSeenAt >= PresenceLimits.nodeLookPause.milliseconds else { return }
        self.presence.nodesSeenAt = now
        var nodes: Set<NodeID> = []
        for session in self.sessions.values { nodes.insert(session.node) }
        let outbox = self.makeOutbox()
        for node in nodes { outbox.knock(at: node) }
    }

    // MARK: Telling

    private func pass(_ news: PresenceNews, at now: Int64, _ outbox: inout Outbox) {
        for listener in news.to where self.sessions[listener] != nil {
            guard self.presence.pairs.heard(news.state, about: news.about, by: listener, at: now) else { continue }
            self.tell(news.state, about: news.about, to: listener, &outbox)
        }
    }

    /// - Parameter news: gets what other routers have to pass on.
    private func answer(
        _ question: PresenceQuestion, at now: Int64, _ news: inout [Partition: [PresenceNews]],
        _ outbox: inout Outbox
    ) {
        let partition = Partition(of: question.asker)
        let isOurs = self.owned[partition] != nil
        for peer in question.about
        where self.presence.machine.isOnline(peer, hasSession: self.sessions[peer] != nil) {
            let item = PresenceNews(about: peer, state: .online, to: [question.asker])
            if isOurs {
                self.pass(item, at: now, &outbox)
            } else {
                news[partition, default: []].append(item)
            }
        }
    }

    /// What got lost on the way is lost: presence is true again with the next change.
    private func send(_ news: [Partition: [PresenceNews]]) {
        for (partition, list) in news {
            for start in stride(from: 0, to: list.count, by: PresenceLimits.newsPerJobMax) {
                let part = Array(list[start..<min(start + PresenceLimits.newsPerJobMax, list.count)])
                self.bus.append(MailboxJob.presence(part), to: Keyspace.mailbox(partition), failed: { _ in })
            }
        }
    }

    private func tell(
        _ state: PresenceState, about: WhisperID, to listener: WhisperID, _ outbox: inout Outbox
    ) {
        guard let session = self.sessions[listener] else { return }
        var payload = JSONWriter()
        payload.add("whisperId", about)
        switch state {
        case .online: payload.add("status", "online")
        case .offline(let lastSeen):
            payload.add("status", "offline")
            payload.add("lastSeen", lastSeen)
        }
        self.metrics.presenceUpdates.increment()
        outbox.add(
            .frame(session.connection, type: PresenceFrames.presenceUpdate.type, payload: payload.finished()),
            for: session.node)
    }

    private func tell(_ typing: TypingNews, _ outbox: inout Outbox) {
        guard let session = self.sessions[typing.to] else { return }
        var payload = JSONWriter()
        payload.add("from", typing.from)
        payload.add("isTyping", typing.isTyping)
        payload.add("timestamp", Timestamp.now)
        outbox.add(
            .frame(session.connection, type: PresenceFrames.typingNotification.type, payload: payload.finished()),
            for: session.node)
    }
}
