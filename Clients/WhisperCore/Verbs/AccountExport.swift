import Contract
import WhisperClient

extension Verb {
    private static let target = TypedField.text(
        "to", 1...ClientLimits.pathBytesMax, about: "Where the file is to be: an absolute path at which nothing stands."
    )

    static let accountExport = Verb(
        "account_export", of: "session",
        about: """
            Writes to a file what the server holds about the identity, as JSON. Messages and other contents are sealed and not in it. The server \
            gives it \(Rates.accountExport.uses) times a day.
            """,
        [Self.target.field], type: "accountExported", [Field("sizeBytes", .integer(1...Limits.numberMax))],
        errors: [.noIdentity, .invalidField, .file, .notFound, .offline, .unreachable, .tooMany, .server, .store],
        samples: (
            #"{"to":"/home/bob/whisper.json"}"#, #"{"type":"accountExported","sizeBytes":2048}"#
        ),
        .server { opened, parameters, json in
            let target = try parameters[Self.target]
            guard target.hasPrefix("/"), !target.hasSuffix("/") else {
                throw CoreError(.invalidField, "is no absolute path of a file", field: "to")
            }
            // Made before, because the server counts each answer.
            guard var file = NewFile(at: target) else { throw CoreError(.file, field: "to") }
            let document = try await opened.with { try await $0.account.export($0) }
            guard file.write(document) else { throw CoreError(.file, field: "to") }
            json.add("sizeBytes", Int64(document.count))
        })
}
