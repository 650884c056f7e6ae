/// "You are erased." Answers an `account_delete` (contract §20.2).
package struct AccountDeleted: ServerFrame {
    package let erasureID: UUIDText

    private static let erasureID = TypedField.uuid(
        "erasureId", about: "Names the erasure for operators. The server keeps nothing that joins it to the person.")

    package static let definition = ServerFrameDefinition(
        "account_deleted",
        about: """
            The identity is erased: nobody logs in with its keys again. Other services erase the rest within minutes. The \
            connection closes with 1000.
            """,
        answers: ["account_delete"], fields: [CommonFields.success.field, Self.erasureID.field],
        samples: [#"{"success":true,"erasureId":"7e4f3f0a-2b0b-4b58-8f7e-6a5d0d1f9c21"}"#])

    package init(erasureID: UUIDText) { self.erasureID = erasureID }

    package init(_ payload: Payload) throws(Payload.Corrupted) { self.erasureID = try payload[Self.erasureID] }

    package var json: [UInt8] {
        var json = JSONWriter(capacity: 96)
        json.add(CommonFields.success, true)
        json.add(Self.erasureID, self.erasureID)
        return json.finished()
    }
}
