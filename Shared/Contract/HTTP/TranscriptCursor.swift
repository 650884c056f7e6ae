/// Where the next page of a list of transcripts begins: behind the oldest one of the page before.
package struct TranscriptCursor: Hashable, Sendable {
    package let startedAt: Timestamp
    package let content: UUIDText

    package init(startedAt: Timestamp, content: UUIDText) {
        self.startedAt = startedAt
        self.content = content
    }

    package init?(_ text: String) {
        let parts = text.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, let milliseconds = Int64(parts[0]), let content = UUIDText(String(parts[1])) else {
            return nil
        }
        self.init(startedAt: Timestamp(milliseconds: milliseconds), content: content)
        // Signs, zeros in front and capitals read as well, but were never given out.
        guard self.text == text else { return nil }
    }

    package var text: String {
        "\(self.startedAt.milliseconds).\(UUIDText(high: self.content.high, low: self.content.low))"
    }
}
