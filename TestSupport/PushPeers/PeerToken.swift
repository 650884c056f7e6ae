import Foundation
import ServerCrypto

/// A JSON Web Token as a provider reads it.
struct PeerToken {
    let header: [String: Any]
    let claims: [String: Any]
    let signed: [UInt8]
    let signature: [UInt8]

    init?(_ text: String) {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false).map { bytesOfBase64URL(String($0)) }
        guard parts.count == 3, let header = parts[0].flatMap(Self.object), let claims = parts[1].flatMap(Self.object),
            let signature = parts[2]
        else { return nil }
        self.header = header
        self.claims = claims
        self.signature = signature
        self.signed = Array(text[..<text.lastIndex(of: ".")!].utf8)
    }

    private static func object(_ bytes: [UInt8]) -> [String: Any]? {
        (try? JSONSerialization.jsonObject(with: Data(bytes))) as? [String: Any]
    }

    func seconds(_ claim: String) -> Double? { (self.claims[claim] as? NSNumber)?.doubleValue }
}

/// RFC 4648 §5, without padding.
func bytesOfBase64URL(_ text: String) -> [UInt8]? {
    guard !text.contains("="), !text.contains("+"), !text.contains("/") else { return nil }
    var text = text.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
    while !text.count.isMultiple(of: 4) { text += "=" }
    return Data(base64Encoded: text).map { Array($0) }
}

func base64URL(_ bytes: [UInt8]) -> String {
    Data(bytes).base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
        .replacingOccurrences(of: "=", with: "")
}

/// A public P-256 key out of PEM: the last 65 bytes of its structure are the point (RFC 5480 §2.2).
func p256(pem: String) -> P256PublicKey? {
    let text = pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
    return Data(base64Encoded: text).flatMap { P256PublicKey(bytes: Array($0.suffix(P256PublicKey.byteCount))) }
}
