import ClusterContract
import Contract

/// The messages of a batch that are to be judged.
struct GenuineAccepts {
    /// Well signed, each key of each session once, in order.
    private(set) var unique: [AcceptEnvelope] = []
    /// For each of `unique`, who else sent the same in this batch and gets the same answer.
    private(set) var repeats: [Int: [AnswerAddress]] = [:]
    /// Addresses of senders whose signature is invalid.
    private(set) var forged: [AnswerAddress] = []

    /// A message as one session sent it. A message of an older session is stale, and that is no answer for a newer
    /// session that sends it again.
    private struct SentMessage: Hashable {
        var key: MessageKey
        var epoch: Epoch
    }

    init(_ batch: Batch) {
        var positions: [SentMessage: Int] = [:]
        positions.reserveCapacity(batch.accepts.count)
        for (envelope, isGenuine) in zip(batch.accepts, batch.areGenuine) {
            guard isGenuine else {
                self.forged.append(envelope.answer)
                continue
            }
            let key = SentMessage(
                key: MessageKey(
                    sender: envelope.sender.identity, messageID: envelope.messageID, recipient: envelope.to),
                epoch: envelope.sender.epoch)
            if let position = positions[key] {
                self.repeats[position, default: []].append(envelope.answer)
            } else {
                positions[key] = self.unique.count
                self.unique.append(envelope)
            }
        }
    }
}
