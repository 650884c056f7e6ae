import Contract
import Foundation
import TestKit
import Testing

@testable import WhisperClient

/// Messages in rooms: the machine alone, its frames, and several of them from seeds.
@Suite struct TalkMachineTests {
    // MARK: Properties

    private static let seeds: UInt64 = 120

    private static func world(_ seed: UInt64, _ mutation: MeshWorld.Mutation? = nil) -> MeshWorld {
        var world = MeshWorld(
            seed: seed, people: Int(seed % 3) + 2, faults: { MeshWorld.Faults.all(&$0) }, startingAt: start,
            talks: true, mutation)
        world.play(trouble: .seconds(40), rest: .seconds(240))
        world.judgeTalk()
        return world
    }

    /// A message is shown once, in order, to all who had a seat when it was said and kept it; and its author knows.
    @Test(arguments: Prove.seeds(0..<Self.seeds)) func nobodyMissesAMessageAndNobodySeesItTwice(seed: UInt64) {
        let world = Self.world(seed)
        #expect(world.broken == [])
        #expect(!world.said.isEmpty)
    }

    @Test(arguments: MeshWorld.Mutation.allCases) func eachMutationIsFound(_ mutation: MeshWorld.Mutation) {
        for seed in 0..<Self.seeds {
            if let broken = Self.world(seed, mutation).broken.first {
                return print("· \(mutation): seed \(seed), \(broken)")
            }
        }
        Issue.record("not found")
    }

    // MARK: Frames

    private static let vectors: JSON = {
        let file = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appending(path: "docs/vectors/talk.json")
        return try! JSON(parsing: Array(try! Data(contentsOf: file)))
    }()

    @Test func framesAreReadAsTheVectorsSay() throws {
        for vector in try #require(Self.vectors["frames"]?.elements) where vector["data"]?.string != nil {
            let frame = TalkFrame(vector["data"]?.string ?? "")
            let about = vector["about"]?.string ?? ""
            if vector["isUnknown"] == .bool(true) {
                #expect(frame == .unknown, "\(about)")
            } else if vector["isGood"] == .bool(true) {
                let frame = try #require(frame, "\(about)")
                #expect(frame != .unknown && TalkFrame(frame.text) == frame, "\(about)")
            } else {
                #expect(frame == nil, "\(about)")
            }
        }
        for name in try #require(Self.vectors["names"]?.elements) {
            #expect(TalkName.cleaned(name["text"]?.string ?? "") == name["name"]?.string)
        }
        let hello = TalkFrame.hello(name: "Ann", epoch: Array(0..<8)).text
        #expect(try JSON(parsing: Array(hello.utf8)) == Self.vectors["hello"])
    }

    // MARK: Steps

    private static let peer = PrincipalID.guest(GuestID(high: 1, low: 2))
    private static let other = PrincipalID.guest(GuestID(high: 1, low: 3))
    private static let hello = TalkFrame.hello(name: nil, epoch: Array(repeating: 0, count: 8)).text

    private static func message(_ number: UInt64, _ text: String = "x") -> TalkMessage {
        TalkMessage(id: UUIDText(high: 5, low: number), time: Timestamp(milliseconds: 1), text: text)
    }

    private static func machine() -> TalkMachine {
        var machine = TalkMachine(epoch: Array(0..<8), name: "An\u{202E}n")
        _ = machine.seen([Self.peer: 2])
        return machine
    }

    /// A machine whose peer has greeted.
    private static func linked() -> TalkMachine {
        var machine = Self.machine()
        _ = machine.began(Self.peer, link: 1)
        _ = machine.opened(Self.peer, link: 1, at: start)
        _ = machine.heard(Self.hello, from: Self.peer, link: 1, at: start)
        return machine
    }

    private static func says(_ message: TalkMessage) -> TalkMachine.Action {
        .write(Self.peer, link: 1, .talk, TalkFrame.say(message).text)
    }

    @Test func greetingsComeFirst() throws {
        var machine = Self.machine()
        let one = Self.message(1)
        #expect(try machine.say(one, isPartial: false) == [.state(one.id, Self.peer, .waiting)])
        #expect(machine.began(Self.peer, link: 1) == [])
        // The other one's greeting may be here before our stack has said that the channel is open.
        #expect(machine.heard(Self.hello, from: Self.peer, link: 1, at: start) == [])
        let hello = TalkFrame.hello(name: "Ann", epoch: Array(0..<8)).text
        #expect(
            machine.opened(Self.peer, link: 1, at: start)
                == [.write(Self.peer, link: 1, .talk, hello), Self.says(one), .state(one.id, Self.peer, .sent)])
        #expect(machine.nextWake == nil)
        #expect(machine.heard(Self.hello, from: Self.peer, link: 2, at: start) == [])
        #expect(machine.began(Self.peer, link: 0) == [.state(one.id, Self.peer, .waiting)])
        _ = machine.began(Self.peer, link: 2)
        _ = machine.opened(Self.peer, link: 2, at: start)
        let again = TalkMachine.Action.write(Self.peer, link: 2, .talk, TalkFrame.say(one).text)
        #expect(
            machine.heard(Self.hello, from: Self.peer, link: 2, at: start)
                == [again, .state(one.id, Self.peer, .sent)])
        let got = TalkFrame.got([one.id]).text
        #expect(machine.heard(got, from: Self.peer, link: 2, at: start) == [.state(one.id, Self.peer, .got)])
    }

    @Test func aRepeatedMessageGetsAReceiptAndIsNotShown() {
        var machine = Self.linked()
        let (one, receipt) = (Self.message(1), TalkFrame.got([Self.message(1).id]).text)
        let said = TalkFrame.say(one).text
        let write = TalkMachine.Action.write(Self.peer, link: 1, .talk, receipt)
        #expect(machine.heard(said, from: Self.peer, link: 1, at: start) == [.heard(Self.peer, one), write])
        #expect(machine.heard(said, from: Self.peer, link: 1, at: start) == [write])
        // Somebody who has left and come again, of which we hear late, is the same program.
        _ = machine.seen([:])
        _ = machine.seen([Self.peer: 3])
        _ = machine.began(Self.peer, link: 2)
        _ = machine.heard(Self.hello, from: Self.peer, link: 2, at: start)
        #expect(machine.heard(said, from: Self.peer, link: 2, at: start) == [])
        // Another program of it is not.
        _ = machine.began(Self.peer, link: 3)
        let hello = TalkFrame.hello(name: nil, epoch: Array(repeating: 1, count: 8)).text
        _ = machine.heard(hello, from: Self.peer, link: 3, at: start)
        #expect(machine.heard(said, from: Self.peer, link: 3, at: start) == [.heard(Self.peer, one)])
    }

    @Test func whoeverGreetsNobodyGetsTheTextAlone() throws {
        var machine = Self.machine()
        let text = String(repeating: "x", count: TalkLimits.plainUnitsMax - 1) + "😀!"
        let one = Self.message(1, text)
        _ = try machine.say(one, isPartial: false)
        _ = machine.began(Self.peer, link: 1)
        _ = machine.opened(Self.peer, link: 1, at: start)
        let end = start + TalkLimits.helloWithin
        #expect(machine.nextWake == end && machine.timerFired(at: end - .milliseconds(1)) == [])
        let pieces = [String(text.dropLast(2)), "😀!"]
        #expect(
            machine.timerFired(at: end)
                == [.person(Self.peer)] + pieces.map { .write(Self.peer, link: 1, .chat, $0) }
                + [.state(one.id, Self.peer, .sent)])
        #expect(machine.person(Self.peer)?.isPlain == true)
        #expect(machine.heard(Self.hello, from: Self.peer, link: 1, at: end) == [.person(Self.peer)])
    }

    @Test func tooMuchThatWaitsIsRefusedAndNamed() throws {
        var machine = Self.linked()
        _ = machine.seen([Self.peer: 2, Self.other: 3])
        for number in 0..<TalkLimits.waitingMessagesMax {
            let actions = try machine.say(Self.message(UInt64(number)), isPartial: false)
            let got = TalkFrame.got([Self.message(UInt64(number)).id]).text
            _ = machine.heard(got, from: Self.peer, link: 1, at: start)
            #expect(actions.contains(.person(Self.other)) == (number == TalkLimits.waitingMessagesMax - 1))
            _ = machine.low(Self.peer, link: 1)
        }
        let last = Self.message(99)
        #expect(throws: TalkMachine.Refusal.full([Self.other])) { try machine.say(last, isPartial: false) }
        #expect(
            try machine.say(last, isPartial: true) == [
                .state(last.id, Self.peer, .waiting), .state(last.id, Self.other, .lost), Self.says(last),
                .state(last.id, Self.peer, .sent),
            ])
        // A participant that leaves loses what waited.
        #expect(machine.seen([Self.peer: 2]).count == TalkLimits.waitingMessagesMax)
        #expect(throws: TalkMachine.Refusal.tooLong) {
            try machine.say(Self.message(100, String(repeating: "é", count: 4_001)), isPartial: false)
        }
        _ = machine.seen([:])
        #expect(throws: TalkMachine.Refusal.nobodyIsHere) { try machine.say(last, isPartial: false) }
        var large = Self.machine()
        let text = String(repeating: "x", count: TalkLimits.textBytesMax)
        for number in 0..<TalkLimits.waitingBytesMax / TalkLimits.textBytesMax {
            _ = try large.say(Self.message(UInt64(number), text), isPartial: false)
        }
        #expect(throws: TalkMachine.Refusal.full([Self.peer])) { try large.say(last, isPartial: false) }
    }

    /// A host that does not say that it has written gets no more than its bound.
    @Test func theHostSaysWhenItHasWritten() throws {
        var machine = Self.linked()
        var written = 1
        for number in 0..<TalkLimits.waitingMessagesMax {
            written += try machine.say(Self.message(UInt64(number)), isPartial: false).count { $0.isWrite }
        }
        #expect(written == TalkLimits.writesMax)
        #expect(machine.heard(TalkFrame.say(Self.message(9)).text, from: Self.peer, link: 1, at: start).count == 1)
        #expect(machine.low(Self.peer, link: 2) == [])
        // The receipt that waited, the message that waited, and its state.
        #expect(machine.low(Self.peer, link: 1).count == 3)
    }

    @Test func nonsenseBreaksTheConnection() {
        var machine = Self.linked()
        for number in 1..<TalkLimits.malformedPerMinuteMax {
            #expect(machine.heard(number.isMultiple(of: 2) ? nil : "x", from: Self.peer, link: 1, at: start) == [])
        }
        #expect(machine.heard(Self.hello, from: Self.peer, link: 1, at: start + .seconds(60)) == [])
        #expect(machine.heard(#"{"t":"wave"}"#, from: Self.peer, link: 1, at: start) == [])
        for _ in 2..<TalkLimits.malformedPerMinuteMax {
            #expect(machine.heard("x", from: Self.peer, link: 1, at: start + .seconds(61)) == [])
        }
        #expect(machine.heard("x", from: Self.peer, link: 1, at: start + .seconds(61)) == [.broke(Self.peer, link: 1)])
    }

    @Test func leavingIsSaidToThoseWhoHaveGreeted() {
        var machine = Self.linked()
        _ = machine.seen([Self.peer: 2, Self.other: 3])
        #expect(machine.leave() == [.write(Self.peer, link: 1, .talk, TalkFrame.bye.text)])
        #expect(machine.heard(TalkFrame.bye.text, from: Self.peer, link: 1, at: start) == [.left(Self.peer)])
    }
}

extension TalkMachine.Action {
    fileprivate var isWrite: Bool { if case .write = self { true } else { false } }
}
