import ClusterContract
import Contract

/// An effect of a batch outside the database, in the order decided.
enum BatchAction {
    case answer(AnswerAddress, Answer)
    case tell(NodeID, NodeEvent)
    /// Their senders are in other routers' partitions, and found by their presence.
    case tellElsewhere([WhisperID: [Outcome]])
    /// - message: the one that waits, if it is a new one. Otherwise some may wait.
    case wake(WhisperID, for: UUIDText?)
    /// The identity is there, or was a moment ago: the next message wakes it anew.
    case forgetWake(WhisperID)
}

/// The effects of a batch once its transaction is committed.
struct Settlement {
    var actions: [BatchAction] = []
    var events: [BatchEvent] = []
}

/// An event of a batch for logs and metrics.
enum BatchEvent {
    /// - position: in `BatchPlan.accepts`.
    case judged(position: Int, AcceptStatement.Verdict)
    case sent(position: Int, NodeID)
    case heldBack(position: Int)
    case receiptHonoured(ReceiptReport)
    case receiptsIgnored(Int)
    case bound(BoundConnection)
    case paged(FetchRequest, messages: Int)
}
