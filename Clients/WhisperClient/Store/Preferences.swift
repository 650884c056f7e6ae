import SQLite

/// The user's preferences, on this device alone.
package struct Preferences: Sendable, Equatable {
    package enum Name: String, CaseIterable, Sendable {
        case sendsReadReceipts = "readReceipts"
        /// Both ways: ours is told, theirs is shown.
        case showsTyping = "typing"
        case showsPresence = "presence"
        case backsUp = "backup"
        /// Messages that name us count though their chat is muted.
        case hearsMentions = "mentions"
        /// The host writes the documents of the profile. Else the client keeps them.
        case hostWritesProfile = "profiles"
        /// Calls may go directly, so that the other side learns our address.
        case showsAddress = "address"
    }

    /// Everything is on until somebody turns it off.
    private var off: Set<Name> = []

    package init(off: Set<Name> = []) { self.off = off }

    package subscript(name: Name) -> Bool {
        get { !self.off.contains(name) }
        set { if newValue { self.off.remove(name) } else { self.off.insert(name) } }
    }

    var sendsReadReceipts: Bool { self[.sendsReadReceipts] }
    var showsTyping: Bool { self[.showsTyping] }
    var showsPresence: Bool { self[.showsPresence] }
    var backsUp: Bool { self[.backsUp] }
    var hearsMentions: Bool { self[.hearsMentions] }
    package var fillsProfile: Bool { !self[.hostWritesProfile] }
}

extension ClientStore {
    package func preferences() throws(ClientStoreError) -> Preferences {
        try self.read { try Self.preferences(in: $0) }
    }

    static func preferences(in database: Database) throws -> Preferences {
        Preferences(
            off: try Set(Preferences.Name.allCases.filter { try SettingsTable.setting($0.key, in: database) == "off" }))
    }

    /// Changes the given preferences only. Pending read marks are forgotten when the user turns them off.
    /// - Returns: the preferences before and after.
    package func set(
        _ changes: [Preferences.Name: Bool]
    ) throws(ClientStoreError) -> (before: Preferences, after: Preferences) {
        try self.write { database -> (before: Preferences, after: Preferences) in
            let before = try Self.preferences(in: database)
            var after = before
            for (name, isOn) in changes {
                after[name] = isOn
                try SettingsTable.set(name.key, to: isOn ? nil : "off", in: database)
            }
            if before.sendsReadReceipts, !after.sendsReadReceipts { try MessageTable.forgetOwedReadMarks(in: database) }
            return (before, after)
        }
    }
}

extension Preferences.Name {
    fileprivate var key: String { "preference.\(self.rawValue)" }
}
