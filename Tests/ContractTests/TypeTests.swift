import ClusterContract
import Contract
import Testing
import TestKit

@Suite struct TypeTests {
    // MARK: Whisper ID

    @Test(arguments: ["WSP-AAAA-AAAA-AAAA", "WSP-7777-7777-7777", "WSP-JBPU-D452-TLT4", "WSP-ABCD-EFGH-2345"])
    func aWhisperIDKeepsItsText(text: String) throws {
        #expect(try #require(WhisperID(text)).description == text)
    }

    @Test(arguments: [
        "", "WSP", "WSP-JBPU-D452-TLT", "WSP-JBPU-D452-TLT44", "wsp-JBPU-D452-TLT4", "WSP-jbpu-D452-TLT4",
        "WSP-JBPU-D452-TLT0", "WSP-JBPU-D452-TLT1", "WSP-JBPU-D452-TLT8", "WSP-JBPU-D452-TLT9", "WSP_JBPU_D452_TLT4",
        "WSPJ-BPUD-452T-LT4A", "WSP-JBPUD-452-TLT4", " WSP-JBPU-D452-TLT4", "WSP-JBPU-D452-TLT4 ",
        "WSP-JBPU-D452-TLT4\n",
        "WSQ-JBPU-D452-TLT4", "WSP-JBPU-D452-TLT\u{FF14}", "WSP-JBPU-D452-TL\u{301}", "WSP-JBPU-D452-TLT=",
    ])
    func noOtherSpellingIsAWhisperID(text: String) {
        #expect(WhisperID(text) == nil)
    }

    @Test(arguments: UInt64(0)..<20)
    func everyWhisperIDSurvivesItsText(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<100 {
            let id = random.whisperID()
            #expect(WhisperID(id.description) == id)
        }
    }

    @Test func aWhisperIDHasSixtyBits() {
        #expect(WhisperID(bits: 1 << 60) == nil)
        #expect(WhisperID(bits: (1 << 60) - 1)?.description == "WSP-7777-7777-7777")
        #expect(WhisperID(bits: 0)?.description == "WSP-AAAA-AAAA-AAAA")
    }

    @Test func idsSortLikeTheirSymbols() throws {
        // The alphabet's order is A-Z, then 2-7.
        let ids = try ["WSP-AAAA-AAAA-AAAA", "WSP-AAAA-AAAA-AAAB", "WSP-Z777-7777-7777", "WSP-2AAA-AAAA-AAAA"]
            .map { try #require(WhisperID($0)) }
        #expect(ids.sorted() == ids)
    }

    // MARK: Guests, conversations

    /// Digests computed with Python's hashlib.
    @Test func idsOfGuestsAndConversationsFollowFromTheirKeys() {
        let (signing, encryption) = ((0..<32).map { UInt8($0) }, (32..<64).map { UInt8($0) })
        let guest = GuestID.derived(signPublicKey: signing, encPublicKey: encryption, sha256: Keys.sha256)
        #expect(guest.description == "gst-a4d0ca473ef944e337a133c163a7aa30")
        let conversation = ConversationID.derived(
            signPublicKey: signing, encPublicKey: encryption, sha256: Keys.sha256)
        #expect(conversation.description == "dec68733-1b94-6cd7-d782-938aaddccd17")
    }

    @Test(arguments: [
        "", "gst-", "gst-A4d0ca473ef944e337a133c163a7aa30", "gst-a4d0ca473ef944e337a133c163a7aa3",
        "gst-a4d0ca473ef944e337a133c163a7aa300", "gst_a4d0ca473ef944e337a133c163a7aa30",
        "GST-a4d0ca473ef944e337a133c163a7aa30", "gst-a4d0ca47-3ef9-44e3-37a1-33c163a7aa30",
        "dec68733-1b94-6cd7-d782-938aaddccd1", "DEC68733-1b94-6cd7-d782-938aaddccd17",
    ])
    func noOtherSpellingIsAGuestOrAConversation(text: String) {
        #expect(GuestID(text) == nil)
        #expect(PrincipalID(text) == nil)
        #expect(ConversationID(text) == nil)
    }

    @Test(arguments: [
        "gst-00000000000000000000000000000000", "gst-a4d0ca473ef944e337a133c163a7aa30", "WSP-AAAA-AAAA-AAAB",
    ])
    func aPrincipalKeepsItsTextAndItsWireForm(text: String) throws {
        let principal = try #require(PrincipalID(text))
        #expect(principal.description == text)
        var writer = WireWriter()
        writer.write(principal)
        var reader = WireReader(writer.bytes)
        #expect(try PrincipalID(from: &reader) == principal)
    }

    // MARK: UUID

    @Test(arguments: [
        "9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10", "9B2A1F64-0F7C-4E51-9D0C-3C7D1D2B7A10",
        "9b2A1f64-0F7c-4e51-9D0c-3c7d1D2b7a1F", "00000000-0000-0000-0000-000000000000",
        "ffffffff-FFFF-ffff-FFFF-ffffffffffff",
    ])
    func aUUIDKeepsItsSpelling(text: String) throws {
        #expect(try #require(UUIDText(text)).description == text)
    }

    @Test func aUUIDIsComparedWithoutRegardToCase() throws {
        let lower = try #require(UUIDText("9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10"))
        let upper = try #require(UUIDText("9B2A1F64-0F7C-4E51-9D0C-3C7D1D2B7A10"))
        #expect(lower == upper)
        #expect(Set([lower, upper]).count == 1)
        #expect(lower.description != upper.description)
    }

    @Test(arguments: [
        "", "9b2a1f64", "9b2a1f640f7c4e519d0c3c7d1d2b7a10", "{9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10}",
        "9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a1", "9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a100",
        "9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a1g", "9b2a1f6-40f7c-4e51-9d0c-3c7d1d2b7a10",
        "9b2a1f64_0f7c_4e51_9d0c_3c7d1d2b7a10", "9b2a1f64-0f7c-4e51-9d0c3-c7d1d2b7a10",
        "9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a1\u{430}",
    ])
    func noOtherFormIsAUUID(text: String) {
        #expect(UUIDText(text) == nil)
    }

    @Test func versionFourNeedsVersionAndVariant() throws {
        func isVersion4(_ text: String) throws -> Bool { try #require(UUIDText(text)).isVersion4 }
        for variant in "89abAB" { #expect(try isVersion4("0f8fad5b-d9cb-469f-\(variant)165-70867728950e")) }
        for variant in "01234567cdefCDEF" { #expect(try !isVersion4("0f8fad5b-d9cb-469f-\(variant)165-70867728950e")) }
        for version in "012356789abcdef" { #expect(try !isVersion4("0f8fad5b-d9cb-\(version)69f-a165-70867728950e")) }
        for _ in 0..<100 { #expect(UUIDText.random().isVersion4) }
    }

    // MARK: Partition

    @Test func partitionsShareAllIDsInContiguousRanges() throws {
        #expect(Partition.all.count == Partition.count)
        #expect(Partition(-1) == nil)
        #expect(Partition(Partition.count) == nil)
        var next: Int64 = 0
        for partition in Partition.all {
            #expect(partition.identities.lowerBound == next)
            next = partition.identities.upperBound + 1
            for edge in [partition.identities.lowerBound, partition.identities.upperBound] {
                let id = try #require(WhisperID(bits: UInt64(edge)))
                #expect(Partition(of: id) == partition)
            }
        }
        #expect(next == 1 << 60)
    }

    // MARK: Time

    @Test func theTimeWindowIsTenMinutesBothWays() {
        let now = Timestamp(milliseconds: 1_730_000_000_000)
        for (offset, isWithin) in [(0, true), (600_000, true), (600_001, false), (-600_000, true), (-600_001, false)] {
            #expect(Timestamp(milliseconds: now.milliseconds + Int64(offset)).isWithinSkew(of: now) == isWithin)
        }
        #expect(!Timestamp(milliseconds: .max).isWithinSkew(of: now))
        #expect(!Timestamp(milliseconds: .max).isWithinSkew(of: Timestamp(milliseconds: -1)))
        #expect(!Timestamp(milliseconds: 1).isWithinSkew(of: Timestamp(milliseconds: .min)))
    }

    // MARK: Pace

    @Test func aPaceAllowsAMinutesWorthAndThenNamesTheWait() {
        let now = Timestamp(milliseconds: 1_730_000_000_000)
        var pace = Pace()
        for _ in 0..<20 { #expect(pace.admit(Allowance(perMinute: 20), at: now) == nil) }
        #expect(pace.admit(Allowance(perMinute: 20), at: now) == 3_000)
        #expect(pace.admit(Allowance(perMinute: 20), at: now + .milliseconds(2_999)) == 1)
        #expect(pace.admit(Allowance(perMinute: 20), at: now + .milliseconds(3_000)) == nil)
        #expect(!pace.isRested(at: now + .seconds(60)))
        #expect(pace.isRested(at: now + .seconds(63)))
    }

    /// A third of a minute's uses, whose steps are no whole milliseconds, and then one at a time.
    @Test func aPaceAllowsItsBurstAtOnce() {
        let (now, allowance) = (Timestamp(milliseconds: 1_730_000_000_000), Allowance(perMinute: 21, burst: 7))
        var pace = Pace()
        for _ in 0..<7 { #expect(pace.admit(allowance, at: now) == nil) }
        #expect(pace.admit(allowance, at: now) == 2_858)
        #expect(pace.admit(allowance, at: now + .milliseconds(2_858)) == nil)
        #expect(pace.admit(allowance, at: now + .milliseconds(2_858)) != nil)
    }

    /// However small the scale, one use fits.
    @Test func aPaceOfLessThanOneAMinuteAllowsOne() {
        let (now, allowance) = (
            Timestamp(milliseconds: 1_730_000_000_000), RateTable(scale: 0.01).allowance(of: Rates.reports)
        )
        var pace = Pace()
        #expect(pace.admit(allowance, at: now) == nil)
        #expect(pace.admit(allowance, at: now + .milliseconds(599_999)) == 1)
        #expect(pace.admit(allowance, at: now + .milliseconds(600_000)) == nil)
    }

    /// A gateway whose clock was six hours ahead has counted.
    @Test func whatAClockThatWasAheadHasCountedIsForgottenWithinAMinute() {
        let (now, allowance) = (Timestamp(milliseconds: 1_000_000_000), Allowance(perMinute: 120))
        var pace = Pace(restedAt: Double((now + .seconds(21_600)).milliseconds))
        let wait = pace.admit(allowance, at: now)
        #expect(wait.map { $0 <= 1_000 } == true)
        let later = pace.admit(allowance, at: now + .seconds(1))
        #expect(later == nil)
    }

    @Test(arguments: ["", "x", "-1", "nan", "inf", "1e300", "9223372036854775807", "1:2", "1:x:3", "1:2:-3", "1:2:3:4"])
    func textThatIsNoTimeIsNoSharedPace(text: String) {
        #expect(SharedPace(text: Array(text.utf8)) == nil)
    }

    @Test func aSharedPaceIsTheSameInText() throws {
        let now = Timestamp(milliseconds: 1_730_000_000_000)
        var pace = SharedPace()
        #expect(pace.admit(Allowance(perMinute: 7), at: now) == nil)
        #expect(SharedPace(text: pace.text) == pace)
        _ = pace.grant(RateRequest(Allowance(perMinute: 7), uses: 2, known: 1_234.5, record: 1), at: now, newRecord: 5)
        #expect(SharedPace(text: pace.text) == pace)
    }

    // MARK: Cursor

    @Test func aCursorIsTakenBackExactlyAsGivenOut() {
        for after in [0, 1, 42, Int64.max] {
            let cursor = Cursor(after: after)
            #expect(Cursor(cursor.text) == cursor)
        }
        for foreign in [
            "", "p1-", "p1", "42", "p2-2a", "p1--1", "p1--0", "p1-+2a", "p1-2A", "p1-02a", "p1-2g",
            "p1-8000000000000000",
        ] {
            #expect(Cursor(foreign) == nil, "\(foreign)")
        }
    }

    // MARK: Keyspace

    @Test func aChallengeIsFoundInEitherSpelling() throws {
        let lower = try #require(UUIDText("9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10"))
        let upper = try #require(UUIDText("9B2A1F64-0F7C-4E51-9D0C-3C7D1D2B7A10"))
        #expect(Keyspace.challenge(lower) == Keyspace.challenge(upper))
    }

    @Test func everyNameInRedisIsAnother() {
        var names = Partition.all.map { Keyspace.mailbox($0).name }
        names += [Keyspace.auth.name, Keyspace.wakes.name, Keyspace.nodes.name, Keyspace.node(NodeID(value: 1)).name]
        names += [
            Keyspace.presence(WhisperID(bits: 0)!), Keyspace.session(Bytes32()),
            Keyspace.challenge(UUIDText(high: 0, low: 0)),
            Keyspace.canary(NodeID(value: 1)),
        ].map(\.name)
        #expect(Set(names).count == names.count)
        #expect(Keyspace.node(NodeID(value: 0xAB)).name == "node:00000000000000ab")
    }
}
