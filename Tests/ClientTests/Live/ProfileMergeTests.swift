import Contract
import TestKit
import Testing

@testable import WhisperClient

/// Devices of a profile are alike at the end, whatever the order and the repetitions of what they have seen.
@Suite struct ProfileMergeTests {
    private static let now = Timestamp(milliseconds: 1_730_000_000_000)

    private static func contents(_ text: String) throws -> ProfileContents {
        try #require(ProfileContents(Array(text.utf8)))
    }

    private static func text(_ contents: ProfileContents) -> String { String(decoding: contents.text, as: UTF8.self) }

    private static func orders<Element>(of elements: [Element]) -> [[Element]] {
        guard elements.count > 1 else { return [elements] }
        return elements.indices.flatMap { index -> [[Element]] in
            var rest = elements
            let first = rest.remove(at: index)
            return Self.orders(of: rest).map { [first] + $0 }
        }
    }

    /// A document with registers, tombstones, equal stamps, and things of later releases at the same places.
    private static func drawn(_ random: inout SeededGenerator) -> ProfileContents {
        var contents = ProfileContents()
        for _ in 0..<Int.random(in: 0..<8, using: &random) {
            let section = ["conversations", "devices", "fields", "later"][Int.random(in: 0..<4, using: &random)]
            let path =
                [section]
                + (0...Int.random(in: 0..<2, using: &random)).map { _ in
                    ["a", "b"][Int.random(in: 0..<2, using: &random)]
                }
            let (more, less) = (Int.random(in: 0..<12, using: &random), Int.random(in: 0..<12, using: &random))
            let values = [
                "1", "2", #"{"x":1,"y":2}"#, #"{"y":2,"x":1}"#, #"[3,{"b":1}]"#,
                #"{"lastListened":\#(more),"title":"a"}"#, #"{"title":"b","lastListened":\#(less)}"#,
                #"{"seen":{"listen":\#(more),"whisper":\#(less)}}"#, #"{"name":"a","seen":{"whisper":\#(more)}}"#,
            ]
            let value =
                Int.random(in: 0..<4, using: &random) == 0
                ? nil : Array(values[Int.random(in: 0..<values.count, using: &random)].utf8)
            contents[path] = ProfileRegister(
                value: value, time: Int64(Int.random(in: 0..<3, using: &random)),
                device: ["A", "B"][Int.random(in: 0..<2, using: &random)])
        }
        if Int.random(in: 0..<3, using: &random) == 0 {
            contents.sections["plain"] = .plain(Array("\(Int.random(in: 0..<3, using: &random))".utf8))
        }
        return contents
    }

    @Test(arguments: UInt64(0)..<40) func theOrderOfSixWritersDoesNotMatter(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let writers = (0..<6).map { _ in Self.drawn(&random) }
        let merged = writers.dropFirst().reduce(writers[0], ProfileMerge.merged)
        for order in Self.orders(of: writers) {
            let left = order.dropFirst().reduce(order[0], ProfileMerge.merged)
            // Twos first, then the whole: another grouping.
            let twos = stride(from: 0, to: 6, by: 2).map { ProfileMerge.merged(order[$0], order[$0 + 1]) }
            let grouped = ProfileMerge.merged(twos[0], ProfileMerge.merged(twos[1], twos[2]))
            guard left == merged, grouped == merged else {
                Issue.record("\(Self.text(left)) \(Self.text(grouped)) \(Self.text(merged))")
                return
            }
        }
        for writer in writers { #expect(ProfileMerge.merged(merged, writer) == merged) }
        for (path, register) in merged.registers() {
            let counts = writers.compactMap { $0[path].map { ProfileMerge.counts(of: $0) } }
            let most = counts.reduce(into: [:]) { $0.merge($1, uniquingKeysWith: max) }
            #expect(ProfileMerge.counts(of: register) == most)
        }
        #expect(try Self.contents(Self.text(merged)) == merged)
    }

    /// Bytes of members and sections that this release does not know are those that came.
    @Test func whatALaterReleaseHasWrittenStays() throws {
        let text =
            #"{"version":1,"conversations":{"c":{"v":{"color":1.50e2,"name":"a\/b"},"t":5,"d":"AA"}},"later":{"x":[1.0, 2]}}"#
        let later = try Self.contents(text)
        let merged = ProfileMerge.merged(ProfileContents(), later)
        #expect(Self.text(merged).contains(#""v":{"color":1.50e2,"name":"a\/b"}"#))
        #expect(Self.text(merged).contains(#""later":{"x":[1.0, 2]}"#))
        var edit = ProfileEdit(merged, at: Self.now, by: "BB")
        edit.set(["conversations", "c"], to: SharedDevice(name: "other"))
        #expect(
            edit.contents[["conversations", "c"]]?.value.map { String(decoding: $0, as: UTF8.self) }
                == #"{"color":1.50e2,"name":"other"}"#)
        for foreign in ["dark", "", "[]", #"{"theme":"dark"}"#, #"{"version":"1"}"#, #"{"version":1,"version":1}"#] {
            #expect(ProfileContents(Array(foreign.utf8)) == nil, "\(foreign)")
        }
        #expect(try Self.contents(#"{"version":2}"#).isNewer)
    }

    /// One device heard of a new title later, and the other one listened later: both stay.
    @Test func theGreaterNumberStaysBesideTheLaterValue() throws {
        let values = [#"{"lastListened":9,"title":"a"}"#, #"{"lastListened":7,"title":"b"}"#]
        let documents = try zip([1, 2], values).map { time, value in
            try Self.contents(#"{"version":1,"conversations":{"c":{"v":\#(value),"t":\#(time),"d":"AA"}}}"#)
        }
        for order in Self.orders(of: documents) {
            let text = Self.text(ProfileMerge.merged(order[0], order[1]))
            #expect(
                text.contains(#"{"v":{"lastListened":7,"title":"b"},"t":2,"d":"AA","n":{"lastListened":9}}"#), "\(text)"
            )
        }
    }

    /// A device whose clock is a day behind changes what it has seen.
    @Test func aChangeBeatsWhatItsWriterSaw() throws {
        var ahead = ProfileEdit(ProfileContents(), at: Self.now + .seconds(86_400), by: "ZZ")
        ahead.set(["fields", "username"], to: "Ann")
        var behind = ProfileEdit(ahead.contents, at: Self.now, by: "AA")
        behind.set(["fields", "username"], to: "Ann")
        #expect(!behind.isChanged)
        behind.set(["fields", "username"], to: "Anna")
        behind.remove(["fields", "nothing"])
        let merged = ProfileMerge.merged(ahead.contents, behind.contents)
        #expect(merged == behind.contents && merged.registers().count == 1)
        var removal = ProfileEdit(merged, at: Self.now, by: "AA")
        removal.remove(["fields", "username"])
        #expect(ProfileMerge.merged(removal.contents, merged)[["fields", "username"]]?.value == nil)
    }

    @Test func tombstonesHaveABoundAndAnEnd() {
        var contents = ProfileContents()
        for number in 0..<ProfileLimits.tombstonesMax + 20 {
            let time = (Self.now - .seconds(Int64(number))).milliseconds
            contents[["favorites", "f\(number)"]] = ProfileRegister(value: nil, time: time, device: "AA")
        }
        let old = Self.now - ProfileLimits.tombstonesFor - .seconds(1)
        contents[["groups", "g"]] = ProfileRegister(value: nil, time: old.milliseconds, device: "AA")
        let before = contents
        ProfileMerge.bound(&contents, .favorites, at: Self.now)
        #expect(contents.registers().count == ProfileLimits.tombstonesMax)
        #expect(contents[["favorites", "f0"]] != nil && contents[["groups", "g"]] == nil)
        // Nobody is owed a value that was left out, so two devices do not write in turn for ever.
        #expect(!ProfileMerge.owes(contents, to: before) && ProfileMerge.owes(before, to: contents))
    }

    /// A conversation goes with all its listeners. Their tombstones would displace its own, and it would come back.
    @Test func aDeletedConversationStaysDeleted() {
        var here = ProfileContents()
        for number in 0..<ProfileLimits.tombstonesMax {
            here[["listeners", "c", "p\(number)"]] = ProfileRegister(value: nil, time: 9, device: "AA")
        }
        here[["blocked", "c", "p0"]] = ProfileRegister(value: nil, time: 9, device: "AA")
        here[["conversations", "c"]] = ProfileRegister(value: nil, time: 9, device: "AA")
        var elsewhere = ProfileContents()
        elsewhere[["conversations", "c"]] = ProfileRegister(value: Array("{}".utf8), time: 1, device: "BB")
        elsewhere[["listeners", "c", "p1"]] = ProfileRegister(value: Array("{}".utf8), time: 1, device: "BB")
        ProfileMerge.bound(&here, .whisper, at: Timestamp(milliseconds: 9))
        var merged = ProfileMerge.merged(elsewhere, here)
        ProfileMerge.bound(&merged, .whisper, at: Timestamp(milliseconds: 9))
        for contents in [here, merged] { #expect(contents.registers().map(\.path) == [["conversations", "c"]]) }
        #expect(merged[["conversations", "c"]]?.value == nil)
    }

    @Test func aStampAtTheLimitIsReadBack() throws {
        let last = ProfileRegister(value: Array("1".utf8), time: ProfileLimits.times.upperBound, device: "AA")
        #expect(ProfileLimits.times.contains(ProfileMerge.stamp(over: last, at: Self.now)))
        #expect(ProfileLimits.times.contains(ProfileMerge.stamp(over: nil, at: Timestamp(milliseconds: .max))))
    }

    @Test func blockedListenersStayWhenADocumentIsFull() {
        var contents = ProfileContents()
        for number in 0...ProfileLimits.listenersSharedMax {
            contents[["listeners", "c", "p\(number)"]] = ProfileRegister(
                value: Array("{}".utf8), time: Int64(number), device: "AA")
        }
        contents[["blocked", "c", "p0"]] = ProfileRegister(value: Array("true".utf8), time: 1, device: "AA")
        ProfileMerge.bound(&contents, .whisper, at: Self.now)
        let (shared, isFull) = ProfileMerge.shared(contents, .whisper)
        #expect(isFull && shared[["listeners", "c", "p0"]] != nil && shared[["listeners", "c", "p1"]] == nil)
        #expect(shared.registers(below: ["listeners"]).count == ProfileLimits.listenersSharedMax)
        // The device itself keeps who has no room there.
        #expect(contents.registers(below: ["listeners"]).count == ProfileLimits.listenersSharedMax + 1)
    }

    /// The values that a device keeps have a bound, too.
    @Test func aDeviceKeepsNotMoreThanAllDevicesCanBring() {
        var contents = ProfileContents()
        for number in 0...ProfileLimits.favoritesKeptMax {
            contents[["favorites", "f\(number)"]] = ProfileRegister(
                value: Array("{}".utf8), time: Int64(number), device: "AA")
        }
        ProfileMerge.bound(&contents, .favorites, at: Self.now)
        #expect(contents.registers().count == ProfileLimits.favoritesKeptMax && contents[["favorites", "f0"]] == nil)
    }

    /// Another device may have seen a document that is on its way here.
    @Test func aDocumentThatIsLateIsWaitedFor() {
        let start = ContinuousClock.now
        var lag = ProfileLag()
        lag.learned([.whisper], at: start)
        lag.learned([.whisper, .listen], at: start + .seconds(1))
        let end = start + ProfileLimits.behindFor
        #expect(lag.nextWake == end && lag.due(at: end - .seconds(1)).isEmpty && lag.due(at: end) == [.whisper])
        lag.told(.whisper)
        #expect(lag.due(at: end) == [] && lag.nextWake == end + .seconds(1))
        lag.bound()
        #expect(lag.due(at: end + .seconds(1)) == [.listen, .whisper])
        lag.learned([.listen], at: end)
        lag.learned([.listen, .whisper], at: end)
        #expect(lag.due(at: end + .seconds(1)) == [.listen])
    }

    @Test func aDocumentIsWrittenWhenItIsQuietAndNotTooOften() {
        let start = ContinuousClock.now
        var pace = ProfilePace()
        pace.owes([.whisper: 1], at: start)
        // With the way to the server and back it is seen elsewhere within three seconds.
        #expect(pace.due(at: start + .milliseconds(1_999)).isEmpty && pace.due(at: start + .seconds(2)) == [.whisper])
        // It changes all the time.
        for half in 1..<20 { pace.owes([.whisper: Int64(half + 1)], at: start + .milliseconds(500 * half)) }
        #expect(pace.due(at: start + .milliseconds(9_999)).isEmpty && pace.due(at: start + .seconds(10)) == [.whisper])
        pace.wrote(.whisper, at: start + .seconds(10))
        pace.owes([:], at: start + .seconds(10))
        #expect(pace.nextWake == nil)
        pace.owes([.whisper: 1], at: start + .seconds(11))
        #expect(pace.nextWake == start + .seconds(20))
        pace.hurry()
        #expect(pace.due(at: start + .seconds(11)) == [.whisper])
        pace.failed(at: start + .seconds(11))
        #expect(pace.nextWake == start + .seconds(71) && pace.retryAt == start + .seconds(71))
    }
}
