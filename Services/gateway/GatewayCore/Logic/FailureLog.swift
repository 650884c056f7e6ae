/// Why a gateway itself answers a request with INTERNAL_ERROR. A service that answers so logs its own reason.
enum FailureReason: String {
    /// Redis is away, or takes no more.
    case busFailed = "the bus did not take it"
    case noAnswer = "no answer in time"
    case partitionFull = "too many jobs wait in the partition"
    case tooManyRequests = "too many requests wait in the gateway"
    case tooManyFramesWait = "too many frames wait on the connection"
}

/// Which failures get a line in the log. In an outage each request fails; the first of each second are logged, the others counted.
struct FailureLog {
    private var lines = 0
    private var leftOut = 0

    /// - Returns: whether this failure gets a line of its own.
    mutating func admits() -> Bool {
        guard self.lines < GatewayLimits.failureLinesPerSecond else {
            self.leftOut += 1
            return false
        }
        self.lines += 1
        return true
    }

    /// A second has passed.
    /// - Returns: how many failures got no line.
    mutating func secondPassed() -> Int {
        defer { self = FailureLog() }
        return self.leftOut
    }
}
