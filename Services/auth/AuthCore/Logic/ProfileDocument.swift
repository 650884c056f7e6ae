package import Contract

/// A document that the devices of one person share.
struct ProfileDocument: Equatable, Sendable {
    /// The encrypted content, which the server cannot read.
    struct Sealed: Equatable, Sendable {
        var nonce: [UInt8]
        var ciphertext: [UInt8]
    }

    var sealed: Sealed
    var version: Int64
    var updatedAt: Timestamp

    /// The stored state that a write requires.
    enum Condition: Equatable, Sendable {
        /// There is no such document yet.
        case isMissing
        /// It has one of these versions.
        case version([Int64])
    }
}

/// A document in a list.
struct ProfileDocumentEntry: Equatable, Sendable {
    var name: ProfileDocumentName
    var version: Int64
    var updatedAt: Timestamp
    /// Size of the ciphertext.
    var sizeBytes: Int64
}

/// The body of `PUT /profiles/{profileId}/documents/{name}` (contract §14.4).
package struct ProfileDocumentFrame: HTTPBody {
    let sealed: ProfileDocument.Sealed

    /// Any ciphertext that fits into a body: one above the bound is another error than a malformed one.
    package static let schema = ProfileOperations.document(ciphertextBytesMax: AuthLimits.profileDocumentBodyBytesMax)

    private static let ciphertext = ProfileOperations.ciphertext(bytesMax: AuthLimits.profileDocumentBodyBytesMax)

    package init(_ payload: Payload) throws(Payload.Corrupted) {
        self.sealed = .init(
            nonce: try payload[ProfileOperations.nonce], ciphertext: try payload[Self.ciphertext])
    }

    var isTooLarge: Bool { self.sealed.ciphertext.count > Limits.profileDocumentBytesMax }
}
