import ClusterContract
import Contract
import Logging
import RouterCore
import Store
import StoreModel

/// One course of events: a whole cluster and its clients, played from a seed. First, faults happen for a while, then
/// none, and in bounded time every promise must be kept.
final class World {
    nonisolated(unsafe) static var current: World!

    /// How often faults happen. The rates differ from seed to seed; in some worlds there are none.
    struct FaultRates {
        /// Chances in a thousand, each second.
        var crash: Int
        var freeze: Int
        var cut: Int
        var redis: Int
        /// Losses of a cluster's masters.
        var masters: Int
        var postgres: Int
        var lines: Int
        /// One statement in so many loses its session.
        var lostStatements: Int

        static let calm = FaultRates(
            crash: 0, freeze: 0, cut: 0, redis: 0, masters: 0, postgres: 0, lines: 0, lostStatements: 0)
    }

    /// The activity of the clients.
    enum Kind {
        case mail
        /// People whisper and listen.
        case live
        /// People meet in rooms.
        case rooms
        /// Two connections show one token.
        case rivals
    }

    /// The kind of Redis.
    enum Masters {
        case one
        /// A cluster, whose masters are lost and replaced beside all other faults.
        case many
        /// The same, without other faults.
        case lost
    }

    static let pageMax = 5
    /// Longest wait for an answer, in nanoseconds: a lookup of the session and the question itself, each with its own
    /// limit, and the travel times.
    static let answerMax: Int64 = .seconds(26)
    /// How much later a sent frame may arrive, in milliseconds.
    static let onTheWay: Int64 = 40_000
    /// How long all clients may take to receive everything after the faults. Longer than the longest pause before a
    /// resend.
    static let quietMax: Int64 = .seconds(900)

    let machine: Machine
    let mutation: Mutation?
    let isTracing: Bool
    let redis = SimulatedRedis()
    let postgres = SimulatedPostgres()
    private(set) var record: Record!
    /// Only in live worlds.
    private(set) var scene: LiveScene?
    /// Only in worlds of rooms.
    private(set) var rooms: RoomScene?
    /// Only in worlds of rivals.
    private(set) var rivals: RivalScene?
    private let kind: Kind
    private let masters: Masters
    private let hasStandby: Bool
    /// The last signal of each room, for `Mutation.givesSignalsToNewcomers`.
    var lastSignals: [String: [UInt8]] = [:]
    /// Until this time a fault lasts, or was just repaired; by the machine's clock.
    private(set) var troubledUntil: Int64 = 0
    private var faultRates: FaultRates
    private var injectsFaults = false
    /// No other fault happens until the end of the faults.
    private var isLastAct = false
    private var isOver = false
    private var isGrowing = false
    /// Longest time until a client has stored received mail; nanoseconds.
    let storingMax: Int64
    private var phones: [Phone] = []
    private var gateways: [GatewayHost] = []
    private var services: [(service: Service, host: Host)] = []
    private var names = 0
    private var providerAwayUntil: Int64 = 0
    private var pushes: [String: [Int64]] = [:]
    /// When routers asked for wake-ups.
    private var wakes: [UUIDText: Int64] = [:]
    private let chattiness: Int
    /// How long mail is kept. In some worlds mail expires before all clients are back.
    let pendingTTL: Duration
    var expires: Bool { self.pendingTTL < Limits.pendingTTL }
    /// In some worlds waiting Jobs are handled in many batches, mailboxes are read one by one, and wake-ups are soon
    /// kept back.
    let jobsPerPartitionMax: Int
    let store = PostgresConfiguration(url: "postgres://simulated", applicationName: "simulated")

    init(
        seed: UInt64, isCalm: Bool = false, kind: Kind = .mail, masters: Masters = .one, hasStandby: Bool = false,
        mutation: Mutation? = nil, isTracing: Bool = false
    ) {
        let machine = Machine(seed: seed)
        self.kind = kind
        self.machine = machine
        self.mutation = mutation
        self.isTracing = isTracing
        func some(_ most: Int) -> Int { Int.random(in: 0...most, using: &machine.random) }
        self.faultRates =
            isCalm
            ? .calm
            : FaultRates(
                crash: some(40), freeze: some(30), cut: some(40), redis: some(25), masters: 0, postgres: some(25),
                lines: some(120), lostStatements: [0, 0, 300, 1_500][some(3)])
        self.masters = masters
        self.hasStandby = hasStandby && kind == .mail && !isCalm
        self.faultRates.masters = masters == .lost ? 100 : 4 * self.faultRates.redis
        self.storingMax = .milliseconds(Int64([200, 2_000, 6_000][some(2)]))
        self.chattiness = [100, 300, 700][some(2)]
        self.pendingTTL = !isCalm && some(3) == 0 ? .seconds(300) : Limits.pendingTTL
        self.jobsPerPartitionMax = [1, 3, RouterLimits.jobsPerPartitionMax][some(2)]
        self.record = Record(self)
        World.current = self
        // A time far enough after 1970 for code that subtracts from it.
        self.machine.begin(at: .seconds(1_767_225_600))
        if masters != .one { self.redis.becomeCluster() }
        self.postgres.mutation = mutation
        self.postgres.tables.flaw = mutation?.flaw
        self.postgres.fate = { [unowned self] _ in self.fate() }
    }

    // MARK: What processes are given

    func bus(for host: Host, loop: SimulatedLoop? = nil) -> SimulatedBus {
        SimulatedBus(
            RedisLink(host, to: self.redis, delays: 50_000...(.milliseconds(2))), self.redis, loop: loop,
            mutation: self.mutation)
    }

    func logger(_ host: Host) -> Logger {
        let isTracing = self.isTracing
        return Logger(label: host.name) { _ -> any LogHandler in
            isTracing ? TraceLog(host: host) : SwiftLogNoOpLogHandler()
        }
    }

    /// A thread that waits for Postgres.
    func databaseTurns() -> SlowTurns { SlowTurns(200_000...(.milliseconds(4))) }

    /// A connection for one owner of shares.
    func connection(_ logger: Logger) -> PostgresConnection {
        PostgresConnection(self.store, executor: self.databaseTurns(), logger: logger)
    }

    func pool(_ connections: Int, _ logger: Logger) -> PostgresPool {
        PostgresPool(
            self.store, connections: connections, makeExecutor: { SlowTurns(200_000...(.milliseconds(4))) },
            logger: logger)
    }

    // MARK: Playing

    /// Plays without faults. Each phone has a fixed gateway and writes to the next phone, at the next gateway.
    func grow(to gateways: Int) -> Growth {
        self.isGrowing = true
        for person in Identities.crowd(of: gateways * Growth.phonesPerGateway) { self.add(person) }
        for _ in 0..<gateways { self.gateways.append(GatewayHost(self.name("gateway"), in: self)) }
        for service in [Service.router, .router, .auth, .push] { self.start(service) }
        self.tickPhones()
        self.machine.run(until: self.machine.now + Growth.start) { false }
        self.redis.heard = [:]
        let begin = self.machine.now
        for (index, phone) in self.phones.enumerated() {
            // Spread over the pause, so that no two gateways have their turns at once.
            self.machine.after(Growth.pause * Int64(index) / Int64(self.phones.count)) { [unowned self] in
                self.keepWriting(phone, to: self.phones[(index + 1) % self.phones.count], until: begin + Growth.length)
            }
        }
        self.machine.run(until: begin + Growth.length) { !self.record.faults.isEmpty }
        return Growth(gateways: gateways, heard: self.redis.heard ?? [:])
    }

    private func keepWriting(_ phone: Phone, to next: Phone, until end: Int64) {
        guard self.machine.now < end else { return }
        phone.write(to: next.person.identity)
        self.machine.after(Growth.pause) { [unowned self] in self.keepWriting(phone, to: next, until: end) }
    }

    /// - Parameter seconds: how long faults happen, in the world's time.
    func play(seconds: Int64) {
        self.eventsMax = Self.eventsPerSecondMax * Int(max(seconds, 45))
        switch self.kind {
        case .mail: self.makePhones()
        case .live:
            self.redis.startClock()
            self.scene = LiveScene(in: self)
        case .rooms:
            self.redis.startClock()
            self.rooms = RoomScene(in: self)
        case .rivals: self.rivals = RivalScene(in: self)
        }
        for _ in 0..<2 { self.gateways.append(GatewayHost(self.name("gateway"), in: self)) }
        let services: [Service] =
            switch self.kind {
            case .mail: [.router, .router, .auth, .push]
            case .live, .rooms: [.router, .auth, .calls, .calls]
            case .rivals: [.router, .router, .auth]
            }
        for service in services { self.start(service) }
        self.tickPhones()
        self.injectsFaults = true
        self.everySecond()
        let faultsEnd = self.machine.now + .seconds(seconds)
        // Later faults repair effects of earlier ones. So in some worlds one fault is the last.
        if self.faultRates.redis > 0, self.machine.random.isOne(in: 4) {
            self.machine.run(until: faultsEnd - Self.lastActLength) { self.hasFailed }
            self.isLastAct = true
            self.loseDepartures(isNew: self.machine.random.isOne(in: 3))
        }
        self.machine.run(until: faultsEnd) { self.hasFailed }
        self.calmDown()
    }

    /// Worlds have up to 2,000 events for each second in which things go wrong. With three times as many, processes keep each
    /// other busy, and would for ever.
    private static let eventsPerSecondMax = 6_000
    private var eventsMax = 0

    /// Whether a promise is broken. One of them is that the cluster comes to rest.
    private var hasFailed: Bool {
        if self.machine.count > self.eventsMax, self.record.faults.isEmpty {
            self.record.fault("the cluster does not come to rest: \(self.machine.count) events")
        }
        return !self.record.faults.isEmpty
    }

    private func makePhones() {
        for person in Identities.all.prefix(Int.random(in: 2...Identities.all.count, using: &self.machine.random)) {
            self.add(person)
        }
    }

    private func add(_ person: Identities.Person) {
        self.postgres.tables.auth.identities[person.identity] = .init(
            signKey: person.signPublicKey, encKey: person.encPublicKey, epoch: 0)
        self.phones.append(Phone(person, in: self))
    }

    private static let lastActLength: Int64 = .seconds(8)

    private func calmDown() {
        guard self.record.faults.isEmpty else { return }
        self.trace("——— nothing goes wrong any more")
        self.injectsFaults = false
        self.faultRates = .calm
        self.postgres.isAway = false
        self.returnStandby()
        self.providerAwayUntil = 0
        for link in self.redis.links { link.comeBack() }
        for master in self.redis.masters?.away.sorted() ?? [] { self.redis.takeOver(master, isNew: false) }
        for phone in self.phones where phone.sleepsSince != nil && !self.machine.random.isOne(in: 3) { phone.wakeUp() }
        self.scene?.calmDown()
        self.rooms?.calmDown()
        self.rivals?.calmDown()
        let end = self.machine.now + Self.quietMax
        var lookAt: Int64 = 0
        self.machine.run(until: end) {
            guard !self.hasFailed else { return true }
            guard self.machine.now >= lookAt else { return false }
            lookAt = self.machine.now + .milliseconds(500)
            return self.isQuiet
        }
        self.record.judge { self.isAway($0) }
        self.judgeWakes()
        if self.masters == .lost, self.redis.jobs.again.others > 0 {
            self.record.fault("\(self.redis.jobs.again.others) Jobs were read twice, and their master was not replaced")
        }
        if self.record.faults.isEmpty { self.scene?.judge() }
        if self.record.faults.isEmpty { self.rooms?.judge() }
        if self.record.faults.isEmpty { self.rivals?.judge() }
        self.trace("——— over: \(self.record.count)")
    }

    /// Whether all expected deliveries have happened.
    private var isQuiet: Bool {
        self.scene?.isQuiet ?? true && self.rooms?.isQuiet ?? true && self.rivals?.isQuiet ?? true
            && self.phones.allSatisfy(\.isSettled)
            && self.record.isComplete { self.isAway($0) }
            && self.phones.allSatisfy { ($0.sleepsSince != nil && !self.expires) || self.mailbox($0).isEmpty }
            && !self.postgres.tables.router.outcomes.contains { !self.isAway($0.key.sender) }
            && self.phones.allSatisfy { self.hasBeenWoken($0) }
    }

    /// Ends all processes of the cluster, so that their memory can be freed.
    func end() {
        for gateway in self.gateways { gateway.host.die() }
        for service in self.services { service.host.die() }
        self.isOver = true
        self.machine.run(until: self.machine.now + .seconds(3_600))
        self.phones = []
        self.scene?.end()
        self.rooms?.end()
        self.rivals?.end()
    }

    // MARK: Clients

    private func tickPhones() {
        guard !self.isOver else { return }
        for phone in self.phones { phone.tick() }
        self.scene?.tick()
        self.rooms?.tick()
        self.rivals?.tick()
        self.machine.after(.milliseconds(200)) { [unowned self] in self.tickPhones() }
    }

    func gateway(for phone: Phone) -> GatewayHost? {
        guard self.isGrowing else { return self.someGateway() }
        guard let index = self.phones.firstIndex(where: { $0 === phone }) else { return nil }
        let gateway = self.gateways[index % self.gateways.count]
        return gateway.isReady ? gateway : nil
    }

    func someGateway() -> GatewayHost? {
        self.gateways.filter(\.isReady).randomElement(using: &self.machine.random)
    }

    func twoGateways() -> [GatewayHost]? {
        let two = Array(self.gateways.filter(\.isReady).shuffled(using: &self.machine.random).prefix(2))
        return two.count == 2 ? two : nil
    }

    /// At times a client does not store received mail.
    func forgets() -> Bool { self.injectsFaults && self.faultRates.lines > 0 && self.machine.random.isOne(in: 12) }

    func repeatsJob() -> Bool { self.faultRates.lines > 0 && self.machine.random.isOne(in: 100) }

    private func isAway(_ identity: WhisperID) -> Bool {
        self.phones.contains { $0.person.identity == identity && $0.sleepsSince != nil }
    }

    /// A login that the client gave up may be carried out later.
    func mayReplace(_ identity: WhisperID) -> Bool {
        self.phones.contains { $0.person.identity == identity && $0.lostProofAt + .seconds(60) > self.machine.now }
    }

    func mustAnswer(since: Int64, on line: Line?) -> Bool {
        guard let line else { return false }
        return line.silentUntil < since && line.gateway.host.frozenUntil < since
    }

    /// Whether Redis was unreachable for the gateway of `line` at some time since this moment.
    func mayRefuseLogins(since: Int64, on line: Line?) -> Bool {
        guard let line else { return false }
        return self.redis.links.contains { $0.host === line.gateway.host && $0.wasAway(since: since) }
    }

    // MARK: The store, as the judge sees it

    private func key(_ id: UUIDText, _ sender: WhisperID, _ recipient: WhisperID) -> RouterTables.MessageKey {
        RouterTables.MessageKey(
            messageID: PostgresUUID(high: id.high, low: id.low), sender: sender, recipient: recipient)
    }

    func number(of id: UUIDText, from sender: WhisperID, to recipient: WhisperID) -> Int64? {
        self.postgres.tables.router.ledger[self.key(id, sender, recipient)]?.number
    }

    /// Milliseconds of the wall clock.
    func acknowledgedAt(_ id: UUIDText, from sender: WhisperID, to recipient: WhisperID) -> Int64? {
        self.postgres.tables.router.ledger[self.key(id, sender, recipient)]?.statusAt?.milliseconds
    }

    func hasExpired(_ id: UUIDText, from sender: WhisperID, to recipient: WhisperID) -> Bool {
        self.postgres.tables.router.ledger[self.key(id, sender, recipient)]?.status == 3
    }

    func isPending(_ id: UUIDText, from sender: WhisperID, to recipient: WhisperID) -> Bool {
        let key = self.key(id, sender, recipient)
        return self.postgres.tables.router.mailboxes[recipient]?.contains { $0.key == key } ?? false
    }

    func hasOutcome(_ id: UUIDText) -> Bool {
        self.postgres.tables.router.outcomes.contains { $0.key.messageID == PostgresUUID(high: id.high, low: id.low) }
    }

    private func mailbox(_ phone: Phone) -> [RouterTables.StoredMessage] {
        self.postgres.tables.router.mailboxes[phone.person.identity] ?? []
    }

    // MARK: Wake-ups

    /// Since this time ownership of partitions is unchanged, and Notices of earlier owners have arrived.
    var ownedSince: Int64 { self.postgres.lastTaken + .seconds(1) }

    /// A router has appended a wake-up to its stream.
    func queued(_ wake: Wake) { self.wakes[wake.wakeID] = self.machine.now }

    func pushed(_ token: String, _ wake: UUIDText) {
        self.pushes[token, default: []].append(self.machine.now)
        // No client leaves in such a world. In others a gateway may have died, or a client may be silent, unknown to
        // its router.
        guard self.masters == .lost, let phone = self.phones.first(where: { $0.person.pushToken == token }),
            let since = phone.liveSince, since >= self.ownedSince, let queuedAt = self.wakes[wake], queuedAt > since
        else { return }
        self.record.fault("\(phone.person.name) is connected, and a push wakes it")
    }

    func isProviderAway() -> Bool { self.machine.now < self.providerAwayUntil }

    /// Whether a sleeping client with new mail was woken since the oldest of it.
    private func hasBeenWoken(_ phone: Phone) -> Bool {
        guard let since = phone.sleepsSince, phone.hasToken,
            let oldest = self.mailbox(phone).first(where: { $0.acceptedAt.milliseconds * 1_000_000 > since })
        else { return true }
        let accepted = oldest.acceptedAt.milliseconds * 1_000_000
        return self.pushes[phone.person.pushToken]?.contains { $0 >= accepted } ?? false
    }

    private func judgeWakes() {
        for phone in self.phones where !self.hasBeenWoken(phone) {
            self.record.fault("\(phone.person.name) sleeps, has mail, and was not woken")
        }
    }

    // MARK: Faults

    private func everySecond() {
        guard self.injectsFaults else { return }
        self.machine.after(.seconds(1)) { [unowned self] in self.everySecond() }
        for phone in self.phones {
            guard self.happens(self.chattiness) else { continue }
            let others = self.phones.filter { $0 !== phone }
            for _ in 0..<Int.random(in: 1...3, using: &self.machine.random) {
                phone.write(to: others.randomElement(using: &self.machine.random)!.person.identity)
            }
        }
        guard !self.isLastAct else { return }
        self.clientsCome()
        self.scene?.everySecond(lines: self.faultRates.lines)
        self.rooms?.everySecond(lines: self.faultRates.lines)
        self.serversFail()
    }

    private func clientsCome() {
        for phone in self.phones {
            if phone.sleepsSince != nil {
                if self.happens(60) { phone.wakeUp() }
                continue
            }
            guard self.happens(self.faultRates.lines) else { continue }
            let rest = self.some(.seconds(6))
            switch Int.random(in: 0..<8, using: &self.machine.random) {
            case 0, 1: phone.hangUp(rest: rest)
            case 2, 3: phone.loseNetwork(gatewayHearsAfter: self.some(.seconds(40)), rest: rest)
            case 4, 5: phone.enterTunnel(for: self.some(.seconds(12)))
            case 6: phone.loseSession()
            default: phone.sleep(gatewayHearsAfter: self.machine.random.isOne(in: 2) ? self.some(.seconds(40)) : nil)
            }
        }
    }

    private func serversFail() {
        if self.happens(self.faultRates.crash) { self.crashSomething() }
        if self.happens(self.faultRates.freeze), let host = self.hosts.randomElement(using: &self.machine.random) {
            // Waiting events were already put off until an earlier freeze ends.
            host.frozenUntil = max(host.frozenUntil, self.machine.now + self.some(.seconds(12)))
            self.troubled(for: host.frozenUntil - self.machine.now)
            self.trace("\(host.name) is frozen until \(self.time(host.frozenUntil))")
        }
        if self.happens(self.faultRates.cut), let link = self.redis.links.randomElement(using: &self.machine.random) {
            self.trace("\(link.host.name) loses Redis")
            link.cut()
            self.troubled(for: .seconds(3))
            self.machine.after(self.some(.seconds(3))) { link.comeBack() }
        }
        if self.happens(self.faultRates.redis) { self.failRedis() }
        if self.redis.masters != nil, self.happens(self.faultRates.masters) { self.loseMaster() }
        if self.happens(self.faultRates.postgres) { self.failPostgres() }
        if self.hasStandby, !self.postgres.isStandbyAway, self.happens(Self.standbyLoss) { self.loseStandby() }
        if self.happens(self.faultRates.cut) { self.providerAwayUntil = self.machine.now + self.some(.seconds(20)) }
    }

    private func crashSomething() {
        guard let host = self.hosts.randomElement(using: &self.machine.random) else { return }
        self.trace("\(host.name) dies")
        self.troubled(for: .seconds(12))
        host.die()
        // If the kernel of a dead machine closes no session, the server notices later.
        let sessions = self.postgres.sessions.filter { $0.host === host }
        let noticed = self.machine.random.isOne(in: 3) ? self.some(.seconds(4)) : 0
        self.machine.after(noticed) { [unowned self] in for session in sessions { self.postgres.end(session) } }
        let rest = self.some(.seconds(8))
        if let index = self.gateways.firstIndex(where: { $0.host === host }) {
            self.gateways.remove(at: index)
            self.machine.after(rest) { [unowned self] in
                self.gateways.append(GatewayHost(self.name("gateway"), in: self))
            }
        } else if let index = self.services.firstIndex(where: { $0.host === host }) {
            let service = self.services.remove(at: index).service
            self.machine.after(rest) { [unowned self] in self.start(service) }
        }
    }

    /// A replica replaces the master later, unless the faults have ended by then.
    private func loseMaster() {
        let master = Int.random(in: 0..<SimulatedMasters.count, using: &self.machine.random)
        let election = Int64.random(in: SimulatedMasters.election, using: &self.machine.random)
        self.trace("master \(master) of Redis is lost for \(election / 1_000_000) ms")
        self.troubled(for: election + SimulatedMasters.learnedMax)
        // The new master is empty: the old one restarted without data, or its replica had received nothing.
        let isNew = self.machine.random.isOne(in: 4)
        self.redis.lose(master)
        self.machine.after(election) { [unowned self] in
            self.trace("master \(master) is replaced\(isNew ? ", by one that has nothing" : "")")
            self.redis.takeOver(master, isNew: isNew)
        }
    }

    private func failRedis() {
        self.troubled(for: .seconds(4))
        let (isEmptied, isNew) = (self.machine.random.isOne(in: 2), self.machine.random.isOne(in: 3))
        if self.machine.random.isOne(in: 2) {
            self.trace("Redis restarts")
            let links = self.redis.links
            for link in links { link.cut() }
            for link in links { self.machine.after(self.some(.seconds(3))) { link.comeBack() } }
        }
        guard isEmptied else { return }
        if self.machine.random.isOne(in: 3) { self.loseDepartures(isNew: isNew) } else { self.emptyRedis(isNew: isNew) }
    }

    /// Clients leave, and Redis forgets their departures, which only Redis has.
    private func loseDepartures(isNew: Bool) {
        // Meanwhile no router ends one of two rival connections.
        if self.kind == .rivals { self.troubled(for: .seconds(4)) }
        self.leaveUnheard()
        self.machine.after(.milliseconds(1_000)) { [unowned self] in self.emptyRedis(isNew: isNew) }
    }

    private func emptyRedis(isNew: Bool) {
        self.trace("Redis forgets everything")
        self.redis.forgetEverything(isNew: isNew)
    }

    /// Clients leave while routers are frozen, so that only Redis has their departures.
    private func leaveUnheard() {
        for (service, host) in self.services where service == .router {
            host.frozenUntil = max(host.frozenUntil, self.machine.now + .milliseconds(1_500))
            self.trace("\(host.name) is frozen until \(self.time(host.frozenUntil))")
        }
        // By then the routers' last read of Jobs is over.
        self.machine.after(.milliseconds(600)) { [unowned self] in
            for phone in self.phones where phone.sleepsSince == nil && self.machine.random.isOne(in: 3) {
                phone.sleep(gatewayHearsAfter: nil)
            }
        }
    }

    private func failPostgres() {
        self.troubled(for: .seconds(20))
        if self.machine.random.isOne(in: 2) {
            self.trace("Postgres restarts")
            self.postgres.restart()
            self.postgres.isAway = true
            // At times longer than a question waits: the question is then handled, and its caller no longer waits.
            let longest: Int64 = self.machine.random.isOne(in: 4) ? .seconds(20) : .seconds(4)
            self.machine.after(self.some(longest)) { [unowned self] in self.postgres.isAway = false }
        } else if let session = self.postgres.sessions.randomElement(using: &self.machine.random) {
            self.trace("Postgres ends a session of \(session.host?.name ?? "")")
            self.postgres.end(session)
        }
    }

    /// Chance in a thousand, each second.
    private static let standbyLoss = 60

    private func loseStandby() {
        let length = self.some(.seconds(8))
        self.trace("the standby of Postgres is away for \(length / 1_000_000) ms")
        self.troubled(for: length + .seconds(20))
        self.postgres.loseStandby()
        self.machine.after(length) { [unowned self] in self.returnStandby() }
    }

    /// The standby catches up, or it replaces the primary, which is lost before that.
    private func returnStandby() {
        guard self.postgres.isStandbyAway else { return }
        if self.machine.random.isOne(in: 2) {
            self.trace("the standby of Postgres catches up")
            self.postgres.findStandby()
        } else {
            self.trace("the standby of Postgres takes the place of the primary")
            self.postgres.promoteStandby()
        }
    }

    private func fate() -> SimulatedPostgres.Fate {
        guard self.faultRates.lostStatements > 0, self.machine.random.isOne(in: self.faultRates.lostStatements) else {
            return .done
        }
        self.trace("a statement loses its session")
        self.troubled(for: 0)
        return self.machine.random.isOne(in: 2) ? .lostBefore : .lostAfter
    }

    // MARK: Small things

    private var hosts: [Host] { self.gateways.map(\.host) + self.services.map(\.host) }

    private func start(_ service: Service) {
        let host = Host(self.name("\(service)"))
        self.services.append((service, host))
        self.trace("\(host.name) starts")
        service.start(host, in: self)
    }

    private func name(_ kind: String) -> String {
        self.names += 1
        return "\(kind)-\(self.names)"
    }

    /// - Parameter chance: in a thousand.
    private func happens(_ chance: Int) -> Bool { Int.random(in: 0..<1_000, using: &self.machine.random) < chance }

    private func some(_ most: Int64) -> Int64 { Int64.random(in: 0...most, using: &self.machine.random) }

    private func time(_ nanoseconds: Int64) -> String { "\((nanoseconds - .seconds(1_767_225_600)) / 1_000_000) ms" }

    /// Marks a time of faults, whose effects the judges excuse.
    /// - Parameter nanoseconds: from now on.
    func troubled(for nanoseconds: Int64) {
        self.troubledUntil = max(self.troubledUntil, self.machine.now + nanoseconds)
    }

    func trace(_ text: @autoclosure () -> String) {
        if self.isTracing { print("\(self.time(self.machine.now))  \(text())") }
    }
}

extension Mutation {
    var flaw: StoreModel.Flaw? {
        switch self {
        case .acceptsRepetitions: .acceptsRepetitions
        case .keepsAcknowledgedMail: .keepsAcknowledgedMail
        case .storesNoOutcomes: .storesNoOutcomes
        case .keepsSpentCodes: .keepsCodes
        case .keepsRoomRevision: .keepsRoomRevision
        case .reusesSeats: .reusesSeats
        case .keepsSeatsOfRemoved: .keepsSeats
        case .forgetsRemoved: .forgetsRemoved
        default: nil
        }
    }
}
