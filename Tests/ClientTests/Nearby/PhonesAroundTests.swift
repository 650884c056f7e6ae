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

    /// A phone that shows many addresses, or many titles of one, costs us a few events a second.
    @Test mutating func onlySoManyAreToldInASecond() {
        let max = NearbyLimits.phonesToldPerSecondMax
        let told = (0..<1_000).map { self.hear("p\($0)", "x") }
        #expect(told.allSatisfy { $0.count <= 1 } && told.count { !$0.isEmpty } == max)
        let titles = (0..<1_000).map { self.hear("p0", "title \($0)") }
        #expect(titles.allSatisfy { $0.isEmpty })
        // A change that was not reported is reported at the next sighting.
        let late = self.hear("p999", "x", after: 1)
        let title = self.hear("p0", "title 999", after: 1)
        #expect(late == [.found(NearbyPeer(name: "p999"), title: "x", strength: -50)])
        #expect(title == [.found(NearbyPeer(name: "p0"), title: "title 999", strength: -50)])
        #expect(self.around.forgetAll().count == max + 1)
    }

    @Test mutating func onlySoManyAreKnown() {
        for number in 0..<NearbyLimits.phonesMax { _ = self.hear("p\(number)", "x", after: number) }
        let next = self.hear("anna", "Anna", after: 1_000, connected: [NearbyPeer(name: "p0")])
        #expect(next == [.lost(NearbyPeer(name: "p1")), .found(Self.anna, title: "Anna", strength: -50)])
        let all = self.around.forgetAll()
        #expect(all.count == NearbyLimits.phonesMax && all.contains(.lost(NearbyPeer(name: "p0"))))
    }
}
