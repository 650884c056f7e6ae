package import ClusterContract
package import Contract
import ServerCrypto

extension Wake {
    /// The id of all wake-ups of a device about one subject. It names the subject to nobody who does not know it.
    package static func opaque(_ kind: StaticString, _ subject: String, _ device: WhisperID) -> UUIDText {
        let digest = SHA256.hash(Array("\(kind)\n\(subject)\n\(device)\n".utf8)).bytes
        func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
        return UUIDText(high: number(digest[0..<8]), low: number(digest[8..<16]))
    }
}
