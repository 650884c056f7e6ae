import ArgumentParser
import LocalStack

/// A measurement, by name.
enum Workload: String, CaseIterable, ExpressibleByArgument, Sendable {
    case throughput = "W1"
    case latency = "W2"
    case offline = "W3"
    case idle = "W4"
    case groups = "W5"
    case flapping = "W6"
    case partLoad = "part-load"
    case registration
    case endings
    case leaving
    case storm
    case pending
    case identities
    case instances
    case masters
    case soak
    case codecs
    case live
    case liveJoins = "live-joins"
    case liveSlow = "live-slow"
    case liveIdle = "live-idle"
    case liveStorm = "live-storm"
    case liveLines = "live-lines"
    case liveBesideMail = "live-beside-mail"
    case liveBrokers = "live-brokers"
    case liveInstances = "live-instances"
    case liveListeners = "live-listeners"
    case liveTranscripts = "live-transcripts"
    case rooms
    case core

    /// Workloads that run when none is named.
    static let usual: [Workload] = [.throughput, .latency, .offline, .idle, .groups, .flapping]

    var title: String {
        switch self {
        case .throughput: "CPU per message: pairs, each with a few messages under way all the time"
        case .latency: "latency: pairs, messages at a steady rate"
        case .offline: "offline mail: stored, then drained in pages"
        case .idle: "idle connections: memory and CPU of each"
        case .groups: "groups: CPU per envelope in groups of several sizes, beside the same messages one by one"
        case .flapping: "presence: a thousand clients that come and go, without peers and with them"
        case .partLoad:
            "part load: CPU per message and latency from 10 to 10,000 messages a second, and the idle cluster"
        case .registration: "registration: CPU of each new identity"
        case .endings: "endings: until a session that is banned, or replaced by another device, is closed"
        case .leaving: "leaving: until people who leave are told so, and CPU of their erasures"
        case .storm: "reconnect storm: all gateways are killed with everybody online"
        case .pending: "growth: CPU per message beside 1,000 to a million messages that wait for somebody"
        case .identities: "growth: CPU per message beside 100 to 100,000 identities"
        case .instances: "growth: CPU per message with 1, 2 and 4 gateways and routers"
        case .masters:
            "growth: CPU per message with 1, 3 and 6 masters of Redis, at the same rate for each (--rate), and with one Redis"
        case .codecs: "codecs: JSON, WebSocket and HTTP/2 code of this project beside Foundation's and NIO's"
        case .soak: "soak: mixed traffic for an hour with a transaction held open in Postgres"
        case .live: "live conversations: CPU and latency of each packet that reaches a listener (L1; L2, L3 by options)"
        case .liveJoins: "live conversations: 200 strangers come within a second (L4)"
        case .liveSlow: "live conversations: a few of 200 listeners do not read (L5)"
        case .liveIdle: "live conversations: memory and CPU of listeners while nobody types (L6)"
        case .liveStorm: "live conversations: all gateways are killed with everybody listening (L7)"
        case .liveLines: "live conversations: CPU and latency of lines that are kept (L8)"
        case .liveBesideMail: "live conversations: latency of mail beside half the load of L1 (L11)"
        case .liveBrokers: "live conversations: the shape of L1 through Redis PUBLISH, mosquitto and NATS"
        case .liveInstances: "growth: CPU per packet that reaches a listener, with 1, 2 and 4 gateways"
        case .liveListeners: "growth: CPU per packet that reaches one of 1 to 500 listeners of each conversation"
        case .liveTranscripts: "growth: CPU per stored line beside 1,000 to 100,000 that are kept"
        case .rooms: "rooms: CPU and latency of each signal, and of joins (L9)"
        case .core: "client core: opening, reading, receiving and sending on a sealed store of --stored messages"
        }
    }

    func measure(_ options: LoadOptions) async throws -> Report {
        switch self {
        case .throughput: try await onCluster(options, measureThroughput)
        case .latency: try await onCluster(options, measureLatency)
        case .offline: try await onCluster(options, measureOffline)
        // Its clients are processes of their own.
        case .idle: try await onCluster(options) { _, stack, options in try await measureIdle(stack, options) }
        case .groups: try await onCluster(options, measureGroups)
        case .flapping: try await onCluster(options, measureFlapping)
        case .partLoad: try await onCluster(options, measurePartLoad)
        case .registration: try await onCluster(options, measureRegistration)
        case .endings: try await onCluster(options, measureEndings)
        case .leaving: try await onCluster(options, measureLeaving)
        case .storm: try await onCluster(options, measureStorm)
        case .pending: try await onCluster(options, measurePending)
        case .identities: try await onCluster(options, measureIdentities)
        case .instances: try await measureInstances(options)
        case .masters: try await measureMasters(options)
        case .codecs: try await measureCodecs(options)
        case .soak: try await onCluster(options, measureSoak)
        case .live: try await onCluster(options, measureLive)
        case .liveJoins: try await onCluster(options, measureLiveJoins)
        case .liveSlow: try await onCluster(options, measureLiveSlow)
        case .liveIdle: try await onCluster(options, measureLiveIdle)
        case .liveStorm: try await onCluster(options, measureLiveStorm)
        case .liveLines: try await onCluster(options, measureLiveLines)
        case .liveBesideMail: try await onCluster(options, measureLiveBesideMail)
        case .liveBrokers: try await measureLiveBrokers(options)
        case .liveInstances: try await measureLiveInstances(options)
        case .liveListeners: try await measureLiveListeners(options)
        case .liveTranscripts: try await onCluster(options, measureLiveTranscripts)
        case .rooms: try await onCluster(options, measureRooms)
        case .core: try await measureCore(options)
        }
    }

    /// Runs the measurement against a fresh cluster, so that none inherits what another left behind.
    func onCluster<R: Sendable>(
        _ options: LoadOptions,
        _ measurement: (isolated Fleet, LocalStack, LoadOptions) async throws -> R
    ) async throws -> R {
        let stack = try await LocalStack.start(try options.stack(for: self)) { say("· \($0)") }
        do {
            let fleet = Fleet(ports: options.ports(of: stack))
            let result = try await measurement(fleet, stack, options)
            await fleet.leave()
            await stack.stop()
            return result
        } catch {
            if options.keep { say("logs are in \(stack.folder)/log") }
            await stack.stop()
            throw error
        }
    }
}
