package import Contract
package import NIOCore
import Synchronization

/// The uploads and downloads that this process serves now: a bounded number, also of each file, and none that stands still.
package final class Transfers: Sendable {
    package enum Direction: Sendable { case upload, download }

    private struct State {
        var transfers: [UInt64: Transfer] = [:]
        var last: UInt64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    package var count: Int { self.state.withLock { $0.transfers.count } }

    /// A file has one upload at a time, the newest: a client whose connection broke tries again before it is noticed here.
    /// - Parameters:
    ///   - place: the file's path. Each part of an object has its own.
    ///   - uploader: who presigned an upload; nil for a download, whose link does not say for whom it was made.
    ///   - channel: closed if the transfer is too slow, or is an upload and a newer one of the same file begins.
    /// - Returns: nil if there are too many, of all or of this file.
    package func begin(
        _ direction: Direction, of place: String, by uploader: WhisperID? = nil, on channel: (any Channel)?
    ) -> Transfer? {
        let (transfer, replaced) = self.state.withLock { state -> (Transfer?, [Transfer]) in
            let same = state.transfers.values.filter { $0.direction == direction && $0.place == place }
            let replaced = direction == .upload ? same : []
            for older in replaced { state.transfers[older.number] = nil }
            guard state.transfers.count < AttachmentsLimits.transfersMax,
                direction == .upload || same.count < AttachmentsLimits.downloadsOfOneMax,
                uploader == nil
                    || state.transfers.values.count(where: { $0.uploader == uploader }) < AttachmentsLimits.uploadsOfOneUploaderMax
            else { return (nil, replaced) }
            state.last += 1
            let transfer = Transfer(number: state.last, direction, of: place, by: uploader, channel: channel, owner: self)
            state.transfers[transfer.number] = transfer
            return (transfer, replaced)
        }
        for older in replaced { older.channel?.close(promise: nil) }
        return transfer
    }

    fileprivate func end(_ number: UInt64) { self.state.withLock { _ = $0.transfers.removeValue(forKey: number) } }

    /// Ends what is too slow, until its task is cancelled. Also makes up for a transfer whose end nobody told.
    package func watch() async throws {
        while true {
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
    let uploader: WhisperID?
    let channel: (any Channel)?
    private let owner: Transfers
    private let pace: Mutex<TransferPace>

    fileprivate init(
        number: UInt64, _ direction: Transfers.Direction, of place: String, by uploader: WhisperID?, channel: (any Channel)?,
        owner: Transfers
    ) {
        self.number = number
        self.direction = direction
        self.place = place
        self.uploader = uploader
        self.channel = channel
        self.owner = owner
        self.pace = Mutex(TransferPace(at: Self.now))
    }

    func moved(_ bytes: Int) { self.pace.withLock { $0.moved(bytes, at: Self.now) } }
    package func end() { self.owner.end(self.number) }
    fileprivate func isTooSlow(at now: Double) -> Bool { self.pace.withLock { $0.isTooSlow(at: now) } }

    /// Seconds of the steady clock.
    static var now: Double { Double(NIODeadline.now().uptimeNanoseconds) / 1_000_000_000 }
}
