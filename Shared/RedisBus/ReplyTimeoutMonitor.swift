/// Finds out that the oldest command without an answer is too old.
///
/// It keeps no time for each command. It remembers how many had been issued at the last checks, which come at a steady pace.
struct ReplyTimeoutMonitor {
    /// Commands issued since the connection began.
    var issued: UInt64 = 0
    /// `issued` at the last checks, oldest first.
    private var marks: [UInt64] = []

    /// Checks after which a command is too old.
    private static let checks = Int(RedisLimits.answerMax / RedisLimits.watchEvery)

    /// - Parameter unanswered: how many of the commands issued have no answer. Answers come in order.
    /// - Returns: false if the oldest of them is too old.
    mutating func check(unanswered: Int) -> Bool {
        let answered = self.issued - UInt64(unanswered)
        if self.marks.count == Self.checks {
            if answered < self.marks.removeFirst() { return false }
        }
        self.marks.append(self.issued)
        return true
    }
}
