/// Pushes under way at the origins of Web Push. Clients choose these, and one that lets us wait must not hold up what goes elsewhere:
/// of the pushes that wait for long each origin has a small share, and all of them together leave room for other providers.
/// One that answers is not held back: a push counts for its origin only once it is slow.
package struct OriginShares {
    /// A push under way.
    package struct Share: Equatable, Sendable {
        fileprivate let origin: String
        fileprivate let number: UInt64
    }

    private let allMax: Int
    private let eachMax: Int
    private let slowMax: Int
    private let slowAfter: Duration
    /// When each began.
    private var begun: [String: [UInt64: ContinuousClock.Instant]] = [:]
    /// Pushes under way.
    package private(set) var count = 0
    private var lastNumber: UInt64 = 0

    package init(
        allMax: Int = PushLimits.webPushInFlightMax, eachMax: Int = PushLimits.webPushInFlightOfOneMax,
        slowMax: Int = PushLimits.webPushSlowMax,
        slowAfter: Duration = PushLimits.webPushSlowAfter
    ) {
        self.allMax = allMax
        self.eachMax = eachMax
        self.slowMax = slowMax
        self.slowAfter = slowAfter
    }

    /// - Returns: nil if the origin has its share, or all of them have theirs: try later.
    package mutating func begin(_ origin: String, at now: ContinuousClock.Instant) -> Share? {
        guard self.count < self.allMax else { return nil }
        if let own = self.begun[origin], own.count >= self.slowMax {
            guard own.count < self.eachMax else { return nil }
            let slow = own.values.reduce(0) { $0 + (now - $1 >= self.slowAfter ? 1 : 0) }
            guard slow < self.slowMax else { return nil }
        }
        self.lastNumber += 1
        self.begun[origin, default: [:]][self.lastNumber] = now
        self.count += 1
        return Share(origin: origin, number: self.lastNumber)
    }

    package mutating func end(_ share: Share) {
        guard self.begun[share.origin]?.removeValue(forKey: share.number) != nil else { return }
        self.count -= 1
        if self.begun[share.origin]?.isEmpty == true { self.begun[share.origin] = nil }
    }
}
