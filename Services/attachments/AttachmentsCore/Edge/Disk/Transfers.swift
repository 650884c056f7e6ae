import Contract
package import NIOCore
import Synchronization

/// The uploads and downloads that this process serves now: a bounded number, also of each identity and of each file, and none that
/// stands still. Neither uploads nor downloads can take all places.
package final class Transfers: Sendable {
    package enum Direction: Sendable { case upload, download }

    private struct State {
        var transfers: [UInt64: Transfer] = [:]
        var last: UInt64 = 0
    }

    private let limits: TransferLimits
    private let state = Mutex(State())

    /// Told of each beginning, for `watch`, which has nothing to do before.
    private let (beginnings, begun) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    package init(_ limits: TransferLimits = TransferLimits()) { self.limits = limits }

    package var count: Int { self.state.withLock { $0.transfers.count } }

    /// A file has one upload at a time, the newest: a client whose connection broke tries again before it is noticed here. Where no place
    /// is left, the slowest transfer gives way if it is slow for a crowd.
    /// - Parameters:
    ///   - place: the file's path. Each part of an object has its own.
    ///   - owner: who presigned the upload, or for whom the URL of the download was made.
    ///   - channel: closed if the transfer is too slow, or is an upload and a newer one of the same file begins.
    /// - Returns: nil if there are too many: of all, of this direction, identity or file.
    package func begin(
        _ direction: Direction, of place: String, by owner: TransferOwner, on channel: (any Channel)?
    ) -> Transfer? {
        let (transfer, ended) = self.state.withLock { state -> (Transfer?, [Transfer]) in
            let same = state.transfers.values.filter { $0.direction == direction && $0.place == place }
            var ended = direction == .upload ? same : []
            for older in ended { state.transfers[older.number] = nil }
            let alike = state.transfers.values.filter { $0.direction == direction }
            let ownersMax =
                direction == .upload ? self.limits.uploadsOfOneIdentityMax : self.limits.downloadsOfOneIdentityMax
            guard direction == .upload || same.count < self.limits.downloadsOfOneFileMax,
                alike.count(where: { $0.owner == owner }) < ownersMax
            else { return (nil, ended) }
            let crowd: [Transfer] =
                if alike.count >= self.limits.oneDirectionMax {
                    alike
                } else if state.transfers.count >= self.limits.transfersMax {
                    Array(state.transfers.values)
                } else {
                    []
                }
            if !crowd.isEmpty {
                guard let slowest = self.slowest(of: crowd) else { return (nil, ended) }
                state.transfers[slowest.number] = nil
                ended.append(slowest)
            }
            state.last += 1
            let transfer = Transfer(
                number: state.last, direction, of: place, by: owner, channel: channel, limits: self.limits, list: self)
            state.transfers[transfer.number] = transfer
            return (transfer, ended)
        }
        for older in ended { older.channel?.close(promise: nil) }
        if transfer != nil { self.begun.yield() }
        return transfer
    }

    /// The slowest of the transfers that are too slow for a crowd; nil if none is.
    private func slowest(of crowd: [Transfer]) -> Transfer? {
        let now = Transfer.now
        let slow = crowd.compactMap { transfer in transfer.isSlowForACrowd(at: now).map { (transfer, $0) } }
        return slow.min { $0.1 < $1.1 }?.0
    }

    fileprivate func end(_ number: UInt64) { self.state.withLock { _ = $0.transfers.removeValue(forKey: number) } }

    /// Ends what is too slow, until its task is cancelled. Also makes up for a transfer whose end nobody told.
    package func watch() async throws {
        var beginnings = self.beginnings.makeAsyncIterator()
        while true {
            if self.count == 0, await beginnings.next() == nil { throw CancellationError() }
            try await Task.sleep(for: AttachmentsLimits.paceLookEvery)
            let now = Transfer.now
            for transfer in self.state.withLock({ Array($0.transfers.values) }) where transfer.isTooSlow(at: now) {
                transfer.end()
                transfer.channel?.close(promise: nil)
            }
        }
    }
}

/// One of them.
package final class Transfer: Sendable {
    let number: UInt64
    let direction: Transfers.Direction
    let place: String
    let owner: TransferOwner
    let channel: (any Channel)?
    private let list: Transfers
    private let pace: Mutex<TransferPace>

    fileprivate init(
        number: UInt64, _ direction: Transfers.Direction, of place: String, by owner: TransferOwner,
        channel: (any Channel)?, limits: TransferLimits, list: Transfers
    ) {
        self.number = number
        self.direction = direction
        self.place = place
        self.owner = owner
        self.channel = channel
        self.list = list
        self.pace = Mutex(TransferPace(at: Self.now, limits: limits))
    }

    package func moved(_ bytes: Int) { self.pace.withLock { $0.moved(bytes, at: Self.now) } }

    /// Returns when the connection's event loop has taken what was written. While it is busy, a connection looks writable
    /// however much is written: without this, a whole file could wait in memory for somebody who reads nothing, and its
    /// transfer would be over.
    package func sent(_ bytes: Int) async throws {
        try await self.channel?.eventLoop.submit {}.get()
        self.moved(bytes)
    }

    package func end() { self.list.end(self.number) }
    fileprivate func isTooSlow(at now: Double) -> Bool { self.pace.withLock { $0.isTooSlow(at: now) } }
    fileprivate func isSlowForACrowd(at now: Double) -> Double? { self.pace.withLock { $0.isSlowForACrowd(at: now) } }

    /// Seconds of the steady clock.
    static var now: Double { Double(NIODeadline.now().uptimeNanoseconds) / 1_000_000_000 }
}
