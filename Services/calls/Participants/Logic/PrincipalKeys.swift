package import ClusterContract
package import Contract
import ServerCrypto

extension Principal {
    /// Whether these keys are its own. A guest's id is made from its keys; an identity's too, and its registered signing key
    /// is known.
    package func hasKeys(_ sign: Bytes32, _ enc: Bytes32) -> Bool {
        guard sign == self.signPublicKey else { return false }
        switch self {
        case .guest(let guest):
            return GuestID.derived(signPublicKey: sign.bytes, encPublicKey: enc.bytes) { SHA256.hash($0).bytes }
                == guest.id
        case .session(let session):
            return (UInt8.min...UInt8.max).contains { counter in
                WhisperID.derived(signPublicKey: sign.bytes, encPublicKey: enc.bytes, counter: counter) {
                    SHA256.hash($0).bytes
                } == session.caller.identity
            }
        }
    }

    /// Why no frame of the principal is accepted; nil if its frames are.
    /// - Parameter account: as auth's tables have it now.
    package func verdict(_ account: AccountStatus?) -> Answer? {
        switch self {
        case .session(let session):
            guard let account, account.epoch == session.caller.epoch else { return .stale }
            return account.isBanned ? .refused(Refusal(.userBanned, "the identity is banned")) : nil
        case .guest(let guest):
            guard let account, account.epoch == guest.epoch else {
                return .refused(Refusal(.notRegistered, "the guest token is unknown or has expired"))
            }
            return account.isBanned ? .refused(Refusal(.userBanned, "the guest is banned")) : nil
        }
    }
}
