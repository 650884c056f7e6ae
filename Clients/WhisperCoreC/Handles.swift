import Glibc
import Synchronization
import WhisperCore

/// Open cores by their handles. Numbers are not used twice, so that a handle of long ago is none.
enum Handles {
    private struct Table {
        var newest: Int64 = 0
        var cores: [Int64: Core] = [:]
        /// Handles that are being made.
        var reserved = 0
    }

    private static let table = Mutex(Table())
    /// The process that came here first. Its forks have its handles, but not its threads.
    private static let home = getpid()

    /// Asked before any lock is taken: one that another thread held at the fork stays taken for ever in the child.
    static var isFork: Bool { Self.home != getpid() }

    static func core(_ handle: Int64) -> Core? { Self.table.withLock { $0.cores[handle] } }

    /// - Returns: `nil` if there are too many.
    static func add(_ make: () throws(CoreError) -> Core) throws(CoreError) -> Int64? {
        let hasRoom = Self.table.withLock { table in
            guard table.cores.count + table.reserved < CoreLimits.handlesMax else { return false }
            table.reserved += 1
            return true
        }
        guard hasRoom else { return nil }
        defer { Self.table.withLock { $0.reserved -= 1 } }
        let core = try make()
        return Self.table.withLock { table in
            table.newest += 1
            table.cores[table.newest] = core
            return table.newest
        }
    }

    static func remove(_ handle: Int64) -> Core? { Self.table.withLock { $0.cores.removeValue(forKey: handle) } }
}
