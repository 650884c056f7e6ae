/// What peers are doing (contract §7). Peers are identities with 1:1 traffic both ways in the last 30 days.
package enum PresenceFrames {
    package static let presenceUpdate = ServerFrameDefinition(
        "presence_update",
        about: "A peer came, or has been away for 15 s. At most one in 30 s about each peer; the latest state wins.",
        fields: [
            Field("whisperId", .whisperID), Field("status", .choice(["online", "offline"])),
            Field("lastSeen", .timestamp, .optional, about: "With `offline`."),
        ],
        samples: [
            #"{"whisperId":"WSP-AAAA-AAAA-AAAA","status":"online"}"#,
            #"{"whisperId":"WSP-AAAA-AAAA-AAAA","status":"offline","lastSeen":1730000000000}"#,
        ])

    package static let typingNotification = ServerFrameDefinition(
        "typing_notification", about: "A peer is writing, or has stopped.",
        fields: [Field("from", .whisperID), Field("isTyping", .bool), Field("timestamp", .timestamp)],
        samples: [#"{"from":"WSP-JBPU-D452-TLT4","isTyping":true,"timestamp":1730000000000}"#])
}

/// Answers about reports (contract §10).
package enum ReportFrames {
    package static let acknowledged = ServerFrameDefinition(
        "report_ack", about: "The report is stored.", answers: ["report"], fields: [Field("reportId", .uuid)],
        samples: [#"{"reportId":"7e4f3f0a-2b0b-4b58-8f7e-6a5d0d1f9c21"}"#])
}
