import CSQLite
import SQLite

@testable import WhisperClient

/// The statements that run on the writing connection of a store, with their values.
final class StatementTrace {
    private let store: ClientStore
    private let connection: OpaquePointer
    /// Statements from now on. Statements of triggers begin with `--`.
    var statements: [String] = []

    init(_ store: ClientStore) throws {
        self.store = store
        self.connection = try store.database.unsafeRead { try $0.handle }
        sqlite3_trace_v2(
            self.connection, CUnsignedInt(SQLITE_TRACE_STMT),
            { _, trace, statement, text in
                let trace = Unmanaged<StatementTrace>.fromOpaque(trace!).takeUnretainedValue()
                let name = text!.assumingMemoryBound(to: CChar.self)
                let expanded = sqlite3_expanded_sql(OpaquePointer(statement))
                defer { sqlite3_free(expanded) }
                let isOfTrigger = name[0] == 0x2D && name[1] == 0x2D
                trace.statements.append(String(cString: UnsafePointer(isOfTrigger ? name : expanded!)))
                return 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    deinit { sqlite3_trace_v2(self.connection, 0, nil, nil) }
}
