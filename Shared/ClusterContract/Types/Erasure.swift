package import Contract

/// The wish to erase an identity or a guest (contract §20.4).
package struct ErasureOrder: Sendable {
    package let id = UUIDText.random()
    package var principal: PrincipalID
    package var sentMail: AccountDelete.SentMail
    package var origin: ErasureOperations.Origin
    /// The epoch in which the person has signed, or the guest has asked. `nil`: an operator decides, whoever is logged in.
    package var epoch: Epoch?
    /// The identity must not be banned, and not have been seen for more than these days.
    package var unseenForDays: Int64?

    package init(
        _ principal: PrincipalID, sentMail: AccountDelete.SentMail, by origin: ErasureOperations.Origin,
        epoch: Epoch? = nil, unseenForDays: Int64? = nil
    ) {
        self.principal = principal
        self.sentMail = sentMail
        self.origin = origin
        self.epoch = epoch
        self.unseenForDays = unseenForDays
    }
}

/// An erasure that is decided when its transaction commits, and the news that follows.
package struct DecidedErasure: Sendable {
    /// A profile that has lost a member.
    package struct LeftProfile: Sendable {
        package var id: UUIDText
        /// Empty: the profile went with its last member.
        package var others: [WhisperID]

        package init(id: UUIDText, others: [WhisperID]) {
            self.id = id
            self.others = others
        }
    }

    package var id: UUIDText
    package var principal: PrincipalID
    /// Names the erasure in the audit log.
    package var number: Int64
    package var decidedAt: Timestamp
    /// The last epoch of the identity or guest.
    package var epoch: Epoch
    /// Hashes of tokens that are worth nothing from the commit on.
    package var tokens: [Bytes32]
    package var profiles: [LeftProfile]

    package init(
        id: UUIDText, principal: PrincipalID, number: Int64, decidedAt: Timestamp, epoch: Epoch, tokens: [Bytes32],
        profiles: [LeftProfile] = []
    ) {
        self.id = id
        self.principal = principal
        self.number = number
        self.decidedAt = decidedAt
        self.epoch = epoch
        self.tokens = tokens
        self.profiles = profiles
    }
}
