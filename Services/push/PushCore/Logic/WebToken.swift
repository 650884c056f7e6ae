import Contract
import ServerCrypto

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
