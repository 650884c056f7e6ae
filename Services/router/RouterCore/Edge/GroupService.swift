package import Bus
package import ClusterContract
package import Contract
package import Logging
package import Store
import Telemetry

/// Answers requests about groups. Each change is one transaction with its group locked.
///
/// A request that is handled twice, after a crash or at the same time, changes a group once and gets the same answer.
package struct GroupService: Sendable {
    let pool: PostgresPool
    private let bus: any KeyBus & NoticeBus
    let configuration: GroupConfiguration
    let clock: @Sendable () -> Timestamp
    private let logger: Logger

    package init(
        pool: PostgresPool, bus: any KeyBus & NoticeBus, configuration: GroupConfiguration = GroupConfiguration(),
        clock: @escaping @Sendable () -> Timestamp = { .now }, logger: Logger
    ) {
        self.pool = pool
        self.bus = bus
        self.configuration = configuration
        self.clock = clock
        self.logger = logger
    }

    /// The answer to a request, and the events for other nodes.
    package struct Reply: Sendable {
        package var answer: Answer
        package var others: [NodeID: [NodeEvent]] = [:]
    }

    /// Never fails: what goes wrong becomes INTERNAL_ERROR.
    package func handle(_ request: ServiceRequest) async -> Reply {
        guard case .frame(let type, let bytes) = request.body, let caller = request.session?.caller,
            let definition = FrameCatalogue.definition(of: type), case .service(.router) = definition.route
        else {
            self.logger.error("frame is not for the router", [.trace: "\(request.answer.trace)"])
            return Reply(answer: Self.internalError)
        }
        let payload: Payload
        do {
            payload = try FrameDecoder.payload(bare: bytes, schema: definition.schema)
        } catch {
            return Reply(answer: .refused(Refusal(.invalidPayload, "\(error)")))
        }
        do {
            switch type {
            case GroupCreate.definition.type:
                let frame = try GroupCreate(payload)
                return try await self.change(nil, naming: frame.memberIDs, request, caller) {
                    _, known, now throws(Refusal) in
                    try GroupRules.create(frame, as: .random(), by: caller.identity, known: known, at: now)
                }
            case GroupUpdate.definition.type:
                let frame = try GroupUpdate(payload)
                return try await self.change(frame.groupID, naming: frame.addMembers, request, caller) {
                    group, known, now throws(Refusal) in
                    try GroupRules.update(group, frame, by: caller.identity, known: known, at: now)
                }
            case GroupList.definition.type: return Reply(answer: try await self.list(GroupList(payload), caller))
            default:
                assertionFailure("no handler for \(type)")
                self.logger.error(
                    "frame without a handler", [.trace: "\(request.answer.trace)", .frame: "\(type)"])
                return Reply(answer: Self.internalError)
            }
        } catch is Payload.Corrupted {
            assertionFailure("payload of \(type) is corrupted")
            self.logger.error("payload is corrupted", [.trace: "\(request.answer.trace)", .frame: "\(type)"])
            return Reply(answer: Self.internalError)
        } catch {
            self.logger.warning(
                "question not answered",
                [.trace: "\(request.answer.trace)", .frame: "\(type)", .error: "\(error)"])
            return Reply(answer: Self.internalError)
        }
    }

    private static let internalError = Answer.refused(Refusal(.internalError, "the request failed; safe to retry"))

    // MARK: Changing

    private typealias Rules =
        @Sendable (Group?, GroupRules.Known, Timestamp) throws(Refusal) -> GroupChange

    private enum Result: Sendable {
        case answer(Answer)
        /// Stored, now or earlier, and these have yet to confirm it.
        case stored(payload: [UInt8], unheard: [GroupNews])
    }

    /// - Parameters:
    ///   - id: `nil` for a group to be made.
    ///   - named: identities that the rules will ask about.
    private func change(
        _ id: UUIDText?, naming named: [WhisperID], _ request: ServiceRequest, _ caller: Caller,
        _ rules: @escaping Rules
    ) async throws(StoreError) -> Reply {
        let now = self.clock()
        let result = try await self.persistently { transaction throws(StoreError) in
            try await self.change(id, naming: named, request.answer, caller, rules, at: now, in: transaction)
        }
        switch result {
        case .answer(let answer): return Reply(answer: answer)
        case .stored(let payload, let unheard):
            let number = unheard.first { $0.member == caller.identity }?.number
            return Reply(
                answer: number.map { .groupEvent(number: $0, payload: payload) }
                    ?? .reply(type: GroupEvent.type, payload: payload),
                others: await self.notices(payload, to: unheard.filter { $0.member != caller.identity }))
        }
    }

    private func change(
        _ id: UUIDText?, naming named: [WhisperID], _ question: AnswerAddress, _ caller: Caller, _ rules: Rules,
        at now: Timestamp, in transaction: borrowing Transaction
    ) async throws(StoreError) -> Result {
        var reading = Pipeline()
        let group = id.map {
            (locked: reading.add(GroupTable.lock($0)), members: reading.add(GroupTable.members(of: $0)))
        }
        let identities = reading.add(GroupTable.identities([caller.identity] + named))
        let earlier = reading.add(GroupNewsTable.answer(to: question))
        let found = try await transaction.pipeline(reading)
        var old: Group?
        if let group {
            old = try found[group.locked]
            old?.members = try found[group.members]
        }
        var known: GroupRules.Known = [:]
        var epoch: Epoch?
        for identity in try found[identities] {
            if identity.id == caller.identity { epoch = identity.epoch }
            known[identity.id] = identity.isBanned
        }
        guard epoch == caller.epoch else { return .answer(.stale) }
        guard known[caller.identity] == false else {
            return .answer(.refused(Refusal(.userBanned, "the identity is banned")))
        }
        if let answered = try await self.answered(found[earlier], in: transaction) { return answered }

        var change: GroupChange
        do throws(Refusal) { change = try rules(old, known, now) } catch { return .answer(.refused(error)) }
        guard !change.isEmpty else { return .answer(.reply(type: GroupEvent.type, payload: change.payload)) }
        let concerned = GroupBounds.concerned(by: change, insteadOf: old).sorted { $0.bits < $1.bits }
        if !concerned.isEmpty {
            // Each statement sees what was committed before it began: only those behind the lock see what it waited for.
            var counting = Pipeline()
            counting.add(GroupQuotaTable.make(concerned))
            counting.add(GroupQuotaTable.lock(concerned))
            let usage = counting.add(GroupQuotaTable.usage(of: concerned))
            let additions = counting.add(GroupQuotaTable.additions(of: caller.identity))
            let peers = counting.add(PeersTable.check(concerned.map { PeerPair(from: caller.identity, to: $0) }))
            let answer = counting.add(GroupNewsTable.answer(to: question))
            let counted = try await transaction.pipeline(counting)
            var usages = GroupUsages(byIdentity: try counted[usage], additions: try counted[additions])
            for position in try counted[peers] { usages.byIdentity[concerned[position]]?.isPeer = true }
            // The same question may have been taken twice, and the other have been faster.
            if let answered = try await self.answered(counted[answer], in: transaction) { return answered }
            do throws(Refusal) {
                change = try GroupBounds.judge(change, usages, self.configuration)
            } catch {
                return .answer(.refused(error))
            }
        }
        let payload = change.payload
        let event = GroupNews.Event(group: change.group.id, revision: change.group.revision)
        var writing = Pipeline()
        writing.add(GroupTable.store(change, insteadOf: old))
        if !change.strangers.isEmpty { writing.add(GroupQuotaTable.add(change.strangers.count, to: caller.identity)) }
        writing.add(GroupNewsTable.store(event, payload: payload, answering: question))
        let unheard = writing.add(GroupNewsTable.tell(change.audience, of: event))
        return .stored(payload: payload, unheard: try await transaction.pipeline(writing)[unheard])
    }

    /// - Parameter found: what `GroupNewsTable.answer` reads.
    /// - Returns: `nil` if the question has had no answer yet.
    private func answered(
        _ found: GroupNewsTable.StoredEvent?, in transaction: borrowing Transaction
    ) async throws(StoreError) -> Result? {
        guard let found else { return nil }
        var reading = Pipeline()
        let unheard = reading.add(GroupNewsTable.unheard(found.event))
        // Nothing is written here, and no standby may have what was stored.
        reading.add(ReplicationBarrier.statement)
        return .stored(payload: found.payload, unheard: try await transaction.pipeline(reading)[unheard])
    }

    /// Runs a transaction, and again while others get in its way, or if nobody knows whether it was committed: then the
    /// next finds out.
    private func persistently(
        _ body: @Sendable (borrowing Transaction) async throws(StoreError) -> Result
    ) async throws(StoreError) -> Result {
        for _ in 1..<RouterLimits.groupAttemptsMax {
            do throws(StoreError) {
                return try await self.pool.withTransaction(body)
            } catch .conflict {
                continue
            } catch .unique {
                continue
            } catch .outcomeUnknown {
                continue
            }
        }
        return try await self.pool.withTransaction(body)
    }

    /// Finds those who are connected. The others are told when they bind; a connection that is missed here, when a
    /// router looks for lingering news.
    func notices(_ payload: [UInt8], to readers: [GroupNews]) async -> [NodeID: [NodeEvent]] {
        guard !readers.isEmpty,
            let found = try? await self.bus.get(readers.map { Keyspace.presence($0.member) })
        else { return [:] }
        var byNode: [NodeID: [GroupReader]] = [:]
        for (reader, bytes) in zip(readers, found) {
            guard let bytes, let presence = try? Presence(decoding: bytes) else { continue }
            byNode[presence.node, default: []].append(
                GroupReader(connection: presence.connection, number: reader.number))
        }
        return byNode.mapValues { [.groupEvent(payload: payload, $0)] }
    }

    /// Tells clients of a node, of whom nobody has asked.
    func publish(_ node: NodeID, _ events: [NodeEvent]) {
        self.bus.publish(NodeNotice(events: events), to: Keyspace.node(node))
    }

    // MARK: Listing

    private func list(_ frame: GroupList, _ caller: Caller) async throws(StoreError) -> Answer {
        // One more than wanted tells whether there is more.
        var reading = Pipeline()
        let identities = reading.add(GroupTable.identities([caller.identity]))
        // A role that rises from here on keeps its group in its old part too. One that is about to has drawn its number: it is waited for.
        var lastRaised: Pipeline.Ticket<Int64>?
        if frame.cursor == nil {
            reading.add(GroupQuotaTable.wait(for: caller.identity))
            lastRaised = reading.add(GroupTable.lastRaised)
        }
        let groups = reading.add(GroupTable.page(of: caller.identity, after: frame.cursor, limit: frame.limit + 1))
        let found = try await self.pool.pipeline(reading)
        guard try found[identities].first?.epoch == caller.epoch else { return .stale }
        let since = if let lastRaised { try found[lastRaised] } else { frame.cursor!.since }
        let listed = try found[groups]
        var page: [[UInt8]] = []
        var bytes = 0
        for group in listed.prefix(frame.limit) {
            let json = group.group.description.json
            // A comma before each but the first.
            guard page.isEmpty || bytes + json.count + 1 <= Self.pageBytesForGroups else { break }
            bytes += json.count + 1
            page.append(json)
        }
        var next: GroupCursor?
        if page.count < listed.count, let last = page.indices.last.map({ listed[$0] }) {
            next = GroupCursor(part: last.part, joinedAt: last.joinedAt, group: last.group.id, since: since)
        }
        return .reply(type: Groups.type, payload: Groups.json(groups: page, nextCursor: next?.text))
    }

    /// Bytes for groups in one frame, without the envelope, the longest request id (every character escaped) and the
    /// cursor.
    private static let pageBytesForGroups = Limits.pageBytesMax - 512
}
