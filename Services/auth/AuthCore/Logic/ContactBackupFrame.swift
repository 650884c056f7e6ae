package import Contract

/// The body of `PUT /backup/contacts` (spec §14.2).
package struct ContactBackupFrame: HTTPBody {
    package let nonce: [UInt8]
    package let ciphertext: [UInt8]

    /// Any ciphertext that fits into a body: one above `Limits.backupBytesMax` is another error than a malformed one.
    package static let schema = BackupOperations.upload(ciphertextBytesMax: AuthLimits.backupBodyBytesMax)

    private static let ciphertext = BackupOperations.ciphertext(bytesMax: AuthLimits.backupBodyBytesMax)

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.nonce = try payload[CommonFields.nonce]
        self.ciphertext = try payload[Self.ciphertext]
    }

    package var isTooLarge: Bool { self.ciphertext.count > Limits.backupBytesMax }
}
