package import Contract
import ServerCrypto
import Store

/// A mark of an erased identity.
package struct Tombstone: Equatable, Sendable {
    package let mark: Bytes32
    /// Days since 1970, in UTC.
    package let day: Int32

    package init(mark: Bytes32, day: Int32) {
        self.mark = mark
        self.day = day
    }
}

/// The only code that writes `auth.tombstones`: marks of erased identities (contract §20.4). `FirstLogin` looks for them in the statement
/// that adds an identity.
enum Tombstones {
    /// The value that a mark is made of.
    enum Kind: String {
        case id, sign, enc
    }

    static func mark(_ kind: Kind, _ value: [UInt8]) -> Bytes32 {
        SHA256.hash(Array("whisper-erased\n\(kind.rawValue)\n".utf8) + value)
    }

    static func mark(of identity: WhisperID) -> Bytes32 { self.mark(.id, Self.letters(of: identity)) }

    /// The twelve letters, without prefix and hyphens.
    private static func letters(of identity: WhisperID) -> [UInt8] {
        Array("\(identity)".dropFirst(4).utf8.filter { $0 != UInt8(ascii: "-") })
    }

    static func marks(of keys: IdentityKeys) -> [Bytes32] {
        [Self.mark(of: keys.whisperID)] + Self.marks(sign: keys.signPublicKey, enc: keys.encPublicKey)
    }

    static func marks(sign: Bytes32, enc: Bytes32) -> [Bytes32] {
        [Self.mark(.sign, sign.bytes), Self.mark(.enc, enc.bytes)]
    }

    static func add(_ marks: [Bytes32], at now: StoreTime) -> SQL {
        """
        INSERT INTO auth.tombstones (mark, day)
        SELECT m.mark, (\(now) AT TIME ZONE 'UTC')::date - date '1970-01-01' FROM unnest(\(marks)::bytea[]) AS m (mark)
        ON CONFLICT (mark) DO NOTHING
        """
    }

    /// Whether one of these was an erased identity's.
    static func hold(_ marks: [Bytes32]) -> Statement<Bool> {
        Statement(value: "SELECT EXISTS (SELECT FROM auth.tombstones WHERE mark = ANY (\(marks)::bytea[]))")
    }

    /// In ascending order.
    /// - Parameter mark: nothing up to it is read.
    static func page(after mark: Bytes32?, limit: Int) -> Statement<[Tombstone]> {
        Statement(
            """
            SELECT mark, day FROM auth.tombstones WHERE mark > \(mark?.bytes ?? []) ORDER BY mark LIMIT \(Int64(limit))
            """,
            each: { row throws(StoreError) in Tombstone(mark: try row.next(), day: try row.next()) })
    }

    /// Adds those that are not there.
    static func add(_ tombstones: [Tombstone]) -> Statement<Int> {
        Statement(
            affecting: """
                INSERT INTO auth.tombstones (mark, day)
                SELECT * FROM unnest(\(tombstones.map(\.mark))::bytea[], \(tombstones.map(\.day))::int4[])
                ON CONFLICT (mark) DO NOTHING
                """)
    }

    /// - Returns: which of the marks have tombstones.
    static func held(of marks: [Bytes32]) -> Statement<[Bytes32]> {
        Statement(
            "SELECT mark FROM auth.tombstones WHERE mark = ANY (\(marks)::bytea[])",
            each: { row throws(StoreError) in try row.next() })
    }

    /// The name of the database cluster. Base backups of it have the same.
    static let cluster = Statement<Int64>(value: "SELECT system_identifier FROM pg_control_system()")
}
