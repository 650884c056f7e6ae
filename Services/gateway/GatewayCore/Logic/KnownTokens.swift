import Contract

/// Tokens that were valid when their connection ended here. Such a token is looked up once more whatever its address has
/// used of `Rates.unknownTokens`: bad tokens of a neighbour do not keep a client from reconnecting.
///
/// Held by the first bytes of their hashes. Only tokens that the server gave out are in here, so nobody can choose them.
struct KnownTokens {
    private var young: Set<UInt64> = []
    private var old: Set<UInt64> = []

    mutating func add(_ hash: Bytes32) {
        if self.young.count >= GatewayLimits.knownTokensMax / 2 { (self.young, self.old) = ([], self.young) }
        self.young.insert(Self.number(of: hash))
    }

    /// Forgets it, so that a token that has become invalid is looked up only once.
    /// - Returns: whether it was there.
    mutating func take(_ hash: Bytes32) -> Bool {
        let number = Self.number(of: hash)
        return self.young.remove(number) != nil || self.old.remove(number) != nil
    }

    private static func number(of hash: Bytes32) -> UInt64 {
        hash.bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    }
}
