import Bus
import ClusterContract
import Contract
package import Store
import Telemetry

/// Telling peers who comes and goes, and who is writing (contract §7). Batches only note what happened; looking up peers
/// and telling them is a task beside them, with a database connection of its own, so that no message waits for it.
extension Router {
    // MARK: What batches note

    /// Hands the pending transitions of lost partitions over to their next owner, through the partitions' streams.
    ///
    /// Returns once Redis has the hand-over, hence before another router can own the partitions. A router that dies
    /// hands nothing over: peers are then not told of departures in its last seconds.
    func handOverPresence() async {
        let handover = self.memory.presence.keep { self.owned[Partition(of: $0)] != nil }
        var jobs: [(Partition, MailboxJob)] = []
        for (partition, list) in Dictionary(grouping: handover.transitions, by: { Partition(of: $0.identity) }) {
            jobs += Self.parts(of: list).map { (partition, .presenceHandedOver($0)) }
        }
        for (partition, list) in Dictionary(grouping: handover.news, by: { Partition(of: $0.listener) }) {
            let news = list.map { PresenceNews(about: $0.about, state: $0.state, to: [$0.listener]) }
            jobs += Self.parts(of: news).map { (partition, .presence($0)) }
        }
        do throws(BusError) {
            for (partition, job) in jobs { try await self.bus.append(job, to: Keyspace.mailbox(partition)) }
        } catch {
            // Without the bus it is lost, as with a router that dies.
            self.logger.warning("presence not handed over", [.error: "\(error)"])
        }
    }

    private static func parts<T>(of list: [T]) -> [[T]] {
        stride(from: 0, to: list.count, by: PresenceLimits.newsPerJobMax).map {
            Array(list[$0..<min($0 + PresenceLimits.newsPerJobMax, list.count)])
        }
    }

    /// Handles other routers' news about peers, their questions, and typing notices.
    func heardPresence(_ batch: Batch, _ notices: inout NoticeBatch) {
        self.memory.presence.machine.inherit(batch.transitions)
        guard !batch.presence.isEmpty || !batch.presenceQuestions.isEmpty || !batch.typing.isEmpty else { return }
        let now = self.now
        for news in batch.presence { self.pass(news, at: now, &notices) }
        var answers: [Partition: [PresenceNews]] = [:]
        for question in batch.presenceQuestions { self.answer(question, at: now, &answers, &notices) }
        self.send(answers)
        for typing in batch.typing {
            // Nobody is there to see it.
            guard self.memory.sessions[typing.to] != nil else { continue }
            let pair = PeerPair(from: typing.from, to: typing.to)
            switch self.memory.presence.typing.heard(typing.isTyping, pair, at: now) {
            case .tell: self.tell(typing, &notices)
            case .lookUp: self.memory.presence.toLookUp.insert(pair)
            case .drop: break
            }
        }
    }

    // MARK: Rounds

    /// Tells peers until cancelled. Rounds end where nothing is left to tell, and begin again with `signalPresence`.
    package func tellPresence(_ pool: PostgresPool) async throws {
        var signals = self.presenceSignal.stream.makeAsyncIterator()
        while true {
            if self.memory.presence.isAtRest { _ = await signals.next(isolation: self) }
            let isAlone = self.memory.sessions.isEmpty
            try await self.bus.pause(for: isAlone ? PresenceLimits.quietRoundPause : PresenceLimits.roundPause)
            guard self.isReady else { continue }
            do throws(StoreError) {
                try await self.presenceRound(pool)
            } catch {
                self.logger.warning("presence interrupted", [.error: "\(error)"])
            }
        }
    }

    /// Has rounds begin if batches have noted something. Called between batches, so every `RouterLimits.idleInterval` at least.
    func signalPresence() {
        if !self.memory.presence.isAtRest { self.presenceSignal.continuation.yield() }
    }

    private func presenceRound(_ pool: PostgresPool) async throws(StoreError) {
        let now = self.now
        self.memory.presence.forgetEarlyNews(at: now)
        var notices = self.makeNoticeBatch()
        for update in self.memory.presence.pairs.due(at: now) {
            self.tell(update.state, about: update.about, to: update.listener, &notices)
        }
        notices.send()
        try await self.lookUpTyping(pool)
        try await self.tellChanges(pool)
    }

    private func tellChanges(_ pool: PostgresPool) async throws(StoreError) {
        let changes = self.memory.presence.machine.changes(at: self.now, limit: PresenceLimits.identitiesPerRoundMax)
        let newcomers = self.takeNewcomers(PresenceLimits.identitiesPerRoundMax - changes.count)
        let identities = Array(Set(changes.map(\.identity)).union(newcomers))
        guard !identities.isEmpty else { return }
        self.memory.presence.telling = changes
        defer { self.memory.presence.telling = [] }
        let peers: [WhisperID: [WhisperID]]
        do throws(StoreError) {
            peers = try await pool.query(PeersTable.read(identities))
        } catch {
            self.memory.presence.machine.untold(changes)
            self.memory.presence.newcomers.formUnion(newcomers.filter { self.owned[Partition(of: $0)] != nil })
            throw error
        }

        let now = self.now
        var notices = self.makeNoticeBatch()
        var news: [Partition: [PresenceNews]] = [:]
        // Others have been handed over meanwhile, as untold.
        for change in changes where self.owned[Partition(of: change.identity)] != nil {
            for (partition, list) in Dictionary(grouping: peers[change.identity] ?? [], by: { Partition(of: $0) }) {
                let item = PresenceNews(about: change.identity, state: change.state, to: list)
                if self.owned[partition] != nil {
                    self.pass(item, at: now, &notices)
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
                    self.answer(question, at: now, &news, &notices)
                } else {
                    questions[partition, default: []].append(question)
                }
            }
        }
        notices.send()
        self.send(news)
        for (partition, list) in questions {
            self.bus.append(MailboxJob.presenceAsked(list), to: Keyspace.mailbox(partition), failed: { _ in })
        }
    }

    private func takeNewcomers(_ limit: Int) -> [WhisperID] {
        guard !self.memory.presence.newcomers.isEmpty else { return [] }
        let newcomers = Array(self.memory.presence.newcomers.prefix(limit))
        self.memory.presence.newcomers.subtract(newcomers)
        return newcomers
    }

    private func lookUpTyping(_ pool: PostgresPool) async throws(StoreError) {
        self.memory.presence.typing.forget(at: self.now)
        guard !self.memory.presence.toLookUp.isEmpty else { return }
        let pairs = Array(self.memory.presence.toLookUp)
        self.memory.presence.toLookUp = []
        let peers = try await pool.query(PeersTable.check(pairs))
        let now = self.now
        var notices = self.makeNoticeBatch()
        for (position, pair) in pairs.enumerated() {
            let isPeer = peers.contains(position)
            guard let isTyping = self.memory.presence.typing.lookedUp(pair, isPeer: isPeer, at: now) else { continue }
            self.tell(TypingNews(from: pair.from, to: pair.to, isTyping: isTyping), &notices)
        }
        notices.send()
    }

    // MARK: Telling

    private func pass(_ news: PresenceNews, at now: Int64, _ notices: inout NoticeBatch) {
        for listener in news.to {
            guard self.memory.sessions[listener] != nil else {
                self.memory.presence.hold(news.state, about: news.about, for: listener, at: now)
                continue
            }
            guard self.memory.presence.pairs.heard(news.state, about: news.about, by: listener, at: now) else {
                continue
            }
            self.tell(news.state, about: news.about, to: listener, &notices)
        }
    }

    /// - Parameter news: gets what other routers have to pass on.
    private func answer(
        _ question: PresenceQuestion, at now: Int64, _ news: inout [Partition: [PresenceNews]],
        _ notices: inout NoticeBatch
    ) {
        let partition = Partition(of: question.asker)
        let isOurs = self.owned[partition] != nil
        for peer in question.about
        where self.memory.presence.machine.isOnline(peer, hasSession: self.memory.sessions[peer] != nil) {
            let item = PresenceNews(about: peer, state: .online, to: [question.asker])
            if isOurs {
                self.pass(item, at: now, &notices)
            } else {
                news[partition, default: []].append(item)
            }
        }
    }

    /// A lost message is not repeated: presence is true again with the next change.
    private func send(_ news: [Partition: [PresenceNews]]) {
        for (partition, list) in news {
            for part in Self.parts(of: list) {
                self.bus.append(MailboxJob.presence(part), to: Keyspace.mailbox(partition), failed: { _ in })
            }
        }
    }

    private func tell(
        _ state: PresenceState, about: WhisperID, to listener: WhisperID, _ notices: inout NoticeBatch
    ) {
        guard let session = self.memory.sessions[listener] else { return }
        self.metrics.presenceUpdates.increment()
        notices.add(.presence(session.connection, about: about, state), for: session.node)
    }

    private func tell(_ typing: TypingNews, _ notices: inout NoticeBatch) {
        guard let session = self.memory.sessions[typing.to] else { return }
        let frame = TypingNotification(from: typing.from, isTyping: typing.isTyping, timestamp: .now)
        notices.add(.frame(session.connection, frame), for: session.node)
    }
}
