package import Contract
package import Telemetry

/// Where a server listens.
package struct RedisAddress: Hashable, Sendable, CustomStringConvertible {
    /// A name or an address.
    package var host: String
    package var port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }

    package var description: String { "\(self.host):\(self.port)" }
}

/// Where the server is.
package struct RedisConfiguration: Sendable {
    /// A name or an address.
    package var host: String
    package var port: Int
    /// The ACL user to log in as (Redis documentation, "ACL"); the server's `default` when nil.
    package var user: String?
    /// Sent with AUTH at the start of every connection.
    package var password: Secret?
    /// In the clear when nil.
    package var tls: RedisTLS?
    /// Some nodes of a Redis Cluster, to ask who is its master of what. Empty for a single server, which `host` and `port` name.
    package var nodes: [RedisAddress]

    package init(
        host: String = "127.0.0.1", port: Int = 6379, user: String? = nil, password: Secret? = nil,
        tls: RedisTLS? = nil, nodes: [RedisAddress] = []
    ) {
        self.host = host
        self.port = port
        self.user = user
        self.password = password
        self.tls = tls
        self.nodes = nodes
    }
}

/// Bounds of the connections to the server. `BusLimits` has the bounds of the port itself.
package enum RedisLimits {
    /// Time to connect, authenticate and hear the first answer.
    package static let connectMax: Duration = .seconds(2)
    /// A command older than this without an answer ends its connection: the server is stopped or gone.
    /// A blocking read may stay silent for this long after its `blockFor`, too.
    package static let answerMax: Duration = .seconds(5)
    /// Time between two looks at the age of commands: so much later than `answerMax` one is noticed at most. A quiet connection
    /// that subscribes is pinged at every look, another at every other.
    package static let watchEvery: Duration = .milliseconds(2_500)
    /// How long answers that nobody waits for may lie in the socket.
    package static let unreadMax: Duration = .milliseconds(50)
    /// How long they lie there at least, although the thread is awake: each look costs four calls of the kernel.
    package static let unreadMin: Duration = .milliseconds(10)
    /// Before the next attempt to connect.
    package static let reconnect = Backoff(first: .milliseconds(50), longest: .seconds(1))
    /// Concurrent blocking calls of `read` and `take`; each has its own connection. Above it: `BusError.full`.
    package static let blockingReadersMax = 128
    /// Between two questions who is master of what in a cluster, while nothing seems wrong. A master that was replaced and does
    /// not know it is left within two of them: each goes to another node, and none is believed whose epoch is older.
    package static let topologyEvery: Duration = .seconds(5)
    /// The same after a sign that it has changed, or without an answer.
    package static let topologyRetry: Duration = .milliseconds(200)
    /// Since a master is there, or has become one: listeners may not have come to it yet. Longer than `reconnect.longest`.
    package static let listenersMissing: Duration = .seconds(3)
    /// How long one read of a cluster's slot waits at its master, whoever asks how often. Each of them ends in a write and an answer.
    package static let standingReadBlock: Duration = .milliseconds(500)
    /// Before a stream of a cluster is read again that could not be read.
    package static let readRetry: Duration = .milliseconds(100)
    /// Entries read from a stream that has no reader any more are kept for this long.
    package static let unaskedMax: Duration = .seconds(10)
    /// Memory in bytes that a connection keeps between two bursts, for each of writing and reading.
    package static let memoryKeptMax = 1_024 * 1_024
}
