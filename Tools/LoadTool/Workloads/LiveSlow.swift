import LocalStack
import NIOCore

/// L5: one conversation with many listeners, some of which read nothing for half a minute. Measures the effect on the
/// others, what is kept for the slow ones, and how soon they are back.
func measureLiveSlow(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let seconds = options.seconds ?? silence
    var options = options
    if options.listeners < slowReaders * 2 { options.listeners = listeners }
    let traffic = try await LiveTraffic.open(1, fleet, stack, options)
    let conversation = traffic.conversations[0]
    let slow = Set(conversation.listeners.indices.suffix(slowReaders))
    traffic.slow = LiveSlowReaders(slow)
    traffic.start(rate: options.packets, on: fleet)
    try await Task.sleep(for: .seconds(options.warmUp))
    say("· everybody reads, \(seconds) s")
    traffic.forgetLatencies()
    try await Task.sleep(for: .seconds(seconds))
    let (calm, before) = (traffic.heard, await CPUReading(stack))

    say("· \(slowReaders) of \(options.listeners) read nothing, \(seconds) s")
    traffic.forgetLatencies()
    for place in slow { try await fleet.setReading(false, of: conversation.listeners[place].number) }
    try await Task.sleep(for: .seconds(seconds))
    let (busy, after) = (traffic.heard, await CPUReading(stack))
    traffic.slow?.catchUp(to: conversation.typed)
    for place in slow { try await fleet.setReading(true, of: conversation.listeners[place].number) }
    try await fleet.expect("the slow ones have caught up", within: timeout) {
        traffic.slow!.areCaughtUp
    }
    traffic.stop()
    func held(_ reading: CPUReading) -> Double {
        reading.names.filter { CPUReading.kind(of: $0) == "gateways" }
            .reduce(0) { $0 + reading.memory(of: $1).proportional }
    }
    let isL5 = options.listeners == listeners && seconds == silence
    let (calm99, busy99) = (calm.milliseconds(99), busy.milliseconds(99))
    return Report(
        .liveSlow,
        figures: [
            Figure("others' p99, by that when everybody reads", busy99 / calm99, aim: isL5 ? 1.2 : nil),
            Figure(
                "memory of gateways for each that does not read",
                (held(after) - held(before)) / Double(slowReaders) / 1_024, "KiB", aim: isL5 ? 64 : nil),
            Figure(
                "from reading again to the newest packet, longest", traffic.slow!.times.milliseconds(100), "ms",
                aim: isL5 ? 250 : nil),
            Figure("packets left out, for each that did not read", Double(traffic.slow!.missing) / Double(slowReaders)),
        ],
        tables: [
            .latencies([named(calm, "everybody reads"), named(busy, "\(slowReaders) do not"), traffic.slow!.times])
        ],
        checks: [
            Check("left out for others", traffic.tally.missing), Check("heard twice", traffic.tally.repeated),
        ] + fleet.troubles.sorted { $0.key < $1.key }.map { Check($0.key, $0.value) })
}

private let slowReaders = 10
private let listeners = 200
private let silence = 30
private let timeout = Duration.seconds(20)

private func named(_ latency: Latency, _ name: String) -> Latency {
    var latency = latency
    latency.name = name
    return latency
}

/// Listeners of one conversation who read nothing for a while. Packets that they miss or receive late are counted here,
/// apart from the others'.
final class LiveSlowReaders {
    private let places: Set<Int>
    private var goal = Int.max
    private var begun = NIODeadline.now()
    private var behind: Set<Int>
    private(set) var missing = 0
    private(set) var times = Latency("from reading again to the newest packet")

    init(_ places: Set<Int>) {
        self.places = places
        self.behind = places
    }

    /// They read again. They have caught up when they have heard the newest of so many packets.
    func catchUp(to count: Int) {
        self.goal = count
        self.begun = .now()
    }

    var areCaughtUp: Bool { self.behind.isEmpty }

    /// - Returns: whether the listener is one of these.
    func takes(_ heard: LiveConversation.Heard, at place: Int, in conversation: LiveConversation) -> Bool {
        guard self.places.contains(place) else { return false }
        if case .later(let missing, _) = heard { self.missing += missing }
        if self.behind.contains(place), conversation.hasHeard(self.goal, by: place) {
            self.behind.remove(place)
            self.times.record(nanoseconds: UInt64((NIODeadline.now() - self.begun).nanoseconds))
        }
        return true
    }
}

extension Fleet {
    fileprivate func setReading(_ isReading: Bool, of number: Int) async throws {
        try await self.clients[number].channel?.setOption(.autoRead, value: isReading).get()
    }
}
