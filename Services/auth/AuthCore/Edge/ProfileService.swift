package import Bus
import ClusterContract
import Contract
import HTTPAccess
package import Store

/// Profiles, which the devices of one person share: members and documents (contract §14.4).
///
/// A change of the members locks the profile's row, and a write of a document does too. A decision between the lock and
/// the commit therefore still holds at the commit. The caller's own row is locked before the profile's.
package struct ProfileService: Sendable {
    private let pool: PostgresPool
    private let news: ProfileNews
    private let bounds: ProfileDocumentTable.Bounds
    private let clock: ServiceClock

    package init(
        pool: PostgresPool, bus: any Bus, configuration: AuthConfiguration = AuthConfiguration(),
        clock: ServiceClock
    ) {
        self.pool = pool
        self.news = ProfileNews(bus: bus)
        self.bounds = ProfileDocumentTable.Bounds(
            bytesMax: configuration.profileBytesMax, strangerBytesMax: configuration.strangerProfileBytesMax,
            strangersBytesMax: configuration.strangersBytesMax)
        self.clock = clock
    }

    /// Creates the profile, or exchanges the hash of its join key.
    func put(
        _ profile: UUIDText, joinHash: Bytes32, by caller: Caller, at now: Timestamp
    ) async throws(StoreError) -> Result<[ProfileMember], HTTPRefusal> {
        try await self.pool.persistently { transaction throws(StoreError) in
            let held: HeldProfile
            switch try await Self.lock(profile, for: caller, in: transaction) {
            case .success(let found): held = found
            case .failure(let refusal): return .failure(refusal)
            }
            switch held.placing {
            case .create:
                let member = ProfileMember(identity: caller.identity, joinedAt: now)
                _ = try await transaction.pipeline([
                    ProfileTable.add(profile, joinHash: joinHash, at: self.clock.store),
                    ProfileMemberTable.add(member, to: profile),
                ])
                return .success([member])
            case .exchangeJoinHash:
                _ = try await transaction.pipeline([
                    ProfileTable.exchangeJoinHash(of: profile, for: joinHash),
                    ProfileTable.touch(profile, by: caller.identity, at: self.clock.store),
                ])
                return .success(held.members)
            case .refuse(let refusal): return .failure(HTTPRefusal(refusal))
            }
        }
    }

    /// Makes the caller a member.
    /// - Parameter keyHash: SHA-256 of the key that it has shown.
    func join(
        _ profile: UUIDText, keyHash: Bytes32, by caller: Caller, at now: Timestamp
    ) async throws(StoreError) -> Result<[ProfileMember], HTTPRefusal> {
        // Without the key nothing is locked, so a missing profile takes as long as a wrong key.
        let found = try await self.pool.query(ProfileTable.joinHash(of: profile, for: caller))
        if let refusal = HTTPRefusal(found.status) { return .failure(refusal) }
        guard JoinKey.opens(keyHash, found.joinHash) else { return .failure(HTTPRefusal(.wrongKey)) }
        let (isNew, answer) = try await self.pool.persistently {
            transaction throws(StoreError) -> (Bool, Result<[ProfileMember], HTTPRefusal>) in
            let held: HeldProfile
            switch try await Self.lock(profile, for: caller, in: transaction) {
            case .success(let found): held = found
            case .failure(let refusal): return (false, .failure(refusal))
            }
            switch held.joining(with: keyHash) {
            case .add:
                let member = ProfileMember(identity: caller.identity, joinedAt: now)
                var writing = Pipeline()
                writing.add(ProfileMemberTable.add(member, to: profile))
                writing.add(ProfileTable.touch(profile, by: caller.identity, at: self.clock.store))
                // Read again: who joins twice at once gets the same answer, in the same order.
                let members = writing.add(ProfileMemberTable.members(of: profile))
                return (true, .success(try await transaction.pipeline(writing)[members]))
            case .nothing: return (false, .success(held.members))
            case .refuse(let refusal): return (false, .failure(HTTPRefusal(refusal)))
            }
        }
        if isNew, case .success(let members) = answer {
            self.news.tell(.members, of: profile, to: members.others(than: caller.identity))
        }
        return answer
    }

    /// Takes somebody out of the profile, which goes with its last member.
    func remove(
        _ member: WhisperID, from profile: UUIDText, by caller: Caller
    ) async throws(StoreError) -> Result<Void, HTTPRefusal> {
        let (told, isChanged, answer) = try await self.pool.persistently {
            transaction throws(StoreError) -> ([WhisperID], Bool, Result<Void, HTTPRefusal>) in
            var reading = Pipeline()
            let status = reading.add(IdentityTable.hold(caller))
            let isLocked = reading.add(ProfileTable.lock(profile, for: caller.identity))
            let members = reading.add(ProfileMemberTable.members(of: profile))
            let found = try await transaction.pipeline(reading)
            if let refusal = HTTPRefusal(try found[status]) { return ([], false, .failure(refusal)) }
            let held = try found[isLocked] ? try found[members] : []
            switch ProfileRemoval(of: member, by: caller.identity, members: held) {
            case .remove:
                try await transaction.execute(ProfileMemberTable.remove(member, from: profile))
                return (held.others(than: caller.identity).filter { $0 != member }, true, .success(()))
            case .removeProfile:
                try await transaction.execute(ProfileTable.remove(profile))
                return ([], true, .success(()))
            case .nothing: return ([], false, .success(()))
            case .refuse: return ([], false, .failure(.noProfile))
            }
        }
        self.news.tell(.members, of: profile, to: told)
        if isChanged { self.news.tellConversations(of: profile) }
        return answer
    }

    /// A profile as its members see it, at one moment.
    struct Description: Sendable {
        var members: [ProfileMember]
        var documents: [ProfileDocumentEntry]
    }

    func read(
        _ profile: UUIDText, for caller: Caller
    ) async throws(StoreError) -> Result<Description, HTTPRefusal> {
        // Not in the transaction, which sees the past: somebody else may touch it meanwhile.
        try await self.pool.execute(ProfileTable.touch(profile, by: caller.identity, at: self.clock.store))
        return try await self.pool.withTransaction(level: .repeatableRead) { transaction throws(StoreError) in
            let (status, isMember) = try await transaction.query(ProfileMemberTable.standing(of: caller, in: profile))
            if let refusal = HTTPRefusal(status) { return .failure(refusal) }
            guard isMember else { return .failure(.noProfile) }
            var reading = Pipeline()
            let members = reading.add(ProfileMemberTable.members(of: profile))
            let documents = reading.add(ProfileDocumentTable.list(of: profile))
            let found = try await transaction.pipeline(reading)
            return .success(Description(members: try found[members], documents: try found[documents]))
        }
    }

    /// Writes a document, if it is what the caller thinks it is.
    /// - Returns: the version that was written.
    func write(
        _ sealed: ProfileDocument.Sealed, as name: ProfileDocumentName, of profile: UUIDText,
        if condition: ProfileDocument.Condition, by caller: Caller, at now: Timestamp
    ) async throws(StoreError) -> Result<Int64, HTTPRefusal> {
        let (told, answer) = try await self.pool.persistently {
            transaction throws(StoreError) -> ([WhisperID], Result<Int64, HTTPRefusal>) in
            var reading = Pipeline()
            let status = reading.add(IdentityTable.hold(caller))
            let isHeld = reading.add(ProfileTable.hold(profile, for: caller.identity))
            let members = reading.add(ProfileMemberTable.members(of: profile))
            let found = try await transaction.pipeline(reading)
            if let refusal = HTTPRefusal(try found[status]) { return ([], .failure(refusal)) }
            let held = try found[isHeld] ? try found[members] : []
            guard held.has(caller.identity) else { return ([], .failure(.noProfile)) }
            var writing = Pipeline()
            writing.add(ProfileTable.touch(profile, by: caller.identity, at: self.clock.store))
            let result = writing.add(
                ProfileDocumentTable.write(
                    sealed, as: name, of: profile, if: condition, within: self.bounds, at: now))
            switch try await transaction.pipeline(writing)[result] {
            case .written(let version): return (held.others(than: caller.identity), .success(version))
            case .lostRace: return ([], .failure(.lostDocumentRace))
            case .tooLarge: return ([], .failure(.profileTooLarge))
            case .noRoom: return ([], .failure(.noRoomForStrangers))
            }
        }
        if case .success(let version) = answer {
            self.news.tell(.document(name, version: version), of: profile, to: told)
        }
        return answer
    }

    func document(
        _ name: ProfileDocumentName, of profile: UUIDText, unless known: EntityTag.Expectation, for caller: Caller
    ) async throws(StoreError) -> ProfileDocumentTable.Reading {
        var reading = Pipeline()
        reading.add(ProfileTable.touch(profile, by: caller.identity, at: self.clock.store))
        let document = reading.add(ProfileDocumentTable.read(name, of: profile, unless: known, for: caller))
        return try await self.pool.pipeline(reading)[document]
    }

    /// Locks the caller and the profile, and reads what is decided by.
    private static func lock(
        _ profile: UUIDText, for caller: Caller, in transaction: borrowing Transaction
    ) async throws(StoreError) -> Result<HeldProfile, HTTPRefusal> {
        var reading = Pipeline()
        let status = reading.add(IdentityTable.holdAlone(caller))
        let joinHash = reading.add(ProfileTable.lock(profile))
        let members = reading.add(ProfileMemberTable.members(of: profile))
        let profiles = reading.add(ProfileMemberTable.profiles(of: caller.identity))
        let found = try await transaction.pipeline(reading)
        if let refusal = HTTPRefusal(try found[status]) { return .failure(refusal) }
        return .success(
            HeldProfile(
                caller: caller.identity, joinHash: try found[joinHash], members: try found[members],
                profilesOfCaller: try found[profiles]))
    }
}
