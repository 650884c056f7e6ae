import Contract
import TestKit
import Testing

@testable import WhisperClient

@Suite struct CentralMachineTests {
    private typealias News = RadioEvent.PeripheralNews
    private var machine = CentralMachine()
    private static let bare = Array(NearbyService.characteristics.dropLast())

    /// Hears all of it, in order.
    private mutating func hear(
        _ news: [News], at now: ContinuousClock.Instant = start
    )
        -> [CentralMachine.Action]
    {
        var actions: [CentralMachine.Action] = []
        for news in news { actions += self.machine.heard(news, at: now) }
        return actions
    }

    private mutating func chat() {
        _ = self.machine.connect(at: start)
        _ = self.hear([.connected, .characteristics(NearbyService.characteristics)])
        for characteristic in [NearbyService.fragments, NearbyService.hangUp, NearbyService.toCentral] {
            _ = self.hear([.subscribed(characteristic, isDone: true)])
        }
    }

    /// The peripheral must know that we are one of its own before it takes us.
    @Test mutating func oneOfOursIsSubscribedToWithTheChatLast() {
        let first = self.machine.connect(at: start)
        #expect(first == [.connect])
        let found = self.hear([.connected, .characteristics(NearbyService.characteristics)])
        #expect(found == [.discover, .subscribe(NearbyService.fragments)])
        let rest = self.hear([
            .subscribed(NearbyService.fragments, isDone: true),
            .subscribed(NearbyService.hangUp, isDone: true),
            .subscribed(NearbyService.toCentral, isDone: true),
        ])
        #expect(
            rest == [
                .subscribe(NearbyService.hangUp), .subscribe(NearbyService.toCentral),
                .opened(isOurs: true),
            ])
        #expect(self.machine.nextWake == nil)
    }

    @Test mutating func aBarePhoneHasThreeCharacteristics() {
        _ = self.machine.connect(at: start)
        let actions = self.hear([
            .connected, .characteristics(Self.bare), .subscribed(NearbyService.hangUp, isDone: true),
            .subscribed(NearbyService.toCentral, isDone: true),
        ])
        #expect(actions.last == .opened(isOurs: false))
    }

    @Test(arguments: [NearbyService.toPeripheral, NearbyService.toCentral])
    mutating func withoutTheChatItIsRefused(missing: UUIDText) {
        _ = self.machine.connect(at: start)
        let actions = self.hear([
            .connected, .characteristics(NearbyService.characteristics.filter { $0 != missing }),
            .disconnected,
        ])
        #expect(actions == [.discover, .disconnect, .ended(.refused)])
    }

    @Test mutating func aRefusedSubscriptionIsARefusal() {
        _ = self.machine.connect(at: start)
        _ = self.hear([.connected, .characteristics(Self.bare)])
        let actions = self.hear([.subscribed(NearbyService.hangUp, isDone: false), .disconnected])
        #expect(actions == [.disconnect, .ended(.refused)])
    }

    /// Three seconds from the connection on, whatever has come about by then.
    @Test(arguments: 0...3) mutating func bothSubscriptionsStandInTime(steps: Int) {
        _ = self.machine.connect(at: start)
        let news: [News] = [
            .connected, .characteristics(Self.bare), .subscribed(NearbyService.hangUp, isDone: true),
            .subscribed(NearbyService.toCentral, isDone: true),
        ]
        _ = self.hear(Array(news.prefix(steps)))
        let deadline =
            start + (steps == 0 ? NearbyLimits.connectedWithin : NearbyLimits.subscribedWithin)
        #expect(self.machine.nextWake == deadline)
        let early = self.machine.tick(at: deadline - .nanoseconds(1))
        let late = self.machine.tick(at: deadline)
        #expect(early == [] && late == [.disconnect])
        let end = self.hear([.disconnected])
        #expect(end == [.ended(.timeout)])
    }

    @Test mutating func itHangsUpWhenItIsAsked() {
        self.chat()
        let actions = self.hear([
            .value(NearbyService.hangUp, [0]), .value(NearbyService.hangUp, [1]), .disconnected,
        ])
        #expect(actions == [.disconnect, .ended(.hungUp)])
    }

    @Test mutating func aRadioThatDoesNotSaySoIsNotWaitedFor() {
        self.chat()
        let first = self.machine.hangUp(at: start)
        let again = self.machine.hangUp(.timeout, at: start + .seconds(1))
        let end = self.machine.tick(at: start + NearbyLimits.disconnectedWithin)
        #expect(first == [.disconnect] && again == [] && end == [.ended(.closed)])
        let late = self.hear([.disconnected])
        #expect(late == [] && self.machine.isIdle)
    }

    /// For any events in any order: an end for each beginning, and a bound for each wait.
    @Test(arguments: 1...300) mutating func everyConnectionEndsOnce(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var now = start
        var (begun, ended, opened) = (0, 0, 0)
        for _ in 0..<200 {
            let news: [News] = [
                .connected, .characteristics(NearbyService.characteristics), .characteristics(Self.bare),
                .characteristics([]), .subscribed(NearbyService.fragments, isDone: true),
                .subscribed(NearbyService.hangUp, isDone: true),
                .subscribed(NearbyService.toCentral, isDone: true),
                .subscribed(NearbyService.toCentral, isDone: false), .wrote(token: 1, isDone: true),
                .value(NearbyService.hangUp, [1]), .value(NearbyService.toCentral, [65]), .disconnected,
            ]
            let actions: [CentralMachine.Action]
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                actions = self.machine.connect(at: now)
                if actions == [.connect] { begun += 1 }
            case 1: actions = self.machine.hangUp(at: now)
            case 2: actions = self.machine.radioOff()
            case 3:
                now += .milliseconds(Int.random(in: 0...4_000, using: &random))
                actions = self.machine.tick(at: now)
            default: actions = self.machine.heard(news.randomElement(using: &random)!, at: now)
            }
            for action in actions {
                switch action {
                case .opened: opened += 1
                case .ended: ended += 1
                case .connect, .disconnect, .discover, .subscribe: break
                }
            }
            #expect(begun - ended == (self.machine.isIdle ? 0 : 1) && opened <= begun)
            if self.machine.isUnderWay { #expect(self.machine.nextWake! > now) }
        }
        _ = self.machine.hangUp(at: now)
        _ = self.machine.tick(at: now + NearbyLimits.disconnectedWithin)
        #expect(self.machine.isIdle)
    }
}
