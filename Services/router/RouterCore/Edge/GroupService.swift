package import Bus
package import Contract
package import Logging
package import Store
import Telemetry

/// Answers requests about groups. Each change is one transaction with its group locked.
///
/// A request that is handled twice, after a crash or at the same time, changes a group once and gets the same answer.
package struct GroupService: Sendable {
    private let pool: PostgresPool
    private let bus: any KeyBus
    private let configuration: GroupConfiguration
    private let clock: @Sendable () -> Timestamp
    private let logger: Logger

    package init(
        pool: PostgresPool, bus: any KeyBus, configuration: GroupConfiguration = GroupConfiguration(),
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
            self.logger.error("frame is not for the router", [:])
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
                self.logger.error("frame without a handler", [.frame: "\(type)"])
                return Reply(answer: Self.internalError)
            }
        } catch is Payload.Corrupted {
            assertionFailure("payload of \(type) is corrupted")
            self.logger.error("payload is corrupted", [.frame: "\(type)"])
            return Reply(answer: Self.internalError)
        } catch {
            self.logger.warning("question not answered", [.frame: "\(type)", .error: "\(error)"])
            return Reply(answer: Self.internalError)
        }
    }

    private static let internalError = Answer.refused(Refusal(.internalError, "not done; safe to retry"))

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
                    ?? .reply(type: GroupFrames.event.type, payload: payload),
                others: await self.notices(payload, to: unheard.filter { $0.member != caller.identity }))
        }
    }

    private func change(
        _ id: UUIDText?, naming named: [WhisperID], _ question: AnswerAddress, _ caller: Caller, _ rules: Rules,
        at now: Timestamp, in transaction: borrowing Transaction
    ) async throws(StoreError) -> Result {
        var reading = [
            GroupTable.identities([caller.identity] + named), GroupNewsTable.answer(to: question),
        ]
        if let id { reading = [GroupTable.lock(id), GroupTable.members(of: id)] + reading }
        var found = try await transaction.pipeline(reading)[...]
        let old = try id.map { id throws(StoreError) in
            try GroupTable.group(id, found.removeFirst(), members: found.removeFirst())
        } ?? nil
        var known: GroupRules.Known = [:]
        var epoch: Epoch?
        for var row in found.removeFirst() {
            let identity: WhisperID = try row.next()
            if identity == caller.identity { epoch = Epoch(value: try row.next()) } else { _ = try row.next(Int64.self) }
            known[identity] = try row.next()
        }
        guard epoch == caller.epoch else { return .answer(.stale) }
        guard known[caller.identity] == false else {
            return .answer(.refused(Refusal(.userBanned, "the identity is banned")))
        }
        if let answered = try await self.answered(found.removeFirst(), in: transaction) { return answered }

        var change: GroupChange
        do throws(Refusal) { change = try rules(old, known, now) } catch { return .answer(.refused(error)) }
        guard !change.isEmpty else { return .answer(.reply(type: GroupFrames.event.type, payload: change.payload)) }
        let concerned = GroupBounds.concerned(by: change, insteadOf: old).sorted { $0.bits < $1.bits }
        if !concerned.isEmpty {
            // Each statement sees what was committed before it began: only those behind the lock see what it waited for.
            var found = try await transaction.pipeline([
                GroupQuotaTable.make(concerned), GroupQuotaTable.lock(concerned), GroupQuotaTable.usage(of: concerned),
                GroupQuotaTable.additions(of: caller.identity),
                PeersTable.check(concerned.map { PeerPair(from: caller.identity, to: $0) }),
                GroupNewsTable.answer(to: question),
            ])[2...]
            var usages = GroupUsages(
                byIdentity: try GroupQuotaTable.usage(found.removeFirst()),
                additions: try GroupQuotaTable.additions(found.removeFirst()))
            for position in try PeersTable.positions(found.removeFirst()) {
                usages.byIdentity[concerned[position]]?.isPeer = true
            }
            // The same question may have been taken twice, and the other have been faster.
            if let answered = try await self.answered(found.removeFirst(), in: transaction) { return answered }
            do throws(Refusal) {
                change = try GroupBounds.judge(change, usages, self.configuration)
            } catch {
                return .answer(.refused(error))
            }
        }
        let payload = change.payload
        let event = GroupNews.Event(group: change.group.id, revision: change.group.revision)
        let strangers = change.strangers.isEmpty ? [] : [GroupQuotaTable.add(change.strangers.count, to: caller.identity)]
        let written = try await transaction.pipeline(
            GroupTable.store(change, insteadOf: old) + strangers + [
                GroupNewsTable.store(event, payload: payload, answering: question),
                GroupNewsTable.tell(change.audience, of: event),
            ])
        return .stored(payload: payload, unheard: try GroupNewsTable.news(written.last!))
    }

    /// - Parameter found: what `GroupNewsTable.answer` reads.
    /// - Returns: `nil` if the question has had no answer yet.
    private func answered(_ found: Rows, in transaction: borrowing Transaction) async throws(StoreError) -> Result? {
        guard let (event, payload) = try GroupNewsTable.payloads(found).first else { return nil }
        let unheard = try await transaction.query(GroupNewsTable.unheard(event))
        return .stored(payload: payload, unheard: try GroupNewsTable.news(unheard))
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
    private func notices(_ payload: [UInt8], to readers: [GroupNews]) async -> [NodeID: [NodeEvent]] {
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

    // MARK: Listing

    private func list(_ frame: GroupList, _ caller: Caller) async throws(StoreError) -> Answer {
        // One more than wanted tells whether there is more.
        var questions = [
            GroupTable.identities([caller.identity]),
            GroupTable.page(of: caller.identity, after: frame.cursor, limit: frame.limit + 1),
        ]
        // A role that rises from here on keeps its group in its old part too. One that is about to has drawn its number: it is waited for.
        if frame.cursor == nil {
            questions.insert(contentsOf: [GroupQuotaTable.wait(for: caller.identity), GroupTable.lastRaised], at: 1)
        }
        let found = try await self.pool.pipeline(questions)
        guard let identity = found[0].first, try identity.decode(1, as: Int64.self) == caller.epoch.value else {
            return .stale
        }
        let since = if let cursor = frame.cursor { cursor.since } else { try found[2][0].decode(0, as: Int64.self) }
        let listed = try GroupTable.listed(found.last!)
        var page: [[UInt8]] = []
        var bytes = 0
        for group in listed.prefix(frame.limit) {
            let json = group.group.json
            // A comma before each but the first.
            guard page.isEmpty || bytes + json.count + 1 <= Self.pageBytesForGroups else { break }
            bytes += json.count + 1
            page.append(json)
        }
        var payload = JSONWriter(capacity: bytes + 128)
        payload.add("groups", array: page) { $1 += $0 }
        if page.count < listed.count, let last = page.indices.last.map({ listed[$0] }) {
            let cursor = GroupCursor(part: last.part, joinedAt: last.joinedAt, group: last.group.id, since: since)
            payload.add("nextCursor", cursor.text)
        }
        return .reply(type: GroupFrames.groups.type, payload: payload.finished())
    }

    /// What is left of a frame for groups: envelope, longest request id (every character escaped) and cursor off.
    private static let pageBytesForGroups = Limits.pageBytesMax - 512
}
