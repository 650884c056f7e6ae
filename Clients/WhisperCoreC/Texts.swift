import Glibc
import WhisperCore

/// Texts on their way through the interface.
enum Texts {
    /// A copy that the caller frees; `nil` if there is no memory.
    static func out(_ text: [UInt8]) -> UnsafeMutablePointer<CChar>? {
        guard let copy = malloc(text.count + 1) else { return nil }
        text.withUnsafeBytes { bytes in
            if let start = bytes.baseAddress { memcpy(copy, start, bytes.count) }
        }
        let start = copy.assumingMemoryBound(to: CChar.self)
        start[text.count] = 0
        return start
    }

    static func out(_ error: CoreError) -> UnsafeMutablePointer<CChar>? { Self.out(error.answer) }

    /// Bytes of a known length.
    /// - Throws: `.tooLong` with more than `most` bytes, `.invalidCommand` without a text.
    static func bytes(_ text: UnsafePointer<CChar>?, _ count: Int, most: Int) throws(CoreError) -> [UInt8] {
        guard count >= 0, count <= most else { throw CoreError.tooLong }
        guard let text else { throw CoreError.noText }
        return UnsafeRawBufferPointer(start: text, count: count).map { $0 }
    }

    /// Bytes up to a NUL: `CoreLimits.textBytesMax` at most.
    static func bytes(_ text: UnsafePointer<CChar>?) throws(CoreError) -> [UInt8] {
        guard let text else { throw CoreError.noText }
        let count = strnlen(text, CoreLimits.textBytesMax + 1)
        return try Self.bytes(text, count, most: CoreLimits.textBytesMax)
    }

    /// A path of the host's.
    static func path(_ text: UnsafePointer<CChar>?, _ field: String) throws(CoreError) -> String {
        let path = String(decoding: try Self.bytes(text), as: UTF8.self)
        guard path.hasPrefix("/"), !path.hasSuffix("/") else { throw CoreError.noPath(field) }
        return path
    }

    /// The longest key is a passphrase of 1,024 bytes.
    private static let keyBytesMax = 1_024

    static func key(_ key: UnsafePointer<UInt8>?, _ count: Int) throws(CoreError) -> [UInt8] {
        guard let key, (1...Self.keyBytesMax).contains(count) else { throw CoreError.configuration("key") }
        return UnsafeBufferPointer(start: key, count: count).map { $0 }
    }
}
