import Glibc

enum HostName {
    /// HOST_NAME_MAX of Linux, and the zero.
    private static let bytesMax = 65

    /// As the kernel has it; empty if it will not say.
    static var current: String {
        var name = [UInt8](repeating: 0, count: Self.bytesMax)
        let failed = name.withUnsafeMutableBytes {
            gethostname($0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count) != 0
        }
        return failed ? "" : String(decoding: name.prefix { $0 != 0 }, as: UTF8.self)
    }
}
