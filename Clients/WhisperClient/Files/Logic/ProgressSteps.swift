/// Decides which pieces of a transfer are told: `ClientLimits.progressStepsMax` in all, and the last one.
package struct ProgressSteps: Sendable {
    private let total: Int64
    private var told: Int64

    /// - Parameter start: bytes that were there before.
    package init(total: Int64, from start: Int64 = 0) {
        self.total = total
        self.told = start
    }

    /// - Parameter bytes: that are done now.
    /// - Returns: whether to tell it.
    package mutating func isStep(_ bytes: Int64) -> Bool {
        let step = max(self.total / Int64(ClientLimits.progressStepsMax), 1)
        guard bytes > self.told, bytes >= self.told + step || bytes >= self.total else { return false }
        self.told = bytes
        return true
    }
}
