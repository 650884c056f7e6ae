/// The contact list as the server keeps it: encrypted with a key that nothing but the twelve words gives (spec §14.1).
package struct SealedContacts: Sendable, Equatable {
    package var nonce: [UInt8]
    package var ciphertext: [UInt8]

    package init(nonce: [UInt8], ciphertext: [UInt8]) {
        self.nonce = nonce
        self.ciphertext = ciphertext
    }

    /// - Parameter nonce: 24 fresh random bytes.
    package init(_ list: ContactList, nonce: [UInt8], keys: IdentityKeys) {
        self.init(nonce: nonce, ciphertext: Sodium.secretbox(list.json, nonce: nonce, key: keys.contactsKey.bytes))
    }

    /// - Returns: `nil` if other words sealed it, it was changed, or it is no list that this release knows.
    package func open(keys: IdentityKeys) -> ContactList? {
        Sodium.openSecretbox(self.ciphertext, nonce: self.nonce, key: keys.contactsKey.bytes)
            .flatMap { ContactList(json: $0) }
    }
}
