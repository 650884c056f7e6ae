package import Contract

/// The host of `Nearby`: it keeps the messages, and sends to the server those that do not go over the air.
package protocol NearbyHost: ClientHost {
    var nearby: Nearby { get }

    // MARK: Our messages

    /// Messages that wait for the contact, in the order written.
    func waiting(for contact: WhisperID, limit: Int) -> [UUIDText]
    /// Reads no store: it is asked with each frame.
    func isWaiting(_ message: UUIDText) -> Bool
    /// - Returns: `nil` if the message does not wait any more.
    func standing(of message: UUIDText) throws(ClientStoreError) -> EnvelopePath<UUIDText>.Standing?
    /// Takes a waiting message from the server's path, seals it for the air, and publishes it as `sending`.
    /// - Returns: `nil` if the message cannot be sent, or does not wait any more.
    func sealedForAir(_ message: UUIDText, to contact: WhisperID) throws(ClientStoreError) -> [UInt8]?
    /// Gives a message back to the server's path, as `queued`.
    func bringBack(_ message: UUIDText)
    func progress(_ message: UUIDText, _ progress: MessageState.Progress, from sender: WhisperID?)

    // MARK: Their messages

    /// Pins the keys that a stranger has proven.
    /// - Returns: `nil` if other keys of this identity are pinned.
    func pinStranger(_ id: WhisperID, _ keys: PublicKeys) throws(ClientStoreError) -> Contact?
    /// Verifies and stores messages.
    /// - Returns: the receipts that may go out.
    func keep(_ messages: [MessageReceived]) -> [OwedReceipt]
}
