import Contract
import WhisperClient

extension Verb {
    static let storeInfo = Verb(
        "store_info", of: "upkeep", about: "Counts what is in the store.", type: "storeInfo",
        [
            Field("unread", .integer(0...Int64.max)),
            Field(
                "unsettled", .integer(0...Int64.max), about: "Messages and changes of ours that wait or are under way."),
            Field(
                "suspicious", .integer(0...Int64.max),
                about: "Messages that came, were not trusted, and were not taken later. The latest are kept apart."),
            Field(
                "suspects",
                .array(
                    of: .object(
                        ObjectSchema([
                            Field("whisperId", .whisperID, about: "In whose name they came."),
                            Field("kind", .choice(["unverified", "stale"]), about: "As the event `alarm` has it."),
                            Field("count", .integer(1...Int64.max)),
                        ])), count: 0...CoreLimits.listMax), about: "The same by sender, the most first."),
            Field("owesReadMarks", .bool, about: "Whether read marks wait for the server."),
            Field("consumers", .integer(0...Int64(ClientLimits.consumersMax))),
        ], errors: [.noIdentity, .store],
        samples: (
            "{}",
            #"{"type":"storeInfo","unread":0,"unsettled":0,"suspicious":0,"suspects":[],"owesReadMarks":false,"consumers":1}"#
        ),
        .read { opened, _, json in
            json.add("unread", Int64(try opened.store.messages.unreadCount()))
            json.add("unsettled", try opened.store.messages.unsettledCount())
            let suspects = try opened.store.quarantineCounts().sorted {
                ($1.value, "\($0.key.sender)") < ($0.value, "\($1.key.sender)")
            }
            json.add("suspicious", Int64(suspects.reduce(0) { $0 + $1.value }))
            json.add("suspects", objects: suspects.prefix(CoreLimits.listMax)) { suspect, json in
                json.add("whisperId", suspect.key.sender)
                json.add("kind", suspect.key.reason.rawValue)
                json.add("count", Int64(suspect.value))
            }
            json.add("owesReadMarks", try !opened.store.messages.owedReceipts(limit: 1).isEmpty)
            json.add("consumers", Int64(try opened.store.events.consumers().count))
        })
}
