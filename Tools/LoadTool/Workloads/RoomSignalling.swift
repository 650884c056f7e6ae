import Contract
import LocalStack
import TestKit

/// L9: rooms of two. Their guests join at a steady rate; then both sides signal at a steady rate.
func measureRooms(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let count = options.count ?? roomsMeasured
    say("· registering \(2 * count) identities")
    let clients = try await fleet.register(2 * count)
    // Neighbours are at different gateways.
    let pairs = (0..<count).map { RoomPair(host: clients[2 * $0], guest: clients[2 * $0 + 1]) }
    let traffic = RoomTraffic(pairs, signalsOfEach: options.signals)
    fleet.listener = traffic
    say("· no room, \(quietSeconds) s")
    try await Task.sleep(for: settling)
    let away = await CPUReading(stack)
    try await Task.sleep(for: .seconds(quietSeconds))
    let quiet = await CPUReading(stack)
    say("· opening \(count) rooms")
    for (place, pair) in pairs.enumerated() {
        traffic.create(pair, on: fleet)
        try await waitUntil("some are open", within: timeout) { traffic.created + openAtOnce > place }
    }
    try await waitUntil("all are open", within: timeout) { traffic.created == count }

    say("· \(options.joins) joins a second")
    let beforeJoins = await CPUReading(stack)
    traffic.startJoins(rate: options.joins, on: fleet)
    try await waitUntil("all have joined", within: allowed(count, rate: options.joins)) { traffic.open == count }
    let joining = await CPUReading(stack).since(beforeJoins)

    say("· nobody signals, \(quietSeconds) s")
    try await Task.sleep(for: settling)
    let joined = await CPUReading(stack)
    try await Task.sleep(for: .seconds(quietSeconds))
    let idle = await CPUReading(stack)
    let idleRoom = IdleRoom(
        bytes: idle.memory - quiet.memory, quiet: quiet.since(away), idle: idle.since(joined), rooms: count)

    say("· \(options.rate) signals a second")
    let beforeSignals = await CPUReading(stack)
    traffic.startSignals(rate: options.rate, on: fleet)
    // The report shows lost signals.
    try? await waitUntil("all is heard", within: allowed(traffic.signalsInAll, rate: options.rate)) {
        traffic.heard == traffic.signalsInAll
    }
    let signalling = await CPUReading(stack).since(beforeSignals)

    let isL9 = count == roomsMeasured && options.signals == 20
    func aim(_ value: Double) -> Double? { isL9 ? value : nil }
    return Report(
        .rooms,
        figures: [
            Figure(
                "CPU per signal", signalling.servers / Double(max(1, traffic.heard)), "µs", aim: aim(200)),
            Figure("signals per second", Double(traffic.heard) / signalling.seconds),
            Figure("signal due until heard, p50", traffic.relayed.milliseconds(50), "ms"),
            Figure("signal due until heard, p99", traffic.relayed.milliseconds(99), "ms"),
            Figure("CPU per join", joining.servers / Double(max(1, traffic.open)), "µs"),
            Figure("joins per second", Double(traffic.open) / joining.seconds),
            Figure("join due until both are told, p50", traffic.told.milliseconds(50), "ms"),
            Figure("join due until both are told, p99", traffic.told.milliseconds(99), "ms", aim: aim(30)),
            Figure("memory for each idle room, less its connections", idleRoom.kibibytes, "KiB"),
            Figure("CPU a second for each idle room", idleRoom.microseconds, "µs"),
            Figure("rooms", Double(count)),
            Figure("signals in each", Double(options.signals)),
        ],
        tables: [
            .latencies([traffic.told, traffic.relayed, traffic.lateness]),
            signalling.per("signal", count: max(1, traffic.heard)),
        ],
        checks: [
            Check("signals never heard", traffic.signalsInAll - traffic.heard),
            Check("unexpected frames", traffic.unexpected),
        ] + fleet.troubles.sorted { $0.key < $1.key }.map { Check($0.key, $0.value) })
}

/// The cost of a room while no client signals, less the cost of the quiet cluster.
private struct IdleRoom {
    let kibibytes: Double
    /// In a second.
    let microseconds: Double

    /// - Parameter bytes: memory (PSS) of all servers that came with the rooms.
    init(bytes: Double, quiet: CPUSpent, idle: CPUSpent, rooms: Int) {
        self.kibibytes = bytes / 1_024 / Double(rooms)
        self.microseconds = (idle.servers / idle.seconds - quiet.servers / quiet.seconds) / Double(rooms)
    }
}

let roomsMeasured = 500
private let settling = Duration.seconds(5)
private let quietSeconds = 15
private let openAtOnce = 20
private let timeout = Duration.seconds(60)

/// Twice what the rate takes, and some more.
private func allowed(_ count: Int, rate: Int) -> Duration { .seconds(30 + 2 * count / rate) }
