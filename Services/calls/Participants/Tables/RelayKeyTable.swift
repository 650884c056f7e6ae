package import Contract
import ServerCrypto
package import Store

/// The only code that reads or writes `calls.relay_keys`.
package enum RelayKeyTable {
    package static let keyBytes = 32

    /// Keys of periods that are over; by the database's clock (contract §13a).
    package static let sweep: SQL = """
        DELETE FROM calls.relay_keys
        WHERE starts_at < now() - \(RelayPeriod.keyLife.components.seconds) * interval '1 second'
        """

    /// A key for the period, if no process has made one yet.
    package static func make(for start: Timestamp) -> SQL {
        """
        INSERT INTO calls.relay_keys (starts_at, key) VALUES (\(start), \(randomBytes(Self.keyBytes)))
        ON CONFLICT (starts_at) DO NOTHING
        """
    }

    package static func key(for start: Timestamp) -> Statement<[UInt8]?> {
        Statement(
            "SELECT key FROM calls.relay_keys WHERE starts_at = \(start)",
            first: { row throws(StoreError) in try row.next() })
    }
}
