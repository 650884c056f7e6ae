import Contract
import LocalStack

/// W5: one member of a group writes to all others, who are connected; the next message goes when all receipts for it
/// are back. Before that the same person sends the same people the same number of messages that are no group's. Groups of
/// several sizes, the last a full one.
func measureGroups(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report {
    let seconds = options.seconds ?? 10
    say("· registering \(Limits.groupMembersMax) clients")
    let clients = try await fleet.register(Limits.groupMembersMax)
    let sender = clients[0]
    let seed = UInt64.random(in: .min ... .max)
    var alone: [Range<Int>] = []
    var grouped: [Range<Int>] = []
    var conversations: [Conversation] = []
    func add(_ group: String?, _ size: Int) -> Range<Int> {
        let first = conversations.count
        for recipient in clients[1..<size] {
            conversations.append(
                Conversation(
                    conversations.count, from: sender, to: recipient, in: group, payload: options.payload, seed: seed))
        }
        return first..<conversations.count
    }
    for size in groupSizes {
        let group = try await fleet.makeGroup(of: sender, with: clients[1..<size])
        alone.append(add(nil, size))
        grouped.append(add(group, size))
    }
    for ranges in zip(alone, grouped) {
        let rounds = roundsMax(members: ranges.0.count) * (options.warmUp + seconds)
        for range in [ranges.0, ranges.1] {
            await Conversation.sign(rounds, for: Array(conversations[range]), on: fleet)
        }
    }
    let traffic = Traffic(conversations, pace: .together)
    fleet.listener = traffic

    var figures: [Figure] = []
    var tables: [Table] = []
    var rows: [Table.Row] = []
    for (place, size) in groupSizes.enumerated() {
        say("· \(size) members")
        let oneByOne = try await measure(alone[place], of: traffic, stack, options, seconds: seconds, on: fleet)
        let fanOut = try await measure(grouped[place], of: traffic, stack, options, seconds: seconds, on: fleet)
        rows.append(
            Table.Row(
                "\(size) members",
                [
                    fanOut.perEnvelope, oneByOne.perEnvelope, fanOut.perEnvelope / oneByOne.perEnvelope,
                    Double(fanOut.envelopes) / fanOut.cpu.seconds, fanOut.p50,
                ]))
        guard size == groupSizes.last else { continue }
        figures = [
            Figure("CPU per envelope of the group", fanOut.perEnvelope, "µs"),
            Figure("CPU per message one by one", oneByOne.perEnvelope, "µs"),
            Figure("envelopes per second", Double(fanOut.envelopes) / fanOut.cpu.seconds),
            Figure("message to all \(size - 1) and back, p50", fanOut.p50, "ms"),
            Figure("signed during the run", Double(traffic.tally.signedLate)),
        ]
        tables = [
            fanOut.cpu.per("envelope", count: fanOut.envelopes, title: "group"),
            oneByOne.cpu.per("message", count: oneByOne.envelopes, title: "one by one"),
        ]
    }
    func series(_ name: String, _ column: Int) -> Chart.Series {
        Chart.Series(name, zip(groupSizes, rows).map { .init(Double($0), $1.values[column]) })
    }
    return Report(
        .groups, figures: figures,
        tables: [
            Table(
                "groups of several sizes: µs of CPU per envelope, as a group's and one by one; envelopes per second; ms from message to receipt",
                columns: ["group", "one by one", "ratio", "per second", "p50"], rows: rows)
        ] + tables,
        checks: traffic.checks(troubles: fleet.troubles),
        charts: [
            Chart(
                "groups", "CPU for each envelope, by the size of the group", x: .init("members", .logarithmic),
                y: .init("µs"), [series("group", 0), series("one by one", 1)])
        ])
}

private let groupSizes = [10, 50, 100, Limits.groupMembersMax]

extension Fleet {
    /// - Returns: the id of a new group.
    func makeGroup(of owner: Client, with others: ArraySlice<Client>) async throws -> String {
        let members = others.compactMap { WhisperID($0.whisperID) }
        let answer = try await self.ask(owner, GroupCreate(title: "Everybody", memberIDs: members))
        guard let group = answer.withUnsafeBytes({ FrameBytes(bytes: $0).text(#""groupId":""#) }) else {
            throw LoadError.refused(String(decoding: answer, as: UTF8.self))
        }
        return group
    }
}

/// Rounds per second for which signatures are prepared: small groups go faster.
private func roundsMax(members: Int) -> Int { max(40, 8_000 / members) }

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
