/// Notices that the oldest command without an answer is too old, without noting the time of each: it remembers
/// how many had been issued at the last few looks, which come at a steady pace.
struct AnswerWatch {
    /// Commands issued since the connection began.
    var issued: UInt64 = 0
    /// `issued` at the last looks, oldest first.
    private var marks: [UInt64] = []

    /// Looks after which a command is too old.
    private static let looks = Int(RedisLimits.answerMax / RedisLimits.watchEvery)

    /// - Parameter unanswered: how many of the commands issued have no answer. Answers come in order.
    /// - Returns: false if the oldest of them is too old.
    mutating func look(unanswered: Int) -> Bool {
        let answered = self.issued - UInt64(unanswered)
        if self.marks.count == Self.looks {
            if answered < self.marks.removeFirst() { return false }
        }
        self.marks.append(self.issued)
        return true
    }
}
