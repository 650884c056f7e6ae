/// "I have your report." Answers a `report` (contract §10).
package struct ReportAck: ServerFrame {
    package let reportID: UUIDText

    private static let reportID = TypedField.uuid("reportId")

    package static let definition = ServerFrameDefinition(
        "report_ack", about: "The report is stored.", answers: ["report"], fields: [Self.reportID.field],
        samples: [#"{"reportId":"7e4f3f0a-2b0b-4b58-8f7e-6a5d0d1f9c21"}"#])

    package init(reportID: UUIDText) { self.reportID = reportID }

    package init(_ payload: Payload) throws(Payload.Corrupted) { self.reportID = try payload[Self.reportID] }

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 64)
        json.add(Self.reportID, self.reportID)
        return json.finished()
    }
}
