package import Contract

/// Lines that are kept (contract §14.11).
extension LiveRules {
    /// A line is stored if it belongs to the present stream, and comes from the connection that holds it. Else its whisperer hears
    /// nothing of it, and sends it again if it still may.
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
            throw Refusal(.forbidden, "transcriptDays: lines are not kept that long here")
        }
    }

    /// What is said once the lines are stored. A line that came before is told again.
    package static func stored(_ lines: [LiveLine]) -> [LiveTelling] {
        struct Addressee: Hashable {
            var connection: LiveConnection
            var content: LiveFacts.Content
        }
        let told = Dictionary(grouping: lines) {
            Addressee(
                connection: $0.connection, content: .init(conversation: $0.conversation, content: $0.content))
        }
        return told.map { addressee, lines in
            .frame(
                .connection(addressee.connection),
                LiveLineStored(
                    conversation: addressee.content.conversation, content: addressee.content.content,
                    lines: Set(lines.map(\.line)).sorted()))
        }
    }
}
