import TestKit
import Testing

@testable import WhisperClient

@Suite struct PhonesAroundTests {
    private var around = PhonesAround()
    private static let anna = NearbyPeer(name: "anna")

    private mutating func hear(
        _ name: String, _ title: String, after seconds: Int = 0, connected: Set<NearbyPeer> = []
    ) -> [NearbyEvent] {
        self.around.heard(
            NearbyPeer(name: name), title: title, strength: -50, connected: connected, at: start + .seconds(seconds))
    }

    @Test mutating func itIsToldOnceAndWhenItsTitleChanges() {
        let first = self.hear("anna", "Anna")
        let again = self.hear("anna", "Anna", after: 1)
        let other = self.hear("anna", "Annie", after: 2)
        #expect(first == [.found(Self.anna, title: "Anna", strength: -50)] && again == [])
        #expect(other == [.found(Self.anna, title: "Annie", strength: -50)])
        let long = self.hear("bert", String(repeating: "ü", count: 100))
        #expect(
            long == [.found(NearbyPeer(name: "bert"), title: String(repeating: "ü", count: 32), strength: -50)])
    }

    @Test mutating func whoIsNotHeardIsGone() {
        _ = self.hear("anna", "Anna")
        let until = start + NearbyLimits.forgottenAfter
        #expect(self.around.nextWake(connected: []) == until)
        let early = self.around.forget(connected: [], at: until - .nanoseconds(1))
        let connected = self.around.forget(connected: [Self.anna], at: until)
        #expect(early == [] && connected == [] && self.around.nextWake(connected: [Self.anna]) == nil)
        // A connected phone shows itself no more.
        self.around.left(Self.anna, at: until)
        let left = self.around.forget(connected: [], at: until)
        let gone = self.around.forget(connected: [], at: until + NearbyLimits.forgottenAfter)
        #expect(left == [] && gone == [.lost(Self.anna)])
    }

    @Test mutating func onlySoManyAreKnown() {
        for number in 0..<NearbyLimits.phonesMax { _ = self.hear("p\(number)", "x", after: number) }
        let next = self.hear("anna", "Anna", after: 1_000, connected: [NearbyPeer(name: "p0")])
        #expect(next == [.lost(NearbyPeer(name: "p1")), .found(Self.anna, title: "Anna", strength: -50)])
        let all = self.around.forgetAll()
        #expect(all.count == NearbyLimits.phonesMax && all.contains(.lost(NearbyPeer(name: "p0"))))
    }
}
