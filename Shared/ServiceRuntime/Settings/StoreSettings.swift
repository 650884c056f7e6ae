package import ClusterContract
import Contract
package import Telemetry

/// Where Redis is.
package struct RedisSettings: SettingGroup {
    let host = Setting("redis.host", .text, default: "127.0.0.1", "Name or address of Redis.")
    let port = Setting("redis.port", .port, default: "6379", "Port of Redis.")
    let nodes = Setting(
        "redis.nodes", .nodes, default: "",
        "Some nodes of a Redis Cluster, in place of host and port: it is asked of them who serves what.")
    let user = Setting(
        optional: "redis.user", .text, "The ACL user of this service (`deploy/redis/users.acl`); `default` if none.")
    let password = Setting(optional: "redis.password", .secret, "Its password; a user without one is refused.")
    let authority = Setting(
        optional: "redis.tls.authority", .path, "PEM file of the authority that vouches for Redis; turns TLS on.")

    package init() {}
}

/// How to reach Redis.
package struct RedisAccess: Sendable {
    package struct Node: Sendable, Equatable {
        package var host: String
        package var port: Int
    }

    /// Nodes of a Redis Cluster. Empty for a single server.
    package var nodes: [Node]
    package var host: String
    package var port: Int
    /// The ACL user of this service; the server's `default` user when nil.
    package var user: String?
    package var password: Secret?
    /// PEM file with the authority of the server's certificate. TLS is spoken if it is given.
    package var authorityFile: String?
}

extension Settings<RedisSettings> {
    package func access() throws(SettingsError) -> RedisAccess {
        let (user, password) = (try self.user, try self.password)
        if user != nil, password == nil { throw .missing(key: "redis.password") }
        return RedisAccess(
            nodes: try self.nodes, host: try self.host, port: try self.port, user: user, password: password,
            authorityFile: try self.authority)
    }
}

extension SettingParser<[RedisAccess.Node]> {
    fileprivate static var nodes: SettingParser {
        SettingParser("a list of `host:port`, with commas between; `[…]` around an IPv6 address") { text in
            var nodes: [RedisAccess.Node] = []
            for word in text.split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
                guard let colon = word.lastIndex(of: ":"), let port = Int(word[word.index(after: colon)...]),
                    (1...65_535).contains(port)
                else { return nil }
                var host = word[..<colon]
                if host.first == "[", host.last == "]" {
                    host = host.dropFirst().dropLast()
                } else if host.contains(":") {
                    return nil
                }
                guard !host.isEmpty else { return nil }
                nodes.append(RedisAccess.Node(host: String(host), port: port))
            }
            return nodes
        }
    }
}

/// Where Postgres is.
package struct PostgresSettings: SettingGroup {
    let url = Setting(
        "postgres.url", .secret,
        """
        Conninfo or URI of libpq, with this service's role; TLS by `sslmode=verify-full sslrootcert=…` in it. Of several \
        hosts (`host=a,b,c`) the one that takes writes is found.
        """)
    let password = Setting(
        optional: "postgres.password", .secret, "Added to the address, so that the address need not be a secret.")

    package init() {}
}

extension Settings<PostgresSettings> {
    /// The connection string for libpq.
    package func conninfo() throws(SettingsError) -> Secret {
        let url = try self.url
        guard let password = try self.password else { return url }
        return ConnectionString(url.revealed).with(password: password)
    }
}

/// Limits that a deployment may move.
package struct RateSettings: SettingGroup {
    package let scale = Setting(
        "rate.limit.scale", .number(in: 0.001...1_000_000), default: "1", "Multiplies every rate limit.")
    let changes = Setting(
        "rate.limits", .rates, default: "",
        "Other rates than the contract's: uses in a minute, or in the rate's own period, and how many at once if that is not as many."
    )

    package init() {}
}

extension Settings<RateSettings> {
    package func table() throws(SettingsError) -> RateTable {
        RateTable(scale: try self.scale, changes: try self.changes)
    }
}

extension SettingParser<[String: RateTable.Change]> {
    /// `send_message=240/60, report=5`.
    fileprivate static var rates: SettingParser {
        let actions = Rates.all.map(\.action)
        return SettingParser(
            "pairs like `report=5` or `report=5/2`, with commas between; actions: `\(actions.joined(separator: ", "))`"
        ) { RateTable.changes(in: $0[...], of: Rates.all) }
    }
}

/// Gateways enforce classes of rates, and auth has operators give them (contract §20.7). Both are told the same.
package struct RateClassSettings: SettingGroup {
    let classes = Setting(
        "rate.classes", .rateClasses, default: RateClasses.usualText,
        """
        Classes of rates that operators may give to identities. A rate that a class does not name is as for everybody. The scale \
        multiplies these, too. Auth and gateways need the same value.
        """)

    package init() {}
}

extension Settings<RateClassSettings> {
    package func value() throws(SettingsError) -> RateClasses { try self.classes }
}

extension SettingParser<RateClasses> {
    fileprivate static var rateClasses: SettingParser {
        let actions = RateClasses.rates.map(\.action)
        return SettingParser(
            """
            at most \(Limits.rateClassesMax) classes like `bot: send_message=1200/1200, calls=20`, with semicolons between, or \
            `none`; each rate at most \(Limits.rateClassFactorMax) times its default; rates: `\(actions.joined(separator: ", "))`
            """
        ) { RateClasses($0) }
    }
}

/// The bound on data that the cluster keeps for strangers (contract §13b).
package struct StrangerSettings: SettingGroup {
    let bytesMax = Setting(
        "strangers.bytes.max", .integer(in: 1...1_000_000_000_000_000), default: "\(Limits.strangersStoreBytesMax)",
        "Bytes that all identities without a peer, and guests, together may keep in one store.")

    package init() {}
}

extension Settings<StrangerSettings> {
    package func bytes() throws(SettingsError) -> Int { try self.bytesMax }
}

/// Routers keep mail so long, and auth tells people of it.
package enum MailSettings {
    package static let pendingTTL = Setting(
        "pending.ttl.seconds", .seconds(in: 1...Int(Limits.pendingTTLMax.components.seconds)), default: "259200",
        "How long unacknowledged mail is kept. Less than the 14 days for which messages are remembered.")
}

/// How long records stay, in days, as `KeptRecord` declares it. Auth tells operators of those that other services enforce.
package enum KeptSettings {
    package static let audit = Self.days(of: .audit, "How long the record of what operators did stays.")
    package static let guests = Self.days(of: .guests, "How long a guest is known who does not come back.")
    package static let deadLetters = Self.days(of: .deadLetters, "How long operators see failed pushes.")
    package static let backups = Self.days(
        of: .backups, "How long the oldest backup stays, as `whisper-backup` is told. Auth tells people of it.")

    /// `nil`: never.
    package static let inactive = Setting<Int64?>(
        "inactive.days", .daysOrNever(in: Limits.inactiveDays), default: "0",
        "Days without a login or renewal of a session after which an identity is erased. A banned one stays.")

    private static func days(of record: KeptRecord, _ meaning: String) -> Setting<Duration> {
        guard let setting = record.setting, let usual = record.usual else {
            // Only rows with both are named above.
            fatalError("\(record.name) has no setting")
        }
        func days(_ time: Duration) -> Int { Int(time.components.seconds / 86_400) }
        return Setting(
            setting.name.lowercased().replacing("_", with: "."), .days(in: days(setting.least)...days(setting.most)),
            default: "\(days(usual))", meaning)
    }
}

extension SettingParser<Int64?> {
    fileprivate static func daysOrNever(in range: ClosedRange<Int64>) -> SettingParser {
        SettingParser("an integer in \(range), in days, or 0 for never") { text in
            guard let days = Int64(text), days == 0 || range.contains(days) else { return nil }
            return .some(days == 0 ? nil : days)
        }
    }
}

/// The tokens for `/admin`.
package struct AdminSettings: SettingGroup {
    private static let use =
        "the token itself, or `sha256:` and its digest in hexadecimal. Without one the role is nobody's."
    package let operatorToken = Setting(optional: "admin.token", .secret, "For operators: \(use)")
    package let viewerToken = Setting(optional: "viewer.token", .secret, "For those who may look: \(use)")

    package init() {}
}
