package import Contract

/// The body of `PUT /backup/contacts` (spec §14.2).
package struct ContactBackupFrame: Sendable {
    package let nonce: [UInt8]
    package let ciphertext: [UInt8]

    /// Any ciphertext that fits into a body: one above `Limits.backupBytesMax` is another error than a malformed one.
    private static let schema = BackupOperations.upload(ciphertextBytesMax: AuthLimits.backupBodyBytesMax)

    package init(_ body: [UInt8]) throws(PayloadViolation) {
        guard String(validating: body, as: UTF8.self) != nil else { throw PayloadViolation("", "must be UTF-8") }
        let bare = Array(body.drop { [0x20, 0x09, 0x0A, 0x0D].contains($0) })
        let payload = try FrameDecoder.payload(bare: bare, schema: Self.schema)
        self.nonce = payload.bytes(Self.schema.index(of: "nonce")!)
        self.ciphertext = payload.bytes(Self.schema.index(of: "ciphertext")!)
    }

    package var isTooLarge: Bool { self.ciphertext.count > Limits.backupBytesMax }
}
