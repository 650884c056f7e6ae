import AuthCore
import Glibc
import OperatorsCore
import ServiceRuntime
import Store

// Erasures and backups (contract §20.4).
extension ServiceCommand<AuthSettings> {
    /// Prints the marks of all erased identities.
    static let marks = ServiceCommand("marks") { context, _ in
        try await withPool(context) { try await ErasureMarks($0).write(to: printed) }
    }

    /// Erases anew whom a restored database has again.
    static let reapply = ServiceCommand("reapply", "FILE") { context, arguments in
        try await withPool(context) { pool in
            do {
                let outcome = try await Reapplication(pool: pool, forget: ErasedRecords.forget).run(arguments[0])
                print(
                    "\(outcome.marks) marks, \(outcome.added) of them new. Identities erased anew: \(outcome.erased).")
            } catch let fault as MarksFault {
                throw InputRefused("\(arguments[0]): \(fault)")
            }
        }
    }
}

private func withPool(
    _ context: ServiceContext<AuthSettings>, _ body: (PostgresPool) async throws -> Void
) async throws {
    let pool = Auth.pool(
        url: try context.settings.postgres.conninfo(), instance: context.instance, logger: context.logger)
    defer { pool.close() }
    try await body(pool)
}

private struct NobodyReads: Error {}

/// To standard output. A reader that has gone away is an error: half a file is none.
private func printed(_ text: String) throws {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
        let written = rest.withUnsafeBytes { write(STDOUT_FILENO, $0.baseAddress, $0.count) }
        guard written > 0 || errno == EINTR else { throw NobodyReads() }
        rest = rest.dropFirst(max(0, written))
    }
}
