package import Contract

/// A time that a statement compares with or writes down: the database's own clock, or a time that a test names.
///
/// Deletions and ends because of age are judged by the database's clock, never by a process's (contract §13a, Time). A
/// process whose clock is off by years must not end things that others have begun. So services hand this to their
/// statements, and not a `Timestamp`.
package struct StoreTime: Hashable, Sendable {
    enum Base: Hashable, Sendable {
        /// `now()`: the beginning of the transaction that the statement is in.
        case database
        case given(Timestamp)
    }

    let base: Base
    let offset: Duration

    /// By the clock of the database, when the statement is run.
    package static let now = StoreTime(base: .database, offset: .zero)

    /// For tests, which move time.
    package static func at(_ time: Timestamp) -> StoreTime { StoreTime(base: .given(time), offset: .zero) }

    package static func + (time: StoreTime, duration: Duration) -> StoreTime {
        StoreTime(base: time.base, offset: time.offset + duration)
    }

    package static func - (time: StoreTime, duration: Duration) -> StoreTime {
        StoreTime(base: time.base, offset: time.offset - duration)
    }
}

/// The clocks of a service: its own, for what it answers, and the database's, for what ends because of its age.
package struct ServiceClock: Sendable {
    private let own: @Sendable () -> Timestamp
    private let database: @Sendable () -> StoreTime

    /// The clock of every process outside tests.
    package static let real = ServiceClock(own: { .now }, database: { .now })

    package init(own: @escaping @Sendable () -> Timestamp, database: @escaping @Sendable () -> StoreTime) {
        self.own = own
        self.database = database
    }

    /// One time for both. For tests, which move it.
    package init(_ time: @escaping @Sendable () -> Timestamp) {
        self.init(own: time, database: { .at(time()) })
    }

    /// The time of this process. Deletes nothing and ends nothing.
    package func callAsFunction() -> Timestamp { self.own() }

    /// For statements.
    package var store: StoreTime { self.database() }
}

extension PostgresPool {
    /// The time by a service's clock for statements, as a value: for what is decided outside of the database.
    package func time(_ time: StoreTime = .now) async throws(StoreError) -> Timestamp {
        try await self.query("SELECT \(time)")[0].decode(0)
    }
}

/// A time that the database has told, which goes on by this process's steady clock: for what is decided outside of the database.
/// Nobody sets that clock, and the two run equally fast.
package struct ToldTime: Sendable {
    private let told: Timestamp
    private let heardAt: ContinuousClock.Instant

    package init(_ told: Timestamp, heardAt: ContinuousClock.Instant = .now) {
        self.told = told
        self.heardAt = heardAt
    }

    package var now: Timestamp { self.told + (ContinuousClock.now - self.heardAt) }

    /// The query for the database's time.
    package static var question: Statement<Timestamp> { Statement(value: "SELECT clock_timestamp()") }
}
