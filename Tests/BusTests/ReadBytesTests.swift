import Bus
import Contract
import Testing

/// How much one read can bring, whatever stands in the streams.
@Suite struct ReadBytesTests {
    /// After a long run of small Jobs a reader asks for many; then come the longest.
    @Test(arguments: BusKind.present) func aReadHoldsNoMoreThanItsBoundAndMissesNothing(kind: BusKind) async throws {
        try await kind.run { test in
            let streams = (0..<8).map { "s\($0)" }
            let long = [UInt8](repeating: 7, count: Limits.frameBytesMax)
            for stream in streams {
                for number in 0..<16 {
                    // Something short behind each, which must not overtake it.
                    for bytes in [long + [UInt8(number)], [UInt8(number)]] {
                        try await test.bus.append(bytes, to: stream)
                    }
                }
            }
            var positions = Dictionary(uniqueKeysWithValues: streams.map { ($0, EntryID.start) })
            var seen: [String: [[UInt8]]] = [:]
            var cuts = 0
            while true {
                let read = try await test.bus.read(
                    positions.map { (stream: $0.key, after: $0.value) }, limit: 64, blockFor: .seconds(2))
                if read.isEmpty { break }
                #expect(read.reduce(0) { $0 + $1.entries.reduce(0) { $0 + $1.bytes.count } } <= BusLimits.readBytesMax)
                #expect(read.contains { !$0.entries.isEmpty })
                if read.contains(where: \.isCut) { cuts += 1 }
                for batch in read {
                    positions[batch.stream] = batch.entries.last?.id ?? positions[batch.stream]
                    // Only what tells them apart.
                    seen[batch.stream, default: []] += batch.entries.map {
                        [UInt8($0.bytes.count > 1 ? 1 : 0), $0.bytes.last!]
                    }
                }
            }
            let all = (UInt8(0)..<16).flatMap { number -> [[UInt8]] in [[1, number], [0, number]] }
            for stream in streams { #expect(seen[stream] == all) }
            #expect(cuts > 0)
        }
    }
}
