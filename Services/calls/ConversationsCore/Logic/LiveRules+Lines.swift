package import ClusterContract
import Contract

/// Lines that are kept (contract §14.11).
extension LiveRules {
    /// A line is stored if it belongs to the present stream, and comes from the connection that holds it. Else its
    /// whisperer gets no answer, and sends it again if it still may.
    package mutating func said(_ line: LiveLine) {
        guard let conversation = self.book[line.conversation], let stream = conversation.stream,
            case .live(line.connection, _) = stream.phase, stream.content == line.content, stream.isTranscribed,
            conversation.epoch == line.position.epoch, LiveLimits.lineNumbers.contains(Int64(line.line)),
            (1...conversation.generation).contains(line.generation)
        else { return }
        self.lines.append(line)
    }

    /// The greatest line that is stored, this batch's counted.
    func lastLine(of content: LiveFacts.Content) -> Int {
        let said = self.lines.lazy.filter { $0.conversation == content.conversation && $0.content == content.content }
        return max(self.facts.lastLines[content] ?? 0, said.map(\.line).max() ?? 0)
    }

    func check(transcriptDays days: Int) throws(Refusal) {
        guard days <= self.limits.transcriptDaysMax else {
            throw Refusal(.forbidden, "transcriptDays: above this server's limit")
        }
    }

    /// The answers once the lines are stored. A line that was stored before is confirmed again.
    /// - Parameter notKept: positions of those for which there was no room.
    package static func stored(_ lines: [LiveLine], notKept: Set<Int> = []) -> [LiveTelling] {
        struct Addressee: Hashable {
            var connection: LiveConnection
            var content: LiveFacts.Content
        }
        let told = Dictionary(grouping: lines.indices) {
            Addressee(
                connection: lines[$0].connection,
                content: .init(conversation: lines[$0].conversation, content: lines[$0].content))
        }
        return told.map { addressee, places in
            let stored = Set(places.filter { !notKept.contains($0) }.map { lines[$0].line })
            // One that came twice may have had room for its first copy only.
            let left = Set(places.filter { notKept.contains($0) }.map { lines[$0].line }).subtracting(stored)
            return .frame(
                .connection(addressee.connection),
                LiveLineStored(
                    conversation: addressee.content.conversation, content: addressee.content.content,
                    lines: stored.sorted(), notKept: left.sorted()))
        }
    }
}
