import AttachmentsCore
import Contract
import Telemetry
import Testing
import TestKit

private func at(_ seconds: Int64) -> Timestamp { Timestamp(milliseconds: 1_800_000_000_000 + seconds * 1_000) }

@Suite struct ByteRangeTests {
    @Test(
        arguments: [
            (nil, .whole), ("bytes=0-0", .part(0...0)), ("bytes=0-99", .part(0...99)), ("bytes=10-", .part(10...99)),
            ("bytes=90-1000", .part(90...99)), ("bytes=-1", .part(99...99)), ("bytes=-1000", .part(0...99)),
            ("bytes=99-99", .part(99...99)), ("bytes=100-", .unsatisfiable), ("bytes=100-200", .unsatisfiable),
            ("bytes=-0", .unsatisfiable), ("BYTES = 1-2", .part(1...2)),
            ("bytes=99999999999999999999-", .unsatisfiable),
            ("bytes=0-99999999999999999999", .part(0...99)),
            // Not valid, or of a kind that may be passed over.
            ("bytes=5-4", .whole), ("bytes=0-1,5-6", .whole), ("bytes=a-b", .whole), ("bytes=", .whole),
            ("bytes=-", .whole),
            ("items=0-1", .whole), ("0-1", .whole), ("bytes=+1-2", .whole), ("bytes=1-2-3", .whole), ("", .whole),
        ] as [(String?, ByteRange)])
    func rangesAreReadAsTheStandardSays(header: String?, expected: ByteRange) {
        #expect(ByteRange(header, size: 100) == expected)
    }

    @Test func ofAnEmptyFileNoRangeCanBeHad() {
        #expect(ByteRange("bytes=0-", size: 0) == .unsatisfiable)
        #expect(ByteRange("bytes=-5", size: 0) == .unsatisfiable)
    }

    @Test func anotherFileIsSentWhole() {
        #expect(ByteRange("bytes=1-2", ifRange: "\"a\"", tag: "\"a\"", size: 9) == .part(1...2))
        #expect(ByteRange("bytes=1-2", ifRange: "\"b\"", tag: "\"a\"", size: 9) == .whole)
        // A weak tag and a date are no proof.
        #expect(ByteRange("bytes=1-2", ifRange: "W/\"a\"", tag: "\"a\"", size: 9) == .whole)
        #expect(ByteRange("bytes=1-2", ifRange: "Sat, 21 Nov 2026 04:00:00 GMT", tag: "\"a\"", size: 9) == .whole)
    }
}

/// Contract §9, the rules of removal.
@Suite struct RetentionTests {
    let retention = Retention()
    static let hour: Int64 = 3_600
    static let day: Int64 = 86_400

    private func uploaded(_ change: (inout Retention.Usage) -> Void = { _ in }) -> Retention.Usage {
        var usage = Retention.Usage(createdAt: at(0), uploadedAt: at(60), expiresAt: at(900))
        change(&usage)
        return usage
    }

    @Test(arguments: [true, false]) func whatNobodyPointsToGoesAfterADay(sparing: Bool) {
        let usage = self.uploaded()
        #expect(self.retention.reason(toRemove: usage, at: at(24 * Self.hour - 1), sparingURLs: sparing) == nil)
        #expect(self.retention.reason(toRemove: usage, at: at(24 * Self.hour), sparingURLs: sparing) == .unlinked)
    }

    @Test func whatWasNeverUploadedGoesAfterADayToo() {
        let usage = Retention.Usage(createdAt: at(0), expiresAt: at(900))
        #expect(self.retention.reason(toRemove: usage, at: at(901), sparingURLs: true) == nil)
        #expect(self.retention.reason(toRemove: usage, at: at(24 * Self.hour), sparingURLs: true) == .unlinked)
        // An upload in parts that goes on is left alone.
        let renewed = Retention.Usage(createdAt: at(0), expiresAt: at(24 * Self.hour + 800))
        #expect(self.retention.reason(toRemove: renewed, at: at(24 * Self.hour), sparingURLs: true) == nil)
        #expect(self.retention.reason(toRemove: renewed, at: at(24 * Self.hour), sparingURLs: false) == .unlinked)
    }

    @Test func itGoesWhenAllHaveAcknowledgedAndFetched() {
        var usage = self.uploaded {
            $0.links = 2
            $0.lastLinkedAt = at(100)
            $0.unacknowledged = 1
            $0.unfetched = 1
        }
        #expect(self.retention.reason(toRemove: usage, at: at(2_000), sparingURLs: false) == nil)
        usage.unacknowledged = 0
        usage.lastAcknowledgedAt = at(200)
        #expect(self.retention.reason(toRemove: usage, at: at(2_000), sparingURLs: false) == nil)
        usage.unfetched = 0
        usage.lastFetchedAt = at(1_900)
        // The timer waits until the last URL has ended; an operator does not.
        #expect(self.retention.reason(toRemove: usage, at: at(2_000), sparingURLs: false) == .received)
        #expect(self.retention.reason(toRemove: usage, at: at(2_199), sparingURLs: true) == nil)
        #expect(self.retention.reason(toRemove: usage, at: at(2_200), sparingURLs: true) == .received)
        usage.unacknowledged = 1
        #expect(self.retention.reason(toRemove: usage, at: at(2_200), sparingURLs: false) == nil)
    }

    @Test func itGoesSevenDaysAfterTheLastAcknowledgement() {
        var usage = self.uploaded {
            $0.links = 3
            $0.unacknowledged = 1
            $0.unfetched = 3
            $0.lastLinkedAt = at(100)
            $0.lastAcknowledgedAt = at(1_000)
        }
        #expect(self.retention.reason(toRemove: usage, at: at(1_000 + 7 * Self.day - 1), sparingURLs: true) == nil)
        #expect(
            self.retention.reason(toRemove: usage, at: at(1_000 + 7 * Self.day), sparingURLs: true) == .acknowledged)
        // A message that came after that acknowledgement has its time as well.
        usage.lastLinkedAt = at(6 * Self.day)
        #expect(self.retention.reason(toRemove: usage, at: at(1_000 + 7 * Self.day), sparingURLs: true) == nil)
        #expect(self.retention.reason(toRemove: usage, at: at(13 * Self.day), sparingURLs: true) == .acknowledged)
    }

    @Test func nothingIsKeptLongerThanThirtyDaysAfterItsUpload() {
        let usage = self.uploaded {
            $0.links = 1
            $0.unacknowledged = 1
            $0.unfetched = 1
            $0.lastLinkedAt = at(29 * Self.day)
        }
        #expect(self.retention.reason(toRemove: usage, at: at(30 * Self.day + 59), sparingURLs: true) == nil)
        #expect(self.retention.reason(toRemove: usage, at: at(30 * Self.day + 60), sparingURLs: true) == .old)
    }
}

@Suite struct KeyTests {
    @Test func keysHaveTheirForm() {
        let id = UUIDText("0F8FAD5B-d9cb-469f-a165-70867728950e")!
        // 2026-01-31T23:59:59.999Z and a millisecond later.
        #expect(
            "\(ObjectKey(id, at: Timestamp(milliseconds: 1_769_903_999_999)))"
                == "att/2026/01/0f8fad5b-d9cb-469f-a165-70867728950e.bin")
        let next = ObjectKey(id, at: Timestamp(milliseconds: 1_769_904_000_000))
        #expect(next.description.hasPrefix("att/2026/02/") && next.id == "0f8fad5b-d9cb-469f-a165-70867728950e")
        #expect(ObjectKey(next.description) == next)
    }

    @Test(arguments: [
        "", "att", "att/2026/01/x.bin", "att/2026/1/0f8fad5b-d9cb-469f-a165-70867728950e.bin",
        "att/2026/01/0F8FAD5B-d9cb-469f-a165-70867728950e.bin", "att/2026/01/0f8fad5b-d9cb-469f-a165-70867728950e",
        "/att/2026/01/0f8fad5b-d9cb-469f-a165-70867728950e.bin", "att/2026/../0f8fad5b-d9cb-469f-a165-70867728950e.bin",
        "att/2026/01//0f8fad5b-d9cb-469f-a165-70867728950e.bin",
        "att/2026/01/0f8fad5b-d9cb-469f-a165-70867728950e.bin/",
    ])
    func nothingElseIsAKey(text: String) { #expect(ObjectKey(text) == nil) }

    @Test(
        arguments: [
            (0, "19700101T000000Z"), (951_782_400, "20000229T000000Z"), (1_709_251_199, "20240229T235959Z"),
            (4_107_542_400, "21000301T000000Z"), (1_795_233_906, "20261121T040506Z"),
        ] as [(Int64, String)])
    func datesAreRight(seconds: Int64, text: String) {
        #expect(CivilTime(Timestamp(milliseconds: seconds * 1_000)).basic == text)
        let spread =
            "\(text.prefix(4))-\(text.dropFirst(4).prefix(2))-\(text.dropFirst(6).prefix(5)):\(text.dropFirst(11).prefix(2)):\(text.dropFirst(13))"
        #expect(S3Date.seconds(of: spread) == seconds, "\(spread)")
    }

    @Test(
        arguments: [
            ("image/jpeg", 15_000_000), ("IMAGE/PNG", 15_000_000), ("audio/ogg", 25_000_000), ("video/mp4", 50_000_000),
            ("imagex/png", 50_000_000), ("", 50_000_000),
        ] as [(String, Int64)])
    func everyClassHasItsBound(contentType: String, bytes: Int64) {
        #expect(AttachmentClass(contentType: contentType).sizeMax == bytes)
    }

    @Test func percentsAreUndone() {
        #expect(PercentCoding.decode("att%2F2026%2f01".utf8) == "att/2026/01")
        #expect(PercentCoding.decode("%E4%B8%AD+".utf8) == "中+")
        for text in ["%", "%2", "%zz", "%FF"] { #expect(PercentCoding.decode(text.utf8) == nil) }
    }
}

@Suite struct UploadPlanTests {
    @Test(arguments: [1, 5_242_879, 5_242_880, 5_242_881, 10_485_760, 50_000_000] as [Int64])
    func partsMakeTheWhole(size: Int64) {
        let parts = UploadPlan(sizeBytes: size).parts
        #expect(parts.map(\.sizeBytes).reduce(0, +) == size)
        #expect(parts.map(\.number) == Array(1...parts.count) && parts.count <= Limits.uploadPartsMax)
        #expect(
            parts.dropLast().allSatisfy { $0.sizeBytes == Limits.uploadPartBytes }
                && parts.allSatisfy { $0.sizeBytes > 0 })
    }

    @Test func onlyWholePartsHaveArrived() {
        let plan = UploadPlan(sizeBytes: 25, partBytes: 10)
        func stored(_ number: Int, _ size: Int64) -> StoredPart {
            StoredPart(number: number, sizeBytes: size, tag: "\(number)")
        }
        let some = [stored(3, 5), stored(2, 9), stored(1, 10), stored(7, 10)]
        #expect(plan.arrived(of: some).map(\.number) == [1, 3])
        #expect(plan.missing(of: some).map(\.number) == [2])
        #expect(plan.missing(of: []).count == 3)
    }
}

@Suite struct BlobTicketTests {
    let key = ObjectKey("att/2026/01/0f8fad5b-d9cb-469f-a165-70867728950e.bin")!
    let secret = Secret("a secret of at least thirty-two characters")
    static let owner = TransferOwner(WhisperID("WSP-JBPU-D452-TLT4")!, secret: Secret("another"))

    @Test(
        arguments: [.upload(sizeBytes: 5), .uploadPart(number: 2, sizeBytes: 5), .download(by: owner)]
            as [BlobTicket.Action])
    func ticketsAreReadBack(action: BlobTicket.Action) throws {
        let ticket = BlobTicket(key: self.key, action: action, expiresAt: at(10))
        let query = ticket.query(signedWith: self.secret)
        #expect(try BlobTicket(key: self.key, query: query, signedWith: self.secret, at: at(9)) == ticket)
        #expect(throws: BlobTicket.Refusal.expired) {
            try BlobTicket(key: self.key, query: query, signedWith: self.secret, at: at(10))
        }
        #expect(throws: BlobTicket.Refusal.forged) {
            try BlobTicket(key: self.key, query: query, signedWith: Secret("another"), at: at(9))
        }
        let other = ObjectKey("att/2026/02/0f8fad5b-d9cb-469f-a165-70867728950e.bin")!
        #expect(throws: BlobTicket.Refusal.forged) {
            try BlobTicket(key: other, query: query, signedWith: self.secret, at: at(9))
        }
    }

    /// It travels in URLs: it says whose downloads belong together, and only to who has the secret whose they are.
    @Test func anOwnerIsNotNamed() throws {
        let (alice, bob) = (WhisperID("WSP-JBPU-D452-TLT4")!, WhisperID("WSP-7NUF-DNEU-IGIL")!)
        let owner = TransferOwner(alice, secret: self.secret)
        #expect(owner == TransferOwner(alice, secret: self.secret))
        #expect(owner != TransferOwner(bob, secret: self.secret))
        #expect(owner != TransferOwner(alice, secret: Secret("another")))
        #expect(TransferOwner("\(owner)") == owner)
        for text in ["", "0", "\(owner)0", "g" + "\(owner)".dropFirst()] { #expect(TransferOwner(text) == nil) }
        let query = BlobTicket(key: self.key, action: .download(by: owner), expiresAt: at(10)).query(
            signedWith: self.secret)
        #expect(query.contains("by=\(owner)") && !query.contains("\(alice)"))
    }

    /// Whichever character is changed, the ticket is worth nothing.
    @Test(arguments: [.uploadPart(number: 1, sizeBytes: 42), .download(by: owner)] as [BlobTicket.Action])
    func noCharacterCanBeChanged(action: BlobTicket.Action) {
        let query = BlobTicket(key: self.key, action: action, expiresAt: at(10)).query(signedWith: self.secret)
        for index in query.indices {
            for replacement in ["0", "9", "a", "&", "=", ""] where String(query[index]) != replacement {
                let changed = query.replacingCharacters(at: index, with: replacement)
                // Hexadecimal may be written in capitals too.
                #expect(throws: BlobTicket.Refusal.self, "\(changed)") {
                    try BlobTicket(key: self.key, query: changed, signedWith: self.secret, at: at(9))
                }
            }
        }
    }
}

extension String {
    fileprivate func replacingCharacters(at index: Index, with text: String) -> String {
        String(self[..<index]) + text + String(self[self.index(after: index)...])
    }
}

@Suite struct TransferPaceTests {
    @Test func whatMovesGoesOn() {
        var pace = TransferPace(at: 100)
        for second in 1...300 {
            pace.moved(2_000, at: 100 + Double(second))
            #expect(!pace.isTooSlow(at: 100 + Double(second)))
        }
    }

    @Test func whatStandsStillIsEnded() {
        var pace = TransferPace(at: 0)
        pace.moved(10_000_000, at: 5)
        #expect(!pace.isTooSlow(at: 5 + AttachmentsLimits.stallSecondsMax))
        #expect(pace.isTooSlow(at: 5.1 + AttachmentsLimits.stallSecondsMax))
    }

    @Test func whatTricklesIsEnded() {
        var pace = TransferPace(at: 0)
        for second in 1...60 { pace.moved(1, at: Double(second)) }
        #expect(!pace.isTooSlow(at: 60))
        pace.moved(1, at: 61)
        #expect(pace.isTooSlow(at: 61))
    }

    @Test func whatIsSlowForACrowdIsKnown() {
        var slow = TransferPace(at: 0)
        var fast = TransferPace(at: 0)
        for second in 1...61 {
            slow.moved(10_000, at: Double(second))
            fast.moved(100_000, at: Double(second))
        }
        #expect(slow.isSlowForACrowd(at: 60) == nil)
        #expect(slow.isSlowForACrowd(at: 61) == 10_000)
        #expect(fast.isSlowForACrowd(at: 61) == nil)
        #expect(!slow.isTooSlow(at: 61))
    }

    @Test func theLargestFilePassesASlowNetwork() {
        var pace = TransferPace(at: 0)
        for second in 1...6_250 {
            pace.moved(8_000, at: Double(second))
            #expect(!pace.isTooSlow(at: Double(second)))
        }
        #expect(pace.bytes == Limits.fileBytesMax)
    }

    @Test func whatNeverComesToItsEndIsEnded() {
        var pace = TransferPace(at: 0)
        let last = AttachmentsLimits.transferSecondsMax
        for second in stride(from: 1, through: last + 1, by: 1) { pace.moved(2_000, at: second) }
        #expect(!pace.isTooSlow(at: last))
        #expect(pace.isTooSlow(at: last + 1))
    }
}

@Suite struct ReconciliationTests {
    private func walk(_ objects: [[String]], _ rows: [[String]]) -> (leaked: [String], dangling: [String]) {
        var (objects, rows) = (objects[...], rows[...])
        var machine = Reconciliation()
        var result: (leaked: [String], dangling: [String]) = ([], [])
        while true {
            switch machine.next() {
            case .needsObjects:
                machine.add(
                    objects: (objects.popFirst() ?? []).map { StoredObject(key: $0, sizeBytes: 1, modifiedAt: at(0)) })
            case .needsRows: machine.add(rows: rows.popFirst() ?? [])
            case .leaked(let object): result.leaked.append(object.key)
            case .dangling(let key): result.dangling.append(key)
            case .finished: return result
            }
        }
    }

    @Test func differencesAreFoundWhereverPagesEnd() {
        #expect(self.walk([], []) == ([], []))
        #expect(self.walk([["a", "b"], ["c"]], [["a"], ["b", "c"]]) == ([], []))
        #expect(self.walk([["a", "b"], ["c"]], []) == (["a", "b", "c"], []))
        #expect(self.walk([], [["a"], ["b"]]) == ([], ["a", "b"]))
        #expect(self.walk([["a", "c", "d"]], [["b", "c", "e"]]) == (["a", "d"], ["b", "e"]))
        // By bytes, as both lists are sorted.
        #expect(self.walk([["B", "a", "ä"]], [["B", "a", "z"]]) == (["ä"], ["z"]))
    }

    @Test(arguments: UInt64(0)..<50) func anyTwoListsAreCompared(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        func list() -> Set<String> { Set((0..<40).map { _ in "k\(Int.random(in: 0..<60, using: &generator))" }) }
        func pages(_ list: Set<String>) -> [[String]] {
            var rest = list.sorted()[...]
            var pages: [[String]] = []
            while !rest.isEmpty {
                let page = rest.prefix(Int.random(in: 1...7, using: &generator))
                pages.append(Array(page))
                rest = rest.dropFirst(page.count)
            }
            return pages
        }
        let (objects, rows) = (list(), list())
        let found = self.walk(pages(objects), pages(rows))
        #expect(
            found.leaked == objects.subtracting(rows).sorted() && found.dangling == rows.subtracting(objects).sorted())
    }
}

@Suite struct S3WordsTests {
    @Test func addressesAreTakenApart() throws {
        let plain = try #require(S3Address(endpoint: "http://127.0.0.1:9000", bucket: "b", style: .path))
        #expect(
            plain.host == "127.0.0.1:9000" && plain.path(of: "k/x") == "/b/k/x" && plain.path(of: "") == "/b"
                && !plain.isTLS)
        let virtual = try #require(S3Address(endpoint: "https://s3.example/", bucket: "b", style: .virtual))
        #expect(
            virtual.host == "b.s3.example" && virtual.path(of: "k") == "/k" && virtual.path(of: "") == "/"
                && virtual.port == 443)
        for endpoint in [
            "", "s3.example", "ftp://a", "http://", "http://a:0", "http://a:x", "http://a/b", "http://u@a",
        ] {
            #expect(S3Address(endpoint: endpoint, bucket: "b", style: .path) == nil, "\(endpoint)")
        }
        #expect(S3Address(endpoint: "http://a", bucket: "", style: .path) == nil)
    }

    @Test func answersAreRead() throws {
        let text = """
            <?xml version="1.0"?>\n<!-- c --><L xmlns="http://x/"><T>false</T><C><K>a &amp; b&#x21;&lt;</K><S>5</S></C><C><K/></C><E a="1"/></L>
            """
        let root = try #require(XMLText.root(of: Array(text.utf8)))
        #expect(root.name == "L" && root["T"] == "false")
        #expect(root.all("C").map { $0["K"] } == ["a & b!<", ""] && root["E"] == "")
        for broken in ["", "x", "<a>", "<a></b>", "<a><b></a>", String(repeating: "<a>", count: 100)] {
            #expect(XMLText.root(of: Array(broken.utf8)) == nil, "\(broken)")
        }
    }
}
