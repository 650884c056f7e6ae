import Contract
import TestKit
import Testing

@testable import WhisperClient

@Suite struct PeripheralMachineTests {
    private var machine = PeripheralMachine()
    private static let anna = NearbyPeer(name: "anna")
    private static let bert = NearbyPeer(name: "bert")

    private mutating func subscribe(
        _ peer: NearbyPeer, _ all: [UUIDText]
    ) -> [PeripheralMachine
        .Action]
    {
        var actions: [PeripheralMachine.Action] = []
        for characteristic in all {
            actions += self.machine.heard(.subscribed(characteristic), of: peer)
        }
        return actions
    }

    private mutating func chat(_ peer: NearbyPeer = anna) {
        _ = self.machine.radio(isOn: true)
        _ = self.machine.start()
        _ = self.subscribe(peer, [NearbyService.hangUp, NearbyService.toCentral])
    }

    private mutating func leave(_ peer: NearbyPeer) -> [PeripheralMachine.Action] {
        self.machine.heard(.unsubscribed(NearbyService.toCentral), of: peer)
            + self.machine.heard(.unsubscribed(NearbyService.hangUp), of: peer)
    }

    @Test mutating func itIsFoundUntilSomebodySubscribesAndAgainAfterwards() {
        let first = self.machine.start()
        let on = self.machine.radio(isOn: true)
        #expect(first == [] && on == [.advertise])
        let come = self.subscribe(Self.anna, [NearbyService.toCentral, NearbyService.hangUp])
        #expect(come == [.stopAdvertising, .opened(Self.anna, isOurs: false)])
        let left = self.leave(Self.anna)
        #expect(left == [.ended(Self.anna, .hungUp), .advertise])
    }

    @Test mutating func whoKnowsFragmentsIsOurs() {
        _ = self.machine.radio(isOn: true)
        _ = self.machine.start()
        let come = self.subscribe(
            Self.anna, [NearbyService.fragments, NearbyService.hangUp, NearbyService.toCentral])
        #expect(come == [.stopAdvertising, .opened(Self.anna, isOurs: true)])
        _ = self.machine.heard(.unsubscribed(NearbyService.fragments), of: Self.anna)
        _ = self.leave(Self.anna)
        let bare = self.subscribe(Self.bert, [NearbyService.hangUp, NearbyService.toCentral])
        #expect(bare == [.stopAdvertising, .opened(Self.bert, isOurs: false)])
    }

    @Test mutating func aSecondCentralIsAskedToGo() {
        self.chat()
        let second = self.subscribe(Self.bert, [NearbyService.toCentral, NearbyService.hangUp])
        #expect(second == [.askToGo(Self.bert), .askToGo(Self.bert)])
        #expect(self.machine.guest == Self.anna)
        let wrote = self.machine.heard(.value(NearbyService.toPeripheral, [65]), of: Self.bert)
        #expect(wrote == [.askToGo(Self.bert)])
        let left = self.leave(Self.bert)
        #expect(left == [] && self.machine.guest == Self.anna)
    }

    /// It cannot end the connection: after its time whoever stays is nobody's guest any more.
    @Test mutating func whoDoesNotGoIsWaitedForInBounds() {
        self.chat()
        let asked = self.machine.hangUp(at: start)
        #expect(asked == [.askToGo(Self.anna)])
        let early = self.machine.tick(at: start + NearbyLimits.leftWithin - .nanoseconds(1))
        let late = self.machine.tick(at: start + NearbyLimits.leftWithin)
        #expect(early == [] && late == [.ended(Self.anna, .closed), .advertise])
        let wrote = self.machine.heard(.value(NearbyService.toPeripheral, [65]), of: Self.anna)
        #expect(wrote == [.askToGo(Self.anna)] && self.machine.guest == nil)
        let gone = self.leave(Self.anna)
        #expect(gone == [])
    }

    @Test mutating func whoGoesWhenAskedIsClosed() {
        self.chat()
        _ = self.machine.hangUp(.timeout, at: start)
        let left = self.leave(Self.anna)
        #expect(left == [.ended(Self.anna, .timeout), .advertise] && self.machine.nextWake == nil)
    }

    @Test mutating func whoCouldNotBeAskedIsAskedWhenThereIsRoom() {
        self.chat()
        _ = self.machine.hangUp(at: start)
        self.machine.refused(Self.anna)
        let again = self.machine.readyToIndicate()
        let once = self.machine.readyToIndicate()
        #expect(again == [.askToGo(Self.anna)] && once == [])
        self.machine.refused(Self.bert)
        let stranger = self.machine.readyToIndicate()
        #expect(stranger == [])
    }

    /// Strangers that subscribe and do no more are forgotten, the guest never.
    @Test(arguments: 0..<40) mutating func strangersDoNotPushTheGuestOut(number: Int) {
        let guest = NearbyPeer(name: "guest\(number)")
        self.chat(guest)
        for number in 0..<100 {
            _ = self.subscribe(NearbyPeer(name: "p\(number)"), [NearbyService.fragments])
        }
        _ = self.machine.hangUp(at: start)
        self.machine.refused(guest)
        let again = self.machine.readyToIndicate()
        #expect(again == [.askToGo(guest)])
    }

    @Test mutating func aRadioThatGoesOffLosesTheGuest() {
        self.chat()
        let off = self.machine.radio(isOn: false)
        let on = self.machine.radio(isOn: true)
        #expect(off == [.ended(Self.anna, .lost)] && on == [.advertise])
        _ = self.machine.stop()
        let unwanted = self.machine.radio(isOn: false) + self.machine.radio(isOn: true)
        #expect(unwanted == [])
    }

    /// For any events in any order: the phone advertises, has a guest, or is off; each guest leaves once.
    @Test(arguments: 1...300) mutating func everyGuestLeavesOnce(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let peers = (0..<24).map { NearbyPeer(name: "p\($0)") }
        var now = start
        var (isOn, isWanted, isFound) = (false, false, false)
        var guest: NearbyPeer?
        for _ in 0..<400 {
            let peer = peers.prefix(Bool.random(using: &random) ? 3 : 24).randomElement(using: &random)!
            let characteristic = NearbyService.characteristics.randomElement(using: &random)!
            let actions: [PeripheralMachine.Action]
            switch Int.random(in: 0..<24, using: &random) {
            case 0:
                (isOn, actions) = (!isOn, self.machine.radio(isOn: !isOn))
                if !isOn { isFound = false }
            case 1: (isWanted, actions) = (true, self.machine.start())
            case 2 where Bool.random(using: &random): (isWanted, actions) = (false, self.machine.stop())
            case 3: actions = self.machine.hangUp(at: now)
            case 4:
                now += .seconds(Int.random(in: 0...4, using: &random))
                actions = self.machine.tick(at: now)
            case 5:
                self.machine.refused(peer)
                actions = self.machine.readyToIndicate()
            case 6...11: actions = self.machine.heard(.unsubscribed(characteristic), of: peer)
            case 12: actions = self.machine.heard(.value(characteristic, [65]), of: peer)
            default: actions = self.machine.heard(.subscribed(characteristic), of: peer)
            }
            for action in actions {
                switch action {
                case .advertise:
                    #expect(!isFound)
                    isFound = true
                case .stopAdvertising:
                    #expect(isFound)
                    isFound = false
                case .opened(let peer, _):
                    #expect(guest == nil)
                    guest = peer
                case .ended(let peer, _):
                    #expect(guest == peer)
                    guest = nil
                case .askToGo: break
                }
            }
            #expect(self.machine.guest == guest)
            #expect(isFound == (isOn && isWanted && guest == nil), "\(isOn) \(isWanted)")
        }
    }
}
