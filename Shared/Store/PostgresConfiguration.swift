/// How to reach Postgres, and the settings of each session.
package struct PostgresConfiguration: Sendable {
    /// A libpq conninfo string or URI, of one host or several. May hold a password: never logged.
    package var url: String
    /// Shown in `pg_stat_activity`.
    package var applicationName: String
    /// Time for one attempt to connect to one host. libpq counts whole seconds and at least two.
    package var connectTimeout: Duration
    /// Longest run of one statement on the server, in whole milliseconds; zero for no bound.
    package var statementTimeout: Duration
    /// Settings of every session, such as `plan_cache_mode`. They go before `lookUps`.
    package var sessionSettings: [String: String]

    /// Rows are looked up by key, whatever the tables' size was when a statement was planned. Until Postgres has counted a table that
    /// grows, it would otherwise read all of it for each look.
    private static let lookUps = ["enable_seqscan": "off", "jit": "off"]

    package init(
        url: String, applicationName: String, connectTimeout: Duration = StoreLimits.connectMax,
        statementTimeout: Duration = .seconds(10), sessionSettings: [String: String] = [:]
    ) {
        self.url = url
        self.applicationName = applicationName
        self.connectTimeout = connectTimeout
        self.statementTimeout = statementTimeout
        self.sessionSettings = sessionSettings
    }

    /// Keywords for libpq. A later one wins over an earlier one, and so over what `url` says.
    /// - Parameter urlOptions: the `options` that `url` itself holds.
    func keywords(urlOptions: String) -> [(String, String)] {
        var settings = Self.lookUps.merging(self.sessionSettings) { $1 }
        settings["synchronous_commit"] = "on"
        settings["statement_timeout"] = String(self.statementTimeout.wholeMilliseconds)
        let options = settings.sorted { $0.key < $1.key }.map { "-c \($0.key)=\(Self.escaped($0.value))" }
        return [
            // Among several hosts, libpq takes the one that accepts writes. The address may overrule this.
            ("target_session_attrs", "read-write"),
            ("dbname", self.url),
            ("application_name", self.applicationName),
            ("client_encoding", "UTF8"),
            ("connect_timeout", String(max(2, self.connectTimeout.components.seconds))),
            // A machine that vanished is noticed within 15 s if the session is idle, else within `unacknowledgedMax`. Linux counts
            // that for unanswered keepalives, too.
            ("keepalives", "1"), ("keepalives_idle", "10"), ("keepalives_interval", "5"), ("keepalives_count", "3"),
            ("tcp_user_timeout", String(StoreLimits.unacknowledgedMax.wholeMilliseconds)),
            ("options", ([urlOptions] + options).joined(separator: " ")),
        ]
    }

    /// The server splits `options` at spaces that no backslash precedes.
    private static func escaped(_ value: String) -> String {
        value.reduce(into: "") { text, character in
            if character == " " || character == "\\" { text.append("\\") }
            text.append(character)
        }
    }
}

extension PostgresConfiguration: CustomStringConvertible, CustomDebugStringConvertible {
    package var description: String { "PostgresConfiguration(\(self.applicationName))" }
    package var debugDescription: String { self.description }
}

extension Duration {
    /// Rounded up, so that a bound above zero never becomes none.
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = self.components
        return seconds * 1_000 + (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000
    }
}
