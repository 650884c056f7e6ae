import LocalStack
import NIOCore

/// L4: strangers come to a conversation that is typed, evenly over a second. Each connects, proves itself, knocks, is let in
/// and joins; it has come when it hears the first packet.
func measureLiveJoins(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let count = options.count ?? guests
    let traffic = try await LiveTraffic.prepare(1, listeners: count, fleet, stack)
    let conversation = traffic.conversations[0]
    traffic.callsListeners = false
    fleet.listener = traffic
    traffic.open(conversation, on: fleet)
    try await fleet.expect("the stream runs", within: timeout) { traffic.started == 1 }
    traffic.start(rate: options.packets, on: fleet)
    try await Task.sleep(for: .seconds(options.warmUp))

    say("· calling \(count) guests")
    let coming = LiveComing(count: count)
    traffic.coming = coming
    let before = await CPUReading(stack)
    let wantedBefore = traffic.tally.wanted
    coming.begin(conversation.listeners.map(\.number), on: fleet)
    try await fleet.expect("everybody hears", within: timeout) { coming.come == count }
    let spent = await CPUReading(stack).since(before)
    traffic.stop()
    let wanted = traffic.tally.wanted - wantedBefore
    let isL4 = count == guests
    return Report(
        .liveJoins,
        figures: [
            Figure("from connecting to the first packet, longest", coming.times.milliseconds(100), "ms"),
            Figure("until all have the text", coming.seconds, "s", aim: isL4 ? 2 : nil),
            Figure("CPU for each", spent.servers / Double(count) / 1_000, "ms", aim: isL4 ? 4 : nil),
            Figure("snapshots asked of the whisperer", Double(wanted), aim: isL4 ? 4 : nil),
            Figure("guests", Double(count)),
        ],
        tables: [.latencies([coming.times]), spent.per("guest", count: count)],
        checks: [Check("heard twice", traffic.tally.repeated)]
            + fleet.troubles.sorted { $0.key < $1.key }.map { Check($0.key, $0.value) })
}

private let guests = 200
private let timeout = Duration.seconds(60)

/// Guests that come one after the other, evenly over a second. Lives on the fleet's thread; unchecked, because closures that
/// the fleet calls back on that thread refer to it.
final class LiveComing: @unchecked Sendable {
    private let count: Int
    private var start = NIODeadline.now()
    private var last = NIODeadline.now()
    private var begunAt: [Int: NIODeadline] = [:]
    private(set) var come = 0
    private(set) var times = Latency("from connecting to the first packet")

    private static let spread = TimeAmount.seconds(1)

    init(count: Int) { self.count = count }

    /// From the first that connected until the last that heard.
    var seconds: Double { Double((self.last - self.start).nanoseconds) / 1e9 }

    func begin(_ numbers: [Int], on fleet: isolated Fleet) {
        self.start = .now()
        for (place, number) in numbers.enumerated() {
            let pause = TimeAmount.nanoseconds(Self.spread.nanoseconds / Int64(self.count) * Int64(place))
            fleet.after(pause) { fleet in
                self.begunAt[number] = .now()
                // Bare: it lasts as long as one try, which has a limit of its own.
                Task { await fleet.bring(number) }
            }
        }
    }

    /// A guest has heard a packet.
    func heard(_ client: Client) {
        guard let begun = self.begunAt.removeValue(forKey: client.number) else { return }
        self.last = .now()
        self.times.record(nanoseconds: UInt64((self.last - begun).nanoseconds))
        self.come += 1
    }
}

extension Fleet {
    fileprivate func bring(_ number: Int) async {
        do {
            try await self.connect(number)
            self.write(to: self.clients[number], self.clients[number].guestBegin)
        } catch {
            self.noteTrouble("a guest could not connect: \(error)")
        }
    }
}
