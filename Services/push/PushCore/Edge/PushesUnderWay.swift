import Contract
import Synchronization

/// Recipients whose mail is being pushed just now, shared by those who push and the one who looks: nobody is pushed by two
/// rounds at a time, and a push that takes long does not lose what a later one has written.
final class PushesUnderWay: Sendable {
    private let recipients = Mutex<Set<WhisperID>>([])

    /// How many more may be begun. Asked before a round: two that begin at the same moment may pass the bound, by one round.
    var room: Int { max(0, PushLimits.sendsInFlightMax - self.recipients.withLock { $0.count }) }

    func contains(_ recipient: WhisperID) -> Bool { self.recipients.withLock { $0.contains(recipient) } }

    /// - Returns: those that nobody else has begun; each is to be ended.
    func begin(_ items: [PushRound.Item]) -> [PushRound.Item] {
        self.recipients.withLock { recipients in
            var begun: [PushRound.Item] = []
            for item in items where recipients.insert(item.recipient).inserted { begun.append(item) }
            return begun
        }
    }

    func end(_ items: [PushRound.Item]) {
        self.recipients.withLock { recipients in
            for item in items { recipients.remove(item.recipient) }
        }
    }
}
