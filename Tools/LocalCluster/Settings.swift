import LocalStack

/// Settings of `make run`, by environment.
/// - PORT (int, default 8080, 1...65535): public origin, `/ws` and HTTP.
/// - OPS_PORT (int, default 8081, 1...65535): admin API, readiness and metrics of every process.
/// - TURN_PORT (int, default 3478 or, if that is taken, any, 1...65535): the relay for calls, UDP and TCP.
/// - ADMIN_TOKEN, VIEWER_TOKEN (strings, default random and printed): tokens of the two admin roles.
/// - RATE_LIMIT_SCALE (double, default 1, above 0): multiplies every limit.
/// - ADDRESS_CONNECTIONS_MAX (int, default 600 or more, by RATE_LIMIT_SCALE): TCP connections of one address at a time.
/// - ADDRESS_CONNECTIONS_PER_MINUTE (int, default 1200 or more, by RATE_LIMIT_SCALE): new ones of one address in a minute.
/// - HAPROXY_THREADS (int, default as many as there are cores, 1...64): threads of the balancer.
/// - GATEWAYS, ROUTERS (int, default 2, 1...16): instances.
/// - DATA_DIR (path, default ./data): kept between runs.
/// - LOG_LEVEL (default notice): level of the services' logs.
/// - STORE (disk or s3, default disk): where attachments are kept; s3 needs S3_ENDPOINT, S3_BUCKET, S3_ACCESS_KEY and S3_SECRET_KEY,
///   and takes S3_PUBLIC_ENDPOINT, S3_REGION, S3_STYLE and S3_CA_FILE (Services/attachments/main/ObjectStoreSettings.swift).
/// - CHECK (1 or nothing): end after the conversation, with status 0 or 1.
struct Settings {
    var port: Int
    var opsPort: Int
    var turnPort: Int
    /// Nil: make one up and print it.
    var adminToken: String?
    var viewerToken: String?
    var rateLimitScale: Double
    /// Nil: the contract's, scaled.
    var addressConnectionsMax: Int?
    var addressConnectionsPerMinute: Int?
    /// Nil: as many as there are cores.
    var balancerThreads: Int?
    var gateways: Int
    var routers: Int
    var folder: String
    var logLevel: String
    var endsAfterConversation: Bool
    /// Handed on to attachments.
    var objectStore: [String: String]

    /// A setting that cannot be used, and what it may be.
    struct Unusable: Error, CustomStringConvertible {
        var name: String
        var value: String
        var expected: String
        var description: String { "\(self.name)=\(self.value) cannot be used; it has to be \(self.expected)" }
    }

    init(environment: [String: String]) throws(Unusable) {
        // Empty is as good as not set: that is what a Makefile hands down.
        let environment = environment.filter { !$0.value.isEmpty }
        func integer(_ name: String, in range: ClosedRange<Int>) throws(Unusable) -> Int? {
            guard let text = environment[name] else { return nil }
            guard let value = Int(text), range.contains(value) else {
                throw Unusable(
                    name: name, value: text, expected: "a number from \(range.lowerBound) to \(range.upperBound)")
            }
            return value
        }
        func integer(_ name: String, _ standard: Int, in range: ClosedRange<Int>) throws(Unusable) -> Int {
            try integer(name, in: range) ?? standard
        }
        self.port = try integer("PORT", 8080, in: 1...65_535)
        self.opsPort = try integer("OPS_PORT", 8081, in: 1...65_535)
        guard self.port != self.opsPort else {
            throw Unusable(name: "OPS_PORT", value: "\(self.opsPort)", expected: "another port than PORT")
        }
        // A relay of the system may have the usual one.
        self.turnPort = try integer(
            "TURN_PORT", LoopbackPort.isFree(3_478) ? 3_478 : LoopbackPort.free(), in: 1...65_535)
        self.gateways = try integer("GATEWAYS", 2, in: 1...16)
        self.routers = try integer("ROUTERS", 2, in: 1...16)
        self.adminToken = environment["ADMIN_TOKEN"]
        self.viewerToken = environment["VIEWER_TOKEN"]
        if let token = self.adminToken, token == self.viewerToken {
            throw Unusable(name: "VIEWER_TOKEN", value: "…", expected: "another token than ADMIN_TOKEN")
        }
        let scale = environment["RATE_LIMIT_SCALE"] ?? "1"
        guard let factor = Double(scale), factor.isFinite, factor > 0 else {
            throw Unusable(name: "RATE_LIMIT_SCALE", value: scale, expected: "a number above 0")
        }
        self.rateLimitScale = factor
        self.addressConnectionsMax = try integer("ADDRESS_CONNECTIONS_MAX", in: 1...1_000_000_000)
        self.addressConnectionsPerMinute = try integer("ADDRESS_CONNECTIONS_PER_MINUTE", in: 1...1_000_000_000)
        self.balancerThreads = try integer("HAPROXY_THREADS", in: 1...HAProxyServer.threadsMax)
        self.folder = environment["DATA_DIR"] ?? "./data"
        self.logLevel = environment["LOG_LEVEL"] ?? "notice"
        self.objectStore = environment.filter { $0.key == "STORE" || $0.key.hasPrefix("S3_") }
        let check = environment["CHECK"] ?? "0"
        guard ["0", "1"].contains(check) else { throw Unusable(name: "CHECK", value: check, expected: "0 or 1") }
        self.endsAfterConversation = check == "1"
    }

    /// A check that was not carried through has not succeeded.
    var statusWhenInterrupted: Int32 { self.endsAfterConversation ? 1 : 0 }

    var stack: StackConfiguration {
        var stack = StackConfiguration(folder: self.folder)
        stack.port = self.port
        stack.opsPort = self.opsPort
        stack.turnPort = self.turnPort
        stack.hasRelay = CoturnServer.isInstalled
        stack.instances[.gateway] = self.gateways
        stack.instances[.router] = self.routers
        stack.rateLimitScale = self.rateLimitScale
        var limits = AddressLimits.standard.scaled(by: self.rateLimitScale)
        if let most = self.addressConnectionsMax { limits.connectionsMax = most }
        if let most = self.addressConnectionsPerMinute { limits.connectionsPerMinute = most }
        stack.addressLimits = limits
        stack.balancerThreads = self.balancerThreads
        stack.logLevel = self.logLevel
        stack.environment[.attachments] = self.objectStore
        if let token = self.adminToken { stack.adminToken = token }
        if let token = self.viewerToken { stack.viewerToken = token }
        return stack
    }
}
