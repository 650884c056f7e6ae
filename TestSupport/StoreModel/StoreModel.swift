package import Contract

/// The effects of the services' statements on their tables, in memory: the same answers to the same statements in the
/// same order. A statement is known by its beginning; an unknown one ends the simulation with its text.
///
/// A test plays the same operations against this and against Postgres.
package struct StoreModel: Sendable {
    package var auth = AuthTables()
    package var router = RouterTables()
    package var push = PushTables()
    package var calls = CallsTables()
    package var rooms = RoomTables()
    /// The server's clock: `now()` of the next statement.
    package var now = Timestamp(milliseconds: 0)
    /// A bug that is there on purpose.
    package var flaw: Flaw?

    package enum Flaw: Sendable {
        case acceptsRepetitions
        case keepsAcknowledgedMail
        case storesNoOutcomes
        /// Flaws of rooms.
        case keepsCodes, keepsRoomRevision, reusesSeats, keepsSeats, forgetsRemoved
    }

    package init() {}

    /// Whether both have the same rows about mail.
    package func hasMail(of other: StoreModel) -> Bool {
        self.auth == other.auth && self.router == other.router && self.push == other.push
    }

    typealias Run = @Sendable (inout StoreModel, Parameters) throws(Refused) -> StatementAnswer

    package struct Statement: Sendable {
        let run: Run
        /// Changes nothing.
        package let onlyReads: Bool
        /// Its commit waits for the standby although it changes nothing (`ReplicationBarrier`).
        package var isBarrier = false
    }

    /// - Returns: the statement with this text.
    package static func statement(_ text: String) -> Statement? {
        Self.statements.first { text.hasPrefix($0.beginning) }?.statement
    }

    package mutating func run(_ statement: Statement, _ parameters: Parameters) throws(Refused) -> StatementAnswer {
        try statement.run(&self, parameters)
    }

    private static let statements: [(beginning: String, statement: Statement)] =
        AuthTables.statements + AuthTables.guestStatements + RouterTables.statements + PushTables.statements
        + CallsTables.statements
        + RoomTables.statements + [Self.barrier]

    private static let barrier = (
        beginning: "SELECT CASE WHEN current_setting('synchronous_standby_names')",
        statement: Statement(run: { _, _ in .nothing }, onlyReads: true, isBarrier: true)
    )

    static func reads(_ beginning: String, _ run: @escaping Run) -> (beginning: String, statement: Statement) {
        (beginning, Statement(run: run, onlyReads: true))
    }

    static func writes(_ beginning: String, _ run: @escaping Run) -> (beginning: String, statement: Statement) {
        (beginning, Statement(run: run, onlyReads: false))
    }
}
