import LocalStack
import TestKit

/// How soon a session that is over is closed: of somebody who is banned, and of somebody who logs in on another device. Each
/// client is at one gateway, and what ends its session happens at another or at the ops origin. The contract gives both a second (§4, §10).
func measureEndings(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let count = options.count ?? 200
    var (banned, replaced) = (Latency("from the ban until closed"), Latency("from the login until closed"))
    say("· ending \(2 * count) sessions, one after the other")
    for number in 0..<count {
        let gateways = [1 + number % options.gateways, 1 + (number + 1) % options.gateways]
        let old = try await logIn(Person(), stack, gateway: gateways[0])
        let loggedIn = ContinuousClock.now
        let new = try await logIn(old.person.onAnotherDevice(), stack, gateway: gateways[1])
        replaced.record(try await ended(old, after: loggedIn))
        let bannedAt = ContinuousClock.now
        try await ban(new, stack)
        banned.record(try await ended(new, after: bannedAt))
    }
    return Report(
        .endings,
        figures: [
            Figure("longest, banned", banned.milliseconds(100), "ms", aim: 1_000),
            Figure("longest, logged in elsewhere", replaced.milliseconds(100), "ms", aim: 1_000),
        ],
        tables: [.latencies([banned, replaced])], checks: [])
}

private func logIn(_ person: Person, _ stack: LocalStack, gateway: Int) async throws -> Phone {
    try await person.logIn(on: try await TestClient.connect(to: stack.endpoint(ofGateway: gateway)))
}

/// How long it took until the connection ended.
private func ended(_ phone: Phone, after start: ContinuousClock.Instant) async throws -> Duration {
    try await phone.client.end()
    return (phone.client.endedAt ?? .now) - start
}

private func ban(_ phone: Phone, _ stack: LocalStack) async throws {
    let answer = await LoopbackRequest.http(
        "POST", "/admin/ban", port: stack.ports.ops,
        headers: ["Authorization": "Bearer \(stack.configuration.adminToken)"],
        body: (["whisperId": phone.id, "reason": "a benchmark"] as Fields).json.text)
    guard answer?.status == 200 else { throw BanRefused(status: answer?.status) }
}

private struct BanRefused: Error {
    var status: Int?
}

extension Latency {
    fileprivate mutating func record(_ time: Duration) {
        self.record(nanoseconds: UInt64(max(0, time / .nanoseconds(1))))
    }
}
