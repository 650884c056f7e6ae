import Contract
import WhisperClient

extension Verb {
    static let storeInfo = Verb(
        "store_info", of: "upkeep", about: "Counts what is in the store.", type: "storeInfo",
        [
            Field("unread", .integer(0...Int64.max)),
            Field("unsettled", .integer(0...Int64.max), about: "Messages of ours that wait or are under way."),
            Field(
                "suspicious", .integer(0...Int64.max),
                about: "Messages that ever came and were not trusted. The latest are kept apart."),
            Field("consumers", .integer(0...Int64(ClientLimits.consumersMax))),
        ], errors: [.noIdentity, .store],
        samples: ("{}", #"{"type":"storeInfo","unread":0,"unsettled":0,"suspicious":0,"consumers":1}"#),
        .read { opened, _, json in
            json.add("unread", Int64(try opened.store.unreadCount()))
            json.add("unsettled", Int64(try opened.store.unsettled().count))
            json.add("suspicious", Int64(try opened.store.quarantineCounts().values.reduce(0, +)))
            json.add("consumers", Int64(try opened.store.consumers().count))
        })
}
