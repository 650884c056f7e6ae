import Testing

@testable import Contract

/// A value that was valid when its frame was read is not when it is read again: a bug of ours.
/// Nothing is dropped in silence.
@Suite struct CorruptedPayloadTests {
    private static let id = "WSP-AAAA-AAAA-AAAA"

    /// A valid payload over whose text somebody has written.
    private func corrupted(_ draft: Draft) throws -> Payload {
        let valid = try read(draft.message).payload
        // Lists and objects are broken by it, texts are not.
        let comma = UInt8(ascii: ",")
        let source = valid.source.map { $0 == comma ? UInt8(ascii: ";") : $0 }
        return Payload(schema: valid.schema, source: source, scratch: valid.scratch, slots: valid.slots)
    }

    @Test func anAttachmentIsNotRelayedWithoutSomeOfItsFields() throws {
        let draft = Draft(SendMessage.definition, sample: 1)
        let attachment = try #require(draft.value("attachment"))
        let withUnknown = draft.with("attachment", #"{"unknown":1,"# + attachment.dropFirst())
        for draft in [draft, withUnknown] {
            #expect(try SendMessage(read(draft.message).payload).envelope.attachmentKey != nil)
            let payload = try self.corrupted(draft)
            #expect(throws: Payload.Corrupted()) { try SendMessage(payload) }
        }
        let payload = try self.corrupted(withUnknown)
        #expect(throws: Payload.Corrupted()) { try payload.json() }
    }

    @Test func aListIsNotCut() throws {
        let members = #"["\#(Self.id)","WSP-F4YH-3J4Z-7RP7"]"#
        let create = try self.corrupted(Draft(GroupCreate.definition).with("memberIds", members))
        #expect(throws: Payload.Corrupted()) { try GroupCreate(create) }
        let roles = #"[{"whisperId":"\#(Self.id)","role":"admin"}]"#
        let update = try self.corrupted(Draft(GroupUpdate.definition).with("roleChanges", roles))
        #expect(throws: Payload.Corrupted()) { try GroupUpdate(update) }
    }

    @Test func aReportDoesNotLoseItsEvidence() throws {
        let report = try self.corrupted(Draft(Report.definition, sample: 1))
        #expect(throws: Payload.Corrupted()) { try Report(report) }
    }
}
