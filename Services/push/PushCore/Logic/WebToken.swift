import Contract
import ServerCrypto

/// base64url without padding (RFC 4648 §5).
package enum Base64URL {
    package static func encode(_ bytes: [UInt8]) -> String {
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

/// A signed JSON Web Token in its compact form (RFC 7519, RFC 7515 §7.1).
package enum WebToken {
    /// - Parameters:
    ///   - header, claims: JSON.
    ///   - sign: nil if the key cannot.
    package static func make(header: [UInt8], claims: [UInt8], sign: ([UInt8]) -> [UInt8]?) -> String? {
        let signed = "\(Base64URL.encode(header)).\(Base64URL.encode(claims))"
        return sign(Array(signed.utf8)).map { "\(signed).\(Base64URL.encode($0))" }
    }
}
