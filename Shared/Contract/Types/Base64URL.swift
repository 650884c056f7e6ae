/// Base64 for addresses and their fragments, without padding, in its one canonical spelling (RFC 4648 §5).
package enum Base64URL {
    package static func encode<C: Collection<UInt8>>(_ bytes: C) -> String {
        String(
            decoding: Base64.encode(bytes).compactMap { byte -> UInt8? in
                switch byte {
                case UInt8(ascii: "+"): UInt8(ascii: "-")
                case UInt8(ascii: "/"): UInt8(ascii: "_")
                case UInt8(ascii: "="): nil
                default: byte
                }
            }, as: UTF8.self)
    }

    /// - Returns: nil if the text is not canonical, or padded.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        var standard: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "-"): standard.append(UInt8(ascii: "+"))
            case UInt8(ascii: "_"): standard.append(UInt8(ascii: "/"))
            case UInt8(ascii: "+"), UInt8(ascii: "/"), UInt8(ascii: "="): return nil
            default: standard.append(byte)
            }
        }
        while !standard.count.isMultiple(of: 4) { standard.append(UInt8(ascii: "=")) }
        return standard.withUnsafeBufferPointer { Base64.decode($0) }
    }
}
