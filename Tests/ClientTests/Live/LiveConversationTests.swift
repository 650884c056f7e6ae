import Contract
import TestKit
import Testing

@testable import WhisperClient

/// Whisperer and listeners together, from seeds (contract §14.14: any loss, order kept, ends in the same text).
@Suite struct LiveConversationTests {
    @Test(arguments: UInt64(0)..<10) func withoutTroubleEverythingArrives(seed: UInt64) {
        var world = LiveWorld(seed: seed, faults: { _ in .none }, startingAt: start)
        world.play(rest: .seconds(12))
        Self.expectAgreement(in: world)
        for ear in world.ears { #expect(ear.machine.unreadable == 0 && ear.missing.isEmpty) }
    }

    @Test(arguments: Prove.seeds(0..<60)) func whateverIsLostComesAgain(seed: UInt64) {
        var world = LiveWorld(seed: seed, faults: { LiveWorld.Faults.mild(&$0) }, startingAt: start)
        world.play()
        Self.expectAgreement(in: world)
    }

    @Test(arguments: Prove.seeds(1_000..<1_060)) func otherDevicesAndOtherStreamsAreFollowed(seed: UInt64) {
        var world = LiveWorld(seed: seed, faults: { LiveWorld.Faults.all(&$0) }, startingAt: start)
        world.play()
        Self.expectAgreement(in: world)
    }

    /// The same text and the same lines at the end. A line may be missing only if nobody has it any more, or if it was said
    /// before the listener came and got lost on its way to the gateway. Then it is shown that it is missing.
    private static func expectAgreement(in world: LiveWorld) {
        let content = world.whisperer.content
        let truth = world.truth[content]!
        #expect(truth.lines.keys.max() ?? 0 == world.whisperer.lastLine)
        if world.isTranscribed, !truth.isIncomplete { #expect(truth.stored == Set(truth.lines.keys)) }
        for ear in world.ears {
            #expect(ear.isJoined && ear.machine.content == content)
            #expect(ear.text == world.whisperer.text && ear.machine.text == ear.text)
            for (number, text) in truth.lines where number > ear.linesBefore {
                if ear.lines[number] != nil {
                    #expect(ear.lines[number] == text)
                } else {
                    let isExcused = truth.isIncomplete || truth.saidAt[number]! < ear.since
                    #expect(isExcused && ear.missing.contains(number), "line \(number) is missing")
                }
            }
        }
    }
}
