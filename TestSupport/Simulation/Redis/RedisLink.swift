import Bus

/// One process's connections to Redis: one for commands, one to listen. Each connection keeps the order of its
/// messages; both can be cut, and restored.
final class RedisLink {
    private struct Subscription {
        var channels: Set<String>
        var onEvent: @Sendable (SubscriptionEvent) -> Void
        var isSubscribed = false
    }

    let host: Host
    private let server: SimulatedRedis
    /// Nanoseconds of one way.
    private let delays: ClosedRange<Int64>
    private(set) var isUp = true
    private var returnedAt = Int64.min
    /// Grows when the connections are cut: messages under way are lost.
    private var generation = 0
    private var lastArrival: Int64 = 0
    private var lastReply: Int64 = 0
    private var lastNotice: Int64 = 0
    private var subscription: Subscription?
    /// Masters that were lost, and that the subscription has not reached again.
    private var missing: Set<Int> = []
    /// Masters whose replacement this process does not know yet: its commands do not reach them.
    private var unknown: Set<Int> = []
    /// The replacements that this process knows.
    private(set) var replacements = Replacements.none

    /// How long a command takes to fail while the connection is down.
    private static let refusal: Int64 = .milliseconds(20)

    init(_ host: Host, to server: SimulatedRedis, delays: ClosedRange<Int64>) {
        self.host = host
        self.server = server
        self.delays = delays
        server.links.append(self)
        if server.masters != nil {
            self.replacements = Replacements(parts: SimulatedMasters.count) { SimulatedMasters.master(of: $0) }
        }
        host.atDeath { [unowned self] in
            self.cut()
            self.server.links.removeAll { $0 === self }
            self.subscription = nil
        }
    }

    // MARK: Commands

    /// Runs a command at the server and passes on the answer. While the connection is cut, nothing is done.
    /// - Parameters:
    ///   - names: keys, streams and channels of the command. Nothing is done while the master of one is away.
    ///   - work: the server's work.
    ///   - done: called on behalf of the process, unless it died.
    func command<T>(
        at names: [String] = [], _ work: @escaping () -> T, done: @escaping (Result<T, BusError>) -> Void
    ) {
        self.send(at: names) { answer in
            answer(work())
        } done: {
            done($0)
        }
    }

    /// As `command`, for commands that the server may answer later.
    func send<T>(
        at names: [String] = [], _ work: @escaping (_ answer: @escaping (T) -> Void) -> Void,
        done: @escaping (Result<T, BusError>) -> Void
    ) {
        let machine = Machine.current
        guard self.isUp, !self.host.isDead, self.reaches(names) else {
            machine.after(Self.refusal, for: self.host) { done(.failure(.unavailable)) }
            return
        }
        let (generation, losses) = (self.generation, self.server.masters?.losses(of: names))
        self.lastArrival = max(self.lastArrival, machine.now + self.delay())
        machine.schedule(
            at: self.lastArrival,
            .call {
                func isLost() -> Bool {
                    self.generation != generation || self.server.masters?.losses(of: names) != losses
                }
                guard !isLost() else { return self.fail(done) }
                work { value in
                    self.lastReply = max(self.lastReply, machine.now + self.delay())
                    machine.schedule(
                        at: self.lastReply,
                        .call {
                            done(isLost() ? .failure(.unavailable) : .success(value))
                        }, for: self.host)
                }
            }, for: nil)
    }

    /// Whether commands about these names reach their masters.
    func reaches(_ names: [String]) -> Bool {
        !self.server.isAway(names)
            && (self.unknown.isEmpty || self.unknown.isDisjoint(with: names.map(SimulatedMasters.master)))
    }

    private func fail<T>(_ done: @escaping (Result<T, BusError>) -> Void) {
        Machine.current.after(Self.refusal, for: self.host) { done(.failure(.unavailable)) }
    }

    private func delay() -> Int64 { Int64.random(in: self.delays, using: &Machine.current.random) }

    // MARK: Listening

    func subscribe(to channels: [String], _ onEvent: @escaping @Sendable (SubscriptionEvent) -> Void) {
        guard !self.host.isDead else { return }
        self.subscription = Subscription(channels: Set(channels), onEvent: onEvent)
        if self.isUp { self.listen() }
    }

    /// The server confirms a subscription before the first Notice, on the same connection.
    private func listen() {
        self.command {
            self.missing = self.server.masters?.away ?? []
            let isWhole = self.isWhole
            self.subscription?.isSubscribed = isWhole
            if isWhole { self.notify(.subscribed) }
        } done: { _ in
        }
    }

    /// The channels of the other masters stay subscribed.
    private func listen(toNew master: Int) {
        self.command {
            guard self.server.masters?.away.contains(master) == false else { return }
            self.missing.remove(master)
            guard self.isWhole, self.subscription?.isSubscribed == false else { return }
            self.subscription?.isSubscribed = true
            self.notify(.subscribed)
        } done: { _ in
        }
    }

    func hears(_ channel: String) -> Bool {
        self.isUp && self.subscription?.channels.contains(channel) == true
            && (self.missing.isEmpty
                ? self.subscription!.isSubscribed : !self.missing.contains(SimulatedMasters.master(of: channel)))
    }

    /// Whether each channel is subscribed.
    private var isWhole: Bool {
        self.missing.isDisjoint(with: self.subscription?.channels.map(SimulatedMasters.master) ?? [])
    }

    func deliver(_ channel: String, _ bytes: [UInt8]) {
        self.notify(.notice(channel: channel, bytes: bytes))
    }

    private func notify(_ event: SubscriptionEvent) {
        let (machine, generation) = (Machine.current, self.generation)
        self.lastNotice = max(self.lastNotice, machine.now + self.delay())
        machine.schedule(
            at: self.lastNotice,
            .call {
                guard self.generation == generation, !self.host.isDead else { return }
                self.subscription?.onEvent(event)
            }, for: self.host)
    }

    // MARK: Faults

    /// Whether Redis was unreachable at this moment or later.
    func wasAway(since moment: Int64) -> Bool {
        !self.isUp || self.returnedAt >= moment || self.server.masters.map { $0.lastTrouble >= moment } ?? false
    }

    func masterWasLost(_ master: Int) {
        self.missing.insert(master)
        if self.isUp, !self.isWhole { self.loseSubscription() }
    }

    /// The subscription reaches the new master after a while, and so do the process's commands.
    func masterTookOver(_ master: Int) {
        let machine = Machine.current
        self.unknown.insert(master)
        machine.after(Int64.random(in: 0...SimulatedMasters.listenersMax, using: &machine.random), for: self.host) {
            if self.isUp { self.listen(toNew: master) }
        }
        machine.after(Int64.random(in: 0...SimulatedMasters.learnedMax, using: &machine.random), for: self.host) {
            guard self.server.masters?.away.contains(master) == false, self.unknown.remove(master) != nil else {
                return
            }
            self.replacements.note([master])
            self.server.lookAgain()
        }
    }

    func mastersRestarted() { self.replacements.note(0..<SimulatedMasters.count) }

    func cut() {
        guard self.isUp else { return }
        self.isUp = false
        self.generation += 1
        self.loseSubscription()
    }

    private func loseSubscription() {
        guard self.subscription?.isSubscribed == true else { return }
        self.subscription!.isSubscribed = false
        let onEvent = self.subscription!.onEvent
        Machine.current.after(0, for: self.host) { if !self.host.isDead { onEvent(.subscriptionLost) } }
    }

    func comeBack() {
        guard !self.isUp, !self.host.isDead else { return }
        self.isUp = true
        self.returnedAt = Machine.current.now
        if self.subscription != nil { self.listen() }
    }
}
