/// Outcomes and group events that clients have confirmed, by their numbers. The gateway reports them to routers; until a
/// router has deleted one, any router may send it once more. A client does not get confirmed ones again.
///
/// Pure. A repetition after too many confirmations, or too long a time, does no harm: clients must expect repetitions
/// anyway.
struct ConfirmedNumbers {
    private let rememberedMax: Int
    private var unsaid: [Int64] = []
    private var recent: Set<Int64> = []
    private var former: Set<Int64> = []

    /// - Parameter rememberedMax: of the recent, and as many of the former.
    init(rememberedMax: Int = GatewayLimits.confirmedRememberedMax) { self.rememberedMax = rememberedMax }

    mutating func add(_ numbers: [Int64]) {
        self.unsaid += numbers
        for number in numbers { self.remember(number) }
    }

    /// If a client has confirmed this number lately, its router has not heard of that, and is told again.
    /// - Returns: whether a client has.
    mutating func sayAgain(ifConfirmed number: Int64) -> Bool {
        guard self.recent.contains(number) || self.former.contains(number) else { return false }
        self.unsaid.append(number)
        return true
    }

    /// Numbers to send to routers, once.
    mutating func takeUnsaid() -> [Int64] {
        defer { self.unsaid = [] }
        return self.unsaid
    }

    /// Time has passed: what was recent is former, and what was former is forgotten.
    mutating func age() {
        self.former = self.recent
        self.recent = []
    }

    private mutating func remember(_ number: Int64) {
        if self.recent.count >= self.rememberedMax { self.age() }
        self.recent.insert(number)
    }
}
