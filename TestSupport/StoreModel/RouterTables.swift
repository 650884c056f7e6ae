import ClusterContract
package import Contract
package import Store

/// `router.ledger`, `.mailbox` and `.outcomes`. Groups and peers are not modelled: nobody has any.
package struct RouterTables: Equatable, Sendable {
    package struct MessageKey: Hashable, Sendable {
        package var messageID: PostgresUUID
        package var sender: WhisperID
        package var recipient: WhisperID

        package init(messageID: PostgresUUID, sender: WhisperID, recipient: WhisperID) {
            self.messageID = messageID
            self.sender = sender
            self.recipient = recipient
        }
    }

    package struct Entry: Equatable, Sendable {
        package var number: Int64
        package var acceptedAt: Timestamp
        var idCase: Int32
        /// 0 accepted, 1 delivered, 2 read, 3 expired.
        package var status: Int16 = 0
        package var statusAt: Timestamp?
        /// The day of its table; −1 for the table of no day.
        var day: Int32 = -1
    }

    package struct StoredMessage: Equatable, Sendable {
        package var number: Int64
        package var key: MessageKey
        package var acceptedAt: Timestamp
        var idCase: Int32
        var payload: [UInt8]
    }

    package struct Outcome: Equatable, Sendable {
        package var number: Int64
        package var key: MessageKey
        package var kind: Int16
        var idCase: Int32
        var at: Int64
        package var createdAt: Timestamp
    }

    package internal(set) var ledger: [MessageKey: Entry] = [:]
    /// Days that have a table of the ledger.
    private var ledgerDays: Set<Int32> = []
    /// Messages of each recipient, oldest first.
    package internal(set) var mailboxes: [WhisperID: [StoredMessage]] = [:]
    /// Oldest first.
    package internal(set) var outcomes: [Outcome] = []
    /// The last numbers drawn.
    package var lastMail: Int64 = 0
    package var lastOutcome: Int64 = 0
    /// Bytes of waiting mail, as last counted. Everybody is a stranger.
    private var strangerBytes: Int64?
    private var strangersCountedAt = Timestamp(milliseconds: 0)

    private mutating func nextMail() -> Int64 {
        self.lastMail += 1
        return self.lastMail
    }

    private mutating func nextOutcome() -> Int64 {
        self.lastOutcome += 1
        return self.lastOutcome
    }

    static let statements = Self.batchStatements + Self.sweepStatements + Self.silentStatements

    // MARK: Batches

    private static let batchStatements = [
        StoreModel.writes("WITH judged AS MATERIALIZED") { model, parameters in Self.accept(&model, parameters) },
        StoreModel.writes("WITH honoured AS MATERIALIZED") { model, parameters in Self.receive(&model, parameters) },
        StoreModel.reads("SELECT g.position - 1, i.whisper_id IS NULL, m.number") { model, parameters in
            Self.read(model, parameters)
        },
        StoreModel.reads("SELECT i.epoch, (SELECT number FROM router.mailbox") { model, parameters in
            StatementAnswer(parameters(1, [WhisperID].self)) { identity, row in
                row.add(model.auth.identities[identity]?.epoch)
                row.add(model.router.mailboxes[identity]?.last?.number)
            }
        },
        StoreModel.reads("SELECT o.sender, o.number, o.kind") { model, parameters in
            let limit = Int(parameters(2, Int64.self))
            let found = parameters(1, [WhisperID].self).flatMap { sender in
                model.router.outcomes.lazy.filter { $0.key.sender == sender }.prefix(limit)
            }
            return Self.told(found.sorted { $0.number < $1.number })
        },
        StoreModel.writes("DELETE FROM router.outcomes o USING unnest") { model, parameters in
            let numbers = Set(parameters(1, [Int64].self))
            return model.router.removeOutcomes { numbers.contains($0.number) }
        },
    ]

    private static func accept(_ model: inout StoreModel, _ parameters: Parameters) -> StatementAnswer {
        let messageIDs: [PostgresUUID] = parameters(1)
        let idCases: [Int32] = parameters(2)
        let senders: [WhisperID] = parameters(3)
        let signKeys: [Bytes32] = parameters(4)
        let epochs: [Int64] = parameters(5)
        let recipients: [WhisperID] = parameters(6)
        let groups: [PostgresUUID?] = parameters(7)
        let payloads: [[UInt8]] = parameters(8)
        let timely: [Bool] = parameters(9)
        let overRate: [Bool] = parameters(10)
        let keys: [String?] = parameters(11)
        let spaces: [[Int64?]] = (12...17).map { parameters($0) }
        let strangersMax: Int64? = parameters(18, [Int64].self).first
        let days: [Int32] = parameters(19)
        let (base, first, last): (Int32, Int32, Int32) = (parameters(20), parameters(21), parameters(22))
        let now = model.now
        precondition(
            groups.allSatisfy { $0 == nil } && keys.allSatisfy { $0 == nil }, "groups and attachments are not modelled")
        // Judged first, all of them, by what was there before.
        var verdicts: [Int16] = []
        for index in messageIDs.indices {
            let key = MessageKey(messageID: messageIDs[index], sender: senders[index], recipient: recipients[index])
            let (sender, recipient) = (model.auth.identities[key.sender], model.auth.identities[key.recipient])
            let lookedAt = days[index] + first - base...days[index] + last - base
            let verdict: Int16 =
                if sender?.epoch != epochs[index] { 1 } else if sender?.isBanned == true {
                    2
                } else if sender?.signKey != signKeys[index] {
                    12
                } else if model.router.wasAccepted(key, on: lookedAt), model.flaw != .acceptsRepetitions {
                    3
                } else if !timely[index] { 4 } else if overRate[index] { 7 } else if recipient == nil {
                    5
                } else if recipient!.isBanned {
                    6
                } else if let strangersMax, let waiting = model.router.strangerBytes,
                    waiting + Int64(payloads[index].count) > strangersMax
                {
                    16
                } else { 0 }
            verdicts.append(verdict)
        }
        if !spaces[0].isEmpty {
            verdicts = Self.bounded(verdicts, senders, recipients, payloads.map { Int64($0.count) }, spaces)
        }
        let judged: [(verdict: Int16, number: Int64?)] = verdicts.map { ($0, $0 == 0 ? model.router.nextMail() : nil) }
        for (index, item) in judged.enumerated() {
            guard let number = item.number else { continue }
            let key = MessageKey(messageID: messageIDs[index], sender: senders[index], recipient: recipients[index])
            model.router.ledger[key] = Entry(
                number: number, acceptedAt: now, idCase: idCases[index],
                day: model.router.home(of: days[index], at: now))
            model.router.mailboxes[key.recipient, default: []].append(
                StoredMessage(
                    number: number, key: key, acceptedAt: now, idCase: idCases[index], payload: payloads[index]))
        }
        return StatementAnswer(judged) { item, row in
            row.add(item.verdict)
            row.add(item.number)
        }
    }

    private func wasAccepted(_ key: MessageKey, on days: ClosedRange<Int32>) -> Bool {
        self.ledger[key].map { $0.day == -1 || days.contains($0.day) } ?? false
    }

    private func home(of day: Int32, at now: Timestamp) -> Int32 {
        abs(day - now.day) <= 1 && self.ledgerDays.contains(day) ? day : -1
    }

    /// Everybody is a stranger here.
    private static func bounded(
        _ verdicts: [Int16], _ senders: [WhisperID], _ recipients: [WhisperID], _ bytes: [Int64], _ spaces: [[Int64?]]
    ) -> [Int16] {
        verdicts.indices.map { index in
            guard verdicts[index] == 0, spaces[0][index] != nil else { return verdicts[index] }
            let mailbox = (0...index).filter { verdicts[$0] == 0 && recipients[$0] == recipients[index] }
            let sender = mailbox.filter { senders[$0] == senders[index] }
            func exceed(_ stored: [Int], _ space: Int) -> Bool {
                Int64(stored.count) > spaces[space][index]!
                    || stored.reduce(0) { $0 + bytes[$1] } > spaces[space + 1][index]!
            }
            return exceed(mailbox, 0) ? 13 : exceed(sender, 2) ? 14 : exceed(mailbox, 4) ? 15 : 0
        }
    }

    private static func receive(_ model: inout StoreModel, _ parameters: Parameters) -> StatementAnswer {
        let messageIDs: [PostgresUUID] = parameters(1)
        let recipients: [WhisperID] = parameters(2)
        let epochs: [Int64] = parameters(3)
        let senders: [WhisperID] = parameters(4)
        let statuses: [Int16] = parameters(5)
        let times: [Int64] = parameters(6)
        let now = model.now
        var honoured: [(position: Int64, number: Int64, wasPending: Bool, outcome: Int64, idCase: Int32)] = []
        for index in messageIDs.indices {
            let key = MessageKey(messageID: messageIDs[index], sender: senders[index], recipient: recipients[index])
            guard let identity = model.auth.identities[key.recipient],
                identity.epoch == epochs[index],
                let entry = model.router.ledger[key], entry.status < statuses[index]
            else { continue }
            let outcome = model.router.nextOutcome()
            model.router.ledger[key]!.status = statuses[index]
            model.router.ledger[key]!.statusAt = now
            if entry.status == 0, model.flaw != .keepsAcknowledgedMail {
                model.router.mailboxes[key.recipient]?.removeAll { $0.number == entry.number }
            }
            if model.flaw != .storesNoOutcomes {
                model.router.outcomes.append(
                    Outcome(
                        number: outcome, key: key, kind: statuses[index], idCase: entry.idCase, at: times[index],
                        createdAt: now))
            }
            honoured.append((Int64(index), entry.number, entry.status == 0, outcome, entry.idCase))
        }
        return StatementAnswer(honoured) { item, row in
            row.add(item.position)
            row.add(item.number)
            row.add(item.wasPending)
            row.add(item.outcome)
            row.add(item.idCase)
            row.add(PostgresUUID?.none)
        }
    }

    private static func read(_ model: StoreModel, _ parameters: Parameters) -> StatementAnswer {
        let identities: [WhisperID] = parameters(1)
        let epochs: [Int64] = parameters(2)
        let after: [Int64] = parameters(3)
        let through: [Int64] = parameters(4)
        let limits: [Int64] = parameters(5)
        let bytes: [Int64] = parameters(6)
        let bytesOfOne: [Int64] = parameters(7)
        var found: [(position: Int64, isStale: Bool, message: StoredMessage?)] = []
        func fits(_ message: StoredMessage, _ position: Int) -> Bool {
            message.payload.count <= bytesOfOne[position]
        }
        for (position, identity) in identities.enumerated() {
            guard model.auth.identities[identity]?.epoch == epochs[position] else {
                found.append((Int64(position), true, nil))
                continue
            }
            var bytesBefore: Int64 = 0
            var messages: [StoredMessage] = []
            for message in model.router.mailboxes[identity] ?? []
            where message.number > after[position] && message.number <= through[position] {
                guard messages.count < Int(limits[position]), bytesBefore < bytes[position] else { break }
                messages.append(message)
                if fits(message, position) { bytesBefore += Int64(message.payload.count) }
            }
            // As an outer join does: a mailbox without messages is a row, too.
            if messages.isEmpty { found.append((Int64(position), false, nil)) }
            found += messages.map { (Int64(position), false, $0) }
        }
        return StatementAnswer(found) { item, row in
            row.add(item.position)
            row.add(item.isStale)
            row.add(item.message?.number)
            row.add(item.message.map { model.now.milliseconds - $0.acceptedAt.milliseconds })
            row.add(item.message.flatMap { fits($0, Int(item.position)) ? $0.payload : nil })
        }
    }

    private static func told(_ outcomes: some Sequence<Outcome>) -> StatementAnswer {
        StatementAnswer(outcomes) { outcome, row in
            row.add(outcome.key.sender)
            row.add(outcome.number)
            row.add(outcome.kind)
            row.add(outcome.idCase)
            row.add(outcome.key.messageID)
            row.add(outcome.key.recipient)
            row.add(PostgresUUID?.none)
            row.add(outcome.at)
        }
    }

    private mutating func removeOutcomes(where isGone: (Outcome) -> Bool) -> StatementAnswer {
        let before = self.outcomes.count
        self.outcomes.removeAll(where: isGone)
        return .changed(before - self.outcomes.count)
    }

    // MARK: Sweeps

    private static let sweepStatements = [
        StoreModel.reads(
            "SELECT sender, number, kind, id_case, message_id, recipient, group_id, at FROM router.outcomes"
        ) {
            model, parameters in
            let (first, last, limit): (Int64, Int64, Int64) = (parameters(1), parameters(2), parameters(3))
            return Self.told(
                model.router.outcomes.lazy.filter { $0.number > first && $0.number <= last }.prefix(Int(limit)))
        },
        // Segments are not modelled: none is ever used up.
        StoreModel.reads("SELECT t.parent, t.last, t.next") { model, _ in
            StatementAnswer([("mailbox", model.router.lastMail), ("outcomes", model.router.lastOutcome)]) { turn, row in
                row.add(turn.0)
                row.add(turn.1)
                row.add(Int16(0))
                row.add(false)
            }
        },
        StoreModel.writes("WITH due AS MATERIALIZED (") { model, parameters in
            Self.expire(&model.router, parameters, at: model.now)
        },
        StoreModel.reads("SELECT (SELECT count(*) FROM (") { model, parameters in
            let range: ClosedRange<Int64> = parameters(1)...parameters(2)
            let messages = model.router.mailboxes.filter { range.contains(Int64($0.key.bits)) }.flatMap(\.value)
            return StatementAnswer([messages]) { messages, row in
                row.add(min(Int64(messages.count), parameters(3)))
                row.add(Int64(model.router.mailboxes.values.reduce(0) { $0 + $1.count }))
                row.add(
                    messages.map(\.acceptedAt).min().map { Double(model.now.milliseconds - $0.milliseconds) / 1_000 })
            }
        },
        StoreModel.reads("SELECT c.messages, c.bytes") { model, parameters in Self.count(model.router, parameters) },
        StoreModel.reads("SELECT bytes, counted_at <= now()") { model, parameters in
            let deadline = model.now - .milliseconds(parameters(1, Int64.self))
            return StatementAnswer(model.router.strangerBytes.map { [$0] } ?? []) { bytes, row in
                row.add(bytes)
                row.add(model.router.strangersCountedAt <= deadline)
            }
        },
        StoreModel.writes("INSERT INTO router.stranger_bytes AS known") { model, parameters in
            let deadline = model.now - .milliseconds(parameters(1, Int64.self))
            guard model.router.strangerBytes == nil || model.router.strangersCountedAt <= deadline else {
                return .nothing
            }
            model.router.strangerBytes = model.router.strangerBytes ?? 0
            model.router.strangersCountedAt = model.now
            return .changed(1)
        },
        // Nothing takes room on a disk.
        StoreModel.reads("SELECT coalesce(sum(pg_table_size(t.relid)), 0)") { _, _ in
            StatementAnswer([Int64(0)]) { $1.add($0) }
        },
        StoreModel.reads("SELECT coalesce(sum(s.bytes) FILTER (WHERE NOT router.has_peer") { model, parameters in
            let range: ClosedRange<Int64> = parameters(1)...parameters(2)
            let waiting = model.router.mailboxes.filter { range.contains(Int64($0.key.bits)) }.flatMap(\.value)
            return StatementAnswer([waiting.reduce(0) { $0 + Int64($1.payload.count) }]) { $1.add($0) }
        },
        StoreModel.writes("INSERT INTO router.stranger_bytes (store") { model, parameters in
            (model.router.strangerBytes, model.router.strangersCountedAt) = (parameters(1), model.now)
            return .changed(1)
        },
        StoreModel.writes("DELETE FROM router.outcomes WHERE number IN (") {
            model, parameters in
            let deadline = model.now - .milliseconds(parameters(2, Int64.self))
            let oldest = Set(model.router.outcomes.prefix(Int(parameters(1, Int64.self))).map(\.number))
            return model.router.removeOutcomes { oldest.contains($0.number) && $0.createdAt < deadline }
        },
        StoreModel.writes("DELETE FROM router.ledger_kept l USING") { model, parameters in
            let deadline = model.now - .milliseconds(parameters(1, Int64.self))
            let before = model.router.ledger.count
            model.router.ledger = model.router.ledger.filter { $0.value.day >= 0 || $0.value.acceptedAt >= deadline }
            return .changed(before - model.router.ledger.count)
        },
        StoreModel.writes("SELECT router.add_ledger_days(") { model, parameters in
            let (today, ahead): (Int32, Int32) = (model.now.day, parameters(1))
            model.router.ledgerDays.formUnion(today - 1...today + ahead)
            return StatementAnswer([ahead]) { $1.add($0) }
        },
        StoreModel.writes("SELECT router.drop_ledger_day(") { model, parameters in
            let remembered: Int32 = parameters(1)
            let due = model.router.ledgerDays.min().flatMap { $0 + 2 + remembered <= model.now.day ? $0 : nil }
            if let due {
                model.router.ledgerDays.remove(due)
                model.router.ledger = model.router.ledger.filter { $0.value.day != due }
            }
            return StatementAnswer([due != nil]) { $1.add($0) }
        },
        StoreModel.reads("WITH RECURSIVE waiting (recipient) AS") { model, parameters in
            let range: ClosedRange<Int64> = parameters(1)...parameters(2)
            let waiting = model.router.mailboxes.filter { !$0.value.isEmpty && range.contains(Int64($0.key.bits)) }
            return StatementAnswer(waiting.keys.sorted().prefix(Int(parameters(4, Int64.self)))) { $1.add($0) }
        },
    ]

    /// Everybody is a stranger here.
    private static func count(_ tables: RouterTables, _ parameters: Parameters) -> StatementAnswer {
        let (messages, bytes): (Int64, Int64) = (parameters(2), parameters(3))
        let asked = Set(parameters(4, [WhisperID].self))
        return StatementAnswer(parameters(1, [WhisperID].self)) { recipient, row in
            let stored = (tables.mailboxes[recipient] ?? []).prefix(Int(parameters(5, Int64.self)))
            func size(_ list: some Sequence<StoredMessage>) -> Int64 { list.reduce(0) { $0 + Int64($1.payload.count) } }
            let senders = Dictionary(grouping: stored, by: \.key.sender).sorted { $0.key < $1.key }
                .filter { Int64($0.value.count) > messages || size($0.value) > bytes || asked.contains($0.key) }
            for _ in 0..<2 {
                row.add(Int64(stored.count))
                row.add(size(stored))
            }
            row.add(senders.map(\.key))
            row.add(senders.map { Int64($0.value.count) })
            row.add(senders.map { size($0.value) })
        }
    }

    private static func expire(
        _ tables: inout RouterTables, _ parameters: Parameters, at now: Timestamp
    ) -> StatementAnswer {
        let deadline = now - .milliseconds(parameters(2, Int64.self))
        let limit: Int64 = parameters(3)
        let range: ClosedRange<Int64> = parameters(4)...parameters(5)
        let old = tables.mailboxes.filter { range.contains(Int64($0.key.bits)) }.flatMap(\.value)
            .filter { $0.acceptedAt < deadline }.sorted { $0.number < $1.number }.prefix(Int(limit))
        var told: [Outcome] = []
        for message in old {
            tables.mailboxes[message.key.recipient]!.removeAll { $0.number == message.number }
            tables.ledger[message.key]?.status = 3
            tables.ledger[message.key]?.statusAt = now
            told.append(
                Outcome(
                    number: tables.nextOutcome(), key: message.key, kind: 3, idCase: message.idCase,
                    at: now.milliseconds,
                    createdAt: now))
        }
        tables.outcomes += told
        return Self.told(told)
    }

    // MARK: Groups and peers

    /// Statements whose tables are empty here: no rows, nothing changed.
    private static let silentStatements = [
        "SELECT n.member, n.number, n.group_id", "SELECT member, number, group_id, revision FROM router.group_news",
        "DELETE FROM router.group_news", "DELETE FROM router.group_events", "INSERT INTO router.peers",
        "DELETE FROM router.peers", "INSERT INTO router.full_mailboxes", "DELETE FROM router.full_mailboxes",
        "SELECT g.position - 1, o.peer", "SELECT g.position - 1\nFROM unnest",
    ].map { StoreModel.reads($0) { _, _ in .nothing } }
}

extension Timestamp {
    /// Days since 1970.
    fileprivate var day: Int32 { Int32(self.milliseconds / 86_400_000) }
}
