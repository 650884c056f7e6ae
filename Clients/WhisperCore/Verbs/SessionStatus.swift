import Contract
import WhisperClient

extension Verb {
    static let sessionStatus = Verb(
        "session_status", of: "session", about: "Says how core and connection are.", type: "sessionStatus",
        [
            Field("core", .choice(["noIdentity", "open", "suspended", "closed"])),
            Field("isConnecting", .bool, about: "Whether `connect` was asked for, and has not ended."),
            Field("isOnline", .bool, about: "Whether there is a session with the server now."),
            Field(
                "refusedFrames", .integer(0...Limits.numberMax),
                about: "Frames of the server that broke the contract and were not taken, since `connect`."),
            Field("whisperId", .whisperID, .optional),
            Field(
                "rateClass", .text(Limits.rateClassCharacters), .optional,
                about:
                    "The identity's class of rates, as the server has said with the session. Absent: its rates are everybody's."
            ),
            Field("isBanned", .bool, .optional, about: "Whether the server has said so last."),
            Field("bannedUntil", .timestamp, .optional, about: "When that ban ends, if it does."),
        ],
        samples: (
            "{}", #"{"type":"sessionStatus","core":"open","isConnecting":true,"isOnline":true,"refusedFrames":0}"#
        ),
        .core { core, _, json in
            let (phase, opened) = core.status
            json.add("core", "\(phase)")
            json.add("isConnecting", opened?.isConnecting ?? false)
            json.add("isOnline", await opened?.client.isOnline ?? false)
            json.add("refusedFrames", await opened?.client.refusedFrames ?? 0)
            if let id = opened?.id { json.add("whisperId", id) }
            json.add("rateClass", try opened?.store.settings.session()?.rateClass)
            if let ban = try opened?.store.settings.ban() {
                json.add("isBanned", true)
                if let until = ban.until { json.add("bannedUntil", until) }
            }
        })
}
