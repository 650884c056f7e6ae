import LocalStack

/// New identities: CPU of each, with 50 registrations under way at once, and without anybody else. First the tables are filled a little
/// and every process has done all of it before.
func measureRegistration(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let count = options.count ?? 2_000
    say("· registering \(warmUp) clients that do not count")
    _ = try await fleet.register(warmUp)
    let before = await CPUReading(stack)
    say("· registering \(count) clients")
    let start = ContinuousClock.now
    _ = try await fleet.register(count)
    let seconds = (ContinuousClock.now - start) / .seconds(1)
    let spent = await CPUReading(stack).since(before)
    return Report(
        .registration,
        figures: [
            Figure("CPU per registration", spent.servers / Double(count), "µs", aim: 1_000),
            Figure("registrations per second", Double(count) / seconds),
        ],
        tables: [spent.per("registration", count: count)],
        checks: fleet.troubles.sorted { $0.key < $1.key }.map { Check($0.key, $0.value) })
}

private let warmUp = 500
