package import ClusterContract
package import Contract
package import Store

/// Requests of this core to the operators' core. `main` connects the two.
package protocol OperatorRecords: Sendable {
    /// Keeps what an identity says about another.
    /// - Parameter question: what the report came with; taken again it is the same report.
    func file(
        _ report: Report, of session: Session, question: AnswerAddress
    ) async throws(StoreError) -> Answer

    /// Removes reports about an identity or guest and its ban, and empties its own reports. It is locked, and goes with this transaction.
    func forget(_ principal: PrincipalID, in transaction: borrowing Transaction) async throws(StoreError)

    /// Adds an invitation for one person, within the bound of all invitations.
    /// - Parameter inviter: kept with it, if given.
    /// - Returns: when it expires; `nil` if as many are open as may be.
    func addInvitation(
        _ tokenHash: Bytes32, for life: Duration, by inviter: WhisperID?, at now: StoreTime,
        in transaction: borrowing Transaction
    ) async throws(StoreError) -> Timestamp?

    /// Ends the invitation with this token, if there is one.
    func revokeInvitation(
        _ tokenHash: Bytes32, at now: StoreTime, in transaction: borrowing Transaction
    ) async throws(StoreError)

    /// Records that a ban has refused a login, or a guest's proof.
    func recordRefusedLogin(of principal: PrincipalID) async throws(StoreError)

    /// - Returns: when the ban of an identity ends; `nil` if it has no end, or there is none.
    func banEnd(of identity: WhisperID) async throws(StoreError) -> Timestamp?
}
