import Glibc

extension UnsafeRawBufferPointer {
    /// Where `text` ends, searched from `offset`: from one candidate for its first byte to the next.
    @inline(__always)
    func end(of text: StaticString, from offset: Int = 0) -> Int? {
        let length = text.utf8CodeUnitCount
        var position = offset
        while position + length <= self.count {
            let base = self.baseAddress!
            guard let found = memchr(base + position, Int32(text.utf8Start[0]), self.count - length + 1 - position)
            else { return nil }
            if memcmp(found, text.utf8Start, length) == 0 { return UnsafeRawPointer(found) - base + length }
            position = UnsafeRawPointer(found) - base + 1
        }
        return nil
    }
}
