package import Contract

package enum StoreLimits {
    /// Statements that one connection keeps prepared. Texts are constant per call site, so this is a fence against
    /// a text built at run time; beyond it all are dropped and prepared anew as they come.
    package static let statementsPreparedMax = 512
    /// Callers that wait for one connection while somebody else's transaction is open on it; beyond it `.unavailable`.
    package static let connectionWaitersMax = 1_024
    /// How long a caller's thread may be blocked for an answer before the connection waits on its own.
    package static let borrowedMax = Duration.milliseconds(10)
    /// Callers that wait for any connection of a pool; beyond it `.unavailable`.
    package static let poolWaitersMax = 4_096
    /// Transactions tried for one caller while others get in the way (`PostgresPool.persistently`).
    package static let attemptsMax = 5
    /// For one attempt to connect to one host, dead or frozen. Whole seconds; libpq takes at least two.
    package static let connectMax = Duration.seconds(2)
    /// Hosts of one database: a primary and two standbys. A bound for what an attempt to reach it may take, not for settings.
    package static let hostsMax = 3
    /// How long the machine of a server may leave what was sent unacknowledged before the connection counts as lost.
    package static let unacknowledgedMax = Duration.seconds(5)
    /// How much longer than the statement timeout a silent server is waited for before the connection counts as lost.
    package static let silenceGrace = Duration.seconds(5)
    /// Between attempts of a pool to reach a server that is away.
    package static let reconnect = Backoff(first: .milliseconds(50), longest: .seconds(1))
    /// Between two looks what has come of somebody else's attempt.
    package static let reconnectLookPause = Duration.milliseconds(5)
}
