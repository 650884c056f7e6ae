import Contract
import LocalStack
import TestKit

/// L1: many conversations, each with a few listeners at all gateways, typed at a steady rate. With `--count 1` and many
/// `--listeners` it is L2, with one listener L3.
func measureLive(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let seconds = options.seconds ?? 20
    let count = options.count ?? liveConversations
    let traffic = try await openConversations(count, fleet, stack, options)
    traffic.start(rate: count * options.packets, on: fleet)
    say("· warming up, \(options.warmUp) s")
    try await Task.sleep(for: .seconds(options.warmUp))
    traffic.forgetLatencies()
    say("· measuring, \(seconds) s")
    let (before, deliveredBefore) = (await CPUReading(stack), traffic.tally.delivered)
    try await Task.sleep(for: .seconds(seconds))
    let spent = await CPUReading(stack).since(before)
    let delivered = max(1, traffic.tally.delivered - deliveredBefore)
    traffic.stop()
    try? await waitUntil("everything is heard", within: timeout) { traffic.outstanding == 0 }

    let perDelivery = spent.servers / Double(delivered)
    // The goals are those of L1 and of an eighth of its rate.
    let isL1 = count == liveConversations && options.listeners == 5 && [1, 8].contains(options.packets)
    func aim(_ value: Double) -> Double? { isL1 ? value : nil }
    return Report(
        .live,
        figures: [
            Figure("CPU per delivered packet", perDelivery, "µs", aim: aim(options.packets == 1 ? 28 : 18)),
            Figure("delivered packets per second", Double(delivered) / spent.seconds),
            Figure("due until heard, p50", traffic.heard.milliseconds(50), "ms", aim: aim(2)),
            Figure("due until heard, p99", traffic.heard.milliseconds(99), "ms", aim: aim(20)),
            Figure("due until heard, p99.9", traffic.heard.milliseconds(99.9), "ms", aim: aim(60)),
            Figure("conversations", Double(count)),
            Figure("listeners of each", Double(options.listeners)),
            Figure("snapshots asked of whisperers", Double(traffic.tally.wanted)),
        ],
        tables: [
            .latencies([traffic.heard, traffic.lateness]), spent.per("delivered packet", count: delivered),
        ],
        checks: [
            Check("never heard", traffic.outstanding), Check("left out", traffic.tally.missing),
            Check("heard twice", traffic.tally.repeated),
        ] + fleet.troubles.sorted { $0.key < $1.key }.map { Check($0.key, $0.value) })
}

/// Identities that whisper and guests who have joined, spread over the gateways.
private func openConversations(
    _ count: Int, _ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions
) async throws -> LiveTraffic {
    say("· registering \(count) whisperers")
    let whisperers = try await fleet.register(count)
    say("· connecting \(count * options.listeners) listeners")
    let guests = try await fleet.connectNew(count * options.listeners)
    var conversations: [LiveConversation] = []
    for (place, whisperer) in whisperers.enumerated() {
        let frames = LiveFrames(profile: try await stack.makeProfile(of: whisperer.token))
        let own = place * options.listeners..<(place + 1) * options.listeners
        let conversation = LiveConversation(frames, whisperer: whisperer, listeners: Array(guests[own]))
        conversation.prepare(payload: livePayload)
        conversations.append(conversation)
    }
    let traffic = LiveTraffic(conversations)
    fleet.listener = traffic
    say("· opening \(count) conversations")
    for (place, conversation) in conversations.enumerated() {
        traffic.open(conversation, on: fleet)
        // A few at a time: how fast strangers are let in is another measurement.
        try await waitUntil("some have joined", within: timeout) { traffic.ready + openAtOnce > place }
    }
    do {
        try await waitUntil("all have joined", within: timeout) { traffic.ready == count }
    } catch {
        for (what, times) in fleet.troubles { say("  \(what): \(times)") }
        throw error
    }
    return traffic
}

let liveConversations = 1_000
/// Bytes of text in a packet, as a sealed one of §14.9 holds them.
private let livePayload = 120
private let openAtOnce = 20
private let timeout = Duration.seconds(60)

extension LocalStack {
    /// A profile with this member alone (contract §14.4).
    fileprivate func makeProfile(of token: String) async throws -> UUIDText {
        let profile = UUIDText.random()
        let hash = base64(SigningKeys.random(LiveLimits.secretBytes))
        let answer = try await HTTPCall(
            "PUT", self.publicURL + "/profiles/\(profile)",
            headers: ["Authorization": "Bearer \(token)", "Content-Type": "application/json"],
            body: Array(#"{"protocolVersion":1,"cryptoVersion":1,"joinHash":"\#(hash)"}"#.utf8)
        ).answer()
        guard answer.status == 200 else { throw LoadError.refused("a profile: status \(answer.status)") }
        return profile
    }
}
