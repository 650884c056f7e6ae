internal import Contract
internal import Synchronization

/// The keys that were used lately, prepared. A key's place follows from its hash; a newcomer takes the place of
/// whoever had it.
struct PreparedKeyCache: ~Copyable, Sendable {
    private let places: Mutex<[PreparedKey?]>

    /// - Parameter count: of places.
    init(count: Int) {
        self.places = Mutex([PreparedKey?](repeating: nil, count: count))
    }

    /// - Returns: nil if `key` is not usable (`PreparedKey`).
    func prepared(_ key: Bytes32) -> PreparedKey? {
        // Hashes have a random seed in each process: nobody can choose keys that share a place.
        let hash = UInt(bitPattern: key.hashValue)
        let known = self.places.withLock { $0[Int(hash % UInt($0.count))] }
        if let known, known.key == key { return known }
        guard let new = PreparedKey(key) else { return nil }
        self.places.withLock { $0[Int(hash % UInt($0.count))] = new }
        return new
    }
}
