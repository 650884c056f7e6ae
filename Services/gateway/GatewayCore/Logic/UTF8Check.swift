/// Whether bytes are valid UTF-8. Client messages are nearly all ASCII, which is checked eight bytes at a time.
package func isValidUTF8(_ bytes: [UInt8]) -> Bool {
    let asciiPrefix = bytes.withUnsafeBytes { raw in
        var index = 0
        while index + 8 <= raw.count,
            raw.loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
        {
            index += 8
        }
        return index
    }
    if asciiPrefix == bytes.count { return true }
    return String(validating: bytes[asciiPrefix...], as: UTF8.self) != nil
}
