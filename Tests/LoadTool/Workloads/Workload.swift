import ArgumentParser
import LocalStack

/// What is measured.
enum Workload: String, CaseIterable, ExpressibleByArgument, Sendable {
    case throughput = "W1"
    case latency = "W2"
    case offline = "W3"
    case idle = "W4"
    case groups = "W5"
    case flapping = "W6"

    var title: String {
        switch self {
        case .throughput: "CPU per message: pairs, each with a few messages under way all the time"
        case .latency: "latency: pairs, messages at a steady rate"
        case .offline: "offline mail: stored, then drained in pages"
        case .idle: "idle connections: memory and CPU of each"
        case .groups: "groups: CPU per envelope of a full group, beside the same messages one by one"
        case .flapping: "presence: a thousand clients that come and go, without peers and with them"
        }
    }

    func measure(_ fleet: Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
        switch self {
        case .throughput: try await measureThroughput(fleet, stack, options)
        case .latency: try await measureLatency(fleet, stack, options)
        case .offline: try await measureOffline(fleet, stack, options)
        case .idle: try await measureIdle(fleet, stack, options)
        case .groups: try await measureGroups(fleet, stack, options)
        case .flapping: try await measureFlapping(fleet, stack, options)
        }
    }
}
