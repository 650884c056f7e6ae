package import Hummingbird

/// The token of `Authorization: Bearer {token}`; the scheme's case does not matter (RFC 9110, 11.1).
package enum BearerToken {
    package static func bytes(in headers: HTTPFields) -> [UInt8]? {
        guard let value = headers[.authorization] else { return nil }
        let parts = value.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1)
        guard parts.count == 2, String(Substring(parts[0])).lowercased() == "bearer" else { return nil }
        return Array(parts[1].drop { $0 == UInt8(ascii: " ") })
    }
}
