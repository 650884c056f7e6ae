import NIOCore

/// The pieces of a command on the wire (Redis protocol, "Sending commands to a Redis server"):
/// an array of bulk strings.
extension ByteBuffer {
    /// Starts a command of `count` words, its name included.
    mutating func writeCommand(_ name: StaticString, words count: Int) {
        self.writeHeader(UInt8(ascii: "*"), count)
        self.writeWord(name)
    }

    mutating func writeWord(_ word: StaticString) {
        self.writeWord(UnsafeRawBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
    }

    mutating func writeWord(_ word: String) {
        var word = word
        word.withUTF8 { self.writeWord(UnsafeRawBufferPointer($0)) }
    }

    mutating func writeWord(_ word: [UInt8]) {
        word.withUnsafeBytes { self.writeWord($0) }
    }

    mutating func writeWord(_ number: Int) {
        withDecimal(UInt64(number)) { self.writeWord($0) }
    }

    /// As Redis writes ids: milliseconds, a dash, the counter.
    mutating func writeWord(_ milliseconds: UInt64, _ sequence: UInt64) {
        withUnsafeTemporaryAllocation(byteCount: 2 * decimalDigitsMax + 1, alignment: 1) { room in
            var end = room.writeDecimal(milliseconds, at: 0)
            room[end] = UInt8(ascii: "-")
            end = room.writeDecimal(sequence, at: end + 1)
            self.writeWord(UnsafeRawBufferPointer(rebasing: room[..<end]))
        }
    }

    /// One word in one reservation: length, bytes, line end.
    private mutating func writeWord(_ bytes: UnsafeRawBufferPointer) {
        self.writeWithUnsafeMutableBytes(minimumWritableBytes: bytes.count + decimalDigitsMax + 5) { room in
            room[0] = UInt8(ascii: "$")
            var end = room.writeDecimal(UInt64(bytes.count), at: 1)
            end = room.writeLineEnd(at: end)
            UnsafeMutableRawBufferPointer(rebasing: room[end...]).copyMemory(from: bytes)
            return room.writeLineEnd(at: end + bytes.count)
        }
    }

    private mutating func writeHeader(_ sigil: UInt8, _ count: Int) {
        self.writeWithUnsafeMutableBytes(minimumWritableBytes: decimalDigitsMax + 3) { room in
            room[0] = sigil
            return room.writeLineEnd(at: room.writeDecimal(UInt64(count), at: 1))
        }
    }
}

/// Digits of the largest 64-bit number.
private let decimalDigitsMax = 20

private func withDecimal(_ number: UInt64, _ body: (UnsafeRawBufferPointer) -> Void) {
    withUnsafeTemporaryAllocation(byteCount: decimalDigitsMax, alignment: 1) { room in
        let end = room.writeDecimal(number, at: 0)
        body(UnsafeRawBufferPointer(rebasing: room[..<end]))
    }
}

extension UnsafeMutableRawBufferPointer {
    /// - Returns: the index behind the last digit.
    fileprivate func writeDecimal(_ number: UInt64, at start: Int) -> Int {
        var digits = 1
        var rest = number
        while rest >= 10 {
            digits += 1
            rest /= 10
        }
        rest = number
        for index in stride(from: start + digits - 1, through: start, by: -1) {
            self[index] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
            rest /= 10
        }
        return start + digits
    }

    fileprivate func writeLineEnd(at index: Int) -> Int {
        self[index] = UInt8(ascii: "\r")
        self[index + 1] = UInt8(ascii: "\n")
        return index + 2
    }
}
