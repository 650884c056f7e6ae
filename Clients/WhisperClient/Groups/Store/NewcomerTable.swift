package import Contract
import SQLite

/// The only code that reads or writes `group_newcomers`: members of groups whom nobody vouches for and the person here has not
/// seen (contract §13b), and those whom the person here is adding.
///
/// The list of members is the server's word. A server that lists one member more would read the next message, so a copy for a
/// newcomer waits until the person has seen who it is.
package struct NewcomerTable: Sendable {
    let store: ClientStore

    static func migrateNewcomers(_ database: Database) throws {
        try database.execute(
            sql: """
                CREATE TABLE group_newcomers (
                    group_id TEXT NOT NULL, member TEXT NOT NULL, is_expected INTEGER NOT NULL,
                    PRIMARY KEY (group_id, member)) WITHOUT ROWID
                """)
    }

    static let undoNewcomers = StepDown(migration: "group newcomers", sql: "DROP TABLE group_newcomers")

    /// Stands for the group that we are making, whose id the server chooses.
    private static let groupBeingMade = ""

    /// The person here is about to add these: whatever becomes of the question, they are no newcomers.
    /// - Parameter id: `nil` for a group to be made. Leftovers of another one are forgotten.
    func expect(_ members: [WhisperID], in id: String?) throws(ClientStoreError) {
        try self.store.write { database in
            if id == nil { try Self.expectNobody(in: Self.groupBeingMade, database) }
            for member in members {
                try database.run(
                    sql: "INSERT INTO group_newcomers VALUES (?, ?, 1) ON CONFLICT DO NOTHING",
                    arguments: [id ?? Self.groupBeingMade, "\(member)"])
            }
        }
    }

    /// The question has its answer.
    func expectNobody(in id: String?) throws(ClientStoreError) {
        try self.store.write { try Self.expectNobody(in: id ?? Self.groupBeingMade, $0) }
    }

    private static func expectNobody(in id: String, _ database: Database) throws {
        try database.run(sql: "DELETE FROM group_newcomers WHERE group_id = ? AND is_expected", arguments: [id])
    }

    /// Finds out who is a newcomer in a group as the server describes it now.
    /// - Parameters:
    ///   - known: as it was known before.
    ///   - vouched: those for whom a member's signature vouches.
    static func setNewcomers(
        of group: Group, insteadOf known: Group?, _ change: GroupChange, in database: Database
    ) throws {
        let ownID = try SettingsTable.whisperID(in: database)
        let isOurs = change.actor != nil && change.actor == ownID
        let expected = try String.fetchAll(
            database, sql: "SELECT member FROM group_newcomers WHERE group_id IN (?, ?) AND is_expected",
            arguments: [group.id, known == nil && isOurs ? Self.groupBeingMade : group.id]
        ).compactMap { WhisperID($0) }
        let newcomers = Newcomers.among(
            group, insteadOf: known, vouched: change.vouched, added: Set(expected), isOurs: isOurs)
        let gone = Set(known?.newcomers ?? []).subtracting(group.members.map(\.id))
        for member in gone { try Self.dropCopies(for: member, inGroup: group.id, in: database) }
        try database.run(
            sql: "DELETE FROM group_newcomers WHERE group_id = ? AND NOT is_expected", arguments: [group.id])
        for member in newcomers where member != ownID {
            try database.run(
                sql: "INSERT INTO group_newcomers VALUES (?, ?, 0) ON CONFLICT (group_id, member) DO NOTHING",
                arguments: [group.id, "\(member)"])
        }
    }

    /// Nobody gets what waited for somebody who came and went unseen.
    private static func dropCopies(for member: WhisperID, inGroup id: String, in database: Database) throws {
        let sql = """
            SELECT number, id FROM group_sendings WHERE group_id = ? AND number IN (
                SELECT sending FROM group_deliveries WHERE member = ? AND state = 'queued')
            """
        for row in try Row.fetchAll(database, sql: sql, arguments: [id, "\(member)"]) {
            try database.run(
                sql: "DELETE FROM group_deliveries WHERE sending = ? AND member = ?",
                arguments: [row["number"] as Int64, "\(member)"])
            if let id = UUIDText(row["id"] as String) { _ = try DeliveryTable.settleSending(id, in: database) }
        }
    }

    static func newcomers(ofGroup id: String, in database: Database) throws -> [WhisperID] {
        try String.fetchAll(
            database, sql: "SELECT member FROM group_newcomers WHERE group_id = ? AND NOT is_expected ORDER BY member",
            arguments: [id]
        ).compactMap { WhisperID($0) }
    }

    /// Whether all others of a group but its newcomers were verified here. An empty group is not verified.
    static func areOthersVerified(inGroup id: String, in database: Database) throws -> Bool {
        let states = try Bool.fetchAll(
            database,
            sql: """
                SELECT coalesce(is_verified, 0) FROM group_members LEFT JOIN contacts ON contacts.id = member
                WHERE group_id = ?1 AND member <> ?2 AND NOT EXISTS (
                    SELECT 1 FROM group_newcomers n
                    WHERE n.group_id = ?1 AND n.member = group_members.member AND NOT is_expected)
                """, arguments: [id, try SettingsTable.whisperID(in: database).map { "\($0)" } ?? ""])
        return !states.isEmpty && states.allSatisfy { $0 }
    }

    /// A condition on a copy in `group_deliveries` and its `group_sendings`: the person here has seen its reader.
    static let isForSomebodySeen = """
        NOT EXISTS (SELECT 1 FROM group_newcomers n WHERE n.group_id = group_sendings.group_id
            AND n.member = group_deliveries.member AND NOT n.is_expected)
        """

    /// The person here has seen these members.
    /// - Returns: copies that can go now, or `nil` if none of them was a newcomer.
    package func admit(_ members: [WhisperID], to id: String) throws(ClientStoreError) -> [GroupDeliveryID]? {
        let ready = try self.store.write { database -> [GroupDeliveryID]? in
            var isNews = false
            for member in members {
                try database.run(
                    sql: "DELETE FROM group_newcomers WHERE group_id = ? AND member = ? AND NOT is_expected",
                    arguments: [id, "\(member)"])
                if database.changesCount > 0 { isNews = true }
            }
            guard isNews, let group = try GroupTable.group(id, in: database) else { return nil }
            try EventTable.note(.group(group, GroupChange()), in: database)
            return try members.flatMap { try Self.waitingCopies(for: $0, inGroup: id, in: database) }
        }
        return ready
    }

    private static func waitingCopies(
        for member: WhisperID, inGroup id: String, in database: Database
    ) throws -> [GroupDeliveryID] {
        let sql = """
            SELECT group_sendings.id FROM group_deliveries JOIN group_sendings ON number = sending
            WHERE group_id = ? AND member = ? AND state = 'queued' AND member IN (SELECT id FROM contacts)
            ORDER BY number
            """
        return try String.fetchAll(database, sql: sql, arguments: [id, "\(member)"]).compactMap { id in
            UUIDText(id).map { GroupDeliveryID(id: $0, member: member) }
        }
    }

    /// Whether a copy waits for the person here to see whom it is for.
    func isHeld(_ copy: GroupDeliveryID) throws(ClientStoreError) -> Bool {
        try self.store.read { database -> Bool in
            try Bool.fetchOne(
                database,
                sql: """
                    SELECT EXISTS (SELECT 1 FROM group_sendings s JOIN group_newcomers n ON n.group_id = s.group_id
                        WHERE s.id_key = ? AND n.member = ? AND NOT n.is_expected)
                    """, arguments: [MessageTable.key(copy.id), "\(copy.member)"]) ?? false
        }
    }
}
