/// The sealed text of a completed line, which only listeners can open.
package struct LineSeal: Hashable, Sendable {
    package var nonce: [UInt8]
    package var ciphertext: [UInt8]

    package init(nonce: [UInt8], ciphertext: [UInt8]) {
        self.nonce = nonce
        self.ciphertext = ciphertext
    }
}
