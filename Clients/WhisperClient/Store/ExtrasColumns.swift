import Contract
import FoundationEssentials
import SQLite

/// The only code that reads or writes the columns `extras` and `votes` of `messages`: polls, their votes, and mentions.
enum ExtrasColumns {
    static func migrate(_ database: Database) throws {
        try database.execute(
            sql: "ALTER TABLE messages ADD COLUMN extras TEXT; ALTER TABLE messages ADD COLUMN votes TEXT;")
    }

    static let undo = StepDown(
        migration: "extras",
        sql: "ALTER TABLE messages DROP COLUMN extras; ALTER TABLE messages DROP COLUMN votes")

    private struct Kept: Codable {
        var poll: PollMembers?
        var mentions: [MentionMembers]?
        var isMentioned: Bool?
    }

    private struct KeptVote: Codable {
        var from: String
        var choices: [Int]
        var at: Int64
        var by: String

        var revision: Revision { Revision(time: self.at, key: self.by) }
    }

    private static func text(_ value: some Encodable) throws -> String {
        String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }

    private static func value<Value: Decodable>(_ type: Value.Type, _ text: String?) -> Value? {
        text.flatMap { try? JSONDecoder().decode(type, from: Data($0.utf8)) }
    }

    /// Keeps what came with a message.
    static func set(
        _ poll: Poll?, _ mentions: [Mention], isMentioned: Bool, of number: Int64, in database: Database
    ) throws {
        let kept = Kept(
            poll: poll.map { PollMembers($0) }, mentions: mentions.isEmpty ? nil : mentions.map { MentionMembers($0) },
            isMentioned: isMentioned ? true : nil)
        let isEmpty = kept.poll == nil && kept.mentions == nil
        try database.run(
            sql: "UPDATE messages SET extras = ? WHERE number = ?",
            arguments: [isEmpty ? nil : try Self.text(kept), number])
    }

    /// Adds what the row has to its message.
    static func read(_ row: Row, into message: inout Message) {
        guard message.content != .deleted, let kept = Self.value(Kept.self, row["extras"]) else { return }
        message.mentions = kept.mentions?.compactMap(\.mention) ?? []
        message.isMentioned = kept.isMentioned ?? false
        message.poll = kept.poll?.poll
        message.poll?.votes = (Self.value([KeptVote].self, row["votes"]) ?? []).compactMap { vote in
            guard !vote.choices.isEmpty, let from = WhisperID(vote.from) else { return nil }
            return Poll.Vote(from: from, choices: vote.choices)
        }
    }

    /// Counts a vote, if it is later than that person's last one and the poll was open.
    /// - Parameter time: when it was signed, in milliseconds.
    /// - Returns: whether it counts.
    static func vote(
        _ choices: [Int], by person: WhisperID, _ revision: Revision, at time: Int64, on row: Row,
        in database: Database
    ) throws -> Bool {
        guard let poll = Self.value(Kept.self, row["extras"])?.poll?.poll, poll.mayChoose(choices),
            poll.isOpen(at: time)
        else { return false }
        var votes = Self.value([KeptVote].self, row["votes"]) ?? []
        let vote = KeptVote(from: "\(person)", choices: choices, at: revision.time, by: revision.id)
        if let place = votes.firstIndex(where: { $0.from == vote.from }) {
            guard revision > votes[place].revision else { return false }
            votes[place] = vote
        } else {
            guard votes.count < ClientLimits.reactionsMax else { return false }
            votes.append(vote)
            votes.sort { $0.from < $1.from }
        }
        try database.run(
            sql: "UPDATE messages SET votes = ? WHERE number = ?",
            arguments: [try Self.text(votes), row["number"] as Int64])
        return true
    }

    /// Time of a person's last vote.
    static func lastVote(of person: WhisperID, on row: Row) -> (choices: [Int], at: Int64)? {
        Self.value([KeptVote].self, row["votes"])?.first { $0.from == "\(person)" }.map { ($0.choices, $0.at) }
    }

    /// Whether the message has an open poll in which these may be chosen.
    static func mayVote(_ choices: [Int], on row: Row, at now: Timestamp) -> Bool {
        guard let poll = Self.value(Kept.self, row["extras"])?.poll?.poll else { return false }
        return poll.mayChoose(choices) && poll.isOpen(at: now.milliseconds)
    }
}

/// A poll in JSON: in sealed messages, and in the store.
struct PollMembers: Codable {
    var options: [String]
    var many: Bool
    /// Milliseconds.
    var until: Int64?

    init(_ poll: Poll) {
        (self.options, self.many, self.until) = (poll.options, poll.isMany, poll.until?.milliseconds)
    }

    var poll: Poll? {
        Poll(options: self.options, isMany: self.many, until: self.until.map { Timestamp(milliseconds: $0) })
    }
}

/// A mention in JSON: in sealed messages, and in the store.
struct MentionMembers: Codable {
    var id: String
    var start: Int
    var count: Int

    init(_ mention: Mention) { (self.id, self.start, self.count) = ("\(mention.id)", mention.start, mention.count) }

    var mention: Mention? { WhisperID(self.id).map { Mention(id: $0, start: self.start, count: self.count) } }
}
