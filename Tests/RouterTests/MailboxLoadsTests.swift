import Contract
import TestKit
import Testing

@testable import RouterCore

@Suite struct MailboxLoadsTests {
    private let bounds = MailBounds(
        mailbox: MailTally(messages: 40, bytes: 40_000), stranger: MailTally(messages: 10, bytes: 5_000),
        strangers: MailTally(messages: 20, bytes: 10_000))

    private func tally(_ messages: Int, _ bytes: Int? = nil) -> MailTally {
        MailTally(messages: messages, bytes: bytes ?? messages)
    }

    @Test func theFullestAreNamed() {
        var loads = MailboxLoads(bounds)
        func hold(_ number: Int, _ mail: MailTally) {
            loads.counted(person(number), CountedMail(mailbox: mail, strangers: .zero, senders: [:]), [:], at: 0)
        }
        hold(1, tally(4))
        hold(2, tally(3))
        hold(3, tally(1, 20_000))
        hold(4, tally(40))
        #expect(loads.fullest(5, least: 0.1) { $0 != person(4) }.map(\.recipient) == [person(3), person(1)])
        #expect(loads.fullest(1, least: 0.1) { _ in true } == [.init(recipient: person(4), mail: tally(40), fill: 1)])
    }

    @Test func anEmptyMailboxIsNotCounted() {
        var loads = MailboxLoads(bounds)
        #expect(loads.unsure([person(1): tally(10)]) { _ in false }.isEmpty)
        #expect(loads.unsure([person(1): tally(11)]) { _ in false } == [person(1)])
        #expect(loads.unsure([person(2): tally(1)]) { _ in true } == [person(2)])
    }

    @Test func aBusyMailboxThatStaysSmallIsCountedOnceInAStrangersShare() {
        var loads = MailboxLoads(bounds)
        var counted = 0
        for _ in 0..<1_000 {
            if !loads.unsure([person(1): tally(1)], mayHold: { _ in true }).isEmpty {
                #expect(loads.mustCount(person(1), [person(2): tally(1)], at: 0))
                loads.counted(
                    person(1), CountedMail(mailbox: .zero, strangers: .zero, senders: [:]), [person(2): tally(1)], at: 0
                )
                #expect(loads.space(of: person(1), [person(2): tally(1)]) == nil)
                counted += 1
            }
            loads.stored(for: person(1), from: person(2), bytes: 1)
        }
        #expect(counted == 100)
    }

    /// Exact to the last message, and then counted again only now and then.
    @Test func aFullMailboxIsCountedRarely() {
        var loads = MailboxLoads(bounds)
        let one = [person(2): tally(1)]
        loads.counted(
            person(1), CountedMail(mailbox: tally(30), strangers: tally(9), senders: [person(2): tally(9)]), one,
            at: 1_000)
        #expect(loads.space(of: person(1), one) == nil)
        loads.stored(for: person(1), from: person(2), bytes: 1)
        #expect(!loads.mustCount(person(1), one, at: 1_001))
        #expect(
            loads.space(of: person(1), one) == [
                person(2): MailboxSpace(
                    mailbox: tally(9, 39_969), stranger: tally(0, 4_990), strangers: tally(10, 9_990))
            ])
        #expect(loads.mustCount(person(1), one, at: 1_000 + RouterLimits.recountPause.milliseconds))
        // Less is known of an uncounted sender: it has at most half of a share, and is counted before it is refused.
        #expect(!loads.mustCount(person(1), [person(3): tally(5)], at: 1_001))
        #expect(loads.space(of: person(1), [person(3): tally(5)]) == nil)
        #expect(loads.mustCount(person(1), [person(3): tally(6)], at: 1_001))
        // An old count is not relied on.
        #expect(loads.mustCount(person(1), [person(3): tally(1)], at: 1_000 + RouterLimits.countedFor.milliseconds))
    }

    @Test func whatIsForgottenIsCountedAgain() {
        var loads = MailboxLoads(bounds, recipientsMax: 3, sendersMax: 3)
        for number in 1...4 { _ = loads.unsure([person(number): tally(1)]) { _ in false } }
        #expect(loads.unsure([person(1): tally(1)]) { _ in true } == [person(1)])
        #expect(loads.unsure([person(4): tally(1)]) { _ in true } == [])
        let senders = Dictionary(uniqueKeysWithValues: (5...9).map { (person($0), tally(8)) })
        loads.counted(
            person(1), CountedMail(mailbox: tally(38), strangers: .zero, senders: [:]), senders, at: 0)
        #expect(loads.space(of: person(1), senders)?.count == 5)
        loads.keep { _ in false }
        #expect(loads.mustCount(person(1), senders, at: 0))
    }

    /// A mailbox is never taken for emptier than it is.
    @Test(arguments: UInt64(0)..<50) func noBoundIsPassed(seed: UInt64) {
        var random = SeededGenerator(seed: seed &* 977 &+ 5)
        var loads = MailboxLoads(bounds, recipientsMax: 6, sendersMax: 8)
        // Waiting messages of each recipient, by sender.
        var truth: [WhisperID: [WhisperID: Int]] = [:]
        for step in 0..<400 {
            let now = Int64(step) * 700
            if Int.random(in: 0..<40, using: &random) == 0 { loads.keep { _ in false } }
            let recipient = person(Int.random(in: 1...8, using: &random))
            if Int.random(in: 0..<3, using: &random) == 0 {
                let sender = person(Int.random(in: 20...25, using: &random))
                truth[recipient, default: [:]][sender, default: 1] -= 1
                if truth[recipient]![sender]! <= 0 { truth[recipient]![sender] = nil }
                continue
            }
            var senders: [WhisperID: MailTally] = [:]
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                senders[person(Int.random(in: 20...25, using: &random))] = tally(Int.random(in: 1...3, using: &random))
            }
            let waiting = truth[recipient] ?? [:]
            var spaces: [WhisperID: MailboxSpace]?
            if !loads.unsure([recipient: senders.values.reduce(.zero, +)], mayHold: { truth[$0]?.isEmpty == false })
                .isEmpty
            {
                if loads.mustCount(recipient, senders, at: now) {
                    let all = tally(waiting.values.reduce(0, +))
                    let listed = waiting.filter { $0.value > bounds.unlisted.messages || senders[$0.key] != nil }
                    loads.counted(
                        recipient, CountedMail(mailbox: all, strangers: all, senders: listed.mapValues { tally($0) }),
                        senders,
                        at: now)
                }
                spaces = loads.space(of: recipient, senders)
            }
            var before = 0
            for (sender, more) in senders {
                if let space = spaces?[sender] {
                    guard (tally(before) + more).fits(space.mailbox), (tally(before) + more).fits(space.strangers),
                        more.fits(space.stranger)
                    else { continue }
                }
                before += more.messages
                truth[recipient, default: [:]][sender, default: 0] += more.messages
                for _ in 0..<more.messages { loads.stored(for: recipient, from: sender, bytes: 1) }
            }
            for (_, senders) in truth {
                #expect(senders.values.allSatisfy { $0 <= bounds.stranger.messages })
                #expect(senders.values.reduce(0, +) <= bounds.strangers.messages)
            }
        }
    }
}
