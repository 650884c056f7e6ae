import ClusterContract
import Contract

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
        let allowance: Allowance
        /// Uses leased at once.
        let chunk: Int
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
    private let countedMax: Int
    private var entries: [Key: Entry] = [:]
    /// Entries whose shared count was lost and is to be restored.
    private var toRestore: [Key] = []
    private var lookAgainAt: Int64 = 0

    /// - Parameter countedMax: entries, one for each rate that a subject uses. Beyond it some are forgotten.
    ///   For these only the shared count holds.
    init(_ rates: [Rate], of table: RateTable, countedMax: Int) {
        self.rates = rates
        self.countedMax = countedMax
        self.rules = Dictionary(
            uniqueKeysWithValues: rates.enumerated().map { place, rate in
                let allowance = table.allowance(of: rate)
                let burst = (allowance.ahead / allowance.step).rounded()
                let chunk = max(1, Int(burst / GatewayLimits.leasesPerBurst))
                return (rate.action, Rule(place: UInt8(place), rate: rate, allowance: allowance, chunk: chunk))
            })
    }

    var count: Int { self.entries.count }

    /// Takes one use.
    /// - Parameter now: milliseconds of a clock that only goes forward.
    /// - Returns: a request to send, if there is one. The use does not wait for it unless the verdict is `unknown`.
    mutating func take(_ rate: Rate, _ subject: Subject, at now: Int64) -> (Verdict, LeaseRequest?) {
        guard let rule = self.rules[rate.action] else { return (.admitted, nil) }
        let key = Key(subject: subject, place: rule.place)
        let known = self.entries[key]
        if known == nil { self.makeRoom(at: now) }
        var entry = known ?? Entry()
        defer { self.entries[key] = entry }
        let time = Timestamp(milliseconds: now)
        if let wait = entry.pace.wait(rule.allowance, at: time) { return (.refused(wait), nil) }
        if entry.leaseEndsAt <= now { entry.left = 0 }
        let mayAsk = !entry.isAsking && entry.askAgainAt <= now
        if entry.left > 0 {
            entry.left -= 1
            _ = entry.pace.admit(rule.allowance, at: time)
            let isDue = mayAsk && rule.chunk > 1 && entry.left <= rule.chunk / 2
            return (.admitted, isDue ? Self.ask(&entry, rule, subject, at: now) : nil)
        }
        if entry.countsLocally {
            if let wait = entry.local.admit(rule.allowance, at: time) {
                return (.refused(wait), mayAsk ? Self.ask(&entry, rule, subject, at: now) : nil)
            }
            entry.uncounted += 1
            _ = entry.pace.admit(rule.allowance, at: time)
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
        entry.pace.giveBack(rule.allowance)
        if entry.countsLocally, entry.uncounted > 0 {
            entry.uncounted -= 1
            entry.local.giveBack(rule.allowance)
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
        if grant.uses > 0 {
            if entry.leaseEndsAt <= now { entry.left = 0 }
            entry.left += grant.uses
            // Not before as many uses would have come back: of a very slow rate most would be lost.
            let comeBack = Int64(min(Double(rule.chunk) * rule.allowance.step, Self.lifeMax))
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
        entry.isAsking = true
        entry.uncountedAsked = entry.uncounted
        // Some of them have come back meanwhile.
        let used = max(0, entry.local.restedAt - max(entry.sharedRestedAt, Double(now)))
        let uncounted = min(used, Double(entry.uncounted) * rule.allowance.step)
        return LeaseRequest(
            subject: subject, rate: rule.rate,
            request: RateRequest(
                rule.allowance, uses: rule.chunk, known: max(0, entry.sharedRestedAt - Double(now)),
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
                        rule.allowance, uses: 0, known: Swift.max(0, entry.sharedRestedAt - Double(now)),
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
