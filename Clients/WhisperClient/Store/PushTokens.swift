package import Contract
import SQLite

/// Push tokens that the server does not have as they are here.
package struct OwedTokens: Sendable, Equatable {
    package var push: UpdateTokens.Change<String>
    package var voip: UpdateTokens.Change<String>
    package var wakeSecret: UpdateTokens.Change<WakeSecret>
    /// Number of the last change.
    package var number: Int
}

/// The device's push tokens, and the secret by which their pushes name our identity. They are kept, because each login makes the server
/// forget them or another device's stand.
extension ClientStore {
    /// - Returns: whether anything is to be sent.
    package func set(
        push: UpdateTokens.Change<String>, voip: UpdateTokens.Change<String>
    ) throws(ClientStoreError) -> Bool {
        try self.write { database -> Bool in
            try Self.set(push, "pushToken", in: database)
            try Self.set(voip, "voipToken", in: database)
            guard push != .keep || voip != .keep else { return false }
            try Self.oweTokens(in: database)
            return true
        }
    }

    package func owedTokens() throws(ClientStoreError) -> OwedTokens? {
        try self.read { database -> OwedTokens? in
            guard let number = try SettingsTable.setting("tokensOwed", in: database).flatMap({ Int($0) }) else {
                return nil
            }
            return OwedTokens(
                push: try Self.token("pushToken", in: database), voip: try Self.token("voipToken", in: database),
                wakeSecret: try Self.wakeSecret(in: database).map { .set($0) } ?? .keep, number: number)
        }
    }

    /// The server has them. Changes made meanwhile are still owed.
    package func tokensArrived(_ tokens: OwedTokens) throws(ClientStoreError) {
        try self.write { database in
            guard try SettingsTable.setting("tokensOwed", in: database) == "\(tokens.number)" else { return }
            try SettingsTable.set("tokensOwed", to: nil, in: database)
        }
    }

    /// Whether a push with this tag is for our identity.
    package func isOurs(_ tag: String, of wakeID: UUIDText) throws(ClientStoreError) -> Bool {
        try self.read { database -> Bool in
            guard let secret = try Self.wakeSecret(in: database) else { return false }
            return Sodium.areEqual(Array(secret.tag(of: wakeID, hmacSHA256: Sodium.hmacSHA256).utf8), Array(tag.utf8))
        }
    }

    /// The tokens of a store of before had no secret: the server is to have one.
    package func oweWakeSecret() throws(ClientStoreError) {
        try self.write { database in
            if try Self.wakeSecret(in: database) == nil { try Self.oweTokens(in: database) }
        }
    }

    /// A new session may lack them.
    static func oweTokens(in database: Database) throws {
        let (push, voip) = (try Self.token("pushToken", in: database), try Self.token("voipToken", in: database))
        guard push != .keep || voip != .keep else { return }
        if try Self.wakeSecret(in: database) == nil {
            let drawn = Base64.text(Sodium.random(WakeSecret.byteCount))
            try SettingsTable.set("wakeSecret", to: drawn, in: database)
        }
        let number = try SettingsTable.setting("tokensCount", in: database).flatMap { Int($0) } ?? 0
        try SettingsTable.set("tokensCount", to: "\(number + 1)", in: database)
        try SettingsTable.set("tokensOwed", to: "\(number + 1)", in: database)
    }

    static func forgetTokens(in database: Database) throws {
        for name in ["pushToken", "voipToken", "wakeSecret", "tokensOwed"] {
            try SettingsTable.set(name, to: nil, in: database)
        }
    }

    /// The next login has another one.
    func forgetWakeSecret() throws(ClientStoreError) {
        try self.write { try SettingsTable.set("wakeSecret", to: nil, in: $0) }
    }

    private static func wakeSecret(in database: Database) throws -> WakeSecret? {
        try SettingsTable.setting("wakeSecret", in: database).flatMap { Base64.decode($0) }.flatMap { WakeSecret($0) }
    }

    private static func set(_ change: UpdateTokens.Change<String>, _ name: String, in database: Database) throws {
        switch change {
        case .keep: break
        // An empty text is a token that the server is to forget.
        case .clear: try SettingsTable.set(name, to: "", in: database)
        case .set(let token): try SettingsTable.set(name, to: token, in: database)
        }
    }

    private static func token(_ name: String, in database: Database) throws -> UpdateTokens.Change<String> {
        guard let token = try SettingsTable.setting(name, in: database) else { return .keep }
        return token.isEmpty ? .clear : .set(token)
    }
}
