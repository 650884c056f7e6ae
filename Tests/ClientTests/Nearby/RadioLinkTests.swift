import Contract
import Synchronization
import TestKit
import Testing

@testable import WhisperClient

/// The link over a radio in memory.
@Suite(.timeLimit(.minutes(20))) struct RadioLinkTests {
    private static let anna = NearbyPeer(name: "anna")

    private func comes(_ radio: FakeRadio) {
        radio.say(.state(.on))
        radio.say(.central(Self.anna, .subscribed(NearbyService.toCentral)))
        radio.say(.central(Self.anna, .subscribed(NearbyService.hangUp)))
    }

    /// Two waits, one after the other: for the connection, and for its end.
    @Test func whoNeverAnswersIsGivenUp() async {
        let radio = FakeRadio()
        let link = RadioLink(radio)
        link.start(title: "me")
        radio.say(.state(.on))
        var events = link.events.makeAsyncIterator()
        #expect(await events.next() == .radio(.on))
        link.connect(Self.anna)
        #expect(await events.next() == .disconnected(Self.anna, .timeout))
        #expect(radio.calls == ["scan", "advertise me", "connect anna", "disconnect anna"])
    }

    @Test func aFullQueueIsTriedAgain() async throws {
        let radio = FakeRadio()
        let link = RadioLink(radio)
        link.start(title: "me")
        self.comes(radio)
        var events = link.events.makeAsyncIterator()
        #expect(await events.next() == .radio(.on))
        #expect(await events.next() == .connected(Self.anna, isOurs: false))
        radio.isFull.withLock { $0 = true }
        link.send(.text("hi"), to: Self.anna, token: 1)
        radio.isFull.withLock { $0 = false }
        radio.say(.readyToIndicate)
        try await radio.until { $0.count { $0 == "indicate anna hi" } == 2 }
        let token = radio.lastToken.withLock { $0 }
        radio.say(.central(Self.anna, .indicated(token: token, isDone: true)))
        #expect(await events.next() == .sent(1, arrived: true))
        #expect(radio.calls.filter { $0.hasPrefix("indicate") } == ["indicate anna hi", "indicate anna hi"])
    }

    /// Events without a reader must not count as delivered.
    @Test func aLinkThatNobodyReadsEnds() async throws {
        let radio = FakeRadio()
        let link = RadioLink(radio)
        link.start(title: "me")
        radio.say(.state(.on))
        for token in 0...UInt64(NearbyLimits.eventsWaitingMax) { link.send(.text("hi"), to: Self.anna, token: token) }
        try await radio.until { $0.last == "close" }
        var count = 0
        for await _ in link.events { count += 1 }
        #expect(count == NearbyLimits.eventsWaitingMax)
    }

    /// Nobody reads, and the link works on.
    @Test func phonesThatShowThemselvesEndNoLink() async throws {
        let radio = FakeRadio()
        let link = RadioLink(radio)
        link.start(title: "me")
        radio.say(.state(.on))
        for number in 0..<(2 * NearbyLimits.eventsWaitingMax) {
            radio.say(.found(NearbyPeer(name: "p\(number)"), name: "x", strength: -50))
        }
        self.comes(radio)
        try await radio.until { $0.contains("stopAdvertising") || $0.contains("close") }
        #expect(!radio.calls.contains("close"))
        link.stop()
    }

    @Test(arguments: [true, false]) func aLinkThatIsGoneClosesItsRadio(isStopped: Bool) async throws {
        let radio = FakeRadio()
        var link: RadioLink? = RadioLink(radio)
        if isStopped { link?.stop() }
        link = nil
        try await radio.until { $0.last == "close" }
        #expect(link == nil && radio.calls == ["close"])
    }
}

/// Notes its calls, and says what it is told to say.
private final class FakeRadio: Radio {
    let events: AsyncStream<RadioEvent>
    private let continuation: AsyncStream<RadioEvent>.Continuation
    private let noted = Mutex<[String]>([])
    let isFull = Mutex(false)
    let lastToken = Mutex<UInt64>(0)

    init() { (self.events, self.continuation) = AsyncStream.makeStream() }

    var calls: [String] { self.noted.withLock { $0 } }

    /// Waits until the calls are so, or the test is over.
    func until(_ isSo: ([String]) -> Bool) async throws {
        while !isSo(self.calls) { try await Task.sleep(for: .milliseconds(1)) }
    }

    func say(_ event: RadioEvent) { self.continuation.yield(event) }

    private func note(_ call: String) { self.noted.withLock { $0.append(call) } }

    func advertise(service: UUIDText, name: String?) { self.note("advertise \(name ?? "")") }
    func stopAdvertising() { self.note("stopAdvertising") }
    func scan(service: UUIDText) { self.note("scan") }
    func stopScan() { self.note("stopScan") }
    func connect(_ peer: NearbyPeer) { self.note("connect \(peer.name)") }
    func disconnect(_ peer: NearbyPeer) { self.note("disconnect \(peer.name)") }
    func discover(_ peer: NearbyPeer) { self.note("discover \(peer.name)") }
    func subscribe(_ peer: NearbyPeer, _ characteristic: UUIDText) { self.note("subscribe \(peer.name)") }

    func write(_ peer: NearbyPeer, _ characteristic: UUIDText, _ value: [UInt8], token: UInt64) {
        self.note("write \(peer.name)")
    }

    func indicate(_ characteristic: UUIDText, _ value: [UInt8], to central: NearbyPeer, token: UInt64) -> Bool {
        self.note("indicate \(central.name) \(String(decoding: value, as: UTF8.self))")
        self.lastToken.withLock { $0 = token }
        return !self.isFull.withLock { $0 }
    }

    func mtu(_ peer: NearbyPeer) -> Int { 23 }
    func close() { self.note("close") }
}
