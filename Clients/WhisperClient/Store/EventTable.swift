package import Contract
import FoundationEssentials
import SQLite

/// A consumer's next event, or a range of lost ones.
package enum ConsumedEvent: Sendable, Equatable {
    case event(ClientEvent, number: Int64)
    /// Events were not acknowledged in time: `ClientLimits.eventsKeptMax`, `.eventsKeptFor`. To be acknowledged by its upper end.
    case lost(ClosedRange<Int64>)

    package var number: Int64 {
        switch self {
        case .event(_, let number): number
        case .lost(let numbers): numbers.upperBound
        }
    }
}

/// How far a consumer is.
package struct ConsumerProgress: Sendable, Equatable {
    /// It has acknowledged all events up to this one.
    package var acknowledged: Int64
    /// The latest event of all.
    package var newest: Int64
}

/// The only code that reads or writes `events` and `consumers`: what happened, until every consumer has acknowledged it.
///
/// A consumer is a program with a name that must miss nothing, however often it or this process dies. Events of messages
/// and contacts stand in the transaction that changes these, so none is there without the other. While there are no consumers
/// nothing is kept.
package struct EventTable: Sendable {
    let store: ClientStore

    // MARK: Consumers

    /// Adds a consumer, or finds it where it was.
    /// - Parameter after: its first event is the one behind this number. By default a new consumer starts behind the newest,
    ///   and a known one where it was. A known one acknowledges by it.
    /// - Returns: `nil` if there are `ClientLimits.consumersMax` others, or nothing has this number yet.
    package func subscribe(
        _ consumer: String, after: Int64? = nil
    ) throws(ClientStoreError) -> ConsumerProgress? {
        try self.store.write { database -> ConsumerProgress? in
            let newest = try Self.newestEvent(in: database)
            guard after ?? 0 <= newest else { return nil }
            if let known = try Self.acknowledged(by: consumer, in: database) {
                let acknowledged = max(known, after ?? 0)
                if acknowledged > known { try Self.acknowledge(acknowledged, by: consumer, in: database) }
                return ConsumerProgress(acknowledged: acknowledged, newest: newest)
            }
            let others = try Int.fetchOne(database, sql: "SELECT count(*) FROM consumers") ?? 0
            guard others < ClientLimits.consumersMax else { return nil }
            let acknowledged = after ?? newest
            try database.run(sql: "INSERT INTO consumers VALUES (?, ?)", arguments: [consumer, acknowledged])
            return ConsumerProgress(acknowledged: acknowledged, newest: newest)
        }
    }

    /// The consumer has done all events up to this one. They do not come again.
    /// - Returns: `nil` if there is no such consumer or event.
    package func acknowledge(_ number: Int64, by consumer: String) throws(ClientStoreError) -> ConsumerProgress? {
        try self.store.write { database -> ConsumerProgress? in
            let newest = try Self.newestEvent(in: database)
            guard let known = try Self.acknowledged(by: consumer, in: database), number <= newest else { return nil }
            if number > known { try Self.acknowledge(number, by: consumer, in: database) }
            return ConsumerProgress(acknowledged: max(number, known), newest: newest)
        }
    }

    /// Nothing more is kept for this consumer.
    /// - Returns: whether there was one.
    package func unsubscribe(_ consumer: String) throws(ClientStoreError) -> Bool {
        try self.store.write { database -> Bool in
            try database.run(sql: "DELETE FROM consumers WHERE name = ?", arguments: [consumer])
            guard database.changesCount == 1 else { return false }
            try Self.dropAcknowledged(in: database)
            return true
        }
    }

    /// How far a consumer is; `nil` if there is none.
    package func progress(of consumer: String) throws(ClientStoreError) -> ConsumerProgress? {
        try self.store.read { database -> ConsumerProgress? in
            try Self.acknowledged(by: consumer, in: database).map {
                ConsumerProgress(acknowledged: $0, newest: try Self.newestEvent(in: database))
            }
        }
    }

    package func consumers() throws(ClientStoreError) -> [String: Int64] {
        try self.store.read { database -> [String: Int64] in
            try Row.fetchAll(database, sql: "SELECT name, acked FROM consumers").reduce(into: [:]) {
                $0[$1["name"]] = $1["acked"]
            }
        }
    }

    // MARK: Events

    /// Events behind a number, in their order.
    package func events(after number: Int64, limit: Int) throws(ClientStoreError) -> [ConsumedEvent] {
        try self.store.read { database -> [ConsumedEvent] in
            var events: [ConsumedEvent] = []
            let dropped = try SettingsTable.eventsDropped(in: database)
            if dropped > number { events.append(.lost(number + 1...dropped)) }
            let sql = """
                SELECT events.seq AS seq, events.kind AS event, events.subject AS subject, events.detail AS detail,
                    messages.*
                FROM events LEFT JOIN messages ON messages.number = events.message
                WHERE events.seq > ? ORDER BY events.seq LIMIT ?
                """
            let rows = try Row.fetchAll(database, sql: sql, arguments: [max(number, dropped), limit])
            return try events
                + rows.compactMap { row in
                    try Self.event(row, in: database).map { .event($0, number: row["seq"]) }
                }
        }
    }

    /// Keeps an event that stands in no other transaction.
    package func note(_ event: ClientEvent) throws(ClientStoreError) {
        try self.store.write { try Self.note(event, in: $0) }
    }

    /// Drops what nobody has acknowledged for too long.
    package func dropStaleEvents(at now: Timestamp) throws(ClientStoreError) {
        try self.store.write { database in
            let age = ClientLimits.eventsKeptFor
            let newest = try Int64.fetchOne(
                database, sql: "SELECT max(seq) FROM events WHERE at < ?", arguments: [(now - age).milliseconds])
            if let newest { try Self.drop(upTo: newest, in: database) }
        }
    }

    // MARK: In the transaction of what happened

    static func note(_ event: ClientEvent, in database: Database) throws {
        guard let row = EventRow(event) else { return }
        try Self.note(row.kind, subject: row.subject, detail: row.detail, in: database)
    }

    /// A message came.
    /// - Parameter number: of its row.
    static func noteReceived(_ number: Int64, in database: Database) throws {
        try Self.note("received", message: number, in: database)
    }

    /// A message of ours is in this state.
    static func noteChanged(_ id: String, to state: String, in database: Database) throws {
        guard try Self.hasConsumers(in: database) else { return }
        let number = try Int64.fetchOne(
            database, sql: "SELECT number FROM messages WHERE is_outgoing AND id_key = ?", arguments: [id])
        if let number { try Self.note("changed", message: number, detail: state, in: database) }
    }

    /// Notes that the content of a message was changed.
    /// - Parameter number: of its row.
    static func noteRevised(_ number: Int64, in database: Database) throws {
        try Self.note("changed", message: number, in: database)
    }

    private static func note(
        _ kind: String, subject: String? = nil, message: Int64? = nil, detail: String? = nil, in database: Database
    ) throws {
        guard try Self.hasConsumers(in: database) else { return }
        try database.run(
            sql: "INSERT INTO events (kind, at, subject, message, detail) VALUES (?, ?, ?, ?, ?)",
            arguments: [kind, Int64(Date().timeIntervalSince1970 * 1_000), subject, message, detail])
        // Numbers have no gaps.
        try Self.drop(upTo: database.lastInsertedRowID - Int64(ClientLimits.eventsKeptMax), in: database)
    }

    /// Somebody is no contact any more.
    static func dropContactEvents(of id: WhisperID, in database: Database) throws {
        try database.run(
            sql: "DELETE FROM events WHERE kind IN ('contact', 'request') AND subject = ?", arguments: ["\(id)"])
    }

    private static func hasConsumers(in database: Database) throws -> Bool {
        try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM consumers)") ?? false
    }

    // MARK: Rows

    private static func newestEvent(in database: Database) throws -> Int64 {
        try Int64.fetchOne(database, sql: "SELECT seq FROM sqlite_sequence WHERE name = 'events'") ?? 0
    }

    private static func acknowledged(by consumer: String, in database: Database) throws -> Int64? {
        try Int64.fetchOne(database, sql: "SELECT acked FROM consumers WHERE name = ?", arguments: [consumer])
    }

    private static func acknowledge(_ number: Int64, by consumer: String, in database: Database) throws {
        try database.run(sql: "UPDATE consumers SET acked = ? WHERE name = ?", arguments: [number, consumer])
        try Self.dropAcknowledged(in: database)
    }

    private static func dropAcknowledged(in database: Database) throws {
        try database.run(
            sql: """
                DELETE FROM events WHERE seq <= coalesce((SELECT min(acked) FROM consumers), 9223372036854775807)
                """)
    }

    /// Drops events that some consumer has not acknowledged.
    private static func drop(upTo number: Int64, in database: Database) throws {
        try database.run(sql: "DELETE FROM events WHERE seq <= ?", arguments: [number])
        if database.changesCount > 0 { try SettingsTable.set(eventsDropped: number, in: database) }
    }

    private static func event(_ row: Row, in database: Database) throws -> ClientEvent? {
        let kind: String = row["event"]
        switch kind {
        case "received", "changed":
            guard row["number"] as Int64? != nil, var message = MessageTable.message(row) else { return nil }
            guard kind == "changed" else {
                message.isSilent = try ClientStore.isSilent(message, in: database)
                return .received(message)
            }
            // Without a state somebody has changed what the message says.
            return .changed((row["detail"] as String?).map { message.moved(to: MessageTable.state($0)) } ?? message)
        case "contact", "request":
            guard let id = (row["subject"] as String?).flatMap({ WhisperID($0) }),
                let contact = try ContactTable.contact(id, in: database)
            else { return nil }
            return kind == "request" ? .request(contact) : .contact(contact)
        case "group":
            guard let group = try (row["subject"] as String?).flatMap({ try GroupTable.group($0, in: database) }) else {
                return nil
            }
            let people = (row["detail"] as String? ?? "").split(separator: " ", omittingEmptySubsequences: false)
                .map { $0.split(separator: ",").compactMap { WhisperID(String($0)) } }
            guard people.count == 3 else { return nil }
            return .group(group, GroupChange(actor: people[0].first, added: people[1], removed: people[2]))
        default: return EventRow(kind: kind, subject: row["subject"], detail: row["detail"]).event
        }
    }
}

/// How an event without a message stands in its row.
private struct EventRow {
    var kind: String
    var subject: String?
    var detail: String?

    init(kind: String, subject: String?, detail: String?) {
        self.kind = kind
        self.subject = subject
        self.detail = detail
    }

    /// - Returns: `nil` for what tells of now, or stands in another transaction.
    init?(_ event: ClientEvent) {
        switch event {
        case .connection, .caughtUp, .received, .changed, .live, .room, .passing: return nil
        case .group(let group, let change):
            let people = [change.actor.map { [$0] } ?? [], change.added, change.removed]
            self.init(
                kind: "group", subject: group.id,
                detail: people.map { $0.map { "\($0)" }.joined(separator: ",") }.joined(separator: " "))
        case .contact(let contact): self.init(kind: "contact", subject: "\(contact.id)", detail: nil)
        case .request(let contact): self.init(kind: "request", subject: "\(contact.id)", detail: nil)
        case .restored(let added, let missing):
            self.init(kind: "restored", subject: nil, detail: "\(added) \(missing)")
        case .backup(let news):
            let detail =
                switch news {
                case .written: "written"
                case .unreadable: "unreadable"
                case .tooLarge(let bytes): "tooLarge \(bytes)"
                case .refused(let status): "refused \(status)"
                }
            self.init(kind: "backup", subject: nil, detail: detail)
        case .alarm(.suspiciousMail(let suspicion, let count)):
            self.init(kind: "alarm", subject: "\(suspicion.sender)", detail: "\(suspicion.reason.rawValue) \(count)")
        case .alarm(.foreignKeys(let id)): self.init(kind: "alarm", subject: "\(id)", detail: "foreignKeys")
        case .alarm(.changedKeys(let id)): self.init(kind: "alarm", subject: "\(id)", detail: "changedKeys")
        }
    }

    /// - Returns: `nil` for a row of a later release.
    var event: ClientEvent? {
        let words = (self.detail ?? "").split(separator: " ").map(String.init)
        let number = words.count == 2 ? Int(words[1]) : nil
        let person = self.subject.flatMap { WhisperID($0) }
        switch (self.kind, words.first) {
        case ("restored", let added?):
            guard let added = Int(added), let number else { return nil }
            return .restored(added: added, missing: number)
        case ("backup", "written"): return .backup(.written)
        case ("backup", "unreadable"): return .backup(.unreadable)
        case ("backup", "tooLarge"): return number.map { .backup(.tooLarge(bytes: $0)) }
        case ("backup", "refused"): return number.map { .backup(.refused(status: $0)) }
        case ("alarm", "foreignKeys"): return person.map { .alarm(.foreignKeys(of: $0)) }
        case ("alarm", "changedKeys"): return person.map { .alarm(.changedKeys(of: $0)) }
        case ("alarm", let reason?):
            guard let person, let number, let reason = Suspicion.Reason(rawValue: reason) else { return nil }
            return .alarm(.suspiciousMail(Suspicion(sender: person, reason: reason), count: number))
        default: return nil
        }
    }
}
