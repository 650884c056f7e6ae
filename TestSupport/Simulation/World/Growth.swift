import ClusterContract
import Contract

/// Notices that gateways receive while a cluster grows and each gateway's load stays the same. A Notice for one gateway
/// that all gateways receive would show here.
struct Growth {
    static let phonesPerGateway = 4
    /// Until all phones are logged in.
    static let start: Int64 = .seconds(15)
    static let length: Int64 = .seconds(60)
    /// Between two messages of one phone. It writes to a phone at the next gateway.
    static let pause: Int64 = .milliseconds(1_000)

    struct Heard {
        var notices = 0
        var bytes = 0
    }

    let gateways: Int
    /// By channel, since all phones are logged in.
    let heard: [String: Heard]

    /// The mean for each gateway in a second, of Notices for one gateway.
    private func mean(_ part: (Heard) -> Int) -> Double {
        let total = self.heard.reduce(0) { $1.key == Keyspace.nodes.name ? $0 : $0 + part($1.value) }
        return Double(total) / Double(self.gateways) / Double(Self.length / .seconds(1))
    }

    /// One line, for a test to read.
    var text: String {
        let toAll = self.heard[Keyspace.nodes.name]?.notices ?? 0
        return
            "\(self.gateways) gateways: \(self.mean(\.notices)) notices and \(self.mean(\.bytes)) bytes for each in a second, "
            + "\(toAll) notices to all"
    }
}
