import ClusterContract
import Contract
import TestKit

extension SeededGenerator {
    mutating func upTo(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &self) }
    mutating func chance(_ oneIn: Int) -> Bool { self.upTo(oneIn) == 0 }
    mutating func one<T>(of list: [T]) -> T { list[self.upTo(list.count)] }

    mutating func bytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &self) }
    }

    /// Any text: NUL, quotes, control characters, every plane.
    mutating func anyText(_ counts: ClosedRange<Int>) -> String {
        var text = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: counts, using: &self) {
            let value: UInt32 =
                switch self.upTo(4) {
                case 0: .random(in: 0...0x1F, using: &self)
                case 1: .random(in: 0x20...0x7F, using: &self)
                case 2: .random(in: 0x80...0xFFFF, using: &self)
                default: .random(in: 0...0x10FFFF, using: &self)
                }
            text.append(Unicode.Scalar(value) ?? "\u{FFFD}")
        }
        return String(text)
    }
}

extension SeededGenerator {
    mutating func uuid() -> UUIDText {
        let digits = Array("0123456789abcdefABCDEF")
        let text = "________-____-____-____-____________".map { $0 == "-" ? "-" : self.one(of: digits) }
        return UUIDText(String(text))!
    }

    mutating func whisperID() -> WhisperID { WhisperID(bits: self.next() >> 4)! }
    mutating func bytes32() -> Bytes32 { Bytes32(self.bytes(32))! }
    mutating func bytes64() -> Bytes64 { Bytes64(self.bytes(64))! }
    mutating func int64() -> Int64 { Int64(bitPattern: self.next()) }
    mutating func timestamp() -> Timestamp { Timestamp(milliseconds: self.int64()) }
    mutating func node() -> NodeID { NodeID(value: self.next()) }
    mutating func connection() -> ConnectionID { ConnectionID(value: self.next()) }
    mutating func caller() -> Caller { Caller(identity: self.whisperID(), epoch: Epoch(value: self.int64())) }
    mutating func answerAddress() -> AnswerAddress { AnswerAddress(node: self.node(), question: self.next()) }

    mutating func session() -> Session {
        Session(
            caller: self.caller(), device: self.uuid(), platform: self.one(of: Platform.allCases),
            tokenHash: self.bytes32(), expiresAt: self.timestamp(), signPublicKey: self.bytes32(),
            isBanned: self.chance(2), rateClass: self.chance(2) ? nil : self.rateClass())
    }

    mutating func rateClass() -> RateClassName { RateClassName("class-\(self.upTo(100))")! }

    mutating func guest() -> Guest {
        Guest(
            id: GuestID(high: self.next(), low: self.next()), epoch: Epoch(value: self.int64()),
            tokenHash: self.bytes32(), expiresAt: self.timestamp(), signPublicKey: self.bytes32(),
            isBanned: self.chance(2))
    }

    mutating func mail() -> [Mail] {
        (0..<self.upTo(4)).map { _ in Mail(number: self.int64(), payload: self.bytes(self.upTo(40))) }
    }

    mutating func refusal() -> Refusal {
        Refusal(
            self.one(of: ErrorCode.allCases), self.anyText(0...20),
            retryAfterMilliseconds: self.chance(2) ? nil : Int64(self.upTo(1 << 40)))
    }
}
