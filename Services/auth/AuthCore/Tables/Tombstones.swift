import Contract
import ServerCrypto
import Store

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
}
