package import Contract

/// A question with options. Everybody counts the votes for themselves.
package struct Poll: Sendable, Hashable {
    package let options: [String]
    /// Whether a person may choose more than one.
    package let isMany: Bool
    /// Votes of a later time do not count.
    package let until: Timestamp?
    /// One of each person, in the order of their ids.
    package var votes: [Vote] = []

    package struct Vote: Sendable, Hashable {
        package var from: WhisperID
        /// Places of options, ascending; none if the vote was taken back.
        package var choices: [Int]

        package init(from: WhisperID, choices: [Int]) { (self.from, self.choices) = (from, choices) }
    }

    /// - Returns: `nil` if a bound is broken (`ClientLimits.pollOptions`, `optionBytesMax`).
    package init?(options: [String], isMany: Bool, until: Timestamp?) {
        guard ClientLimits.pollOptions.contains(options.count),
            options.allSatisfy({ (1...ClientLimits.optionBytesMax).contains($0.utf8.count) }),
            until.map({ Limits.timestamps.contains($0.milliseconds) }) ?? true
        else { return nil }
        (self.options, self.isMany, self.until) = (options, isMany, until)
    }

    /// Whether somebody may choose these.
    package func mayChoose(_ choices: [Int]) -> Bool {
        choices.allSatisfy(self.options.indices.contains) && zip(choices, choices.dropFirst()).allSatisfy(<)
            && (self.isMany || choices.count <= 1)
    }

    /// Whether a vote of this time counts.
    package func isOpen(at time: Int64) -> Bool { self.until.map { time <= $0.milliseconds } ?? true }
}

/// A person who is named in a text.
package struct Mention: Sendable, Hashable {
    package var id: WhisperID
    /// Place and length of the words for the person, in Unicode scalars of the text.
    package var start: Int
    package var count: Int

    package init(id: WhisperID, start: Int, count: Int) { (self.id, self.start, self.count) = (id, start, count) }

    /// Whether all stand in the text, in their order, and none over another.
    package static func areValid(_ mentions: [Mention], in text: String) -> Bool {
        guard mentions.count <= ClientLimits.mentionsMax else { return false }
        let length = text.unicodeScalars.count
        var end = 0
        for mention in mentions {
            guard mention.start >= end, mention.count > 0, mention.count <= length - mention.start else { return false }
            end = mention.start + mention.count
        }
        return true
    }
}
