import Contract
import LocalStack

/// W3: mail for people who are away, stored; then they come back, all at once, and fetch it page by page.
func measureOffline(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let perSender = max(1, options.messages / options.pairs)
    let total = perSender * options.pairs
    let traffic = try await Traffic.prepare(
        pairs: options.pairs, payload: options.payload, signed: perSender, pace: .whenAccepted, on: fleet)
    traffic.perSenderMax = perSender
    for conversation in traffic.conversations { fleet.disconnect(conversation.recipient) }
    try await Task.sleep(for: .seconds(1))  // until the cluster has noticed

    say("· storing \(total) messages")
    let start = await CPUReading(stack)
    traffic.start(window: options.window, on: fleet)
    try? await waitUntil("everything is accepted", within: timeout) { traffic.tally.accepted >= total }
    let stored = await CPUReading(stack)
    let receivedEarly = traffic.tally.received

    say("· draining")
    traffic.forgetLatencies()
    let drain = Drain()
    traffic.drain = drain
    for conversation in traffic.conversations {
        try await fleet.connect(conversation.recipient.number)
        drain.fetch(conversation.recipient, cursor: nil, on: fleet)
    }
    try? await waitUntil("everything has arrived", within: timeout) {
        traffic.tally.delivered >= total && drain.underWay == 0
    }
    let drained = await CPUReading(stack)

    // One more fetch finds nothing.
    let receivedBefore = traffic.tally.received + traffic.tally.duplicates
    for conversation in traffic.conversations { drain.fetch(conversation.recipient, cursor: nil, on: fleet) }
    try? await waitUntil("the last pages have come", within: .seconds(20)) { drain.underWay == 0 }
    let leftOver = traffic.tally.received + traffic.tally.duplicates - receivedBefore

    let storing = stored.since(start)
    let draining = drained.since(stored)
    return Report(
        .offline,
        figures: [
            Figure("CPU per message stored", storing.servers / Double(total), "µs", aim: 90),
            Figure("CPU per message drained", draining.servers / Double(total), "µs", aim: 60),
            Figure("stored per second", Double(total) / storing.seconds),
            Figure("drained per second", Double(total) / draining.seconds),
            Figure("pages", Double(drain.pages)),
        ],
        tables: [
            storing.per("message", count: total, title: "storing"),
            draining.per("message", count: total, title: "draining"),
        ],
        checks: [
            Check("not stored", total - traffic.tally.accepted),
            Check("not drained", total - traffic.tally.received),
            Check("received while away", receivedEarly),
            Check("found when asked once more", leftOver),
            Check("pages not answered", drain.underWay),
        ] + traffic.checks(troubles: fleet.troubles))
}

/// Longest that either half may take.
private let timeout = Duration.seconds(120)

/// Recipients that ask for page after page until there is none.
final class Drain {
    private(set) var underWay = 0
    private(set) var pages = 0

    /// Told of everybody who has read the last page.
    var finished: (Client) -> Void = { _ in }

    private static let limit = 100

    static func question(cursor: String? = nil) -> FetchPending { FetchPending(cursor: cursor, limit: Self.limit) }

    func fetch(_ client: Client, cursor: String?, on fleet: isolated Fleet) {
        self.underWay += 1
        fleet.write(to: client, Self.question(cursor: cursor))
    }

    /// The receipts of the page have been written already.
    func heard(_ page: FrameBytes, on client: Client, of fleet: isolated Fleet) {
        self.underWay -= 1
        self.pages += 1
        if let cursor = page.text(#""nextCursor":""#) {
            self.fetch(client, cursor: cursor, on: fleet)
        } else {
            self.finished(client)
        }
    }
}
