import ClusterContract
import Contract

/// Which rates count for a subject: everybody's, or those of a class (contract §20.7). `RateLeases.terms(of:)` knows it.
struct RateTerms: Equatable {
    static let usual = RateTerms(place: 0)
    fileprivate var place: UInt8
}

/// The rates of identities or of addresses, as one gateway counts them. Redis counts for all gateways (`SharedPace`).
/// A gateway leases uses from there in chunks, so that most uses cost no request.
///
/// Each use passes two counts. Redis has granted it, and `Entry.pace` bounds what this gateway allows by itself.
/// The second one holds whatever Redis answers or has lost. While Redis is away, only the second one counts (contract §11).
///
/// All gateways together never allow more than the burst and the uses that came back since the subject was at rest.
/// A shorter span of time may see more, because other gateways may hold leases: 1.5 chunks each, for `leaseLife` at most.
struct RateLeases<Subject: Hashable & Sendable> {
    enum Verdict: Equatable {
        case admitted
        /// Milliseconds until the next use.
        case refused(Int64)
        /// Redis decides. Take again when the pending request is answered.
        case unknown
    }

    /// A request to Redis. Exactly one of `answered` and `failed` is called with it.
    struct LeaseRequest: Sendable {
        let subject: Subject
        let rate: Rate
        let request: RateRequest
    }

    private struct Rule {
        let place: UInt8
        let rate: Rate
        /// Everybody's, and those of each class.
        let terms: [Terms]

        subscript(terms: RateTerms) -> Terms { self.terms[Int(terms.place)] }
    }

    private struct Terms {
        let allowance: Allowance
        /// Uses leased at once.
        let chunk: Int

        init(_ allowance: Allowance) {
            self.allowance = allowance
            let burst = (allowance.ahead / allowance.step).rounded()
            self.chunk = max(1, Int(burst / GatewayLimits.leasesPerBurst))
        }
    }

    private struct Key: Hashable {
        let subject: Subject
        let place: UInt8
    }

    private struct Entry {
        /// Uses that this gateway has allowed.
        var pace = Pace()
        /// Uses leased and not given out, until the lease ends.
        var left = 0
        var leaseEndsAt: Int64 = 0
        /// When the shared count comes to rest, as last heard, in milliseconds.
        var sharedRestedAt = 0.0
        /// The memory in which Redis counts; 0: none is known.
        var record: UInt64 = 0
        /// While Redis is away: what all gateways have used, as last heard, and this one since.
        var local = Pace()
        /// Uses allowed while Redis was away, and not told since; and those of them that the pending request tells.
        var uncounted = 0
        var uncountedAsked = 0
        var isAsking = false
        /// As the last use was taken.
        var terms = RateTerms.usual
        /// Redis did not answer: this gateway counts by itself.
        var countsLocally = false
        /// Redis is not asked before: it has refused until then, or it is away.
        var askAgainAt: Int64 = 0

        func isOver(at now: Int64) -> Bool {
            !self.isAsking && self.pace.isRested(at: Timestamp(milliseconds: now))
                && (self.left == 0 || self.leaseEndsAt <= now) && self.sharedRestedAt <= Double(now)
        }
    }

    /// Milliseconds: a day. Rates may be changed to next to nothing.
    private static var lifeMax: Double { 86_400_000 }

    private let rules: [String: Rule]
    private let rates: [Rate]
    private let classes: [RateClassName: RateTerms]
    private let countedMax: Int
    private var entries: [Key: Entry] = [:]
    /// Entries whose shared count was lost and is to be restored.
    private var toRestore: [Key] = []
    private var lookAgainAt: Int64 = 0

    /// - Parameter countedMax: entries, one for each rate that a subject uses. Beyond it some are forgotten.
    ///   For these only the shared count holds.
    init(_ rates: [Rate], of table: RateTable, classes: RateClasses = .none, countedMax: Int) {
        self.rates = rates
        self.countedMax = countedMax
        self.classes = Dictionary(
            uniqueKeysWithValues: zip(
                classes.all.map(\.name), (1...Limits.rateClassesMax).map { RateTerms(place: UInt8($0)) }))
        self.rules = Dictionary(
            uniqueKeysWithValues: rates.enumerated().map { place, rate in
                let usual = table.allowance(of: rate)
                let others = classes.all.map {
                    $0.changes[rate.action].map { table.allowance(of: rate, as: $0) } ?? usual
                }
                return (rate.action, Rule(place: UInt8(place), rate: rate, terms: ([usual] + others).map(Terms.init)))
            })
    }

    /// - Returns: `nil` if there is no such class.
    func terms(of name: RateClassName) -> RateTerms? { self.classes[name] }

    var count: Int { self.entries.count }

    /// Takes one use.
    /// - Parameter now: milliseconds of a clock that only goes forward.
    /// - Returns: a request to send, if there is one. The use does not wait for it unless the verdict is `unknown`.
    mutating func take(
        _ rate: Rate, _ subject: Subject, as terms: RateTerms = .usual, at now: Int64
    ) -> (Verdict, LeaseRequest?) {
        guard let rule = self.rules[rate.action] else { return (.admitted, nil) }
        let key = Key(subject: subject, place: rule.place)
        let known = self.entries[key]
        if known == nil { self.makeRoom(at: now) }
        var entry = known ?? Entry()
        // Uses are leased at the price of their class.
        if entry.terms != terms { (entry.terms, entry.left) = (terms, 0) }
        let (allowance, chunk) = (rule[terms].allowance, rule[terms].chunk)
        defer { self.entries[key] = entry }
        let time = Timestamp(milliseconds: now)
        if let wait = entry.pace.wait(allowance, at: time) { return (.refused(wait), nil) }
        if entry.leaseEndsAt <= now { entry.left = 0 }
        let mayAsk = !entry.isAsking && entry.askAgainAt <= now
        if entry.left > 0 {
            entry.left -= 1
            _ = entry.pace.admit(allowance, at: time)
            let isDue = mayAsk && chunk > 1 && entry.left <= chunk / 2
            return (.admitted, isDue ? Self.ask(&entry, rule, subject, at: now) : nil)
        }
        if entry.countsLocally {
            if let wait = entry.local.admit(allowance, at: time) {
                return (.refused(wait), mayAsk ? Self.ask(&entry, rule, subject, at: now) : nil)
            }
            entry.uncounted += 1
            _ = entry.pace.admit(allowance, at: time)
            return (.admitted, mayAsk ? Self.ask(&entry, rule, subject, at: now) : nil)
        }
        if entry.isAsking { return (.unknown, nil) }
        guard mayAsk else { return (.refused(entry.askAgainAt - now), nil) }
        return (.unknown, Self.ask(&entry, rule, subject, at: now))
    }

    /// A use that was taken did not take place. It is there for whoever comes next.
    mutating func giveBack(_ rate: Rate, _ subject: Subject, at now: Int64) {
        guard let rule = self.rules[rate.action] else { return }
        let key = Key(subject: subject, place: rule.place)
        guard var entry = self.entries[key] else { return }
        entry.pace.giveBack(rule[entry.terms].allowance)
        if entry.countsLocally, entry.uncounted > 0 {
            entry.uncounted -= 1
            entry.local.giveBack(rule[entry.terms].allowance)
        } else if entry.leaseEndsAt > now {
            entry.left += 1
        }
        self.entries[key] = entry
    }

    /// - Returns: whether Redis had lost the count of this subject. The request has restored this count, and no other.
    mutating func answered(_ leaseRequest: LeaseRequest, _ grant: RateGrant, at now: Int64) -> Bool {
        guard let rule = self.rules[leaseRequest.rate.action] else { return false }
        let key = Key(subject: leaseRequest.subject, place: rule.place)
        var entry = self.entries[key] ?? Entry()
        let isLost =
            leaseRequest.request.known > GatewayLimits.restDoubtMilliseconds
            && grant.record != leaseRequest.request.record
        entry.record = grant.record
        entry.sharedRestedAt = Double(now) + grant.rest
        guard leaseRequest.request.uses > 0 else {
            self.entries[key] = entry
            return false
        }
        entry.isAsking = false
        entry.countsLocally = false
        entry.uncounted -= min(entry.uncounted, entry.uncountedAsked)
        // Uses at the price of another class are nobody's.
        let isDue = leaseRequest.request.allowance == rule[entry.terms].allowance
        if grant.uses > 0, isDue {
            if entry.leaseEndsAt <= now { entry.left = 0 }
            entry.left += grant.uses
            // Not before as many uses would have come back: of a very slow rate most would be lost.
            let request = leaseRequest.request
            let comeBack = Int64(min(Double(request.uses) * request.allowance.step, Self.lifeMax))
            entry.leaseEndsAt = now + max(GatewayLimits.leaseLife.milliseconds, comeBack)
        }
        entry.askAgainAt = grant.uses < leaseRequest.request.uses ? now + grant.wait : now
        self.entries[key] = entry
        return isLost
    }

    /// Redis has not answered, or cannot be reached. Uses that it may have granted are lost.
    mutating func failed(_ leaseRequest: LeaseRequest, at now: Int64) {
        guard leaseRequest.request.uses > 0, let rule = self.rules[leaseRequest.rate.action] else { return }
        let key = Key(subject: leaseRequest.subject, place: rule.place)
        var entry = self.entries[key] ?? Entry()
        entry.isAsking = false
        if !entry.countsLocally { entry.local = Pace(restedAt: entry.sharedRestedAt) }
        entry.countsLocally = true
        entry.askAgainAt = now + GatewayLimits.localCountingFor.milliseconds
        self.entries[key] = entry
    }

    private static func ask(
        _ entry: inout Entry, _ rule: Rule, _ subject: Subject, at now: Int64
    ) -> LeaseRequest {
        let terms = rule[entry.terms]
        entry.isAsking = true
        entry.uncountedAsked = entry.uncounted
        // Some of them have come back meanwhile.
        let used = max(0, entry.local.restedAt - max(entry.sharedRestedAt, Double(now)))
        let uncounted = min(used, Double(entry.uncounted) * terms.allowance.step)
        return LeaseRequest(
            subject: subject, rate: rule.rate,
            request: RateRequest(
                terms.allowance, uses: terms.chunk, known: max(0, entry.sharedRestedAt - Double(now)),
                record: entry.record, uncounted: uncounted))
    }

    // MARK: What Redis has lost

    /// Redis has lost counts. Counts that are not at rest must be restored.
    mutating func sharedCountsWereLost(
        at now: Int64, where isLost: (Rate, Subject) -> Bool = { _, _ in true }
    ) {
        let left = Set(self.toRestore)
        self.toRestore = self.entries.compactMap { key, entry in
            guard entry.sharedRestedAt > Double(now) else { return nil }
            return left.contains(key) || isLost(self.rates[Int(key.place)], key.subject) ? key : nil
        }
    }

    /// - Returns: requests that tell Redis what this gateway knows, and ask for no uses.
    mutating func restore(max: Int, at now: Int64) -> [LeaseRequest] {
        var requests: [LeaseRequest] = []
        for key in self.toRestore.suffix(max) {
            guard let entry = self.entries[key] else { continue }
            let rule = self.rules[self.rates[Int(key.place)].action]!
            // A pending request does not matter: it may be older than the loss. Restoring a count twice changes
            // nothing.
            requests.append(
                LeaseRequest(
                    subject: key.subject, rate: rule.rate,
                    request: RateRequest(
                        rule[entry.terms].allowance, uses: 0, known: Swift.max(0, entry.sharedRestedAt - Double(now)),
                        record: entry.record)))
        }
        self.toRestore.removeLast(min(max, self.toRestore.count))
        return requests
    }

    // MARK: Bounds

    /// Forgets whoever is at rest. Looks through all entries.
    mutating func forgetRested(at now: Int64) {
        guard self.entries.contains(where: { $1.isOver(at: now) }) else { return }
        // A new table: the old one would keep the memory of its largest size.
        self.entries = self.entries.filter { !$1.isOver(at: now) }
    }

    private mutating func makeRoom(at now: Int64) {
        guard self.entries.count >= self.countedMax else { return }
        if self.lookAgainAt <= now {
            self.lookAgainAt = now + GatewayLimits.ratesLookPause.milliseconds
            self.forgetRested(at: now)
        }
        if self.entries.count >= self.countedMax { self.entries.remove(at: self.entries.startIndex) }
    }
}
