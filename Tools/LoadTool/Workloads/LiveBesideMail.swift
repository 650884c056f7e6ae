import LocalStack

/// L11: W2's messages while whisperers type at half the load of L1. Both go through the same gateways.
func measureLiveBesideMail(_ fleet: isolated Fleet, _ stack: LocalStack, _ options: LoadOptions) async throws -> Report
{
    let seconds = options.seconds ?? 20
    let count = options.count ?? liveConversations
    let live = try await LiveTraffic.open(count, fleet, stack, options)
    let firstOfMail = fleet.clients.count
    let signed = options.rate * (options.warmUp + seconds + 1) / options.pairs + 1
    let mail = try await Traffic.prepare(
        pairs: options.pairs, payload: options.payload, signed: signed, pace: .steady, on: fleet)
    fleet.listener = BothTraffics(live, mail, firstOfMail: firstOfMail)
    live.start(rate: count * halfOfPackets, on: fleet)
    mail.start(rate: options.rate, on: fleet)
    let deliveredBefore = live.tally.delivered
    let measured = try await MeasuredTraffic.measure(mail, stack, options, seconds: seconds)
    live.stop()
    let delivered = live.tally.delivered - deliveredBefore
    _ = try await measured.finish(fleet)
    try? await fleet.expect("everything is heard", within: timeout) { live.outstanding == 0 }
    let isL11 = count == liveConversations && options.listeners == 5 && options.rate == 1_000
    return Report(
        .liveBesideMail,
        figures: [
            Figure("send to message_received, p50", mail.received.milliseconds(50), "ms"),
            Figure("send to message_received, p99", mail.received.milliseconds(99), "ms", aim: isL11 ? 10 : nil),
            Figure("packets delivered a second", Double(delivered) / Double(seconds + options.warmUp)),
            Figure("messages a second", Double(measured.messages) / measured.cpu.seconds),
        ],
        tables: [
            .latencies([mail.received, mail.delivered, mail.lateness, live.heard]),
            measured.cpu.per("message", count: measured.messages),
        ],
        checks: [Check("packets never heard", live.outstanding), Check("packets left out", live.tally.missing)]
            + mail.checks(troubles: fleet.troubles))
}

private let halfOfPackets = 4
private let timeout = Duration.seconds(60)

/// Two kinds of clients on one fleet.
private final class BothTraffics: FrameListener {
    private let live: LiveTraffic
    private let mail: Traffic
    private let firstOfMail: Int

    /// - Parameter firstOfMail: number of the first client that writes messages. Clients before it are of `live`.
    init(_ live: LiveTraffic, _ mail: Traffic, firstOfMail: Int) {
        self.live = live
        self.mail = mail
        self.firstOfMail = firstOfMail
    }

    func heard(_ frame: FrameBytes, on client: Client, of fleet: isolated Fleet) {
        if client.number < self.firstOfMail {
            self.live.heard(frame, on: client, of: fleet)
        } else {
            self.mail.heard(frame, on: client, of: fleet)
        }
    }

    /// Each traffic has an alarm of its own. A traffic that is not due must not set another one.
    func alarmRang(on fleet: isolated Fleet) {
        if self.live.isDue { self.live.alarmRang(on: fleet) }
        if self.mail.isDue { self.mail.alarmRang(on: fleet) }
    }
}
