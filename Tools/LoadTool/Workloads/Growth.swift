import Foundation
import LocalStack

/// Measures the cost of a message beside messages that wait for absent recipients.
func measurePending(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let levels = options.levels.isEmpty ? [1_000, 10_000, 100_000, 1_000_000] : options.levels
    say("· registering \(2 * options.pairs + recipientsAway) clients")
    let present = try await fleet.register(2 * options.pairs)
    let away = try await fleet.register(recipientsAway)
    for client in away { fleet.disconnect(client) }
    try await Task.sleep(for: settling)

    var points: [(size: Int, cost: TrafficCost)] = []
    var sizes: [[Double]] = []
    var (waiting, number) = (0, 0)
    var storing: [Figure] = []
    for level in levels {
        if level > waiting {
            let filled = try await fill(
                level - waiting, from: present, to: away, firstNumber: number, fleet, stack, options)
            number += away.count
            waiting += filled.stored
            storing.append(Figure("CPU per message stored, up to \(waiting)", filled.cost, "µs"))
        }
        try await Task.sleep(for: settling)
        let cost = try await TrafficCost.ofMessages(present, firstNumber: number, fleet, stack, options)
        number += options.pairs
        points.append((waiting, cost))
        let bytes = try await stack.postgres.run(
            "SELECT sum(pg_total_relation_size(c.oid)) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace "
                + "WHERE n.nspname = 'router' AND c.relkind = 'r'", database: "whisper")
        let memory = await CPUReading(stack).memory
        sizes.append([(Double(bytes) ?? 0) / 1_048_576, memory / 1_048_576])
        say("· \(waiting) waiting: \(shown(cost.total)) µs for each message")
    }
    let left = try await stack.postgres.run("SELECT count(*) FROM router.mailbox", database: "whisper")
    return Report(
        growth: .pending, of: "messages waiting", points, more: (["MiB tables", "MiB PSS"], sizes), figures: storing,
        checks: [Check("waiting messages gone or doubled", (Int(left) ?? -1) - waiting)])
}

/// Measures the cost of a message beside other identities, all away.
func measureIdentities(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let levels = options.levels.isEmpty ? [100, 1_000, 10_000, 100_000] : options.levels
    let present = try await fleet.register(min(2 * options.pairs, levels[0]))
    var points: [(size: Int, cost: TrafficCost)] = []
    var costs: [[Double]] = []
    var number = 0
    for level in levels {
        say("· registering, up to \(level) identities")
        let before = await CPUReading(stack)
        let fresh = level - fleet.clients.count
        try await fleet.registerAway(fresh)
        let after = await CPUReading(stack)
        costs.append([fresh > 0 ? after.since(before).servers / Double(fresh) : 0, after.memory / 1_048_576])
        try await Task.sleep(for: settling)
        let cost = try await TrafficCost.ofMessages(present, firstNumber: number, fleet, stack, options)
        number += present.count
        points.append((level, cost))
        say("· \(level) identities: \(shown(cost.total)) µs for each message")
    }
    return Report(growth: .identities, of: "identities", points, more: (["µs/register", "MiB PSS"], costs))
}

/// Measures the cost of a message with more processes, on the same machine.
func measureInstances(_ options: LoadOptions) async throws -> Report {
    var points: [(size: Int, cost: TrafficCost)] = []
    for instances in [1, 2, 4] {
        say("· \(instances) gateways, \(instances) routers")
        var some = options
        some.gateways = instances
        some.routers = instances
        let cost = try await Workload.instances.onCluster(some) { fleet, stack, options in
            let clients = try await fleet.register(2 * options.pairs)
            return try await TrafficCost.ofMessages(clients, firstNumber: 0, fleet, stack, options)
        }
        points.append((instances, cost))
        say("· \(instances) of each: \(shown(cost.total)) µs for each message")
    }
    return Report(growth: .instances, of: "gateways and routers", points)
}

private let recipientsAway = 1_000
/// For what registering and storing left to do.
private let settling = Duration.seconds(3)
/// For all messages of one level.
private let timeout = Duration.seconds(540)

/// Stores mail for people who are away.
/// - Returns: how much, a multiple of the number of recipients if there is enough for each; and microseconds of CPU for each.
private func fill(
    _ count: Int, from senders: [Client], to away: [Client], firstNumber: Int, _ fleet: isolated Fleet,
    _ stack: LocalStack,
    _ options: LoadOptions
) async throws -> (stored: Int, cost: Double) {
    let recipients = away.prefix(max(1, count))
    let each = max(1, count / recipients.count)
    let seed = UInt64.random(in: .min ... .max)
    let conversations = recipients.enumerated().map {
        Conversation(
            firstNumber + $0, from: senders[$0 % senders.count], to: $1, payload: options.payload, seed: seed)
    }
    let total = each * conversations.count
    say("· storing \(total) messages")
    await Conversation.sign(each, for: conversations, on: fleet)
    let traffic = Traffic(conversations, pace: .whenAccepted, firstNumber: firstNumber)
    traffic.perSenderMax = each
    fleet.listener = traffic
    let before = await CPUReading(stack)
    traffic.start(window: options.window, on: fleet)
    try await waitUntil("everything is accepted", within: timeout) { traffic.tally.accepted >= total }
    return (total, await CPUReading(stack).since(before).servers / Double(total))
}
