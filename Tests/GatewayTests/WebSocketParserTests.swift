import NIOCore
import Testing
import TestKit

@testable import GatewayCore

private typealias Event = WebSocketParser.Event
private typealias Violation = WebSocketParser.Violation

/// Events of a parser for bytes that arrive in these chunks, and how it ended.
private func parse(_ chunks: [[UInt8]], max: Int = 512_000) -> (events: [Event], violation: Violation?) {
    var parser = WebSocketParser(messageBytesMax: max)
    var buffer = ByteBuffer()
    var events: [Event] = []
    for chunk in chunks {
        buffer.writeBytes(chunk)
        do throws(Violation) {
            while let event = try parser.next(&buffer) { events.append(event) }
        } catch {
            return (events, error)
        }
    }
    return (events, nil)
}

private func parse(_ frames: [ClientFrame], max: Int = 512_000) -> (events: [Event], violation: Violation?) {
    parse([frames.flatMap(\.bytes)], max: max)
}

private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

@Suite struct WebSocketParserTests {
    @Test(arguments: [0, 1, 7, 8, 9, 125, 126, 127, 65_535, 65_536, 512_000])
    func aMessageOfAnySizeComesOutUnmasked(size: Int) {
        var random = SeededGenerator(seed: UInt64(size))
        let payload = random.bytes(size)
        let result = parse([ClientFrame(opcode: 1, payload: payload, mask: UInt32(truncatingIfNeeded: random.next()))])
        #expect(result.events == [.text(payload)])
        #expect(result.violation == nil)
    }

    @Test(arguments: UInt64(0)..<30)
    func howTheBytesAreSplitDoesNotMatter(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var stream: [UInt8] = []
        var expected: [Event] = []
        for _ in 0..<6 { random.addMessage(to: &stream, expected: &expected) }
        #expect(parse([stream]).events == expected)
        #expect(parse(stream.map { [$0] }).events == expected)
        for split in stride(from: 0, through: stream.count, by: stream.count < 400 ? 1 : 7) {
            #expect(parse([Array(stream[..<split]), Array(stream[split...])]).events == expected)
        }
    }

    @Test func controlFramesMayStandBetweenFragments() {
        let result = parse([
            .text("a", isFinal: false), ClientFrame(opcode: 9, payload: bytes("p")),
            ClientFrame(opcode: 0, payload: bytes("b"), isFinal: false),
            ClientFrame(opcode: 10), ClientFrame(opcode: 0, payload: bytes("c")), .text("d"),
        ])
        #expect(result.events == [.ping(bytes("p")), .pong([]), .text(bytes("abc")), .text(bytes("d"))])
    }

    @Test func eachFragmentHasItsOwnMask() {
        var first = ClientFrame.text("hello ", isFinal: false)
        first.mask = 0x0403_0201
        let second = ClientFrame(opcode: 0, payload: bytes("world"), mask: 0x0911_00FA)
        #expect(parse([first, second]).events == [.text(bytes("hello world"))])
    }

    @Test func emptyFragmentsAreHarmless() {
        let empty = Array(repeating: ClientFrame(opcode: 0, isFinal: false), count: 1_000)
        #expect(parse([.text("", isFinal: false)] + empty + [ClientFrame(opcode: 0)]).events == [.text([])])
    }

    @Test func aCloseIsAnEvent() {
        #expect(parse([ClientFrame(opcode: 8, payload: [3, 232])]).events == [.close(.normal)])
        #expect(parse([ClientFrame(opcode: 8)]).events == [.close(.normal)])
    }

    private func answer(toClose code: Int, _ reason: [UInt8] = []) -> Event? {
        parse([ClientFrame(opcode: 8, payload: [UInt8(code >> 8), UInt8(code & 255)] + reason)]).events.first
    }

    /// RFC 6455 §7.4.
    @Test func aCloseWithAForbiddenCodeIsAnsweredAsSuch() {
        let forbidden = [0...999, 1004...1006, 1015...2999, 5000...65_535].flatMap { [$0.lowerBound, $0.upperBound] }
        for code in forbidden + [1, 1005, 1016, 2000] { #expect(self.answer(toClose: code) == .close(.protocolError)) }
        for code in [1000, 1001, 1002, 1003, 1007, 1011, 1012, 1014, 3000, 3999, 4000, 4999] {
            #expect(self.answer(toClose: code) == .close(.normal))
        }
    }

    @Test func aCloseOfOneByteIsAnError() {
        #expect(parse([ClientFrame(opcode: 8, payload: [3])]).events == [.close(.protocolError)])
    }

    /// RFC 6455 §5.5.1, §8.1.
    @Test func theReasonOfACloseIsText() {
        #expect(self.answer(toClose: 1000, bytes("Grüße")) == .close(.normal))
        for reason: [UInt8] in [[0xC3, 0x28], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0xE2, 0x82], [0xFF]] {
            #expect(self.answer(toClose: 1000, reason) == .close(.invalidText))
        }
        // The code counts first.
        #expect(self.answer(toClose: 1005, [0xFF]) == .close(.protocolError))
    }

    /// RFC 6455 §5.2.
    @Test func aLengthHasTheFewestBytes() {
        let mask: [UInt8] = [0, 0, 0, 0]
        for length: [UInt8] in [
            [0xFE, 0, 125], [0xFF, 0, 0, 0, 0, 0, 0, 0, 125], [0xFF, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF],
            [0xFF, 0x80, 0, 0, 0, 0, 0, 0, 1],
        ] {
            #expect(parse([[0x81] + length + mask]).violation == .protocolError)
        }
        for size in [126, 65_535, 65_536] {
            #expect(parse([ClientFrame(opcode: 1, payload: [UInt8](repeating: 65, count: size))]).violation == nil)
        }
    }

    // MARK: Size

    @Test func oneByteTooManyIsTooBig() {
        #expect(
            parse([ClientFrame(opcode: 1, payload: [UInt8](repeating: 65, count: 1_000))], max: 1_000).violation == nil)
        #expect(
            parse([ClientFrame(opcode: 1, payload: [UInt8](repeating: 65, count: 1_001))], max: 1_000).violation
                == .tooBig)
    }

    @Test func fragmentsCountTogether() {
        func sizes(_ sizes: Int...) -> Violation? {
            let frames = sizes.enumerated().map { index, size in
                ClientFrame(
                    opcode: index == 0 ? 1 : 0, payload: [UInt8](repeating: 65, count: size),
                    isFinal: index == sizes.count - 1)
            }
            return parse(frames, max: 1_000).violation
        }
        #expect(sizes(500, 500) == nil)
        #expect(sizes(500, 501) == .tooBig)
        #expect(sizes(1_000, 0, 0) == nil)
        #expect(sizes(1_000, 0, 1) == .tooBig)
        #expect(sizes(1, 1, 999) == .tooBig)
    }

    @Test func theNextMessageStartsCountingAnew() {
        let full = ClientFrame(opcode: 1, payload: [UInt8](repeating: 65, count: 1_000))
        let half = ClientFrame(opcode: 1, payload: [UInt8](repeating: 65, count: 999), isFinal: false)
        let rest = ClientFrame(opcode: 0, payload: [65])
        #expect(parse([full, half, rest, full], max: 1_000).events.count == 3)
    }

    @Test func anEnormousLengthIsTooBigBeforeItsBytesCome() {
        for length: [UInt8] in [
            [0, 0, 0, 0, 0, 0x7F, 0xFF, 0xFF], [0x7F] + [UInt8](repeating: 0xFF, count: 7),
        ] {
            #expect(parse([[0x81, 0xFF] + length]).violation == .tooBig)
        }
    }

    @Test func aControlFrameIsNotCountedToTheMessageAroundIt() {
        let result = parse(
            [
                ClientFrame(opcode: 1, payload: [UInt8](repeating: 65, count: 100), isFinal: false),
                ClientFrame(opcode: 9, payload: [UInt8](repeating: 1, count: 100)), ClientFrame(opcode: 0),
            ], max: 100)
        #expect(result.violation == nil)
        #expect(result.events.count == 2)
    }

    // MARK: Violations

    @Test func clientsMustMask() {
        for opcode: UInt8 in [0, 1, 2, 8, 9, 10] {
            #expect(parse([ClientFrame(opcode: opcode, payload: [1], mask: nil)]).violation == .protocolError)
        }
    }

    @Test(arguments: [UInt8(0x40), 0x20, 0x10, 0x70])
    func reservedBitsAreRefused(bits: UInt8) {
        for opcode: UInt8 in [1, 2, 9] {
            #expect(parse([ClientFrame(opcode: opcode, reserved: bits)]).violation == .protocolError)
        }
    }

    @Test(arguments: [UInt8(3), 4, 5, 6, 7, 11, 12, 13, 14, 15])
    func unknownOpcodesAreRefused(opcode: UInt8) {
        #expect(parse([ClientFrame(opcode: opcode)]).violation == .protocolError)
    }

    @Test(arguments: [UInt8(8), 9, 10])
    func controlFramesAreShortAndWhole(opcode: UInt8) {
        #expect(parse([ClientFrame(opcode: opcode, payload: [UInt8](repeating: 0, count: 125))]).violation == nil)
        #expect(
            parse([ClientFrame(opcode: opcode, payload: [UInt8](repeating: 0, count: 126))]).violation == .protocolError
        )
        #expect(parse([ClientFrame(opcode: opcode, isFinal: false)]).violation == .protocolError)
    }

    @Test func binaryIsRefusedByItsOwnCode() {
        #expect(parse([ClientFrame(opcode: 2, payload: [1])]).violation == .binary)
        #expect(parse([ClientFrame(opcode: 2, isFinal: false)]).violation == .binary)
    }

    @Test func fragmentsKeepTheirOrder() {
        #expect(parse([ClientFrame(opcode: 0)]).violation == .protocolError)
        #expect(parse([.text("a", isFinal: false), .text("b")]).violation == .protocolError)
        #expect(parse([.text("a", isFinal: false), ClientFrame(opcode: 2)]).violation == .protocolError)
        #expect(parse([.text("a"), ClientFrame(opcode: 0)]).violation == .protocolError)
    }

    @Test func whatCameBeforeAViolationIsStillHeard() {
        let result = parse([.text("a"), .text("b"), ClientFrame(opcode: 2)])
        #expect(result.events == [.text(bytes("a")), .text(bytes("b"))])
        #expect(result.violation == .binary)
    }

    @Test(arguments: Prove.seeds(0..<200))
    func rubbishNeverCrashes(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<20 { _ = parse([random.bytes(random.upTo(40)), random.bytes(random.upTo(200))], max: 100) }
    }

    // MARK: Writing

    @Test(arguments: [0, 1, 125, 126, 65_535, 65_536])
    func theServersFramesAreWholeAndUnmasked(size: Int) {
        let payload = [UInt8](repeating: 65, count: size)
        var buffer = ByteBuffer()
        WebSocketWriter.text(Array(payload.prefix(size / 2)), Array(payload.dropFirst(size / 2)), to: &buffer)
        let small = Array(payload.prefix(125))
        WebSocketWriter.ping(small, to: &buffer)
        WebSocketWriter.pong(small, to: &buffer)
        WebSocketWriter.close(4010, reason: String(repeating: "r", count: 200), to: &buffer)
        var reader = ServerFrames()
        let frames = reader.add(Array(buffer.readableBytesView))
        #expect(frames.map(\.opcode) == [1, 9, 10, 8])
        #expect(frames.map(\.payload) == [payload, small, small, [15, 170] + [UInt8](repeating: 114, count: 123)])
    }
}

extension SeededGenerator {
    /// A whole message, perhaps in fragments, perhaps with a control frame in between.
    fileprivate mutating func addMessage(to stream: inout [UInt8], expected: inout [Event]) {
        let payload = self.bytes(self.upTo(5) == 0 ? 120 + self.upTo(20) : self.upTo(20))
        switch self.upTo(5) {
        case 0:
            stream +=
                ClientFrame(opcode: 9, payload: payload.suffix(125), mask: UInt32(truncatingIfNeeded: self.next()))
                .bytes
            expected.append(.ping(payload.suffix(125)))
        case 1:
            let cut = self.upTo(payload.count + 1)
            stream +=
                ClientFrame(
                    opcode: 1, payload: Array(payload[..<cut]), isFinal: false,
                    mask: UInt32(truncatingIfNeeded: self.next())
                ).bytes
            stream += ClientFrame(opcode: 10, mask: UInt32(truncatingIfNeeded: self.next())).bytes
            stream +=
                ClientFrame(opcode: 0, payload: Array(payload[cut...]), mask: UInt32(truncatingIfNeeded: self.next()))
                .bytes
            expected += [.pong([]), .text(payload)]
        default:
            stream += ClientFrame(opcode: 1, payload: payload, mask: UInt32(truncatingIfNeeded: self.next())).bytes
            expected.append(.text(payload))
        }
    }
}
