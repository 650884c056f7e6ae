import LocalStack

/// A stretch of traffic that has been measured and still goes on.
struct MeasuredTraffic {
    let traffic: Traffic
    let cpu: CPUSpent
    let messages: Int
    /// Where the routers' time went.
    let steps: Table
    let profile: String?

    /// Time for everything under way to arrive.
    private static let timeout = Duration.seconds(20)

    /// Stops the traffic and waits for what is under way.
    /// - Returns: the fleet's troubles.
    func finish(_ fleet: isolated Fleet) async throws -> [String: Int] {
        self.traffic.stop()
        do {
            try await waitUntil("everything has arrived", within: Self.timeout) {
                self.traffic.tally.delivered >= self.traffic.tally.sent
            }
        } catch is TimeUp {
            // The checks will say what is missing.
        }
        return fleet.troubles
    }

    static func measure(
        _ traffic: Traffic, _ stack: LocalStack, _ options: LoadOptions, seconds: Int,
        isolation: isolated (any Actor)? = #isolation
    ) async throws -> MeasuredTraffic {
        say("· warming up, \(options.warmUp) s")
        try await Task.sleep(for: .seconds(options.warmUp))
        say("· measuring, \(seconds) s")
        traffic.forgetLatencies()
        let stepsBefore = await RouterSteps(stack)
        let before = await CPUReading(stack)
        let count = traffic.tally.delivered
        async let profile = options.profile?.record(stack)
        try await Task.sleep(for: .seconds(seconds))
        let after = await CPUReading(stack)
        let messages = traffic.tally.delivered - count
        return MeasuredTraffic(
            traffic: traffic, cpu: after.since(before), messages: max(1, messages),
            steps: await RouterSteps(stack).table(since: stepsBefore), profile: try await profile)
    }
}
