import ClusterContract
package import Contract
package import Store

/// Reads the views of auth that say whether a principal may act: `auth.mail_identities` and `auth.live_guests`.
package enum AccountViews {
    package static func accounts(of identities: [WhisperID]) -> Statement<[WhisperID: AccountStatus]> {
        Statement(
            """
            SELECT whisper_id, epoch, is_banned FROM auth.mail_identities
            WHERE whisper_id = ANY (\(identities)::int8[])
            """,
            decode: { rows throws(StoreError) in try Self.statuses(rows) })
    }

    /// Guests whose token lives.
    static func guests(_ guests: [GuestID]) -> Statement<[GuestID: AccountStatus]> {
        Statement(
            """
            SELECT guest_id, epoch, is_banned FROM auth.live_guests
            WHERE guest_id = ANY (\(guests)::uuid[]) AND ends_at > now()
            """,
            decode: { rows throws(StoreError) in try Self.statuses(rows) })
    }

    private static func statuses<ID: Hashable & PostgresDecodable>(
        _ rows: Rows
    ) throws(StoreError) -> [ID: AccountStatus] {
        var accounts: [ID: AccountStatus] = [:]
        for var row in rows {
            accounts[try row.next()] = AccountStatus(epoch: Epoch(value: try row.next()), isBanned: try row.next())
        }
        return accounts
    }
}

/// The accounts of all principals of a batch, read by a pipeline that reads other things, too.
package struct AccountReading {
    private var identities: Pipeline.Ticket<[WhisperID: AccountStatus]>?
    private var guests: Pipeline.Ticket<[GuestID: AccountStatus]>?

    package init(of principals: Set<PrincipalID>, in pipeline: inout Pipeline) {
        var (identities, guests): ([WhisperID], [GuestID]) = ([], [])
        for principal in principals {
            switch principal {
            case .identity(let identity): identities.append(identity)
            case .guest(let guest): guests.append(guest)
            }
        }
        if !identities.isEmpty { self.identities = pipeline.add(AccountViews.accounts(of: identities.sorted())) }
        if !guests.isEmpty { self.guests = pipeline.add(AccountViews.guests(guests.sorted())) }
    }

    package func accounts(in answers: Pipeline.Answers) throws(StoreError) -> [PrincipalID: AccountStatus] {
        var accounts: [PrincipalID: AccountStatus] = [:]
        if let identities { for (id, account) in try answers[identities] { accounts[.identity(id)] = account } }
        if let guests { for (id, account) in try answers[guests] { accounts[.guest(id)] = account } }
        return accounts
    }
}
