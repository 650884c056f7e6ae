/// The result of a run.
package struct ChaosReport: Sendable, Codable {
    package var seed: UInt64
    package var clients: Int
    /// Runs it again, from a shell.
    package var command: String
    /// How many of each kind.
    package var faults: [String: Int]
    package var messages: Ledger.Count
    package var reconnects: Int
    package var attachments: Int
    /// Acts of strangers meanwhile.
    package var strangeActs: Int
    /// People who have left for good meanwhile.
    package var erased: Int
    package var seconds: Double
    /// From sending to a `message_received`, both being there.
    package var live: Spread
    package var slowestLive: String?
    /// Counts of live conversations.
    package var lines: LineLedger.Count
    /// Counts of rooms.
    package var seats: SeatLedger.Count
    /// Empty if everything promised was kept.
    package var violations: [String]

    init(
        seed: UInt64, clients: Int, command: String, plan: FaultPlan, messages: Ledger.Count, reconnects: Int,
        attachments: Int,
        strangeActs: Int, erased: Int, seconds: Double, live: Spread, slowestLive: String?,
        lines: LineLedger.Count, seats: SeatLedger.Count, violations: [String]
    ) {
        self.seed = seed
        self.clients = clients
        self.command = command
        self.faults = Dictionary(plan.steps.map { ($0.fault.kind, 1) }, uniquingKeysWith: +)
        self.messages = messages
        self.reconnects = reconnects
        self.attachments = attachments
        self.strangeActs = strangeActs
        self.erased = erased
        self.seconds = seconds
        self.live = live
        self.slowestLive = slowestLive
        self.lines = lines
        self.seats = seats
        self.violations = violations
    }

    package var faultCount: Int { self.faults.values.reduce(0, +) }

    package var text: String {
        let kinds = self.faults.sorted { ($0.value, $1.key) > ($1.value, $0.key) }.map { "\($0.value) × \($0.key)" }
        let count = self.messages
        let verdict =
            self.violations.isEmpty
            ? "every promise was kept"
            : "\(self.violations.count) broken promises (\(self.kindsOfViolations)):\n  "
                + self.violations.prefix(Self.violationsShown).joined(separator: "\n  ")
                + "\n  again: \(self.command)"
        return """
            seed \(self.seed): \(self.faultCount) faults in \(Int(self.seconds)) s, \(self.clients) clients
              \(kinds.joined(separator: ", "))
              \(count.sent) sent, \(count.accepted) accepted, \(count.arrived) delivered, \(count.told) told, \
            \(count.expired) expired; \(count.repeated) seen again before their receipt was honoured
              \(self.reconnects) reconnects, \(count.wakeUps) came because of a push, \(self.attachments) attachments, \
            \(count.refusedByClocks) refusals while a clock was off
              \(self.strangeActs) acts of strangers, of whose mail \(count.mailOfStrangers) arrived; \(self.erased) people have left for good
              sent to received live, both being there, s: \(self.live.text)
              the slowest of them: \(self.slowestLive ?? "none")
              \(self.lines.typed) lines whispered, \(self.lines.shown) times shown in \(self.lines.visits) visits, \
            \(self.lines.missing) times told as missing
              \(self.seats.seats) seats in rooms, \(self.seats.descriptions) descriptions taken, \(self.seats.connections) connections
            \(verdict)
            """
    }

    private static let violationsShown = 30

    /// How many of each, by the words in front of the colon.
    private var kindsOfViolations: String {
        let kinds = Dictionary(self.violations.map { ($0.prefix { $0 != ":" }.prefix(60), 1) }, uniquingKeysWith: +)
        return kinds.sorted { $0.value > $1.value }.prefix(12).map { "\($0.value) × \($0.key)" }.joined(separator: ", ")
    }
}
