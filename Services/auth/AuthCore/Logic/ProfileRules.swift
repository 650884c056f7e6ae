import Contract
import ServerCrypto

/// A device of a profile.
struct ProfileMember: Equatable, Sendable {
    var identity: WhisperID
    var joinedAt: Timestamp
}

/// A profile that nobody else can change now, as one caller finds it. Decides what the caller may do (contract §14.4).
struct HeldProfile: Sendable {
    let caller: WhisperID
    /// `nil`: there is no such profile.
    let joinHash: Bytes32?
    /// By age of membership.
    let members: [ProfileMember]
    /// How many profiles the caller is in.
    let profilesOfCaller: Int64

    /// Why a request is refused. A caller that has not shown the key of a profile learns nothing from it.
    enum Refusal: Equatable, Sendable {
        /// The profile belongs to others.
        case taken
        /// The key is wrong, or there is no such profile.
        case wrongKey
        case profileIsFull
        case tooManyProfiles
    }

    enum Placing: Equatable, Sendable {
        case create
        case exchangeJoinHash
        case refuse(Refusal)
    }

    /// The effect of a `PUT` of the profile.
    var placing: Placing {
        guard self.joinHash != nil else {
            return self.profilesOfCaller < Limits.profilesJoinedMax ? .create : .refuse(.tooManyProfiles)
        }
        return self.members.has(self.caller) ? .exchangeJoinHash : .refuse(.taken)
    }

    enum Joining: Equatable, Sendable {
        case add
        /// It is a member already.
        case nothing
        case refuse(Refusal)
    }

    /// - Parameter keyHash: SHA-256 of the key that the caller has shown.
    func joining(with keyHash: Bytes32) -> Joining {
        guard JoinKey.opens(keyHash, self.joinHash) else { return .refuse(.wrongKey) }
        if self.members.has(self.caller) { return .nothing }
        guard self.members.count < Limits.profileMembersMax else { return .refuse(.profileIsFull) }
        guard self.profilesOfCaller < Limits.profilesJoinedMax else { return .refuse(.tooManyProfiles) }
        return .add
    }
}

/// The effect of removing a member from a profile.
enum ProfileRemoval: Equatable, Sendable {
    case remove
    /// The profile goes with its last member.
    case removeProfile
    /// It is no member: done already.
    case nothing
    /// There is no such profile for this caller.
    case refuse

    /// - Parameter members: as the caller finds them; empty if it is none.
    init(of member: WhisperID, by caller: WhisperID, members: [ProfileMember]) {
        guard members.has(caller) else {
            // A repeated going is answered as the first. That tells nothing: it is so for any id.
            self = member == caller ? .nothing : .refuse
            return
        }
        guard members.has(member) else {
            self = .nothing
            return
        }
        self = members.count == 1 ? .removeProfile : .remove
    }
}

/// The key that devices join a profile with, of which the server keeps the SHA-256.
enum JoinKey {
    /// Whether a key opens a profile. Takes the same time for a wrong key and for no profile.
    static func opens(_ keyHash: Bytes32, _ joinHash: Bytes32?) -> Bool {
        let isEqual = constantTimeEqual(keyHash, joinHash ?? Bytes32())
        return isEqual && joinHash != nil
    }
}

extension [ProfileMember] {
    func has(_ identity: WhisperID) -> Bool { self.contains { $0.identity == identity } }

    /// All but one.
    func others(than identity: WhisperID) -> [WhisperID] { self.map(\.identity).filter { $0 != identity } }
}
