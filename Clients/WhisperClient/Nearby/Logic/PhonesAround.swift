/// Phones that advertise the service, and when each was last heard.
package struct PhonesAround: Sendable {
    package typealias Instant = ContinuousClock.Instant

    private struct Phone {
        var title: String
        var heard: Instant
    }

    private var phones: [NearbyPeer: Phone] = [:]
    /// The start of the second that `toldCount` covers.
    private var countedSince: Instant?
    private var toldCount = 0

    package init() {}

    /// Forged addresses cost nothing, so events beyond `NearbyLimits.phonesToldPerSecondMax` are neither reported nor
    /// kept.
    ///
    /// - Parameter connected: phones that are not forgotten, as they may have stopped advertising.
    package mutating func heard(
        _ peer: NearbyPeer, title: String, strength: Int, connected: Set<NearbyPeer>, at now: Instant
    ) -> [NearbyEvent] {
        let title = Self.cut(title, bytesMax: NearbyLimits.foundTitleBytesMax)
        guard self.phones[peer]?.title != title, self.mayTell(at: now) else {
            self.phones[peer]?.heard = now
            return []
        }
        var events: [NearbyEvent] = []
        if self.phones[peer] == nil, self.phones.count >= NearbyLimits.phonesMax {
            let others = self.phones.filter { !connected.contains($0.key) }
            guard let oldest = others.min(by: { $0.value.heard < $1.value.heard }) else { return [] }
            self.phones[oldest.key] = nil
            events.append(.lost(oldest.key))
        }
        self.phones[peer] = Phone(title: title, heard: now)
        return events + [.found(peer, title: title, strength: strength)]
    }

    private mutating func mayTell(at now: Instant) -> Bool {
        if self.countedSince.map({ $0 + .seconds(1) <= now }) ?? true {
            self.countedSince = now
            self.toldCount = 0
        }
        guard self.toldCount < NearbyLimits.phonesToldPerSecondMax else { return false }
        self.toldCount += 1
        return true
    }

    /// The phone's connection has ended. From now on it must advertise again.
    package mutating func left(_ peer: NearbyPeer, at now: Instant) {
        self.phones[peer]?.heard = now
    }

    package mutating func forget(connected: Set<NearbyPeer>, at now: Instant) -> [NearbyEvent] {
        let gone = self.phones.filter {
            $0.value.heard + NearbyLimits.forgottenAfter <= now && !connected.contains($0.key)
        }
        return self.forget(gone.keys.map { $0 })
    }

    /// The radio is off.
    package mutating func forgetAll() -> [NearbyEvent] { self.forget(self.phones.keys.map { $0 }) }

    package func nextWake(connected: Set<NearbyPeer>) -> Instant? {
        self.phones.lazy.filter { !connected.contains($0.key) }.map(\.value.heard).min()
            .map { $0 + NearbyLimits.forgottenAfter }
    }

    private mutating func forget(_ peers: [NearbyPeer]) -> [NearbyEvent] {
        let peers = peers.sorted { $0.name < $1.name }
        for peer in peers { self.phones[peer] = nil }
        return peers.map { .lost($0) }
    }

    /// The first whole characters that fit.
    static func cut(_ text: String, bytesMax: Int) -> String {
        var bytes = 0
        return String(
            text.prefix {
                bytes += $0.utf8.count
                return bytes <= bytesMax
            })
    }
}
