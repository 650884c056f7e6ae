import NIOCore

/// One simulated device. Belongs to its fleet and lives on the fleet's thread.
final class Client {
    enum Phase {
        case away, upgrading, open
    }

    let number: Int
    let keys = SigningKeys()
    /// Known once registered.
    var whisperID = ""
    var token = ""

    var phase = Phase.away
    var channel: (any Channel)?
    /// Counts the sockets it had, so that what a former one still says is not taken for the present one's.
    var sockets = 0
    /// Bytes of an incomplete frame.
    var partial: ByteBuffer?
    /// Written in this turn, sent at its end.
    var outgoing: ByteBuffer?
    /// Somebody waits for the next frame.
    var question: Question?

    struct Question {
        let continuation: CheckedContinuation<[UInt8], any Error>
        let timeout: Scheduled<Void>
    }

    init(number: Int) { self.number = number }

    func answer(_ result: Result<[UInt8], any Error>) {
        guard let question = self.question else { return }
        self.question = nil
        question.timeout.cancel()
        question.continuation.resume(with: result)
    }
}

/// Hears what clients are told outside of questions, and the fleet's alarm. Called on the fleet's thread.
protocol FrameListener: AnyObject {
    func heard(_ frame: FrameBytes, on client: Client, of fleet: isolated Fleet)
    func alarmRang(on fleet: isolated Fleet)
    /// The client's connection has ended, and nobody here has asked for that.
    func lost(_ client: Client, of fleet: isolated Fleet)
}

extension FrameListener {
    func lost(_ client: Client, of fleet: isolated Fleet) { fleet.noteTrouble("connection closed") }
}
