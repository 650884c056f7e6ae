import Contract

/// What the identity of one connection has used of each rate. An identity has one live connection, so its gateway counts
/// alone; what is left over at the end goes to Redis and is fetched by the next gateway. Takes no memory before its first use.
struct RateBook {
    /// The rates that are counted per identity, in the order of their places here.
    static let rates = Rates.all.filter { $0.per == .identity }

    private static let places = Dictionary(uniqueKeysWithValues: Self.rates.enumerated().map { ($1.action, $0) })

    private var paces: [Pace] = []

    /// Counts one use.
    /// - Returns: `nil` if it is allowed, else the milliseconds to wait.
    mutating func admit(_ rate: Rate, of rates: RateTable, at now: Timestamp) -> Int64? {
        guard let place = Self.places[rate.action] else { return nil }
        self.open()
        return self.paces[place].admit(rates.allowance(of: rate), at: now)
    }

    /// Adds what another gateway has counted.
    mutating func merge(_ pace: Pace, of rate: Rate) {
        guard let place = Self.places[rate.action] else { return }
        self.open()
        self.paces[place].merge(pace)
    }

    /// What the next gateway has to know.
    func used(at now: Timestamp) -> [(rate: Rate, pace: Pace)] {
        zip(Self.rates, self.paces).filter { !$0.1.isRested(at: now) }
    }

    private mutating func open() {
        if self.paces.isEmpty { self.paces = [Pace](repeating: Pace(), count: Self.rates.count) }
    }
}
