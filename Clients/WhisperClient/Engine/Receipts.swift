import Contract

/// Receipts of others' messages: what has come, and what the person here has read.
package final class Receipts {
    private let store: ClientStore
    private var pacer = ReceiptPacer()
    /// Read marks written to this connection, and the ping whose pong proves that they arrived.
    private var underWay: (receipts: Set<OwedReceipt>, ping: Int64) = ([], 0)

    init(store: ClientStore) { self.store = store }

    var nextWake: ContinuousClock.Instant? { self.pacer.nextWake }

    func disconnected() {
        self.underWay = ([], 0)
        self.pacer.disconnected()
    }

    /// The store holds this message.
    func delivered(_ receipt: OwedReceipt) { self.pacer.delivered(receipt) }

    /// The person has seen these. The marks survive restarts until the server has them.
    package func markRead(
        _ messages: some Collection<Message>, _ host: isolated some MailHost
    ) throws(ClientStoreError) {
        try self.store.messages.markRead(messages)
        if messages.contains(where: { $0.expires != nil }) { host.disappearing.look(host) }
        host.pump()
    }

    /// Sends the receipts whose time has come. Read marks go one batch at a time. There is no answer to a receipt: the pong
    /// of a ping written behind the batch proves that the server has read it.
    func pump(_ host: isolated some MailHost) {
        guard host.isOnline else { return }
        for receipt in self.pacer.due(at: .now) { self.send(receipt, .delivered, host) }
        guard self.underWay.receipts.isEmpty else { return }
        host.withStore {
            // To whoever is nearby they go over the air.
            let owed = try self.store.messages.owedReceipts(
                limit: ClientLimits.readMarksUnderWayMax, except: host.nearby.contacts)
            let due = self.pacer.readMarks(of: owed, at: .now)
            guard !due.isEmpty else { return }
            for receipt in due { self.send(receipt, .read, host) }
            self.underWay = (Set(due), host.ping())
        }
    }

    func ponged(_ ping: Int64, _ host: isolated some ClientHost) {
        guard !self.underWay.receipts.isEmpty, ping >= self.underWay.ping else { return }
        let arrived = self.underWay.receipts
        self.underWay = ([], 0)
        host.withStore { try self.store.messages.receiptsArrived(arrived) }
    }

    func refused(_ id: UUIDText, _ code: ErrorCode?, retryAfter: Duration?, _ host: isolated some ClientHost) {
        // Anything but these will not get better by repeating. A lost mark of delivery heals by itself: the server sends
        // the message again.
        guard code == .rateLimited || code == .internalError || code == .notRegistered else { return }
        self.pacer.refused(retryAfter: retryAfter, at: .now)
        self.underWay.receipts = self.underWay.receipts.filter { $0.id != id }
        host.withStore {
            // The refusal may come after the pong that seemed to confirm it.
            try self.store.messages.owesRead(id)
        }
    }

    private func send(_ receipt: OwedReceipt, _ status: ReceiptStatus, _ host: isolated some MailHost) {
        guard host.token != nil, let from = host.id else { return }
        host.write(
            DeliveryReceipt(
                messageID: receipt.id, from: from, to: receipt.to, status: status, timestamp: host.serverNow),
            .receipt(receipt.id))
    }
}
