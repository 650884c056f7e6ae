package import Contract

/// Decides whom the person here must see before anything is sealed for them (contract §13b).
package enum Newcomers {
    /// - Parameters:
    ///   - known: the group as it was known before.
    ///   - vouched: those for whom a member's signature vouches.
    ///   - added: those whom the person here is adding.
    ///   - isOurs: the server says that the person here did it.
    package static func among(
        _ group: Group, insteadOf known: Group?, vouched: Set<WhisperID>, added: Set<WhisperID>, isOurs: Bool
    ) -> Set<WhisperID> {
        let members = Set(group.members.map(\.id))
        guard let known, known.revision > 0 else {
            // A group that is new here is taken as it is, unless it is our own, or its maker has signed who is in it.
            let isSigned = group.revision == 1 && !vouched.isEmpty
            return isOurs || isSigned ? members.subtracting(vouched).subtracting(added) : []
        }
        // A newcomer stays one until seen.
        return members.subtracting(known.members.map(\.id)).union(known.newcomers).intersection(members)
            .subtracting(vouched).subtracting(added)
    }
}
