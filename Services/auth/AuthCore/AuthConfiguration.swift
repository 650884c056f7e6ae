import Contract

/// Bounds of auth that are settings (contract §13a).
package struct AuthConfiguration: Sendable {
    /// Ciphertext of the backup of an identity without any peer, in bytes.
    package var strangerBackupBytesMax = Limits.strangerBackupBytesMax

    package init() {}
}
