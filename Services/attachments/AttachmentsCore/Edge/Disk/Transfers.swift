import NIOCore
import Synchronization

/// The uploads and downloads that this process serves now: a bounded number, and none that stands still.
package final class Transfers: Sendable {
    private struct State {
        var transfers: [UInt64: Transfer] = [:]
        var last: UInt64 = 0
    }

    private let state = Mutex(State())

    package init() {}

    package var count: Int { self.state.withLock { $0.transfers.count } }

    /// - Parameter channel: closed if the transfer is too slow.
    /// - Returns: nil if there are too many.
    func begin(on channel: (any Channel)?) -> Transfer? {
        self.state.withLock { state in
            guard state.transfers.count < AttachmentsLimits.transfersMax else { return nil }
            state.last += 1
            let transfer = Transfer(number: state.last, channel: channel, owner: self)
            state.transfers[transfer.number] = transfer
            return transfer
        }
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
final class Transfer: Sendable {
    let number: UInt64
    let channel: (any Channel)?
    private let owner: Transfers
    private let pace: Mutex<TransferPace>

    fileprivate init(number: UInt64, channel: (any Channel)?, owner: Transfers) {
        self.number = number
        self.channel = channel
        self.owner = owner
        self.pace = Mutex(TransferPace(at: Self.now))
    }

    func moved(_ bytes: Int) { self.pace.withLock { $0.moved(bytes, at: Self.now) } }
    func end() { self.owner.end(self.number) }
    fileprivate func isTooSlow(at now: Double) -> Bool { self.pace.withLock { $0.isTooSlow(at: now) } }

    /// Seconds of the steady clock.
    static var now: Double { Double(NIODeadline.now().uptimeNanoseconds) / 1_000_000_000 }
}
