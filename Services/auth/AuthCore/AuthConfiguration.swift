package import ClusterContract
package import Contract
import Store

/// Bounds of auth that are settings (contract §13a, §13b).
package struct AuthConfiguration: Sendable {
    /// Ciphertext of the backup of an identity without any peer, in bytes.
    package var strangerBackupBytesMax = Limits.strangerBackupBytesMax
    /// Ciphertext of all documents of one profile, in bytes; and of one none of whose members has a peer.
    package var profileBytesMax = Limits.profileBytesMax
    package var strangerProfileBytesMax = Limits.strangerProfileBytesMax
    /// How long a profile stays that no member does anything with.
    package var profileLife = KeptRecord.profiles.usual!
    /// How long a guest is known that was not seen.
    package var guestLife = KeptRecord.guests.usual!
    /// Days without a login or renewal after which an identity is erased. `nil`: never.
    package var inactiveDays: Int64?
    /// Bytes that all strangers together may keep in one store.
    package var strangersBytesMax = Limits.strangersStoreBytesMax
    /// Whether somebody new may register, while no operator has chosen.
    package var registration = RegistrationMode.open
    /// Invitations that one identity makes within a day. 0: people make none.
    package var invitationsPerDay = 0
    /// Classes of rates that count.
    package var rateClasses = RateClasses.usual
    /// See `ErasureLimits.settledAfter`. Tests take less.
    package var erasuresSettledAfter = ErasureLimits.settledAfter
    /// Facts that `GET /server` tells. It asks for the registration each time.
    package var server = ServerOperations.Facts(
        name: "Whisper", registration: .open, hasGuests: true,
        pendingHours: KeptRecord.mail.usual!.components.seconds / 3_600,
        ledgerDays: KeptRecord.ledger.usual!.components.seconds / 86_400,
        backupDays: KeptRecord.backups.usual!.components.seconds / 86_400, inactiveDays: nil, keepsInviters: false,
        contact: nil, privacy: nil)

    package init() {}
}
