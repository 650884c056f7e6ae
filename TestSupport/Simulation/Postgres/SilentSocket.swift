import Glibc

/// A descriptor that never has anything to read.
enum SilentSocket {
    static let descriptor: Int32 = {
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0)
        return ends[0]
    }()
}
