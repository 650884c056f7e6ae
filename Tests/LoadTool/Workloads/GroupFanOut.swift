import Contract
import LocalStack

/// W5: one member of a full group writes to all others, who are connected; the next message goes when all receipts for it
/// are back. Before that the same person sends the same people the same number of messages that are no group's.
func measureGroups(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let seconds = options.seconds ?? 10
    say("· registering \(Limits.groupMembersMax) clients")
    let clients = try await fleet.register(Limits.groupMembersMax)
    let (sender, others) = (clients[0], clients[1...])
    let ids = others.map { "\"\($0.whisperID)\"" }.joined(separator: ",")
    let answer = try await fleet.ask(
        sender,
        #"{"type":"group_create","payload":{"protocolVersion":1,"cryptoVersion":1,"sessionToken":"\#(sender.token)","#
            + #""title":"Everybody","memberIds":[\#(ids)]}}"#)
    guard let group = answer.withUnsafeBytes({ ServerFrame(bytes: $0).text(#""groupId":""#) }) else {
        throw LoadError.refused(String(decoding: answer, as: UTF8.self))
    }

    let signed = roundsMax * (options.warmUp + seconds)
    say("· signing \(2 * others.count * signed) messages")
    let seed = UInt64.random(in: .min ... .max)
    let alone = others.enumerated().map {
        Conversation($0, from: sender, to: $1, payload: options.payload, seed: seed)
    }
    let grouped = others.enumerated().map {
        Conversation(others.count + $0, from: sender, to: $1, in: group, payload: options.payload, seed: seed)
    }
    await Conversation.sign(signed, for: alone + grouped, on: fleet)
    let traffic = Traffic(alone + grouped, pace: .together)
    fleet.listener = traffic

    let oneByOne = try await measure(0..<others.count, of: traffic, stack, options, seconds: seconds, on: fleet)
    let fanOut = try await measure(
        others.count..<2 * others.count, of: traffic, stack, options, seconds: seconds, on: fleet)
    return Report(
        .groups,
        figures: [
            Figure("CPU per envelope of the group", fanOut.perEnvelope, "µs"),
            Figure("CPU per message one by one", oneByOne.perEnvelope, "µs"),
            Figure("envelopes per second", Double(fanOut.envelopes) / fanOut.cpu.seconds),
            Figure("message to all \(others.count) and back, p50", fanOut.p50, "ms"),
            Figure("signed during the run", Double(traffic.tally.signedLate)),
        ],
        tables: [
            fanOut.cpu.per("envelope", count: fanOut.envelopes, title: "group"),
            oneByOne.cpu.per("message", count: oneByOne.envelopes, title: "one by one"),
        ],
        checks: traffic.checks(troubles: fleet.troubles))
}

/// Rounds per second for which signatures are prepared.
private let roundsMax = 40

private struct FanOut {
    var cpu: CPUSpent
    var envelopes: Int
    /// From the sending of an envelope to its receipt.
    var p50: Double

    var perEnvelope: Double { self.cpu.servers / Double(self.envelopes) }
}

private func measure(
    _ conversations: Range<Int>, of traffic: Traffic, _ stack: LocalStack, _ options: LoadOptions, seconds: Int,
    on fleet: isolated Fleet
) async throws -> FanOut {
    traffic.start(rounds: conversations, on: fleet)
    say("· warming up, \(options.warmUp) s")
    try await Task.sleep(for: .seconds(options.warmUp))
    say("· measuring, \(seconds) s")
    traffic.forgetLatencies()
    let before = await CPUReading(stack)
    let count = traffic.tally.delivered
    try await Task.sleep(for: .seconds(seconds))
    let after = await CPUReading(stack)
    let envelopes = max(1, traffic.tally.delivered - count)
    traffic.stop()
    try? await waitUntil("everything has arrived", within: .seconds(20)) {
        traffic.tally.delivered >= traffic.tally.sent
    }
    return FanOut(cpu: after.since(before), envelopes: envelopes, p50: traffic.delivered.milliseconds(50))
}
