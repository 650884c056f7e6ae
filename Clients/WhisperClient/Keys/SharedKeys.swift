import Contract
import Synchronization

/// The keys that we share with others, kept because an X25519 agreement costs most of the time of sealing and opening a
/// message. A key that goes is erased (`SecretBytes`).
final class SharedKeys: Sendable {
    private struct Entry {
        let key: SecretBytes
        var lastUse: UInt64
    }

    private struct State {
        var entries: [Bytes32: Entry] = [:]
        var uses: UInt64 = 0
    }

    private let state = Mutex(State())
    private let countMax: Int

    init(countMax: Int = ClientLimits.sharedKeysMax) {
        self.countMax = countMax
    }

    /// How many are kept.
    var count: Int { self.state.withLock { $0.entries.count } }

    /// - Parameter agree: makes the key if it is not here; `nil` for a public key that is no good, which is not kept.
    func key(for publicKey: Bytes32, agree: () -> SecretBytes?) -> SecretBytes? {
        self.state.withLock { state in
            state.uses += 1
            if let kept = state.entries[publicKey]?.key {
                state.entries[publicKey]?.lastUse = state.uses
                return kept
            }
            guard let key = agree() else { return nil }
            if state.entries.count >= self.countMax,
                let oldest = state.entries.min(by: { $0.value.lastUse < $1.value.lastUse })
            {
                state.entries[oldest.key] = nil
            }
            state.entries[publicKey] = Entry(key: key, lastUse: state.uses)
            return key
        }
    }
}
