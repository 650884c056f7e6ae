import Contract
import Testing

@testable import GatewayCore
@testable import RouterCore

/// One mailbox between router, gateway and client, in one thread, from a seed: messages come in, Jobs and Notices travel
/// and get lost with the bus, routers die, clients read, and stall. The machines are the real ones
/// (`MailboxSession`, `DeliveryCursor`); what the edges around them do is said here in as few words as they do it.
///
/// `SEED=17 swift test --filter MailboxDelivery` plays one course of events alone.
@Suite struct MailboxDeliveryTests {
    @Test(arguments: 0..<4)
    func eachLetterArrivesInOrderHoweverThingsAreLost(quarter: Int) {
        let alone = Seeds.chosen
        var (live, accepted) = (0, 0)
        for seed in alone.map({ [$0] }) ?? Array(stride(from: UInt64(quarter), to: 4_000, by: 4)) {
            var world = MailboxWorld(seed: seed, .losses)
            world.play(steps: 400)
            world.calmDown()
            if !world.faults.isEmpty {
                Issue.record("seed \(seed): \(world.faults.prefix(3))")
                return
            }
            live += world.live
            accepted += world.accepted
        }
        // Worlds in which everybody only pages would prove little.
        #expect(live > accepted / 10, "\(live) of \(accepted)")
    }

    /// An accepted message reaches a connected client at once, through every hand-over in good order.
    @Test(arguments: [MailboxWorld.Trouble.none, .handOvers])
    func withoutLossesNothingComesLate(_ trouble: MailboxWorld.Trouble) {
        for seed in Seeds.chosen.map({ [$0] }) ?? Array(UInt64(0)..<1_000) {
            var world = MailboxWorld(seed: seed, trouble)
            world.play(steps: 400)
            world.arrive()
            world.calmDown()
            // Behind a hand-over, a client that stalls for long enough is sent its mail again.
            if !world.faults.isEmpty || (trouble == .none && world.repeatedLive > 0) {
                Issue.record("seed \(seed): \(world.faults.prefix(3)), \(world.repeatedLive) repeated")
                return
            }
        }
    }
}
