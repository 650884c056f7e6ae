import Bus
import NIOCore
import Testing
import TestKit

@testable import RedisBus

/// The parts of `RedisBus` that touch no socket.
@Suite struct RedisMachineTests {
    @Test func aCommandIsAnArrayOfBulkStrings() {
        var buffer = ByteBuffer()
        RedisCommand.trim(stream: "s", through: EntryID(milliseconds: 1_700_000_000_000, sequence: 9)).write(
            into: &buffer)
        #expect(
            String(buffer: buffer)
                == "*5\r\n$5\r\nXTRIM\r\n$1\r\ns\r\n$5\r\nMINID\r\n$1\r\n=\r\n$16\r\n1700000000000-10\r\n")
    }

    @Test(arguments: 1..<40)
    func answersAreFoundHoweverTheBytesAreCut(piece: Int) {
        let wire = bytes("+OK\r\n:-7\r\n*3\r\n$3\r\na\r\n\r\n$-1\r\n*0\r\n-ERR no\r\n*-1\r\n")
        let reader = ReplyReader()
        var answers: [String] = []
        var rest = wire[...]
        while !rest.isEmpty {
            let fed = Array(rest.prefix(piece)).withUnsafeBytes { part in
                reader.feed(part) { reply in
                    let text = reply.text
                    answers.append(reply.tokens.map { $0.description(in: text) }.joined(separator: ","))
                    return true
                }
            }
            #expect(fed)
            rest = rest.dropFirst(piece)
        }
        #expect(answers == ["OK", "-7", "[3],a\r\n,null,[0]", "!ERR no", "null"])
    }

    @Test func whatIsNotRedisProtocolEndsTheReader() {
        let reader = ReplyReader()
        let isProtocol = bytes("HTTP/1.1 400 Bad Request\r\n").withUnsafeBytes { reader.feed($0) { _ in true } }
        #expect(!isProtocol)
    }

    @Test func aConnectionWhoseOldestCommandIsTooOldEnds() {
        var monitor = ReplyTimeoutMonitor()
        let checks = Int(RedisLimits.answerMax / RedisLimits.watchEvery)
        monitor.issued = 3
        for _ in 0..<checks {
            monitor.issued += 1
            let isFresh = monitor.check(unanswered: 1)
            #expect(isFresh)
        }
        let unanswered = Int(monitor.issued) - 3
        let isFresh = monitor.check(unanswered: unanswered)
        #expect(!isFresh)
    }

    @Test(arguments: UInt64(0)..<50)
    func theBackoffGrowsToItsBoundAndIsJittered(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let (first, longest) = (RedisLimits.reconnect.first, RedisLimits.reconnect.longest)
        let waits = (1...10).map { RedisLimits.reconnect.delay(after: $0, using: &random) }
        #expect(waits[0] >= first / 2 && waits[0] <= first)
        #expect(waits[9] >= longest / 2 && waits[9] <= longest)
    }
}

extension Reply.Token {
    fileprivate func description(in text: [UInt8]) -> String {
        switch self {
        case .array(let count): "[\(count)]"
        case .text(let place): String(decoding: text[place], as: UTF8.self)
        case .integer(let value): "\(value)"
        case .null: "null"
        case .omitted: "omitted"
        case .error(let place): "!" + String(decoding: text[place], as: UTF8.self)
        }
    }
}
