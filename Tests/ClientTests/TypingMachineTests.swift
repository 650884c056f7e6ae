import Contract
import TestKit
import Testing

@testable import WhisperClient

@Suite struct TypingMachineTests {
    var machine = TypingMachine()

    @Test mutating func aStopWaitsForThePauseAndTheLastWordCounts() {
        #expect(self.machine.say(true, to: bobID, at: start) == .now)
        #expect(self.machine.say(false, to: bobID, at: start) == .later)
        #expect(self.machine.nextWake == start + ClientLimits.typingPause)
        #expect(self.machine.say(true, to: bobID, at: start) == .known)
        #expect(self.machine.nextWake == nil)
        #expect(self.machine.say(false, to: bobID, at: start) == .later)
        let early = self.machine.due(at: start)
        #expect(early.isEmpty)
        let due = self.machine.due(at: start + ClientLimits.typingPause)
        #expect(due.map(\.peer) == [bobID] && due.map(\.isTyping) == [false])
        #expect(self.machine.nextWake == nil)
    }

    @Test mutating func whoSaysNothingMoreHasStopped() {
        let isNews = [
            self.machine.heard(true, from: bobID, at: start),
            self.machine.heard(true, from: bobID, at: start + .seconds(1)),
        ]
        #expect(isNews == [true, false])
        #expect(self.machine.expired(at: start + ClientLimits.typingShownFor) == [])
        #expect(self.machine.expired(at: start + ClientLimits.typingShownFor + .seconds(1)) == [bobID])
        let isStopNews = self.machine.heard(false, from: bobID, at: start)
        #expect(!isStopNews)
    }

    /// For any typing: no two frames to a peer within the pause, the last state arrives, and the bounds hold.
    @Test(arguments: 1...50) mutating func noFrameIsTooEarlyAndTheLastWordIsSaid(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let peers = (0..<(ClientLimits.typingPeersMax + 8)).map { Self.peer($0) }
        var now = start
        var sent: [WhisperID: (isTyping: Bool, at: ContinuousClock.Instant)] = [:]
        var wanted: [WhisperID: Bool] = [:]
        func check(_ peer: WhisperID, _ isTyping: Bool) {
            if let last = sent[peer] { #expect(now - last.at >= ClientLimits.typingPause) }
            sent[peer] = (isTyping, now)
        }
        for _ in 0..<400 {
            now += .milliseconds(Int.random(in: 0...400, using: &random))
            for (peer, isTyping) in self.machine.due(at: now) { check(peer, isTyping) }
            let peer = peers.randomElement(using: &random)!
            let isTyping = Bool.random(using: &random)
            switch self.machine.say(isTyping, to: peer, at: now) {
            case .now: check(peer, isTyping)
            case .later, .known: break
            case .full: continue
            }
            wanted[peer] = isTyping
        }
        while let wake = self.machine.nextWake {
            now = max(now, wake)
            for (peer, isTyping) in self.machine.due(at: now) { check(peer, isTyping) }
        }
        for (peer, isTyping) in wanted {
            guard let last = sent[peer] else {
                #expect(!isTyping)
                continue
            }
            // A peer that received a typing frame long ago does not show it any more.
            let isShown = last.isTyping && now - last.at < ClientLimits.typingShownFor
            #expect(isShown == isTyping || last.isTyping == isTyping)
        }
    }

    private static func peer(_ number: Int) -> WhisperID {
        let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
        return WhisperID("WSP-AAAA-AAAA-AA\(letters[number / 26])\(letters[number % 26])")!
    }
}
