import Glibc

/// Gives back what a burst has left free. glibc keeps such memory for good where something small lies above it, in an arena
/// for each thread: a service through which 10,000 clients have logged in held 10 MiB that nobody used.
enum HeapTrim {
    /// malloc_trim(3), which glibc's Swift module does not show. It takes well under a millisecond.
    private static let trim = dlsym(nil, "malloc_trim").map {
        unsafeBitCast($0, to: (@convention(c) (Int) -> Int32).self)
    }

    /// Trims now and then, until cancelled.
    static func run() async throws {
        while true {
            try await Task.sleep(for: RuntimeLimits.heapTrimEvery)
            _ = Self.trim?(0)
        }
    }
}
