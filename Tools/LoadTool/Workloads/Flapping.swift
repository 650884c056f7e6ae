import LocalStack

/// W6: a thousand clients that come and go all the time, and as many that stay. First no client has peers; then each
/// has twenty, who are told. The difference in cost between the two is the cost of presence.
func measureFlapping(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let seconds = options.seconds ?? 75
    let updates = UpdateCount()
    fleet.listener = updates
    say("· registering \(2 * flappers) clients")
    let clients = try await fleet.register(2 * flappers)
    let numbers = clients.prefix(flappers).map(\.number)

    say("· coming and going, strangers all of them, \(seconds) s")
    let alone = try await measure(numbers, seconds, fleet, stack)
    let toldStrangers = updates.count
    say("· coming and going, with \(2 * peersEachWay) peers each, \(seconds) s")
    _ = try await stack.postgres.run(ring, database: "whisper")
    let together = try await measure(numbers, seconds, fleet, stack)
    let told = updates.count - toldStrangers

    let quiet = alone.spent.servers / Double(alone.flaps)
    let social = together.spent.servers / Double(together.flaps)
    return Report(
        .flapping,
        figures: [
            Figure("CPU per coming and going, strangers", quiet, "µs"),
            Figure("CPU per coming and going, with peers", social, "µs"),
            Figure("presence: CPU per coming and going", social - quiet, "µs"),
            Figure(
                "presence: CPU of \(flappers) flapping clients",
                (together.spent.servers / together.spent.seconds - alone.spent.servers / alone.spent.seconds) / 10_000,
                "% of a core"),
            Figure("updates per coming and going", Double(told) / Double(together.flaps)),
            Figure("CPU per update", (social - quiet) * Double(together.flaps) / Double(max(1, told)), "µs"),
            Figure("coming and going per second", Double(together.flaps) / together.spent.seconds),
        ],
        tables: [
            alone.spent.per("flap", count: alone.flaps, title: "strangers"),
            together.spent.per("flap", count: together.flaps, title: "peers"),
        ],
        checks: [Check("updates told to strangers", toldStrangers)]
            + fleet.troubles.sorted { $0.key < $1.key }.map { Check($0.key, $0.value) })
}

private let flappers = 1_000
private let peersEachWay = 10
/// Longer than the 15 s after which peers are told.
private let away = Duration.seconds(17)
private let present = Duration.seconds(17)

/// Everybody's neighbours in the order of their ids are peers.
private let ring = """
    WITH people AS (
        SELECT whisper_id, row_number() OVER (ORDER BY whisper_id) AS n, count(*) OVER () AS total FROM auth.identities
    )
    INSERT INTO router.peers (identity, peer, last_sent_at)
    SELECT a.whisper_id, b.whisper_id, now() FROM people a JOIN people b
        ON a.n <> b.n AND least((a.n - b.n + a.total) % a.total, (b.n - a.n + a.total) % a.total) <= \(peersEachWay)
    """

private func measure(
    _ numbers: [Int], _ seconds: Int, _ fleet: isolated Fleet, _ stack: LocalStack
) async throws -> (spent: CPUSpent, flaps: Int) {
    let start = await CPUReading(stack)
    let end = ContinuousClock.now + .seconds(seconds)
    var flaps = 0
    try await withThrowingTaskGroup(of: Int.self) { group in
        for (index, number) in numbers.enumerated() {
            let delay = (away + present) * index / numbers.count
            group.addTask { try await fleet.flap(number, after: delay, until: end) }
        }
        for try await count in group { flaps += count }
    }
    return (await CPUReading(stack).since(start), max(1, flaps))
}

extension Fleet {
    /// - Returns: how often the client went and came back.
    fileprivate func flap(_ number: Int, after delay: Duration, until end: ContinuousClock.Instant) async throws -> Int
    {
        let client = self.clients[number]
        var flaps = 0
        try await Task.sleep(for: delay)
        while ContinuousClock.now < end {
            self.disconnect(client)
            try await Task.sleep(for: away)
            try await self.comeBack(number)
            flaps += 1
            try await Task.sleep(for: present)
        }
        return flaps
    }
}

private final class UpdateCount: FrameListener {
    var count = 0

    func heard(_ frame: FrameBytes, on client: Client, of fleet: isolated Fleet) {
        if frame.text(#""status":""#) != nil { self.count += 1 }
    }

    func alarmRang(on fleet: isolated Fleet) {}
}
