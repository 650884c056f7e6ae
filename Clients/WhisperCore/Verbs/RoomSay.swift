import Contract
import WhisperClient

extension Verb {
    private static let text = TypedField.text(
        "text", 1...TalkLimits.textBytesMax, about: "At most 8000 bytes.")
    private static let re = TypedField.lowerCaseUUID("re", about: "The message that it answers.").optional
    private static let isPartial = TypedField.bool(
        "isPartial", about: "Default: false. If true, participants for whom too much waits do not get it."
    ).optional

    static let roomSay = Verb(
        "room_say", of: "rooms",
        about:
            "Says something to everybody who has a seat in the room, connected or not. `roomMessageState` tells who has it. Nothing is kept after the room.",
        [RoomParameters.room.field, Self.text.field, Self.re.field, Self.isPartial.field], type: "said",
        [Field("id", .lowerCaseUUID)], errors: [.noIdentity, .notFound, .tooLong, .tooMany, .wrongStage],
        samples: (
            #"{\#(Shapes.sampleRoomID),"text":"Is this thing on?"}"#,
            #"{"type":"said","id":"9b2a1f64-0f7c-4e51-9d0c-3c7d1d2b7a10"}"#
        ),
        .client { opened, parameters, json in
            let (text, answered) = (try parameters[Self.text], try parameters[Self.re])
            let (id, isPartial) = (try parameters[RoomParameters.room], try parameters[Self.isPartial] ?? false)
            let said: UUIDText?
            do {
                said = try await opened.with {
                    try $0.rooms.say(text, answering: answered, isPartial: isPartial, in: id, $0)
                }
            } catch let refusal as TalkMachine.Refusal {
                throw CoreError(of: refusal)
            }
            guard let said else { throw CoreError(.notFound, field: "roomId") }
            json.add("id", said)
        })
}

extension CoreError {
    fileprivate init(of refusal: TalkMachine.Refusal) {
        switch refusal {
        case .nobodyIsHere: self.init(.wrongStage, "Nobody else has a seat in the room.")
        case .tooLong: self.init(.tooLong, "has too many bytes", field: "text")
        case .full(let people):
            let names = people.map { "\($0)" }.joined(separator: ", ")
            self.init(.tooMany, "Too many messages wait for \(names).")
        }
    }
}
