/// A failure between this process and Postgres, one case per thing that the caller does differently. No case carries
/// the value of a parameter.
package enum StoreError: Error, Equatable {
    /// Postgres cannot be reached, is short of something, or took too long. Nothing was written: retry later.
    case unavailable
    /// The connection died while a commit was under way. All was written or nothing was: retry only what may be done twice.
    case outcomeUnknown
    /// Another transaction was in the way (serialization, deadlock, lock timeout, a table changed under a plan).
    /// Nothing was written: retry the whole transaction at once.
    case conflict
    /// A row with this key exists already; the name is that of the violated constraint. Nothing was written.
    case unique(constraint: String)
    /// Postgres refused a statement. Nothing was written. A bug, or a schema that does not fit this release.
    case refused(sqlState: String, message: String)
    /// A result did not have the column (counted from 0), or not with the type or the NULL that was asked for. A bug.
    case undecodable(column: Int)
}

extension StoreError {
    /// Whether waiting cures it. Everything else is a bug or a wrong set-up, and needs a person.
    package var isPassing: Bool {
        switch self {
        case .unavailable, .outcomeUnknown, .conflict, .unique: true
        case .refused, .undecodable: false
        }
    }
}

/// An error as the server words it.
struct ServerError: Equatable {
    var sqlState: String
    /// The primary message. Details and hints quote rows, so they are not kept.
    var message: String
    var constraint: String
    /// The server ends the session with this message.
    var isFatal: Bool
    /// The function of the server that raised it; unlike the message it is never translated.
    var source: String

    /// Whether the session is of no use from here on.
    var endsSession: Bool {
        // 25006: this server has become a read-only standby; a new connection may find the primary.
        self.isFatal || self.sqlState.hasPrefix("57P") || self.sqlState.hasPrefix("08") || self.sqlState == "25006"
    }

    /// A prepared statement no longer fits the tables, or is gone. Preparing it again helps.
    var isStalePlan: Bool {
        self.sqlState == "26000" || (self.sqlState == "0A000" && self.source == "RevalidateCachedQuery")
    }
}

extension StoreError {
    /// The caller's view of an error after which nothing was written (SQLSTATE: PostgreSQL manual, appendix A).
    init(_ error: ServerError) {
        if error.endsSession {
            self = .unavailable
            return
        }
        switch error.sqlState {
        case "40001", "40P01", "55P03": self = .conflict
        case "23505": self = .unique(constraint: error.constraint)
        case "57014": self = .unavailable  // cancelled: the statement took longer than its timeout
        case _ where error.isStalePlan: self = .conflict
        case let state where state.hasPrefix("53") || state.hasPrefix("58"): self = .unavailable
        // Data exceptions quote the value.
        case let state where state.hasPrefix("22"): self = .refused(sqlState: state, message: "data exception")
        case let state: self = .refused(sqlState: state, message: error.message)
        }
    }
}
