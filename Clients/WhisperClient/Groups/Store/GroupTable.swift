package import Contract
import SQLite

/// The only code that reads or writes `chat_groups`, `group_members` and `group_listing`.
package struct GroupTable: Sendable {
    let store: ClientStore

    static func migrateGroups(_ database: Database) throws {
        // Mail of groups came before groups were known: each gets a row that says so.
        try database.execute(
            sql: """
                CREATE TABLE chat_groups (
                    id TEXT PRIMARY KEY, title TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
                    revision INTEGER NOT NULL, is_member INTEGER NOT NULL) WITHOUT ROWID;
                CREATE TABLE group_members (
                    group_id TEXT NOT NULL, member TEXT NOT NULL, role TEXT NOT NULL, joined_at INTEGER NOT NULL,
                    PRIMARY KEY (group_id, member)) WITHOUT ROWID;
                CREATE INDEX group_members_member ON group_members (member);
                CREATE TABLE group_listing (is_owed INTEGER NOT NULL);
                INSERT INTO group_listing VALUES (1);
                CREATE TABLE group_sendings (
                    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, id_key TEXT NOT NULL UNIQUE,
                    group_id TEXT NOT NULL, body BLOB);
                CREATE TABLE group_deliveries (
                    sending INTEGER NOT NULL, member TEXT NOT NULL, state TEXT NOT NULL,
                    attempts INTEGER NOT NULL DEFAULT 0, signed_at INTEGER,
                    PRIMARY KEY (sending, member)) WITHOUT ROWID;
                CREATE INDEX group_deliveries_queued ON group_deliveries (member, sending) WHERE state = 'queued';
                CREATE INDEX group_deliveries_failed ON group_deliveries (sending) WHERE state LIKE 'failed:%';
                ALTER TABLE messages ADD COLUMN failed_members INTEGER NOT NULL DEFAULT 0;
                UPDATE messages SET group_id = lower(group_id) WHERE group_id IS NOT NULL;
                UPDATE remembered_ids SET conversation = lower(conversation) WHERE conversation LIKE 'grp-%';
                INSERT INTO chat_groups SELECT DISTINCT group_id, '', 0, 0, 0, 0 FROM messages WHERE group_id IS NOT NULL;
                CREATE INDEX messages_group ON messages (group_id, number) WHERE group_id IS NOT NULL;
                CREATE INDEX messages_unread_group ON messages (group_id, number)
                    WHERE NOT is_outgoing AND NOT is_read AND group_id IS NOT NULL;
                """)
    }

    // MARK: What the server says

    /// Takes what the server says of a group, unless something later is known.
    /// - Returns: the group as it stands now, or `nil` if it was no news.
    package func keep(_ group: Group, _ change: GroupChange) throws(ClientStoreError) -> Group? {
        try self.store.write { database -> Group? in
            let known = try Self.group(group.id, in: database)
            if let known {
                guard group.revision > known.revision else { return nil }
            } else {
                let count = try Int.fetchOne(database, sql: "SELECT count(*) FROM chat_groups") ?? 0
                guard count < ClientLimits.groupsMax else { return nil }
            }
            try database.run(
                sql: """
                    INSERT INTO chat_groups VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
                        title = excluded.title, created_at = excluded.created_at, updated_at = excluded.updated_at,
                        revision = excluded.revision, is_member = excluded.is_member
                    """,
                arguments: [
                    group.id, group.title, group.createdAt.milliseconds, group.updatedAt.milliseconds, group.revision,
                    group.isMember,
                ])
            try database.run(sql: "DELETE FROM group_members WHERE group_id = ?", arguments: [group.id])
            for member in group.members {
                try database.run(
                    sql: "INSERT INTO group_members VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                    arguments: [group.id, "\(member.id)", member.role.rawValue, member.joinedAt.milliseconds])
            }
            try NewcomerTable.setNewcomers(of: group, insteadOf: known, change, in: database)
            try ChatNoteTable.note(change, from: known, to: group, in: database)
            try EventTable.note(.group(group, change), in: database)
            return try Self.group(group.id, in: database)
        }
    }

    /// The server's list is here whole.
    /// - Parameters:
    ///   - ids: of the groups in it.
    ///   - known: the revisions before the list was asked for. A group that changed meanwhile stays as it is.
    ///   - ownID: no longer a member of the groups that are returned.
    /// - Returns: groups that we were in, and that are not in the list.
    package func groupsListed(
        _ ids: Set<String>, known: [String: Int64], ownID: WhisperID
    ) throws(ClientStoreError) -> [Group] {
        try self.store.write { database -> [Group] in
            try database.run(sql: "UPDATE group_listing SET is_owed = 0")
            return try Self.groups(in: database).compactMap { group in
                guard group.isMember, !ids.contains(group.id), known[group.id] == group.revision else { return nil }
                var left = group
                left.isMember = false
                try database.run(sql: "UPDATE chat_groups SET is_member = 0 WHERE id = ?", arguments: [group.id])
                left.members.removeAll { $0.id == ownID }
                try database.run(
                    sql: "DELETE FROM group_members WHERE group_id = ? AND member = ?",
                    arguments: [group.id, "\(ownID)"])
                try ChatNoteTable.note(
                    ChatNoteTable.removed([ownID]), by: nil, at: group.updatedAt, in: .group(group.id), in: database)
                try EventTable.note(.group(left, GroupChange()), in: database)
                return left
            }
        }
    }

    package func owesGroupList() throws(ClientStoreError) -> Bool {
        try self.store.read { try Bool.fetchOne($0, sql: "SELECT is_owed FROM group_listing") ?? true }
    }

    /// Groups may have changed without a word to this device.
    package func oweGroupList() throws(ClientStoreError) {
        try self.store.write { try Self.oweGroupList(in: $0) }
    }

    private static func oweGroupList(in database: Database) throws {
        try database.run(sql: "UPDATE group_listing SET is_owed = 1")
    }

    /// Mail of a group came. One that nobody has told us of is asked for.
    static func meet(group id: String, in database: Database) throws {
        try database.run(
            sql: "INSERT INTO chat_groups VALUES (?, '', 0, 0, 0, 0) ON CONFLICT DO NOTHING", arguments: [id])
        if database.changesCount == 1 { try Self.oweGroupList(in: database) }
    }

    // MARK: Reading

    package func group(_ id: String) throws(ClientStoreError) -> Group? {
        try self.store.read { try Self.group(id, in: $0) }
    }

    /// By their titles.
    package func groups() throws(ClientStoreError) -> [Group] {
        try self.store.read { try Self.groups(in: $0) }
    }

    package func groupRevisions() throws(ClientStoreError) -> [String: Int64] {
        try self.store.read { database -> [String: Int64] in
            try Row.fetchAll(database, sql: "SELECT id, revision FROM chat_groups").reduce(into: [:]) {
                $0[$1["id"]] = $1["revision"]
            }
        }
    }

    static func group(_ id: String, in database: Database) throws -> Group? {
        try Row.fetchOne(database, sql: "SELECT * FROM chat_groups WHERE id = ?", arguments: [id]).map {
            try Self.group($0, in: database)
        }
    }

    private static func groups(in database: Database) throws -> [Group] {
        try Row.fetchAll(database, sql: "SELECT * FROM chat_groups ORDER BY title, id").map {
            try Self.group($0, in: database)
        }
    }

    private static func group(_ row: Row, in database: Database) throws -> Group {
        let id: String = row["id"]
        let members = try Row.fetchAll(
            database, sql: "SELECT * FROM group_members WHERE group_id = ? ORDER BY joined_at, member", arguments: [id]
        ).compactMap { row -> Group.Member? in
            guard let member = WhisperID(row["member"] as String), let role = GroupRole(rawValue: row["role"]) else {
                return nil
            }
            return Group.Member(id: member, role: role, joinedAt: Timestamp(milliseconds: row["joined_at"]))
        }
        let newcomers = try NewcomerTable.newcomers(ofGroup: id, in: database)
        return Group(
            id: id, title: row["title"], createdAt: Timestamp(milliseconds: row["created_at"]),
            updatedAt: Timestamp(milliseconds: row["updated_at"]), revision: row["revision"],
            isMember: row["is_member"], members: members, newcomers: newcomers,
            areOthersVerified: try !newcomers.isEmpty && NewcomerTable.areOthersVerified(inGroup: id, in: database))
    }

    // MARK: People

    /// Whether somebody is here because of groups. Then their keys are no request.
    package func isKnownByGroup(_ id: WhisperID) throws(ClientStoreError) -> Bool {
        try self.store.read { try Self.isKnownByGroup("\(id)", in: $0) }
    }

    static func isKnownByGroup(_ id: String, in database: Database) throws -> Bool {
        try Bool.fetchOne(
            database,
            sql: """
                SELECT EXISTS (SELECT 1 FROM group_members WHERE member = ?1)
                    OR EXISTS (SELECT 1 FROM messages WHERE peer = ?1 AND group_id IS NOT NULL)
                """, arguments: [id]) ?? false
    }

    /// Whether this is the first message to us alone of a stranger who was known by groups: a request.
    static func isFirstRequest(of peer: WhisperID, in database: Database) throws -> Bool {
        guard try ContactTable.contact(peer, in: database)?.isStranger == true else { return false }
        let hasWritten = try Bool.fetchOne(
            database, sql: "SELECT EXISTS (SELECT 1 FROM messages WHERE peer = ? AND group_id IS NULL)",
            arguments: ["\(peer)"])
        return try hasWritten == false && Self.isKnownByGroup("\(peer)", in: database)
    }
}
