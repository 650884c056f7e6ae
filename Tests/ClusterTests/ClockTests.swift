import LocalStack
import TestKit
import Testing

/// Somebody sets the time of the machines.
@Suite(.cluster { $0.hasOwnClocks = true }, .serialized, .enabled(if: OwnClock.isAvailable))
struct ClockTests {
    /// Timers go by another clock than the wall's: a router whose clock was set back looks after its partitions all the same.
    @Test func aRouterWhoseClockWasSetBackTakesOverFromAnother() async throws {
        try await Cluster.calm()
        let stack = Cluster.stack
        let alice = try await Cluster.phone(gateway: 1)
        // Ids are random, so these are in partitions of both.
        var phones: [Phone] = []
        for _ in 0..<12 { phones.append(try await Cluster.phone(gateway: 2)) }
        let others = phones
        try stack.setClock(of: .router(1), offBy: 7_200)
        // Routers write down when they accepted a message, by the wall clock.
        func early() async throws -> String {
            for other in others { _ = try await alice.send(alice.message(to: other.id)) }
            return try await Cluster.database("SELECT count(*) FROM router.mailbox WHERE accepted_at > now() + interval '1 hour'")
        }
        try await waitUntil("the clock has moved", within: .seconds(60), every: .milliseconds(500)) { try await early() != "0" }
        try stack.setClock(of: .router(1), offBy: 0)
        try await waitUntil("the clock is right again", within: .seconds(60), every: .milliseconds(500)) {
            try await early() == early()
        }
        await stack.kill(.router(2))
        for other in others {
            try await waitUntil("somebody accepts for everybody", within: .seconds(30), every: .milliseconds(200)) {
                try await alice.send(alice.message(to: other.id)).type == "message_accepted"
            }
        }
        try await stack.start(.router(2))
    }
}
