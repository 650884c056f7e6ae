import Contract

/// How much may be kept of lines and shares (contract §13b), in bytes. Operators may change these bounds.
package struct KeptBounds: Sendable {
    /// Lines of one identity without a peer, in all its profiles; and of one profile.
    package var strangerLineBytesMax = LiveLimits.strangerLineBytesMax
    package var profileLineBytesMax = LiveLimits.profileLineBytesMax
    /// Shares of one profile, and their ciphertext.
    package var profileSharesMax = LiveLimits.profileSharesMax
    package var profileShareBytesMax = LiveLimits.profileShareBytesMax
    /// All identities without a peer together: the bound for their lines, and for their shares.
    package var strangersBytesMax = Limits.strangersStoreBytesMax

    package init() {}
}
