package import Telemetry

/// Where a listener listens.
package struct ListenAddress: Sendable, Equatable {
    package var host: String
    /// 0 lets the kernel choose.
    package var port: Int

    package init(host: String, port: Int) {
        self.host = host
        self.port = port
    }
}

/// Where Redis is.
package struct RedisSettings: Sendable {
    package var host: String
    package var port: Int
    package var password: Secret?
}

// Keys that several services read, each written once. A service asks for those it needs.
extension Settings {
    private static let ports = 1...65_535

    /// - instance (int, default 1, 1...9999): number of this process among those of its service.
    package func instance() throws(SettingsError) -> Int {
        try self.int("instance", in: 1...9_999, default: 1)
    }

    /// - ops.host (default 127.0.0.1), ops.port (int, required): the listener for operators; never public.
    package func opsAddress() throws(SettingsError) -> ListenAddress {
        ListenAddress(
            host: try self.string("ops.host", default: "127.0.0.1"), port: try self.int("ops.port", in: Self.ports))
    }

    /// - http.host (default 127.0.0.1), http.port (int, required): the public listener.
    package func httpAddress() throws(SettingsError) -> ListenAddress {
        ListenAddress(
            host: try self.string("http.host", default: "127.0.0.1"), port: try self.int("http.port", in: Self.ports))
    }

    /// - redis.host (default 127.0.0.1), redis.port (int, default 6379), redis.password (secret, optional).
    package func redis() throws(SettingsError) -> RedisSettings {
        RedisSettings(
            host: try self.string("redis.host", default: "127.0.0.1"),
            port: try self.int("redis.port", in: Self.ports, default: 6_379),
            password: self.optionalSecret("redis.password"))
    }

    /// - postgres.url (secret, required): a libpq conninfo string with the role of this service.
    package func postgres() throws(SettingsError) -> Secret {
        try self.secret("postgres.url")
    }

    /// - rate.limit.scale (double, default 1, 0.001...1000000): multiplies every rate limit.
    package func rateLimitScale() throws(SettingsError) -> Double {
        try self.double("rate.limit.scale", in: 0.001...1_000_000, default: 1)
    }

    /// - trusted.proxies (comma list, default empty): addresses whose X-Forwarded-For is believed.
    package func trustedProxies() -> [String] {
        self.list("trusted.proxies")
    }
}
