import Glibc

/// A descriptor from which nothing can ever be read.
enum SilentSocket {
    static let descriptor: Int32 = {
        var ends: [Int32] = [0, 0]
        precondition(pipe(&ends) == 0)
        return ends[0]
    }()
}
