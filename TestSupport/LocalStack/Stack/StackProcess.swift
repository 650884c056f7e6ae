/// The six executables, in the order in which they are started.
package enum ServiceName: String, CaseIterable, Hashable, Sendable {
    case auth, router, push, attachments, calls, gateway

    /// Whether it has a public HTTP listener beside its ops listener.
    var servesHTTP: Bool {
        switch self {
        case .gateway, .auth, .attachments, .calls: true
        case .router, .push: false
        }
    }

    /// Whether it keeps tables: all but the gateway, which cannot reach Postgres.
    var keepsTables: Bool { self != .gateway }

    /// Its least-privilege role in Postgres.
    var role: String { "whisper_\(self.rawValue)" }
}

/// One process of the stack. Instances of a service count from 1.
package enum StackProcess: Hashable, Sendable, CustomStringConvertible {
    case postgres, redis, balancer, relay
    case service(ServiceName, Int)

    package static func gateway(_ number: Int) -> StackProcess { .service(.gateway, number) }
    package static func router(_ number: Int) -> StackProcess { .service(.router, number) }
    package static func auth(_ number: Int) -> StackProcess { .service(.auth, number) }
    package static func calls(_ number: Int) -> StackProcess { .service(.calls, number) }
    package static func attachments(_ number: Int) -> StackProcess { .service(.attachments, number) }
    package static func push(_ number: Int) -> StackProcess { .service(.push, number) }

    package var description: String {
        switch self {
        case .postgres: "postgres"
        case .redis: "redis"
        case .balancer: "haproxy"
        case .relay: "coturn"
        case .service(let service, let number): "\(service.rawValue)-\(number)"
        }
    }
}
