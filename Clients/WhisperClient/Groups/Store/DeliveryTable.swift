package import Contract
import FoundationEssentials
import SQLite

/// Messages to groups, copy by copy: `group_sendings` and `group_deliveries`.
///
/// A sending is a message, whose text stands in `messages`, or a change with a body of its own. A change that everybody's
/// server copy has is forgotten. Copies of a message stay, because they say who has read it.
package struct DeliveryTable: Sendable {
    let store: ClientStore

    // MARK: Queueing

    /// Keeps a new message of ours to a group, with a copy for each member, before anything is sent.
    /// - Returns: the message as it stands, and the copies that can go at once.
    package func queue(
        _ message: Message, toGroup group: Group
    ) throws(ClientStoreError) -> (message: Message, ready: [GroupDeliveryID]) {
        try self.store.write { database -> (message: Message, ready: [GroupDeliveryID]) in
            try MessageTable.insert(message, in: database)
            let ready = try Self.queue(message.id, toGroup: group, body: nil, in: database)
            let changed = try Self.settleSending(message.id, in: database)
            return (changed ?? message, ready)
        }
    }

    /// Blocked members get no copy. Copies for newcomers wait.
    static func queue(
        _ id: UUIDText, toGroup group: Group, body: [UInt8]?, in database: Database
    ) throws -> [GroupDeliveryID] {
        try database.run(
            sql: "INSERT INTO group_sendings (id, id_key, group_id, body) VALUES (?, ?, ?, ?)",
            arguments: ["\(id)", MessageTable.key(id), group.id, body])
        let number = database.lastInsertedRowID
        let ownID = try SettingsTable.whisperID(in: database)
        let newcomers = try NewcomerTable.newcomers(ofGroup: group.id, in: database)
        var ready: [GroupDeliveryID] = []
        for member in group.members where member.id != ownID {
            let contact = try ContactTable.contact(member.id, in: database)
            guard contact?.isBlocked != true else { continue }
            try database.run(
                sql: "INSERT INTO group_deliveries (sending, member, state) VALUES (?, ?, 'queued')",
                arguments: [number, "\(member.id)"])
            guard contact != nil, !newcomers.contains(member.id) else { continue }
            ready.append(GroupDeliveryID(id: id, member: member.id))
        }
        return ready
    }

    static func groupChangesQueued(in database: Database) throws -> Int {
        try Int.fetchOne(database, sql: "SELECT count(*) FROM group_sendings WHERE body IS NOT NULL") ?? 0
    }

    /// Copies that wait and can go, in the order written.
    /// - Parameter member: `nil` for those of everybody.
    package func queuedDeliveries(
        to member: WhisperID? = nil
    ) throws(ClientStoreError) -> [(copy: GroupDeliveryID, attempts: Int)] {
        try self.store.read { database -> [(copy: GroupDeliveryID, attempts: Int)] in
            let sql = """
                SELECT group_sendings.id AS id, member, attempts FROM group_deliveries
                    JOIN group_sendings ON group_sendings.number = sending
                WHERE state = 'queued' AND (?1 IS NULL OR member = ?1) AND member IN (SELECT id FROM contacts)
                    AND \(NewcomerTable.isForSomebodySeen)
                ORDER BY sending
                """
            return try Row.fetchAll(database, sql: sql, arguments: [member.map { "\($0)" }]).compactMap { row in
                Self.copy(row).map { ($0, row["attempts"]) }
            }
        }
    }

    /// Copies of one sending that wait and can go.
    package func queuedDeliveries(of id: UUIDText) throws(ClientStoreError) -> [GroupDeliveryID] {
        try self.store.read { database -> [GroupDeliveryID] in
            let sql = """
                SELECT group_sendings.id AS id, member FROM group_deliveries
                    JOIN group_sendings ON group_sendings.number = sending
                WHERE id_key = ? AND state = 'queued' AND member IN (SELECT id FROM contacts)
                    AND \(NewcomerTable.isForSomebodySeen) ORDER BY member
                """
            return try Row.fetchAll(database, sql: sql, arguments: [MessageTable.key(id)]).compactMap(Self.copy)
        }
    }

    /// Somebody whose keys are not here, and for whom a copy waits.
    package func memberWithoutKeys(except tried: Set<WhisperID>) throws(ClientStoreError) -> WhisperID? {
        try self.store.read { database -> WhisperID? in
            let sql = """
                SELECT DISTINCT member FROM group_deliveries
                WHERE state = 'queued' AND member NOT IN (SELECT id FROM contacts) ORDER BY member LIMIT ?
                """
            return try String.fetchAll(database, sql: sql, arguments: [tried.count + 1])
                .compactMap { WhisperID($0) }.first { !tried.contains($0) }
        }
    }

    private static func copy(_ row: Row) -> GroupDeliveryID? {
        guard let id = UUIDText(row["id"] as String), let member = WhisperID(row["member"] as String) else {
            return nil
        }
        return GroupDeliveryID(id: id, member: member)
    }

    // MARK: Sending

    /// The copy as it is to be sent; `nil` if its message was deleted meanwhile, or the copy does not wait.
    package func mail(_ copy: GroupDeliveryID) throws(ClientStoreError) -> OutgoingMail? {
        try self.store.read { database -> OutgoingMail? in
            let sql = """
                SELECT group_sendings.*, signed_at FROM group_sendings
                    JOIN group_deliveries ON sending = number AND member = ?
                WHERE id_key = ? AND state = 'queued'
                """
            guard
                let row = try Row.fetchOne(
                    database, sql: sql, arguments: ["\(copy.member)", MessageTable.key(copy.id)])
            else { return nil }
            let signedAt = (row["signed_at"] as Int64?).map { Timestamp(milliseconds: $0) }
            if let body = row["body"] as [UInt8]? {
                // A change. Reactions and deletions that an earlier release queued have no sentence: they must not show as a text.
                return OutgoingMail(
                    id: copy.id, to: copy.member, groupID: row["group_id"], body: Array(body),
                    messageType: body.first == 0 ? "file" : "text", signedAt: signedAt)
            }
            guard let kept = try MessageTable.outgoingRow(copy.id, in: database),
                let message = MessageTable.message(kept), case .text(let text) = message.content
            else { return nil }
            let file = try TransferTable.outgoingFile(kept)
            let body = MessageBody(text, file, of: message)
            return OutgoingMail(
                id: copy.id, to: copy.member, groupID: row["group_id"], body: body.bytes,
                messageType: body.messageType, signedAt: signedAt, file: file)
        }
    }

    /// Each attempt from now on carries this time; `nil`: the next one gets a new one.
    package func noteSigned(_ copy: GroupDeliveryID, at time: Timestamp?) throws(ClientStoreError) {
        try self.store.write { database in
            try Self.update(copy, "signed_at = ?", [time?.milliseconds], in: database)
        }
    }

    /// - Parameter attempts: `nil` leaves the count.
    /// - Returns: the message, if it stands otherwise now.
    package func set(
        _ state: MessageState, of copy: GroupDeliveryID, attempts: Int? = nil
    ) throws(ClientStoreError) -> Message? {
        try self.store.write { database -> Message? in
            try Self.update(
                copy, "state = ?, attempts = coalesce(?, attempts)", [MessageTable.text(state), attempts], in: database)
            return try Self.settleSending(copy.id, in: database)
        }
    }

    /// Whether something of ours with this id goes, or went, to a group.
    package func isGroupSending(_ id: UUIDText) throws(ClientStoreError) -> Bool {
        try self.store.read { database -> Bool in
            try Bool.fetchOne(
                database, sql: "SELECT EXISTS (SELECT 1 FROM group_sendings WHERE id_key = ?)",
                arguments: [MessageTable.key(id)]) ?? false
        }
    }

    /// Takes news about one member's copy.
    /// - Returns: the message, if it stands otherwise now.
    package func advance(
        _ copy: GroupDeliveryID, _ progress: MessageState.Progress
    ) throws(ClientStoreError) -> Message? {
        try self.store.write { database -> Message? in
            let sql = """
                SELECT state FROM group_deliveries JOIN group_sendings ON number = sending
                WHERE id_key = ? AND member = ?
                """
            guard
                var state = try String.fetchOne(
                    database, sql: sql, arguments: [MessageTable.key(copy.id), "\(copy.member)"]
                )
                .map(MessageTable.state), state.advance(progress)
            else { return nil }
            try Self.update(copy, "state = ?", [MessageTable.text(state)], in: database)
            return try Self.settleSending(copy.id, in: database)
        }
    }

    private static func update(
        _ copy: GroupDeliveryID, _ assignments: String, _ values: StatementArguments, in database: Database
    ) throws {
        try database.run(
            sql: """
                UPDATE group_deliveries SET \(assignments)
                WHERE member = ? AND sending = (SELECT number FROM group_sendings WHERE id_key = ?)
                """, arguments: values + ["\(copy.member)", MessageTable.key(copy.id)])
    }

    /// Brings the message to where its copies are, or forgets a change that all copies have left.
    /// - Returns: the message, if it stands otherwise now.
    static func settleSending(_ id: UUIDText, in database: Database) throws -> Message? {
        guard
            let sending = try Row.fetchOne(
                database, sql: "SELECT number, body IS NULL AS is_message FROM group_sendings WHERE id_key = ?",
                arguments: [MessageTable.key(id)])
        else { return nil }
        let number: Int64 = sending["number"]
        guard sending["is_message"] as Bool else {
            try database.run(
                sql: """
                    DELETE FROM group_deliveries WHERE sending = ? AND state <> 'queued' AND state NOT LIKE 'failed:%'
                    """, arguments: [number])
            try database.run(
                sql: """
                    DELETE FROM group_sendings WHERE number = ?1
                        AND NOT EXISTS (SELECT 1 FROM group_deliveries WHERE sending = ?1)
                    """, arguments: [number])
            return nil
        }
        let states = try String.fetchAll(
            database, sql: "SELECT state FROM group_deliveries WHERE sending = ?", arguments: [number])
        let progress = GroupProgress(of: states.map(MessageTable.state))
        guard let message = try MessageTable.outgoing(id, in: database),
            message.state != progress.state || message.failedMembers != progress.failed
        else { return nil }
        try database.run(
            sql: "UPDATE messages SET state = ?, failed_members = ? WHERE is_outgoing AND id_key = ?",
            arguments: [MessageTable.text(progress.state), progress.failed, MessageTable.key(id)])
        try EventTable.noteChanged(MessageTable.key(id), to: MessageTable.text(progress.state), in: database)
        return try MessageTable.outgoing(id, in: database)
    }

    // MARK: At the wish of the person here

    /// How each member's copy of a message of ours stands, by their ids.
    package func deliveries(of id: UUIDText) throws(ClientStoreError) -> [GroupDelivery] {
        try self.store.read { database -> [GroupDelivery] in
            let sql = """
                SELECT member, state FROM group_deliveries JOIN group_sendings ON number = sending
                WHERE id_key = ? ORDER BY member
                """
            return try Row.fetchAll(database, sql: sql, arguments: [MessageTable.key(id)]).compactMap { row in
                WhisperID(row["member"] as String).map {
                    GroupDelivery(member: $0, state: MessageTable.state(row["state"]))
                }
            }
        }
    }

    /// Queues again what has failed for some members, for these alone: the oldest sendings first. Cancelled copies stay.
    /// - Returns: the messages that are queued again, and the copies that can go at once.
    package func requeueFailed(
        inGroup id: String, limit: Int
    ) throws(ClientStoreError) -> (messages: [Message], ready: [GroupDeliveryID]) {
        try self.store.write { database -> (messages: [Message], ready: [GroupDeliveryID]) in
            let cancelled = MessageTable.text(.failed(.cancelled))
            let sql = """
                SELECT number, id FROM group_sendings WHERE group_id = ? AND number IN (
                    SELECT sending FROM group_deliveries WHERE state LIKE 'failed:%' AND state <> ?)
                    AND (body IS NOT NULL OR EXISTS (
                        SELECT 1 FROM messages WHERE is_outgoing AND messages.id_key = group_sendings.id_key
                            AND kind = 'text'))
                ORDER BY number LIMIT ?
                """
            let newcomers = try NewcomerTable.newcomers(ofGroup: id, in: database)
            var messages: [Message] = []
            var ready: [GroupDeliveryID] = []
            for row in try Row.fetchAll(database, sql: sql, arguments: [id, cancelled, limit]) {
                let number: Int64 = row["number"]
                let failed = try String.fetchAll(
                    database,
                    sql: """
                        SELECT member FROM group_deliveries
                        WHERE sending = ? AND state LIKE 'failed:%' AND state <> ? ORDER BY member
                        """, arguments: [number, cancelled])
                try database.run(
                    sql: """
                        UPDATE group_deliveries SET state = 'queued', attempts = 0
                        WHERE sending = ? AND state LIKE 'failed:%' AND state <> ?
                        """, arguments: [number, cancelled])
                guard let id = UUIDText(row["id"] as String) else { continue }
                for member in failed.compactMap({ WhisperID($0) }) {
                    guard try ContactTable.contact(member, in: database) != nil, !newcomers.contains(member) else {
                        continue
                    }
                    ready.append(GroupDeliveryID(id: id, member: member))
                }
                if let message = try Self.settleSending(id, in: database) { messages.append(message) }
            }
            return (messages, ready)
        }
    }

    /// All copies that wait in a group, whether they can go or not.
    package func waitingDeliveries(inGroup id: String) throws(ClientStoreError) -> [GroupDeliveryID] {
        try self.store.read { database -> [GroupDeliveryID] in
            let sql = """
                SELECT group_sendings.id AS id, member FROM group_deliveries JOIN group_sendings ON number = sending
                WHERE group_id = ? AND state = 'queued' ORDER BY sending, member
                """
            return try Row.fetchAll(database, sql: sql, arguments: [id]).compactMap(Self.copy)
        }
    }

    /// Copies for somebody whose keys cannot be had.
    package func waitingDeliveries(to member: WhisperID) throws(ClientStoreError) -> [GroupDeliveryID] {
        try self.store.read { database -> [GroupDeliveryID] in
            let sql = """
                SELECT group_sendings.id AS id, member FROM group_deliveries JOIN group_sendings ON number = sending
                WHERE member = ? AND state = 'queued' ORDER BY sending
                """
            return try Row.fetchAll(database, sql: sql, arguments: ["\(member)"]).compactMap(Self.copy)
        }
    }

    /// Drops the sendings of messages that are forgotten here.
    static func dropForgottenSendings(in database: Database) throws {
        try database.execute(
            sql: """
                DELETE FROM group_sendings WHERE body IS NULL AND NOT EXISTS (
                    SELECT 1 FROM messages WHERE is_outgoing AND messages.id_key = group_sendings.id_key);
                DELETE FROM group_deliveries WHERE sending NOT IN (SELECT number FROM group_sendings);
                """)
    }
}
